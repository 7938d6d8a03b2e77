#include "tests/unit/forward/gateway_rig.h"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <utility>

namespace neliroute::testing_forward {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

OwnerAnswer ok(const std::string& body) {
  return {"HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body};
}

OwnerAnswer misdirected() {
  return {"HTTP/1.1 421 Misdirected Request\r\nNeliroute-Slot: 0\r\nContent-Length: 0\r\n\r\n"};
}

struct Owner::Connection : std::enable_shared_from_this<Owner::Connection> {
  Connection(tcp::socket socket, Owner& of)
      : stream(std::move(socket)), owner(of), there(of.there_) {}

  void read() {
    parser.emplace();
    parser->body_limit(std::size_t{64} << 20);
    http::async_read_header(stream, buffer, *parser,
                            [self = shared_from_this()](error_code error, std::size_t) {
                              if (!error) self->on_header();
                            });
  }
  void on_header() {
    if (there.expired()) return;
    if (owner.answers_early) return serve_early();
    const bool asked = parser->get()[http::field::expect] == "100-continue";
    if (!asked || !owner.says_continue) return read_body();
    boost::asio::async_write(stream, boost::asio::buffer(kContinue),
                             [self = shared_from_this()](error_code, std::size_t) {
                               self->read_body();
                             });
  }
  /// 100 and the answer come in one piece.
  void serve_early() {
    owner.requests.push_back(parser->get());
    answer = owner.serve(owner.requests.back());
    if (owner.says_continue) answer.bytes.insert(0, kContinue);
    boost::asio::async_write(
        stream, boost::asio::buffer(answer.bytes),
        [self = shared_from_this()](error_code, std::size_t) { self->read_rest(); });
  }
  void read_rest() {
    http::async_read(stream, buffer, *parser,
                     [self = shared_from_this()](error_code error, std::size_t) {
                       if (!error) self->read();
                     });
  }
  void read_body() {
    http::async_read(stream, buffer, *parser,
                     [self = shared_from_this()](error_code error, std::size_t) {
                       if (!error) self->serve();
                     });
  }
  void serve() {
    if (there.expired()) return;
    owner.requests.push_back(parser->release());
    answer = owner.serve(owner.requests.back());
    if (answer.bytes.empty() && !answer.close) return stay_silent();
    boost::asio::async_write(stream, boost::asio::buffer(answer.bytes),
                             [self = shared_from_this()](error_code error, std::size_t) {
                               if (error || self->answer.close) return self->stream.close();
                               self->read();
                             });
  }

  void stay_silent() {
    owner.silent_.push_back(shared_from_this());
    stream.async_read_some(
        buffer.prepare(1), [this, weak = weak_from_this()](error_code error, std::size_t) {
          if (error && error != boost::asio::error::operation_aborted && weak.lock())
            ++owner.given_up;
        });
  }

  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  boost::beast::tcp_stream stream;
  Owner& owner;
  std::weak_ptr<bool> there;  ///< expired: the owner is not
  boost::beast::flat_buffer buffer;
  std::optional<http::request_parser<http::string_body>> parser;
  OwnerAnswer answer;
};

Owner::Owner(boost::asio::io_context& io, Serve how)
    : serve(std::move(how)),
      io_(io),
      acceptor_(io, {boost::asio::ip::address_v4::loopback(), 0}),
      endpoint_("127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port())) {
  accept();
}

void Owner::stop() {
  acceptor_.close();
  cut();
}

void Owner::start() {
  const int port = std::stoi(endpoint_.substr(endpoint_.find(':') + 1));
  acceptor_ = tcp::acceptor(io_, {boost::asio::ip::address_v4::loopback(),
                                 static_cast<std::uint16_t>(port)});
  accept();
}

void Owner::cut() {
  for (const auto& one : open_) {
    if (const auto connection = one.lock()) connection->stream.close();
  }
}

void Owner::say(const std::string& bytes) {
  for (const auto& one : open_) {
    if (const auto connection = one.lock()) {
      boost::asio::write(connection->stream.socket(), boost::asio::buffer(bytes));
    }
  }
}

void Owner::for_each_body(const std::function<void(const std::string&)>& visit) const {
  for (const auto& one : open_) {
    const auto connection = one.lock();
    if (connection && connection->parser) visit(connection->parser->get().body());
  }
}

std::string Owner::bodies_so_far() const {
  std::string all;
  for_each_body([&](const std::string& body) { all += body; });
  return all;
}

std::size_t Owner::bodies_size_so_far() const {
  std::size_t all = 0;
  for_each_body([&](const std::string& body) { all += body.size(); });
  return all;
}

void Owner::accept() {
  acceptor_.async_accept([this, there = std::weak_ptr<bool>(there_)](error_code error,
                                                                     tcp::socket socket) {
    if (error || there.expired()) return;
    ++connections;
    const auto made = std::make_shared<Connection>(std::move(socket), *this);
    open_.push_back(made);
    made->read();
    accept();
  });
}

struct ToldDirections::Waiter {
  Waiter(boost::asio::io_context& io, RouteHandler to) : limit(io), handler(std::move(to)) {}
  boost::asio::steady_timer limit;
  RouteHandler handler;
  void end(error_code error) {
    if (!handler) return;
    limit.cancel();
    boost::asio::get_associated_cancellation_slot(handler).clear();
    std::exchange(handler, nullptr)(error, Route{});
  }
};

forward::Direction ToldDirections::direct(const forward::Visit& visit) {
  forward::Direction made;
  made.stale = stale;
  if (visit.hops >= 3 || left_) {
    made.answer = Admit::refuse;
    made.leaving = left_;
    if (left_) made.endpoint = endpoint_;
    if (left_ && !endpoint_.empty()) made.epoch = epoch_;
  } else if (!endpoint_.empty() &&
             (epoch_ > visit.epoch || (visit.detour && epoch_ == visit.epoch))) {
    made.answer = own ? Admit::serve : Admit::redirect;
    made.endpoint = endpoint_;
    made.epoch = epoch_;
    made.suspected = suspected_;
    if (own) made.guard = std::make_shared<Admission>(work());
    guarded = made.guard;
  }
  return made;
}

void ToldDirections::wait(Slot, const Epoch& after, milliseconds limit, RouteHandler handler) {
  ++waits;
  waited_after = after;
  const auto waiter = std::make_shared<Waiter>(io_, std::move(handler));
  if (refuses_with) {
    boost::asio::post(io_, [waiter, error = refuses_with] { waiter->end(error); });
    return;
  }
  waiters_.push_back(waiter);
  auto slot = boost::asio::get_associated_cancellation_slot(waiter->handler);
  slot.assign([this, weak = std::weak_ptr(waiter)](boost::asio::cancellation_type) {
    ++cancelled;
    if (hangs_) return;
    boost::asio::post(io_, [weak] {
      if (const auto one = weak.lock()) one->end(boost::asio::error::operation_aborted);
    });
  });
  if (hangs_) return;
  waiter->limit.expires_after(limit);
  waiter->limit.async_wait([waiter](error_code error) {
    if (!error) waiter->end(Errc::timed_out);
  });
}

void ToldDirections::leads(const std::string& endpoint) {
  endpoint_ = endpoint;
  suspected_ = false;
  epoch_ = {1, ++last_};
  if (!hangs_) come_back();
}

// A router hears of a wait before it hears that it is cancelled, and may have its answer already.
void ToldDirections::come_back() {
  hangs_ = false;
  for (const auto& waiter : std::exchange(waiters_, {})) {
    boost::asio::post(io_, [waiter] { waiter->end({}); });
  }
}

void ToldDirections::redirected(Slot, std::string_view endpoint, const Epoch& epoch) {
  redirects.push_back(std::string(endpoint) + " under " + to_string(epoch));
  leads(std::string(endpoint));
}

void ToldDirections::nobody_leads() { endpoint_.clear(); }

void ToldDirections::leave() {
  left_ = true;
  for (const auto& waiter : std::exchange(waiters_, {})) {
    boost::asio::post(io_, [waiter] { waiter->end(Errc::closed); });
  }
}

Caller::Caller(boost::asio::io_context& io, const tcp::endpoint& to)
    : socket_(std::make_shared<tcp::socket>(io)) {
  socket_->connect(to);
  read();
  living_.push_back(this);
}

Caller::~Caller() {
  *alive_ = false;
  error_code ignored;
  socket_->close(ignored);
  std::erase(living_, this);
}

void Caller::print_all() {
  constexpr std::size_t kShown = 300;
  for (const Caller* one : living_) {
    const std::string& bytes = one->received_;
    std::cerr << "  a caller that " << (one->ended_ ? "ended" : "is connected") << ", "
              << one->unsent_ << " bytes unsent, received " << bytes.size() << " bytes: "
              << bytes.substr(bytes.size() - std::min(kShown, bytes.size())) << '\n';
  }
}

void Caller::send(std::string text) {
  unsent_ += text.size();
  const auto kept = std::make_shared<std::string>(std::move(text));
  boost::asio::async_write(*socket_, boost::asio::buffer(*kept),
                           [this, kept, alive = alive_, of = socket_](error_code, std::size_t) {
                             if (*alive) unsent_ -= kept->size();
                           });
}

void Caller::shutdown() { socket_->shutdown(tcp::socket::shutdown_send); }

void Caller::close() { socket_->close(); }

void Caller::reset() {
  socket_->set_option(boost::asio::socket_base::linger(true, 0));
  socket_->close();
}

void Caller::read() {
  socket_->async_read_some(boost::asio::buffer(chunk_),
                           [this, alive = alive_](error_code error, std::size_t count) {
                             if (!*alive) return;
                             received_.append(chunk_.data(), count);
                             if (error) {
                               ended_ = true;
                               return;
                             }
                             read();
                           });
}

GatewayRig::GatewayRig(GatewayRigOptions options) {
  forward::GatewayOptions made{{boost::asio::ip::address_v4::loopback(), 0},
                               forward::KeySource::parse(options.key).value(),
                               SlotSpace{SlotCount{64}},
                               options.front,
                               options.exchange,
                               options.upstream,
                               "gw",
                               std::move(options.trusts),
                               {}};
  gateway = forward::Gateway::open(io.get_executor(), std::move(made), directions).value();
}

GatewayRig::~GatewayRig() {
  // A connection that is cut off in the middle of a turn keeps itself alive until it is ended.
  bool drained = false;
  gateway->drain(0ms, [&drained] { drained = true; });
  static_cast<void>(run_until([&] { return drained && gateway->connections() == 0; }));
  io.restart();
  io.run_for(50ms);
}

bool GatewayRig::run_until(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      print_seen();
      return false;
    }
    io.restart();
    io.run_one_for(20ms);
  }
  return true;
}

