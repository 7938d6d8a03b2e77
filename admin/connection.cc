#include "admin/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <neliroute/clock.h>
#include <utility>

namespace neliroute::admin {
namespace {

// A client that still sends while it is refused must not lose the answer to a reset: what it sends
// is read for a while.
constexpr milliseconds kLinger{1000};
constexpr std::size_t kDiscardedMax = 256 * 1024;
// Who is one too many is not waited for long.
constexpr milliseconds kRefusedHeader{1000};
// What each connection may keep of its own: health must be told whatever others hold.
constexpr std::size_t kSmall = 4096;

Answer too_much() {
  return answer_of({503, "too many answers wait for clients that do not read them; ask again "
                         "later"});
}

}  // namespace

Connection::Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<Service> service,
                       Place place)
    : socket_(std::move(socket)),
      deadline_(socket_.get_executor()),
      service_(std::move(service)),
      place_(std::move(place)) {}

void Connection::start() {
  enter(Phase::header, service_->limits().header);
  read();
}

// A supervisor must not take a process for dead because others hold all its connections.
void Connection::start_refused() {
  refused_ = true;
  enter(Phase::header, std::min(kRefusedHeader, service_->limits().header));
  read();
}

void Connection::close() {
  if (std::exchange(phase_, Phase::closed) == Phase::closed) return;
  deadline_.cancel();
  place_.reset();
  boost::system::error_code ignored;
  socket_.close(ignored);
}

// There may be one already: clients need not wait for an answer before they ask again.
void Connection::await_request() {
  std::size_t used = 0;
  const bool head = received_.starts_with("HEAD ");
  auto read_so_far = read_request(received_, used);
  received_.erase(0, used);
  if (const auto* request = std::get_if<Request>(&read_so_far)) return handle(*request);
  if (const auto* refusal = std::get_if<Refusal>(&read_so_far)) {
    return send(answer_of(*refusal), head, /*keep_alive=*/false);
  }
  read();
}

void Connection::read() {
  socket_.async_read_some(
      boost::asio::buffer(chunk_),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t read) {
        self->on_read(error, read);
      });
}

void Connection::on_read(const boost::system::error_code& error, std::size_t read) {
  if (phase_ == Phase::idle && !error) enter(Phase::header, service_->limits().header);
  if (phase_ != Phase::header) {
    if (phase_ == Phase::idle) close();
    return;  // the deadline came first
  }
  if (error) return close();
  received_.append(chunk_.data(), read);
  await_request();
}

void Connection::handle(const Request& request) {
  if (refused_ && !is_probe(request)) {
    return send(answer_of({503, "there are as many connections as are served at once; close some, "
                                "or try again later"}),
                request.head, /*keep_alive=*/false);
  }
  Answer answer = service_->site().answer(request, boot_now());
  if (!answer.events || request.head) {
    return send(std::move(answer), request.head,
                request.keep_alive && !answer.events && !refused_);
  }
  const Text first = service_->hub().first_events();
  AnswerBudget::Held held = service_->budget().hold(first);
  if (!held) return send(too_much(), request.head, request.keep_alive);
  std::string header = header_of(answer, /*keep_alive=*/false);
  phase_ = Phase::closed;  // of this object; the socket lives on
  deadline_.cancel();
  service_->hub().join(std::move(socket_), std::move(header), {first, std::move(held)},
                       std::move(place_));
}

void Connection::send(Answer answer, bool head, bool keep_alive) {
  enter(Phase::writing, service_->limits().write);
  const bool big = answer.body && answer.body->size() > kSmall;
  if (big && !head && !(held_ = service_->budget().hold(answer.body))) {
    answer = too_much();
  }
  header_ = header_of(answer, keep_alive);
  body_ = head ? nullptr : std::move(answer.body);
  const std::array<boost::asio::const_buffer, 2> buffers{
      boost::asio::buffer(header_),
      body_ ? boost::asio::buffer(*body_) : boost::asio::const_buffer()};
  boost::asio::async_write(
      socket_, buffers,
      [self = shared_from_this(), keep_alive](const boost::system::error_code& error,
                                              std::size_t) { self->on_sent(error, keep_alive); });
}

void Connection::on_sent(const boost::system::error_code& error, bool keep_alive) {
  if (phase_ != Phase::writing) return;
  body_.reset();
  held_.reset();
  if (error) return close();
  if (!keep_alive) return linger();
  if (received_.empty()) {
    enter(Phase::idle, service_->limits().idle);
    return read();
  }
  enter(Phase::header, service_->limits().header);
  await_request();
}

void Connection::linger() {
  enter(Phase::lingering, kLinger);
  boost::system::error_code error;
  socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, error);
  if (error) return close();
  discard();
}

void Connection::discard() {
  socket_.async_read_some(
      boost::asio::buffer(chunk_),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t read) {
        self->discarded_ += read;
        if (error || self->discarded_ > kDiscardedMax) return self->close();
        if (self->phase_ == Phase::lingering) self->discard();
      });
}

void Connection::enter(Phase phase, milliseconds bound) {
  phase_ = phase;
  deadline_.expires_after(bound);
  deadline_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    // One that was on its way when it was replaced is not the deadline any more.
    if (!self || error || std::chrono::steady_clock::now() < self->deadline_.expiry()) return;
    self->on_deadline();
  });
}

void Connection::on_deadline() {
  if (phase_ != Phase::header) return close();
  boost::system::error_code ignored;
  socket_.cancel(ignored);  // the reading; the answer is written next
  send(answer_of({408, "the request's header did not end in time; send it at once"}),
       /*head=*/false, /*keep_alive=*/false);
}

}  // namespace neliroute::admin
