// Exchange: reading the client's request, and sending it to the owner that was chosen.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/write.hpp>
#include <utility>

#include "forward/exchange.h"
#include "forward/rules/beast_text.h"

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
// Of what a client sends behind a request that is under way. A client that has sent more is not
// watched.
constexpr std::size_t kAheadMax = std::size_t{16} * 1024;

}  // namespace

Exchange::Exchange(Proxy& proxy, ClientSide client, const Target& target, Slot slot,
                   PeerFields said)
    : proxy_(proxy),
      client_(std::move(client)),
      sent_(std::move(client_.request.get().base())),
      slot_(slot),
      visit_{slot, said.epoch, said.hops, said.detour},
      allowed_(std::min(proxy.limits.deadline, said.timeout.value_or(proxy.limits.deadline))),
      deadline_(began_ + allowed_),
      // A tunnel reads and writes both sides itself, which the passing of a body does, too.
      upgrade_(client_.request.is_done() ? upgrade_of(sent_) : std::string()),
      keep_alive_(client_.request.keep_alive()),
      has_body_(!client_.request.is_done()),
      expects_(client_.request.get().version() >= 11 &&
               is_same_name(view_of(sent_[field::expect]), "100-continue")),
      whole_(!has_body_),
      no_host_(target.authority.empty() && sent_.find(field::host) == sent_.end()),
      limit_(proxy.upstreams.executor()) {
  strip_hop_by_hop(sent_);
  sent_.erase(field::expect);
  // The target's parts lie in the one that is replaced.
  const std::string origin(target.origin);
  if (!target.authority.empty()) sent_.set(field::host, to_beast(target.authority));
  sent_.target(origin);
  // This process speaks HTTP/1.1 to owners, whatever the client spoke.
  sent_.version(11);
  const char* const scheme = client_.stream.has_tls() ? "https" : "http";
  note_passed(sent_, {proxy_.name, client_.address, scheme});
  if (!upgrade_.empty()) {
    sent_.set(field::connection, "upgrade");
    sent_.set(field::upgrade, upgrade_);
  }
}

ForwardedRequest Exchange::ended() const {
  ForwardedRequest made;
  made.client = client_.address;
  made.method = view_of(sent_.method_string());
  made.path = without_query(view_of(sent_.target()));
  made.slot = slot_;
  made.owner = owner_;
  made.tries = tries_;
  made.status = status_;
  made.result = result_.empty() ? result_of(ProxyCount::broken) : result_;
  made.bytes = bytes_;
  made.took = std::chrono::duration_cast<microseconds>(Clock::now() - began_);
  return made;
}

void Exchange::count(ProxyCount what) {
  proxy_.counters.add(what);
  result_ = result_of(what);
}

milliseconds Exchange::left() const {
  return std::max(std::chrono::duration_cast<milliseconds>(deadline_ - Clock::now()),
                  milliseconds{0});
}

milliseconds Exchange::answer_limit() const {
  return body_sent_ ? left() + milliseconds{1} : proxy_.limits.progress;
}

void Exchange::start(Done done) {
  done_ = std::move(done);
  if (whole_) return choose();
  const auto length = client_.request.content_length();
  if (length && *length > proxy_.limits.kept_body) return choose();
  expects_ ? say_continue() : keep_body();
}

void Exchange::cancel() {
  ++attempt_;
  limit_.cancel();
  if (upstream_) upstream_->stream.close();
  guard_.reset();
  done_ = nullptr;
  connecting_.cancel();  // which has a guard of its own
  give_up_wait();
}

// From when the request was read until its answer is. What else the client sends is kept for the
// next request, or for the body that is read later.
void Exchange::watch_client() {
  Input& input = client_.input;
  if (!input.is_reading() && input.received.size() >= kAheadMax) return;
  input.more(client_.keeps_alive, std::nullopt, [weak = weak_from_this()](Error error) {
    const auto self = weak.lock();
    if (!self || !self->done_) return;
    error ? self->on_client_gone() : self->watch_client();
  });
}

