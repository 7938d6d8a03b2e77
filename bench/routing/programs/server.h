// A small HTTP/1.1 server: one request at a time on each connection, parsed by Boost.Beast. It has
// no time limits, because only this benchmark's own programs connect.
//
// Threads: one (an io_context of its own).   Units: none.   Errors: a malformed request closes.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace neliroute::bench {

struct HttpAnswer {
  unsigned status = 200;
  std::string fields;  ///< whole lines, each with its CRLF
  std::string body;
  bool close = false;
};

class ServedConnection;
using ServedPtr = std::shared_ptr<ServedConnection>;
using HttpRequest = boost::beast::http::request<boost::beast::http::string_body>;

class HttpServer {
 public:
  /// Calls ServedConnection::answer() once for each request, then or later, on the same thread.
  using Handler = std::function<void(const ServedPtr&)>;

  /// An address that cannot be listened on ends the process.
  HttpServer(boost::asio::io_context& io, const boost::asio::ip::tcp::endpoint& listen,
             Handler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Accepts no connection any more. `done` is called once every request is answered.
  void drain(std::function<void()> done);

 private:
  friend class ServedConnection;
  void accept();
  void begun() { ++under_way_; }
  void ended();

  boost::asio::ip::tcp::acceptor acceptor_;
  Handler handler_;
  std::size_t under_way_ = 0;
  std::function<void()> drained_;
};

class ServedConnection : public std::enable_shared_from_this<ServedConnection> {
 public:
  ServedConnection(boost::asio::ip::tcp::socket socket, HttpServer& server);

  void start() { read(); }
  /// Valid until it is answered.
  [[nodiscard]] const HttpRequest& request() const { return parser_->get(); }
  void answer(const HttpAnswer& answer);

 private:
  using Error = boost::system::error_code;
  void read();
  /// What was received; whether more is needed.
  bool parse();
  void on_answered(Error error, bool close);

  boost::asio::ip::tcp::socket socket_;
  HttpServer& server_;
  boost::beast::flat_buffer received_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::string sent_;
};

}  // namespace neliroute::bench
