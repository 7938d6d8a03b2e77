// Exchange: reading the client's request, and sending it to the owner that was found.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/write.hpp>
#include <utility>

#include "forward/exchange/exchange.h"

namespace neliroute::forward {
namespace {

namespace http = boost::beast::http;
using http::field;

// Room for what is kept of a body at first. It doubles when it is full, as a client that announces
// much may send little.
constexpr std::size_t kKeptFirst = std::size_t{4} * 1024;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
// A server that does not know the expectation says nothing.
constexpr milliseconds kContinueLimit{1000};
// For an owner's answer to come back before this process gives up.
constexpr milliseconds kBack{50};

}  // namespace

bool Exchange::is_kept() const {
  return client_.request.content_length().value_or(0) <= proxy_.limits.kept_body;
}

bool Exchange::may_send_again() const {
  return whole_ && search_.resends() < proxy_.limits.resends && allowance_.left().count() > 0;
}

milliseconds Exchange::answer_limit() const {
  return body_sent_ ? allowance_.left() + milliseconds{1} : proxy_.limits.progress;
}

// False: there is no room, and the client is told so.
bool Exchange::hold(std::size_t bytes, bool awaited) {
  if (client_.held.take(bytes, awaited)) return true;
  count(ProxyCount::refused);
  return reply(503, kTooMuch);
}

// False: it is answered already, or the client is gone. A body whose length is not known may turn
// out to be long: what was kept of it is sent on before the rest.
Awaitable<bool> Exchange::keep_body() {
  if (std::exchange(expects_, false)) {
    const Error gone = co_await say_continue();
    if (gone) co_return false;
  }
  client_.stream.expires_after(proxy_.limits.progress);
  const std::size_t most = client_.request.content_length().value_or(proxy_.limits.kept_body);
  Error error;
  while (!whole_ && (!error || kept_.size() < most)) {
    if (got_ == kept_.size()) kept_.resize(std::min(std::max(kKeptFirst, 2 * got_), most));
    if (!hold(kept_.size() + kNotesMost, true)) co_return false;
    auto& body = client_.request.get().body();
    body.data = kept_.data() + got_;
    body.size = kept_.size() - got_;
    const Outcome read = co_await await_moved([this](Stream::Moved then) {
      read_body(client_.stream, client_.input.received, client_.request, std::move(then));
    });
    check();
    error = read.error;
    if (error && error != http::error::need_buffer) co_return refuse_body(error);
    got_ = kept_.size() - body.size;
    whole_ = client_.request.is_done();
  }
  allowance_.restart();  // a client that sends slowly does not use it up
  co_return hold(kept_.size(), false);
}

// A client that is still there hears why.
Exchange::Again Exchange::refuse_body(Error error) {
  count(ProxyCount::broken);
  if (error == http::error::buffer_overflow) {
    return reply(400, "the request's chunk extensions and trailers are longer than " +
                          std::to_string(kNotesMost) + " bytes");
  }
  const bool is_malformed =
      error.category() == make_error_code(http::error::bad_chunk).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message;
  return is_malformed && reply(400, "the request's body is malformed: " + error.message());
}

void Exchange::prepare() {
  const milliseconds left = allowance_.left();
  PeerFields said;
  said.epoch = direction_.epoch;
  said.hops = hops_ + 1;
  said.timeout = std::max(left - kBack, left / 2);
  said.slot = slot_;
  said.detour = direction_.detour;
  write_peer_fields(sent_, said);
  if (no_host_) sent_.set(field::host, direction_.endpoint);
  if (has_body_ && whole_) sent_.content_length(got_);
  if (has_body_ && !whole_) {
    if (!client_.request.content_length()) sent_.chunked(true);
    sent_.set(field::expect, "100-continue");
  }
  body_sent_ = false;
  set_body(sent_, kept_.data(), whole_ ? got_ : 0, !whole_);
  sending_.emplace(sent_);
}

// The header, and a body that is kept: what the kernel did not take at once.
Awaitable<Exchange::Error> Exchange::send() {
  const UpstreamPtr upstream = upstream_;
  const milliseconds limit =
      std::min(proxy_.limits.progress, allowance_.left() + milliseconds{1});
  co_return co_await timed(upstream->stream, limit, [&](Stream::Moved then) {
    if (whole_) return http::async_write(upstream->stream, *sending_, std::move(then));
    http::async_write_header(upstream->stream, *sending_, std::move(then));
  });
}

void Exchange::begin_body() {
  passes_body_ = true;
  boost::asio::co_spawn(proxy_.upstreams.executor(), pass_body(),
                        [self = shared_from_this()](const std::exception_ptr& thrown) {
                          self->passes_body_ = false;
                          self->changed_.cancel();
                          rethrow_other(thrown);
                        });
}

// The client sends its body once the owner wants it, or has not said that it does not. The final
// answer ends this; what goes wrong with the owner, its answer says.
Awaitable<> Exchange::pass_body() {
  limit_.expires_after(kContinueLimit);
  co_await await_timer(limit_);
  check();
  if (answered_) co_return;
  const UpstreamPtr upstream = upstream_;
  body_part_.assign(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(got_));
  Error failed;
  if (got_ == 0 && std::exchange(expects_, false)) failed = co_await say_continue();
  bool more = true;
  while (!failed && !answered_ && more) {
    if (std::exchange(got_, 0) == 0) failed = co_await read_body_part();
    if (failed || answered_) break;
    more = !client_.request.is_done();
    if (body_part_.empty() && more) continue;
    upstream->input.extend(upstream, proxy_.limits.progress);
    set_body(sent_, body_part_.data(), body_part_.size(), more);
    Error unsent = write_at_once(upstream->stream, *sending_);
    if (unsent == boost::asio::error::would_block) {
      unsent = co_await timed(upstream->stream, proxy_.limits.progress, [&](Stream::Moved then) {
        http::async_write(upstream->stream, *sending_, std::move(then));
      });
    }
    if (unsent || answered_) co_return;
    // While a part is awaited the client is late, and not the owner: its limit ends first.
    upstream->input.extend(upstream, 2 * proxy_.limits.progress);
  }
  if (answered_) co_return;
  if (failed) {
    body_error_ = failed;
    upstream->stream.close();
    co_return;
  }
  body_sent_ = true;
  allowance_.restart();
  upstream->input.extend(upstream, answer_limit());
  watch_client();
}

// Nothing, if the final answer was written before it was this one's turn.
Awaitable<Exchange::Error> Exchange::say_continue() {
  co_await client_turn();
  if (answered_) co_return Error{};
  co_return co_await tell_client([this](Stream::Moved then) {
    boost::asio::async_write(client_.stream, boost::asio::buffer(kContinue), std::move(then));
  });
}

// What of it was read ahead is parsed first.
Awaitable<Exchange::Error> Exchange::read_body_part() {
  co_await pause_client();
  if (answered_) co_return Error{};
  body_part_.resize(kPart);
  client_.input.received.reserve(kPart);
  give_room(client_.request.get().body(), body_part_);
  const Error error =
      co_await timed(client_.stream, proxy_.limits.progress, [this](Stream::Moved then) {
        read_body(client_.stream, client_.input.received, client_.request, std::move(then));
      });
  body_part_.resize(body_part_.size() - client_.request.get().body().size);
  co_return error;
}

}  // namespace neliroute::forward