void Exchange::on_client_gone() {
  if (ending_) return;
  count(ProxyCount::broken);
  const Done done = done_;
  cancel();
  client_.stream.close();
  done(false);
}

void Exchange::say_continue() {
  client_.stream.expires_after(proxy_.limits.progress);
  boost::asio::async_write(client_.stream, boost::asio::buffer(kContinue),
                           Stream::Moved([self = shared_from_this()](Error error, std::size_t) {
                             error ? self->finish(false) : self->keep_body();
                           }));
}

void Exchange::keep_body() {
  expects_ = false;
  client_.stream.expires_after(proxy_.limits.progress);
  keep_more();
}

std::size_t Exchange::kept_most() const {
  return client_.request.content_length().value_or(proxy_.limits.kept_body);
}

void Exchange::keep_more() {
  if (got_ == kept_.size()) kept_.resize(std::min(std::max(kKeptFirst, 2 * got_), kept_most()));
  if (!client_.held.take(kept_.size() + kNotesMost, true)) {
    count(ProxyCount::refused);
    return answer(503, kTooMuch);
  }
  client_.request.get().body().data = kept_.data() + got_;
  client_.request.get().body().size = kept_.size() - got_;
  read_body(client_.stream, client_.input.received, client_.request,
            [self = shared_from_this()](Error error, std::size_t) { self->on_kept(error); });
}

void Exchange::on_kept(Error error) {
  if (!done_) return;
  if (error && error != http::error::need_buffer) return on_broken_body(error);
  got_ = kept_.size() - client_.request.get().body().size;
  whole_ = client_.request.is_done();
  if (!whole_ && (!error || kept_.size() < kept_most())) return keep_more();
  deadline_ = Clock::now() + allowed_;  // a client that sends slowly does not use it up
  if (!client_.held.take(kept_.size(), false)) {
    count(ProxyCount::refused);
    return answer(503, kTooMuch);
  }
  choose();
}

// A client that is still there hears why.
void Exchange::on_broken_body(Error error) {
  count(ProxyCount::broken);
  if (informs_) return finish(false);
  if (error == http::error::buffer_overflow) {
    return answer(400, "the request's chunk extensions and trailers are longer than " +
                           std::to_string(kNotesMost) + " bytes");
  }
  const bool is_malformed =
      error.category() == make_error_code(http::error::bad_chunk).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message;
  is_malformed ? answer(400, "the request's body is malformed: " + error.message()) : finish(false);
}

void Exchange::send(const Direction& direction) {
  ++attempt_;
  ++tries_;
  owner_ = direction.endpoint;
  body_begun_ = body_sent_ = false;
  sent_under_ = direction.epoch;
  on_detour_ = direction.detour;
  stopping_.reset();
  guard_ = direction.guard;
  if (guard_ && proxy_.limits.handover_grace) when_stopped(&Exchange::on_stopped);
  PeerFields said;
  said.epoch = direction.epoch;
  said.hops = visit_.hops + 1;
  said.timeout = std::max(left() - kBack, left() / 2);
  said.slot = slot_;
  said.detour = direction.detour;
  write_peer_fields(sent_, said);
  if (no_host_) sent_.set(field::host, direction.endpoint);
  if (has_body_ && whole_) sent_.content_length(got_);
  if (has_body_ && !whole_) {
    if (!client_.request.content_length()) sent_.chunked(true);
    sent_.set(field::expect, "100-continue");
  }
  sent_.body().data = kept_.data();
  sent_.body().size = whole_ ? got_ : 0;
  sent_.body().more = !whole_;
  sending_.emplace(sent_);
  const auto on_sent = [self = shared_from_this(), upstream = upstream_, attempt = attempt_](
                           Error error, std::size_t) {
    if (!self->done_ || attempt != self->attempt_) return;
    if (error == boost::beast::error::timeout) {
      self->answer_.emplace();
      return self->on_broken(error);
    }
    // An owner may answer, and close, before it has read everything: what it said is read.
    self->body_sent_ = self->whole_;
    self->read_head();
    if (!self->whole_) self->begin_body();
  };
  const milliseconds limit = std::min(proxy_.limits.progress, left() + milliseconds{1});
  if (whole_) return upstream_->stream.write(*sending_, limit, on_sent);
  upstream_->stream.expires_after(limit);
  http::async_write_header(upstream_->stream, *sending_, Stream::Moved(on_sent));
}

