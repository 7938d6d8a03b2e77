#include "admin/connection.h"

#include <algorithm>
#include <boost/asio/socket_base.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/span_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <neliroute/clock.h>
#include <sstream>
#include <utility>
#include <vector>

#include "admin/control/route_wait.h"
#include "admin/control/steps.h"

namespace neliroute::admin {
namespace {

namespace http = boost::beast::http;
using Response = http::response<http::span_body<const char>>;
using boost::system::error_code;
using std::chrono::steady_clock;

constexpr std::size_t kReadSize = 2048;
// A client that still sends while it is refused must not lose the answer to a reset: its data is
// read for a while.
constexpr milliseconds kLinger{1000};
constexpr std::size_t kDiscardedMax = 256 * 1024;
// A connection above the limit is not waited for long: with its place it keeps a probe out.
constexpr milliseconds kRefused{1000};
constexpr milliseconds kRefusedHeader{750};
// What each connection may keep outside the budget: health must be served whatever others hold.
constexpr std::size_t kSmall = 4096;

Answer too_much() {
  return answer_of({503, "too many answers wait for clients that do not read them; try again "
                         "later"});
}

http::response_header<> header_of(const Answer& answer, bool keep_alive) {
  http::response_header<> made;
  made.version(11);
  made.result(answer.status);
  made.set(http::field::content_type, answer.type);
  if (answer.body) made.set(http::field::content_length, std::to_string(answer.body->size()));
  made.set(http::field::cache_control, answer.tag.empty() ? "no-store" : "no-cache");
  if (!answer.tag.empty()) made.set(http::field::etag, answer.tag);
  made.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : answer.more) made.set(name, value);
  made.set(http::field::connection, keep_alive ? "keep-alive" : "close");
  return made;
}

}  // namespace

bool is_for_here(const boost::asio::ip::tcp::acceptor& acceptor) {
  boost::system::error_code error;
  return acceptor.local_endpoint(error).address().is_loopback();
}

Service::Service(boost::asio::ip::tcp::acceptor acceptor, const AdminLimits& limits,
                 std::function<void(const Notice&)> on_notice)
    : limits_(limits),
      budget_(limits.answer_bytes),
      // The other file descriptors are for the ledger and the application.
      gate_(std::move(acceptor),
            {places_for(limits.connections, 2), "the admin port", {}, std::move(on_notice)},
            [this](boost::asio::ip::tcp::socket socket, AcceptGate::PlacePtr place, bool refused) {
              take(std::move(socket), std::move(place), refused);
            }) {}

void Service::close_connections() {
  gate_.stop();
  std::vector<std::shared_ptr<Connection>> open;
  for (Connection* one : connections_) open.push_back(one->shared_from_this());
  for (const auto& connection : open) connection->close();
}

void Service::take(boost::asio::ip::tcp::socket socket, AcceptGate::PlacePtr place, bool refused) {
  boost::system::error_code ignored;
  socket.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  if (limits_.send_buffer > 0) {
    socket.set_option(boost::asio::socket_base::send_buffer_size(limits_.send_buffer), ignored);
  }
  const auto connection =
      std::make_shared<Connection>(std::move(socket), shared_from_this(), std::move(place));
  connections_.insert(connection.get());
  connection->start(refused);
}

Connection::Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<Service> service,
                       AcceptGate::PlacePtr place)
    : stream_(std::move(socket)),
      header_end_(stream_.get_executor()),
      service_(std::move(service)),
      place_(std::move(place)) {}

// A supervisor must not consider a process dead because others hold all its connections.
void Connection::start(bool refused) {
  refused_ = refused;
  place_->on_evicted([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->close();
  });
  if (refused) ends_by_ = steady_clock::now() + kRefused;
  const milliseconds bound = service_->limits().header;
  begin_header(refused ? std::min(kRefusedHeader, bound) : bound);
  read();
}

void Connection::close() {
  if (!std::exchange(place_, nullptr)) return;
  header_end_.cancel();
  if (const auto wait = wait_.lock()) wait->cancel();
  stream_.close();
}

// A client must not end the process, which may own slots, if memory is short for its answer.
template <class Step>
void Connection::or_close(const Step& step) {
  try {
    step();
  } catch (...) {
    close();
  }
}

void Connection::expire_after(milliseconds bound) {
  stream_.expires_at(std::min(steady_clock::now() + bound, ends_by_));
}

// Beast's deadline would close the connection without an answer.
void Connection::begin_header(milliseconds bound) {
  idle_ = false;
  place_->arrives();
  stream_.expires_never();
  header_end_.expires_after(bound);
  header_end_.async_wait([weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    // A handler that was already queued when its timer was replaced is not the deadline any more.
    if (!self || error || steady_clock::now() < self->header_end_.expiry()) return;
    self->late_ = true;
    self->stream_.cancel();  // stops reading
  });
}

