#include "bench/routing/programs/client_connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <utility>

namespace neliroute::bench {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

constexpr std::size_t kClientReadSize = 4096;

}  // namespace

void ClientConnection::connect(const tcp::endpoint& to, std::function<void(Error)> done) {
  socket_.async_connect(to, [self = shared_from_this(), done = std::move(done)](Error error) {
    if (self->abandoned_) return;
    Error ignored;
    self->socket_.set_option(tcp::no_delay(true), ignored);
    done(error);
  });
}

void ClientConnection::send(std::string request, Answered answered) {
  request_ = std::move(request);
  answered_ = std::move(answered);
  reusable_ = false;
  ++sent_;
  parser_.emplace();
  parser_->eager(true);
  boost::asio::async_write(socket_, boost::asio::buffer(request_),
                           [self = shared_from_this()](Error, std::size_t) {
                             // What went wrong, reading finds out, or an answer that came early.
                             if (!self->abandoned_) self->read();
                           });
}

void ClientConnection::abandon() {
  abandoned_ = true;
  answered_ = nullptr;
  Error ignored;
  socket_.close(ignored);
}

bool ClientConnection::is_closed() {
  Error error;
  char byte = 0;
  socket_.non_blocking(true, error);
  socket_.receive(boost::asio::buffer(&byte, 1), tcp::socket::message_peek, error);
  return error != boost::asio::error::would_block;
}

void ClientConnection::read() {
  socket_.async_read_some(received_.prepare(kClientReadSize),
                          [self = shared_from_this()](Error error, std::size_t size) {
                            if (self->abandoned_) return;
                            self->received_.commit(size);
                            if (error == boost::asio::error::eof && self->parser_->got_some()) {
                              Error malformed;
                              self->parser_->put_eof(malformed);
                              if (malformed) return self->finish(nullptr);
                            } else if (error) {
                              return self->finish(nullptr);
                            }
                            self->parse();
                          });
}

void ClientConnection::parse() {
  Error error;
  while (received_.size() > 0 && !parser_->is_done()) {
    const std::size_t used = parser_->put(received_.data(), error);
    received_.consume(used);
    if (error == http::error::need_more) return read();
    if (error) return finish(nullptr);
  }
  if (!parser_->is_done()) return read();
  // 100 and 103 come before the answer.
  if (parser_->get().result_int() < 200) {
    parser_.emplace();
    parser_->eager(true);
    return parse();
  }
  reusable_ = parser_->keep_alive() && received_.size() == 0;
  finish(&parser_->get());
}

void ClientConnection::finish(const HttpResponse* response) {
  const auto self = shared_from_this();  // the handler may drop it
  if (const Answered answered = std::exchange(answered_, nullptr)) answered(response);
}

}  // namespace neliroute::bench