// The client sends its body once the owner wants it, or has not said that it does not.
void Exchange::begin_body() {
  limit_.expires_after(kContinueLimit);
  limit_.async_wait([self = shared_from_this(), attempt = attempt_](Error error) {
    if (!error && attempt == self->attempt_ && self->done_) self->pass_body();
  });
}

void Exchange::pass_body() {
  if (informs_) {
    body_due_ = true;
    return;
  }
  if (std::exchange(body_begun_, true) || answered_) return;
  limit_.cancel();
  if (got_ > 0) {
    // What was kept of a body that turned out to be long.
    body_part_.assign(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(got_));
    return send_body_part(std::exchange(got_, 0));
  }
  if (!expects_) return read_body_part();
  expects_ = false;
  begin_informing();
  boost::asio::async_write(client_.stream, boost::asio::buffer(kContinue),
                           Stream::Moved([self = shared_from_this()](Error error, std::size_t) {
                             self->on_informed(error, &Exchange::read_body_part);
                           }));
}

// What of it was read ahead is parsed first.
void Exchange::read_body_part() {
  client_.input.pause([weak = weak_from_this(), attempt = attempt_] {
    const auto self = weak.lock();
    if (!self || !self->done_ || attempt != self->attempt_ || self->answered_) return;
    self->read_paused_body();
  });
}

void Exchange::read_paused_body() {
  body_part_.resize(kPart);
  client_.input.received.reserve(kPart);
  give_room(client_.request.get().body(), body_part_);
  client_.stream.expires_after(proxy_.limits.progress);
  reads_body_ = true;
  read_body(client_.stream, client_.input.received, client_.request,
            [self = shared_from_this(), attempt = attempt_](Error error, std::size_t) {
              self->reads_body_ = false;
              if (self->finished_) return self->end(/*keep_alive=*/false);
              if (attempt == self->attempt_) self->on_body_part(error);
            });
}

void Exchange::on_body_part(Error error) {
  if (!done_ || answered_) return;
  if (error && error != http::error::need_buffer) return on_broken_body(error);
  const std::size_t part = body_part_.size() - client_.request.get().body().size;
  if (part == 0 && !client_.request.is_done()) return read_body_part();
  send_body_part(part);
}

// Beast takes a part of no bytes for a chunk, and writes the body's end twice.
void Exchange::send_body_part(std::size_t size) {
  sent_.body().data = size == 0 ? nullptr : body_part_.data();
  sent_.body().size = size;
  sent_.body().more = !client_.request.is_done();
  const auto then = [self = shared_from_this(), upstream = upstream_, attempt = attempt_](
                        Error error, std::size_t) {
    if (!self->done_ || self->answered_ || attempt != self->attempt_) return;
    // What went wrong there, its answer says.
    if (error && error != http::error::need_buffer) return;
    self->on_body_part_sent();
  };
  upstream_->input.extend(upstream_, proxy_.limits.progress);
  upstream_->stream.write(*sending_, proxy_.limits.progress, then);
}

// While a part is awaited the client is late, and not the owner: the client's limit ends first.
void Exchange::on_body_part_sent() {
  const bool is_last = client_.request.is_done() && !sent_.body().more;
  if (!is_last) {
    upstream_->input.extend(upstream_, 2 * proxy_.limits.progress);
    return read_body_part();
  }
  body_sent_ = true;
  deadline_ = Clock::now() + allowed_;
  upstream_->input.extend(upstream_, answer_limit());
  watch_client();
}

}  // namespace neliroute::forward