// There may be one already: clients may pipeline requests.
void Connection::await_request() {
  const std::string_view bytes(static_cast<const char*>(received_.data().data()),
                               received_.size());
  const bool head = bytes.starts_with("HEAD ");
  std::size_t used = 0;
  auto read_so_far =
      read_request(bytes, used, searched_, [this](const Request& header) {
        return service_->pages().may_post(header);
      });
  received_.consume(used);
  if (std::holds_alternative<NeedMore>(read_so_far)) return read();
  searched_ = {};
  header_end_.expires_at(steady_clock::time_point::max());
  place_->works();
  if (const auto* request = std::get_if<Request>(&read_so_far)) return handle(*request);
  send(answer_of(std::get<Refusal>(read_so_far)), head, /*keep_alive=*/false);
}

void Connection::read() {
  stream_.async_read_some(received_.prepare(kReadSize),
                          [self = shared_from_this()](const error_code& error, std::size_t read) {
                            self->or_close([&] { self->on_read(error, read); });
                          });
}

void Connection::on_read(const error_code& error, std::size_t read) {
  if (closed()) return;
  if (late_) {
    place_->works();
    return send(answer_of({408, "the request did not end in time; send it at once"}),
                /*head=*/false, /*keep_alive=*/false);
  }
  if (error) return close();
  received_.commit(read);
  if (idle_) begin_header(service_->limits().header);
  await_request();
}

void Connection::handle(const Request& request) {
  if (refused_ && !is_probe(request)) {
    return send(answer_of({503, "there are too many connections; close some, or try again later"}),
                request.head, /*keep_alive=*/false);
  }
  Answer answer = service_->pages().answer(request, boot_now());
  if (answer.wait) return await_route(*answer.wait, request.keep_alive);
  const bool streams = answer.events || answer.steps;
  if (!streams || request.head) {
    return send(std::move(answer), request.head, request.keep_alive && !streams && !refused_);
  }
  const Text first = answer.steps ? service_->steps().first() : service_->hub().first_events();
  AnswerBudget::Held held = service_->budget().hold(first);
  if (!held) return send(too_much(), request.head, request.keep_alive);
  std::ostringstream header;
  header << header_of(answer, /*keep_alive=*/false);
  Kept begin{first, std::move(held)};
  AcceptGate::PlacePtr place = std::exchange(place_, nullptr);
  if (!answer.steps) {
    return service_->hub().join(std::move(stream_), header.str(), std::move(begin),
                                std::move(place));
  }
  service_->steps().join(std::move(stream_), header.str(), std::move(begin), *answer.steps,
                         std::move(place));
}

void Connection::await_route(const RouteQuestion& question, bool keep_alive) {
  stream_.expires_never();  // the wait has its own end
  wait_ = service_->pages().wait(question, [self = shared_from_this(), keep_alive](Answer answer) {
    self->wait_.reset();
    if (self->closed()) return;
    self->or_close([&] { self->send(std::move(answer), /*head=*/false, keep_alive); });
  });
  watch_client();
}

// A client that goes away must not keep its wait, nor its place. One that has sent more is believed
// to be there: that is read when it is its turn.
void Connection::watch_client() {
  if (std::exchange(watched_, true)) return;
  stream_.socket().async_wait(
      boost::asio::ip::tcp::socket::wait_read,
      [self = shared_from_this()](const error_code& error) {
        self->watched_ = false;
        if (error || self->wait_.expired()) return;
        error_code failed;
        if (self->stream_.socket().available(failed) == 0) self->close();
      });
}

void Connection::send(Answer answer, bool head, bool keep_alive) {
  expire_after(service_->limits().write);
  const bool big = answer.body && answer.body->size() > kSmall;
  if (big && !head && !(held_ = service_->budget().hold(answer.body))) {
    answer = too_much();
  }
  const auto response = std::make_shared<Response>(header_of(answer, keep_alive));
  body_ = head ? nullptr : std::move(answer.body);
  if (body_) response->body() = {body_->data(), body_->size()};
  http::async_write(stream_, *response,
                    [self = shared_from_this(), response, keep_alive](const error_code& error,
                                                                      std::size_t) {
                      self->or_close([&] { self->on_sent(error, keep_alive); });
                    });
}

void Connection::on_sent(const error_code& error, bool keep_alive) {
  body_.reset();
  held_.reset();
  if (error || closed()) return close();
  if (!keep_alive) return linger();
  if (received_.size() > 0) {
    begin_header(service_->limits().header);
    return await_request();
  }
  // Nothing is in it; most clients never send a header that takes more.
  if (received_.capacity() > kReadSize) received_.shrink_to_fit();
  idle_ = true;
  place_->idles();
  expire_after(service_->limits().idle);
  read();
}

void Connection::linger() {
  expire_after(kLinger);
  error_code error;
  stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, error);
  if (error) return close();
  discard();
}

void Connection::discard() {
  stream_.async_read_some(received_.prepare(kReadSize),
                          [self = shared_from_this()](const error_code& error, std::size_t read) {
                            self->discarded_ += read;
                            if (error || self->discarded_ > kDiscardedMax) return self->close();
                            self->discard();
                          });
}

}  // namespace neliroute::admin