void GatewayRig::print_seen() const {
  using forward::ProxyCount;
  std::cerr << "waited for 30 s in vain; counted:";
  for (std::uint8_t what = 0; what < static_cast<std::uint8_t>(ProxyCount::end); ++what) {
    std::cerr << ' ' << count(static_cast<ProxyCount>(what));
  }
  std::cerr << " (as ProxyCount has them); waits for an owner: " << directions.waits
            << ", cancelled: " << directions.cancelled << '\n';
  for (const std::string& one : directions.suspects) std::cerr << "  suspected: " << one << '\n';
  Caller::print_all();
}

bool GatewayRig::answered(const Caller& caller, std::size_t count) {
  return run_until(has_answers(caller, count));
}

std::string GatewayRig::exchange(const std::string& request) {
  Caller caller = call();
  caller.send(request);
  return answered(caller) ? caller.received() : "no answer: " + caller.received();
}

std::string get(const std::string& target, const std::string& more) {
  return "GET " + target + " HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\n" + more + "\r\n";
}

std::string post(const std::string& body, const std::string& more) {
  return "POST / HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + more + "\r\n" + body;
}

// The whole of it is parsed each time: so only when there is more, of much by an eighth, or when
// nothing more comes.
std::function<bool()> has_answers(const Caller& caller, std::size_t count) {
  constexpr std::size_t kMuch = 0x10000;
  constexpr int kQuietTurns = 8;
  return [&caller, count, seen = std::size_t{0}, parsed = std::size_t{0}, quiet = 0]() mutable {
    if (caller.ended()) return true;
    const std::size_t size = caller.received().size();
    quiet = size == std::exchange(seen, size) ? quiet + 1 : 0;
    const bool soon = size > kMuch && size - parsed < parsed / 8 && quiet < kQuietTurns;
    if (size == parsed || soon) return false;
    parsed = size;
    return answers_in(caller.received(), false) >= count;
  };
}

