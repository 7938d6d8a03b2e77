// A caller's keep-alive connection: a request that is ready to be sent, an answer parsed by
// Boost.Beast. And the connections to one target that are idle.
//
// Threads: one (an io_context's).   Units: none.   Errors: passed to handlers.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace neliroute::bench {

using HttpResponse = boost::beast::http::response<boost::beast::http::string_body>;

class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  using Error = boost::system::error_code;
  /// No answer: it broke.
  using Answered = std::function<void(const HttpResponse*)>;

  ClientConnection(boost::asio::io_context& io, std::size_t& open) : socket_(io), open_(open) {
    ++open_;
  }
  ~ClientConnection() { --open_; }
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  void connect(const boost::asio::ip::tcp::endpoint& to, std::function<void(Error)> done);
  /// One at a time. The answer is valid during the call.
  void send(std::string request, Answered answered);
  /// Closes it; its handlers are not called any more.
  void abandon();
  /// It may carry another request.
  [[nodiscard]] bool is_reusable() const noexcept { return reusable_; }
  /// While it is idle: the other side has closed it.
  [[nodiscard]] bool is_closed();
  /// It has carried a request before this one.
  [[nodiscard]] bool is_used() const noexcept { return sent_ > 1; }

 private:
  void read();
  void parse();
  void finish(const HttpResponse* response);

  boost::asio::ip::tcp::socket socket_;
  std::size_t& open_;
  boost::beast::flat_buffer received_;
  std::optional<boost::beast::http::response_parser<boost::beast::http::string_body>> parser_;
  std::string request_;
  Answered answered_;
  std::uint64_t sent_ = 0;
  bool reusable_ = false;
  bool abandoned_ = false;
};
using ConnectionPtr = std::shared_ptr<ClientConnection>;

/// A process that requests are sent to.
struct Target {
  std::string name;  ///< ADDRESS:PORT
  boost::asio::ip::tcp::endpoint address;
  std::uint16_t number = 0;
  std::deque<ConnectionPtr> idle;
};

}  // namespace neliroute::bench
