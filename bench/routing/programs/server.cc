#include "bench/routing/programs/server.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>
#include <utility>

#include "bench/routing/programs/program.h"

namespace neliroute::bench {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

constexpr std::size_t kServerReadSize = 4096;

}  // namespace

HttpServer::HttpServer(boost::asio::io_context& io, const tcp::endpoint& listen, Handler handler)
    : acceptor_(io), handler_(std::move(handler)) {
  boost::system::error_code error;
  acceptor_.open(listen.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(listen, error);
  if (!error) acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) {
    fail("cannot listen on port " + std::to_string(listen.port()) + ": " + error.message());
  }
  accept();
}

void HttpServer::accept() {
  acceptor_.async_accept([this](boost::system::error_code error, tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (!error) std::make_shared<ServedConnection>(std::move(socket), *this)->start();
    accept();
  });
}

void HttpServer::drain(std::function<void()> done) {
  drained_ = std::move(done);
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  if (under_way_ == 0) std::exchange(drained_, nullptr)();
}

void HttpServer::ended() {
  --under_way_;
  if (under_way_ == 0 && drained_) std::exchange(drained_, nullptr)();
}

ServedConnection::ServedConnection(tcp::socket socket, HttpServer& server)
    : socket_(std::move(socket)), server_(server) {
  Error ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
}

void ServedConnection::read() {
  socket_.async_read_some(received_.prepare(kServerReadSize),
                          [self = shared_from_this()](Error error, std::size_t size) {
                            if (error) return;
                            self->received_.commit(size);
                            if (self->parse()) self->read();
                          });
}

bool ServedConnection::parse() {
  if (!parser_) {
    parser_.emplace();
    parser_->eager(true);
  }
  Error error;
  while (received_.size() > 0 && !parser_->is_done()) {
    const std::size_t used = parser_->put(received_.data(), error);
    received_.consume(used);
    if (error == http::error::need_more) return true;
    if (error) return false;  // the last reference goes, and the connection with it
  }
  if (!parser_->is_done()) return true;
  server_.begun();
  server_.handler_(shared_from_this());
  return false;
}

void ServedConnection::answer(const HttpAnswer& answer) {
  const bool close = answer.close || !request().keep_alive();
  const auto reason = http::obsolete_reason(static_cast<http::status>(answer.status));
  sent_ = "HTTP/1.1 " + std::to_string(answer.status) + " ";
  sent_.append(reason.data(), reason.size());
  sent_ += "\r\nContent-Length: " + std::to_string(answer.body.size()) + "\r\n" + answer.fields;
  if (close) sent_ += "Connection: close\r\n";
  sent_ += "\r\n" + answer.body;
  boost::asio::async_write(socket_, boost::asio::buffer(sent_),
                           [self = shared_from_this(), close](Error error, std::size_t) {
                             self->on_answered(error, close);
                           });
}

void ServedConnection::on_answered(Error error, bool close) {
  parser_.reset();
  server_.ended();
  if (error) return;
  if (close) {
    Error ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    return read();  // until the caller closes
  }
  if (parse()) read();
}

}  // namespace neliroute::bench