std::size_t answers_in(const std::string& bytes, bool ended) {
  std::size_t count = 0;
  std::size_t at = 0;
  while (at < bytes.size()) {
    http::response_parser<http::string_body> parser;
    parser.eager(true);
    parser.body_limit(std::size_t{64} << 20);
    error_code error;
    while (at < bytes.size() && !parser.is_done() && !error) {
      const std::size_t used =
          parser.put(boost::asio::buffer(bytes.data() + at, bytes.size() - at), error);
      at += used;
      if (used == 0) break;
    }
    if (ended && !parser.is_done() && parser.got_some() && !error) parser.put_eof(error);
    if (error || !parser.is_done()) return count;
    if (parser.get().result_int() >= 200) ++count;
  }
  return count;
}

unsigned status_of(const std::string& answer) {
  return answer.size() < 12 ? 0 : static_cast<unsigned>(std::atoi(answer.c_str() + 9));
}

std::string body_of(const std::string& answer) {
  http::response_parser<http::string_body> parser;
  parser.eager(true);
  parser.body_limit(std::size_t{64} << 20);
  error_code error;
  std::size_t at = 0;
  while (at < answer.size() && !parser.is_done() && !error) {
    const std::size_t used =
        parser.put(boost::asio::buffer(answer.data() + at, answer.size() - at), error);
    if (used == 0) break;
    at += used;
  }
  return parser.get().body();
}

}  // namespace neliroute::testing_forward
