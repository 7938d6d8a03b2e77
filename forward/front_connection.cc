#include "forward/front_connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <limits>
#include <utility>

#include "forward/rules/beast_text.h"
#include "forward/rules/forwarded.h"
#include "forward/text_answer.h"

namespace neliroute::forward {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using http::field;

// A client that still sends must not lose the answer to a reset: its data is read for a while.
constexpr milliseconds kLinger{1000};
constexpr std::size_t kDiscardedMax = std::size_t{256} * 1024;

std::string address_of(const tcp::socket& socket, boost::asio::ip::address& address) {
  boost::system::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return "unknown";
  address = plain_address(endpoint.address());
  return address.to_string();
}

}  // namespace

FrontConnection::FrontConnection(tcp::socket socket, FrontService& service,
                                 AcceptGate::PlacePtr place, std::function<void()> left)
    : stream_(std::move(socket)),
      header_end_(stream_.get_executor()),
      service_(service),
      left_(std::move(left)),
      place_(std::move(place)),
      held_(service_.budget, [this] { close(); }) {
  boost::asio::ip::address address;
  address_ = address_of(stream_.socket(), address);
  trusted_ = service_.trusts && service_.trusts(address);
  is_proxy_ = trusted_ || (service_.trusts_forwarded && service_.trusts_forwarded(address));
  Error ignored;
  stream_.socket().set_option(tcp::no_delay(true), ignored);
}

FrontConnection::~FrontConnection() { left_(); }

void FrontConnection::start() {
  place_->on_evicted([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->close();
  });
  place_->arrives();
  if (!service_.tls) return await_request();
  stream_.expires_after(service_.limits.header);
  stream_.async_accept_tls(service_.tls->current(), [self = shared_from_this()](Error error) {
    error ? self->close() : self->await_request();
  });
}

void FrontConnection::refuse() {
  if (service_.tls) return close();  // a handshake would cost more than the request
  answer(503, "there are too many connections; close some, or try again later");
}

void FrontConnection::close() {
  if (std::exchange(closed_, true)) return;
  header_end_.cancel();
  if (exchange_) {
    exchange_->cancel();
    tell_ended();
  }
  stream_.close();
}

void FrontConnection::close_when_idle() {
  if (idle_ && !exchange_) close();
}

// What of the next request was read ahead comes first; a read ahead that is under way goes on.
void FrontConnection::await_request() {
  if (closed_) return;
  if (service_.takes_no_more) return linger();
  if (input_.received.size() > 0) return input_.pause([this] { begin_request(); });
  await_beginning();
}

void FrontConnection::await_beginning() {
  idle_ = true;
  if (has_asked_) place_->idles();
  input_.more(shared_from_this(), service_.limits.idle,
              [this](Error error) { error ? close() : begin_request(); });
}

void FrontConnection::begin_request() {
  if (closed_) return;
  if (!has_begun()) return service_.takes_no_more ? linger() : await_beginning();
  skipped_ = false;
  read_header();
}

// RFC 9112, section 2.2: one empty line before a request is ignored, as some clients send one
// behind a body.
bool FrontConnection::has_begun() {
  boost::beast::flat_buffer& received = input_.received;
  const auto text = [&] {
    return std::string_view(static_cast<const char*>(received.data().data()), received.size());
  };
  if (!skipped_ && text().starts_with("\r\n")) {
    received.consume(2);
    skipped_ = true;
  }
  return !text().empty() && (skipped_ || text() != "\r");
}

// Mostly all of it has come. Beast's own deadline would close the connection without an answer.
void FrontConnection::read_header() {
  if (std::exchange(idle_, false) && has_asked_) place_->arrives();
  request_.emplace();
  request_->header_limit(service_.limits.header_bytes);
  request_->body_limit(std::numeric_limits<std::uint64_t>::max());
  const Error error = request_->take(input_.received);
  if (error != http::error::need_more) return on_header(error);
  if (!held_.take(service_.limits.header_bytes, true)) return answer(503, kTooMuch);
  stream_.expires_never();
  header_end_.expires_after(service_.limits.header);
  header_end_.async_wait([weak = weak_from_this()](Error ended) {
    const auto self = weak.lock();
    if (!self || ended || Clock::now() < self->header_end_.expiry()) return;
    self->late_ = true;
    self->stream_.cancel();
  });
  http::async_read_header(stream_, input_.received, *request_,
                          Stream::Moved([self = shared_from_this()](Error failed, std::size_t) {
                            self->header_end_.expires_at(Clock::time_point::max());
                            self->on_header(failed);
                          }));
}

