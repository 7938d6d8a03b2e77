// The yardstick of a hop: the least that a reverse proxy on Boost.Beast does. It reads a request,
// writes it to the server, reads the answer and writes it back, with a connection to the server for
// each client; one thread, no time limits, no rules.
//
//     routing_plain_proxy --listen 127.0.0.1:8000 --to 127.0.0.1:9001
#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "bench/routing/programs/program.h"

namespace neliroute::bench {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using boost::system::error_code;

class PlainHop : public std::enable_shared_from_this<PlainHop> {
 public:
  explicit PlainHop(tcp::socket socket)
      : client_(std::move(socket)), server_(client_.get_executor()) {}

  void start(const tcp::endpoint& to) {
    client_.socket().set_option(tcp::no_delay(true));
    server_.async_connect(to, [self = shared_from_this()](error_code error) {
      if (error) return;
      self->server_.socket().set_option(tcp::no_delay(true));
      self->read_request();
    });
  }

 private:
  void read_request() {
    request_ = {};
    http::async_read(client_, from_client_, request_,
                     [self = shared_from_this()](error_code error, std::size_t) {
                       if (!error) self->write_request();
                     });
  }
  void write_request() {
    http::async_write(server_, request_,
                      [self = shared_from_this()](error_code error, std::size_t) {
                        if (!error) self->read_answer();
                      });
  }
  void read_answer() {
    answer_ = {};
    http::async_read(server_, from_server_, answer_,
                     [self = shared_from_this()](error_code error, std::size_t) {
                       if (!error) self->write_answer();
                     });
  }
  void write_answer() {
    http::async_write(client_, answer_, [self = shared_from_this()](error_code error, std::size_t) {
      if (!error) self->read_request();
    });
  }

  boost::beast::tcp_stream client_;
  boost::beast::tcp_stream server_;
  boost::beast::flat_buffer from_client_;
  boost::beast::flat_buffer from_server_;
  http::request<http::string_body> request_;
  http::response<http::string_body> answer_;
};

void accept(tcp::acceptor& acceptor, const tcp::endpoint& to) {
  acceptor.async_accept([&acceptor, to](error_code error, tcp::socket socket) {
    if (!error) std::make_shared<PlainHop>(std::move(socket))->start(to);
    accept(acceptor, to);
  });
}

}  // namespace
}  // namespace neliroute::bench

int main(int count, char** arguments) {
  using namespace neliroute::bench;
  std::string listen;
  std::string to;
  CLI::App app{"A bare proxy on Boost.Beast, for bench/routing."};
  app.add_option("--listen", listen, "ADDRESS:PORT")->required();
  app.add_option("--to", to, "ADDRESS:PORT")->required();
  CLI11_PARSE(app, count, arguments);
  std::signal(SIGPIPE, SIG_IGN);
  boost::asio::io_context io(1);
  boost::asio::ip::tcp::acceptor acceptor(io, endpoint_of(listen));
  accept(acceptor, endpoint_of(to));
  std::cout << "ready" << std::endl;
  io.run();
}