void FrontConnection::on_header(Error error) {
  if (closed_) return;
  place_->works();
  held_.release();
  has_asked_ = true;
  if (late_) return answer(408, "the request's header did not end in time; send it at once");
  if (error == http::error::header_limit) {
    return answer(431, "the request's header is longer than " +
                           std::to_string(service_.limits.header_bytes) + " bytes");
  }
  const bool of_http = error.category() == make_error_code(http::error::bad_method).category();
  if (error == http::error::end_of_stream || (error && !of_http)) return close();
  if (error == http::error::bad_version) return answer(505, "expected HTTP/1.1 or HTTP/1.0");
  if (error) return answer(400, "the request is malformed: " + error.message());
  handle();
}

void FrontConnection::handle() {
  RequestHeader& header = request_->get().base();
  if (const auto refusal = refusal_of(header)) return answer(refusal->status, refusal->text);
  const auto target = split_target(view_of(header.target()));
  if (!target) return answer(400, "the request's target is malformed: expected a path");
  PeerFields said;
  if (trusted_) {
    auto read = read_peer_fields(header);
    if (const auto* malformed = std::get_if<std::string>(&read)) return answer(400, *malformed);
    said = std::get<PeerFields>(read);
  }
  strip_forwarded(header, is_proxy_);
  const auto key = service_.key.key_of(header, *target);
  if (const auto* none = std::get_if<NoKey>(&key)) return answer(400, none->text);
  exchange(*target, service_.slots.slot_of(std::get<std::string>(key)), said);
}

void FrontConnection::exchange(const Target& target, Slot slot, const PeerFields& said) {
  ClientSide client{stream_, input_, *request_, held_, address_, shared_from_this()};
  exchange_ = std::make_shared<Exchange>(service_.proxy, std::move(client), target, slot, said);
  exchange_->start([weak = weak_from_this()](bool keep_alive) {
    if (const auto self = weak.lock()) self->on_done(keep_alive);
  });
}

void FrontConnection::tell_ended() {
  const auto exchange = std::exchange(exchange_, nullptr);
  if (exchange && service_.on_request) service_.on_request(exchange->ended());
}

void FrontConnection::on_done(bool keep_alive) {
  held_.release();
  tell_ended();
  if (closed_) return;
  keep_alive ? await_request() : linger();
}

void FrontConnection::tell_refused(unsigned status, std::size_t bytes) {
  ForwardedRequest made;
  made.client = address_;
  if (request_) {
    const RequestHeader& header = request_->get().base();
    made.method = view_of(header.method_string());
    made.path = without_query(view_of(header.target()));
  }
  made.status = status;
  made.result = result_of(ProxyCount::refused);
  made.bytes = bytes;
  service_.on_request(made);
}

void FrontConnection::answer(unsigned status, const std::string& text) {
  service_.proxy.counters.add(ProxyCount::refused);
  if (service_.on_request) tell_refused(status, text.size() + 1);
  const bool head = request_ && request_->get().method() == http::verb::head;
  const auto made = text_answer(status, text, head, /*keep_alive=*/false);
  stream_.expires_after(service_.proxy.limits.progress);
  http::async_write(stream_, *made,
                    Stream::Moved([self = shared_from_this(), made](Error error, std::size_t) {
                      error ? self->close() : self->linger();
                    }));
}

void FrontConnection::linger() {
  if (closed_) return;
  input_.pause([this] { end_sending(); });
}

void FrontConnection::end_sending() {
  if (closed_) return;
  stream_.expires_after(kLinger);
  stream_.async_end_sending([self = shared_from_this()](Error error) {
    error || self->stream_.has_tls() ? self->close() : self->discard();
  });
}

void FrontConnection::discard() {
  boost::beast::flat_buffer& received = input_.received;
  received.consume(received.size());
  stream_.async_read_some(received.prepare(Input::kSize),
                          [self = shared_from_this()](Error error, std::size_t read) {
                            self->discarded_ += read;
                            if (error || self->discarded_ > kDiscardedMax) return self->close();
                            self->discard();
                          });
}

}  // namespace neliroute::forward
