// Exchange: reading the owner's answer, and passing it on to the client.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/write.hpp>
#include <limits>
#include <utility>

#include "forward/exchange.h"
#include "forward/rules/beast_text.h"
#include "forward/text_answer.h"

namespace neliroute::forward {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using http::field;

constexpr std::uint32_t kHeaderMax = 64 * 1024;
constexpr unsigned kSwitching = 101;
constexpr unsigned kMisdirected = 421;

bool has_no_body(unsigned status, const RequestHeader& request) {
  return request.method() == http::verb::head || status == 204 || status == 304;
}

// Whoever frames a body that such an answer cannot have may send it, too: that would be taken for
// the next answer. To HEAD some servers send it whatever they say.
bool may_have_more(unsigned status, const RequestHeader& request,
                   const MessageParser<false>& answer) {
  const bool framed = answer.chunked() || answer.content_length().value_or(0) > 0;
  return request.method() == http::verb::head || ((status == 204 || status == 304) && framed);
}

}  // namespace

void Exchange::read_head() {
  answer_.emplace();
  answer_->header_limit(kHeaderMax);
  answer_->body_limit(std::numeric_limits<std::uint64_t>::max());
  answer_->skip(sent_.method() == http::verb::head);
  await_head();
}

// A connection that was kept is being read already.
void Exchange::await_head() {
  Input& input = upstream_->input;
  if (!input.is_reading()) {
    const Error error = answer_->take(input.received);
    if (error != http::error::need_more) return on_head(error);
  }
  input.more(upstream_, answer_limit(), [weak = weak_from_this(), attempt = attempt_](Error error) {
    const auto self = weak.lock();
    if (!self || !self->done_ || attempt != self->attempt_) return;
    error ? self->on_head(error) : self->await_head();
  });
}

// It goes behind what the client is being told.
void Exchange::on_head(Error error) {
  if (informs_) {
    head_ = error;
    return;
  }
  if (error) return on_broken(error);
  const ResponseHeader& head = answer_->get().base();
  if (const auto fault = fault_of(head)) {
    count(ProxyCount::failed);
    return answer(502, "the owner's answer is malformed: " + *fault);
  }
  const unsigned status = head.result_int();
  if (status < 200) return on_informational(status);
  const bool ours = head.find(to_beast(kSlotField)) != head.end();
  if (status == kMisdirected && ours) return on_misdirected();
  pass_head();
}

bool Exchange::may_send_again() const {
  return whole_ && resends_ < proxy_.limits.resends && left().count() > 0;
}

// A request of which no byte was answered may have been carried out all the same.
bool Exchange::begins_again() {
  if (!may_send_again() || answer_->got_some() || !is_idempotent(sent_)) return false;
  proxy_.counters.add(ProxyCount::resent);
  ++resends_;
  drop_upstream();
  guard_.reset();
  choose();
  return true;
}

void Exchange::on_broken(Error error) {
  if (error != boost::beast::error::timeout && begins_again()) return;
  count(ProxyCount::failed);
  if (error == boost::beast::error::timeout) return answer(504, "the owner did not answer in time");
  answer(502, answer_->got_some() ? "the owner's answer is malformed or incomplete"
                                  : "the owner closed the connection before it answered");
}

// It has not served the request, whatever the method is.
void Exchange::on_misdirected() {
  proxy_.counters.add(ProxyCount::misdirected);
  heed_redirect();
  if (!may_send_again()) return guard_ ? disowned() : unowned();
  if (!on_detour_) {  // of these there are two, and they show nothing new of the owner
    ++resends_;
    note_failure(sent_under_);
    lack_ = Lack::owner_that_takes_it;
  }
  drop_upstream();
  guard_.reset();
  choose();
}

// A greater epoch is heeded where no record can tell of it.
void Exchange::heed_redirect() {
  if (!stale_ || guard_) return;
  const ResponseHeader& head = answer_->get().base();
  const auto read = read_peer_fields(head);
  const auto* said = std::get_if<PeerFields>(&read);
  const auto owner = head.find(to_beast(kOwnerField));
  if (said == nullptr || said->epoch <= sent_under_ || owner == head.end()) return;
  proxy_.directions.redirected(slot_, view_of(owner->value()), said->epoch);
}

void Exchange::on_informational(unsigned status) {
  if (status == kSwitching) {
    if (!upgrade_.empty()) return tunnel();
    count(ProxyCount::failed);
    return answer(502, "the owner switched to another protocol, and nobody asked it to");
  }
  if (status == 100) {
    if (!whole_) pass_body();
    return read_head();
  }
  if (client_.request.get().version() < 11) return read_head();
  const auto note = std::make_shared<http::response<http::empty_body>>(answer_->get().base());
  strip_hop_by_hop(*note);
  note->erase(field::content_length);
  begin_informing();
  http::async_write(client_.stream, *note,
                    Stream::Moved([self = shared_from_this(), note](Error error, std::size_t) {
                      self->on_informed(error, &Exchange::read_head);
                    }));
}

// Meanwhile nothing else is written to the client, which may take its time.
void Exchange::begin_informing() {
  informs_ = true;
  client_.stream.expires_after(proxy_.limits.progress);
}

void Exchange::on_informed(Error error, void (Exchange::*then)()) {
  informs_ = false;
  if (!done_) return;
  if (error) return finish(false);
  if (const auto head = std::exchange(head_, std::nullopt)) on_head(*head);
  if (!done_ || answered_) return;
  if (std::exchange(body_due_, false)) pass_body();
  (this->*then)();
}

void Exchange::note_forwarded() {
  if (on_detour_) proxy_.caution.note_reached(around_);
  count(guard_ ? ProxyCount::served : ProxyCount::forwarded);
  proxy_.counters.note_answer(std::chrono::duration_cast<microseconds>(Clock::now() - began_));
}

void Exchange::make_passed_head() {
  passed_.emplace(std::move(answer_->get().base()));
  const unsigned status = passed_->result_int();
  proxy_.upstreams.heed(*upstream_, *passed_);
  strip_hop_by_hop(*passed_);
  strip_peer_fields(*passed_);
  note_passed(*passed_, proxy_.name);
  if (status == 204) passed_->erase(field::content_length);
  const bool sized = answer_->content_length().has_value() || has_no_body(status, sent_);
  const bool old = client_.request.get().version() < 11;
  const bool keep_alive = client_keeps_alive() && (sized || !old);
  keep_alive_ = keep_alive;
  status_ = status;
  passed_->version(11);
  if (!sized && !old) passed_->chunked(true);
  if (!keep_alive) {
    passed_->set(field::connection, "close");
  } else if (old) {
    passed_->set(field::connection, "keep-alive");
  }
  passing_.emplace(*passed_);
}

// What came of the body with the head goes on with it, in one write.
void Exchange::pass_head() {
  const bool bodiless = has_no_body(answer_->get().result_int(), sent_);
  if (const Error error = bodiless ? Error{} : take_part_at_hand()) return on_broken(error);
  answered_ = true;
  limit_.cancel();
  make_passed_head();
  note_forwarded();
  const std::size_t part = part_taken();
  if (!bodiless && (part > 0 || answer_->is_done())) return write_part(part);
  ending_ = bodiless;
  passed_->body().data = nullptr;
  passed_->body().size = 0;
  passed_->body().more = !answer_->is_done();
  client_.stream.expires_after(proxy_.limits.progress);
  http::async_write_header(client_.stream, *passing_,
                           Stream::Moved([self = shared_from_this()](Error error, std::size_t) {
                             if (!self->done_) return;
                             if (error) return self->finish(false);
                             self->ending_ ? self->finish(self->keep_alive_) : self->pass_part();
                           }));
}

Exchange::Error Exchange::take_part_at_hand() {
  boost::beast::flat_buffer& received = upstream_->input.received;
  if (answer_->is_done()) return {};
  part_.resize(std::min<std::uint64_t>(answer_->content_length().value_or(kPart), kPart));
  give_room(answer_->get().body(), part_);
  const Error error = answer_->take_body(received);
  const bool is_wrong =
      error && error != http::error::need_more && error != http::error::need_buffer;
  return is_wrong ? error : Error{};
}

std::size_t Exchange::part_taken() const {
  return part_.empty() ? 0 : part_.size() - answer_->get().body().size;
}

// One part after the other: the owner is read no faster than the client takes it.
void Exchange::pass_part() {
  if (answer_->is_done()) return on_answer_part({});
  part_.resize(kPart);
  give_room(answer_->get().body(), part_);
  upstream_->input.received.reserve(kPart);
  upstream_->stream.expires_after(proxy_.limits.progress);
  read_body(upstream_->stream, upstream_->input.received, *answer_,
            [self = shared_from_this(), upstream = upstream_](Error error, std::size_t) {
              if (self->done_) self->on_answer_part(error);
            });
}

void Exchange::on_answer_part(Error error) {
  if (error && error != http::error::need_buffer) {
    // The client sees by the framing that the answer is cut short.
    count(ProxyCount::broken);
    client_.stream.close();
    return finish(false);
  }
  const std::size_t part = part_taken();
  if (part == 0 && !answer_->is_done()) return pass_part();
  write_part(part);
}

void Exchange::write_part(std::size_t part) {
  const bool more = !answer_->is_done();
  bytes_ += part;
  ending_ = !more;
  passed_->body().data = part == 0 ? nullptr : part_.data();
  passed_->body().size = part;
  passed_->body().more = more;
  const auto then = [self = shared_from_this(), more](Error failed, std::size_t) {
    if (!self->done_) return;
    if (failed && failed != http::error::need_buffer) {
      self->count(ProxyCount::broken);
      return self->finish(false);
    }
    more ? self->pass_part() : self->finish(self->keep_alive_);
  };
  client_.stream.write(*passing_, proxy_.limits.progress, then);
}

void Exchange::tunnel() {
  answered_ = true;
  const auto head = std::make_shared<http::response<http::empty_body>>(answer_->get().base());
  const std::string protocol(view_of((*head)[field::upgrade]));
  strip_hop_by_hop(*head);
  strip_peer_fields(*head);
  head->erase(field::content_length);
  note_passed(*head, proxy_.name);
  head->set(field::connection, "upgrade");
  head->set(field::upgrade, protocol);
  note_forwarded();
  status_ = kSwitching;
  client_.stream.expires_after(proxy_.limits.progress);
  http::async_write(client_.stream, *head,
                    Stream::Moved([self = shared_from_this(), head](Error error, std::size_t) {
                      if (!self->done_) return;
                      if (error) return self->finish(false);
                      self->client_.stream.expires_never();
                      self->upstream_->stream.expires_never();
                      self->follow_ownership();
                      self->tunnel_used_ = Clock::now();
                      self->watch_tunnel();
                      self->client_.input.pause([weak = self->weak_from_this()] {
                        const auto here = weak.lock();
                        if (here && here->done_) here->begin_tunnel();
                      });
                    }));
}

void Exchange::begin_tunnel() {
  const auto take = [](boost::beast::flat_buffer& received) {
    const auto bytes = received.data();
    const char* const begin = static_cast<const char*>(bytes.data());
    std::vector<char> taken(begin, begin + bytes.size());
    received.consume(received.size());
    return taken;
  };
  body_part_ = take(client_.input.received);
  part_ = take(upstream_->input.received);
  pass_bytes(client_.stream, upstream_->stream, body_part_);
  pass_bytes(upstream_->stream, client_.stream, part_);
}

// On the executor, once the partition that the guard is of has stopped.
void Exchange::when_stopped(void (Exchange::*then)()) {
  stopping_.emplace(guard_->work().stop_token(), [weak = weak_from_this(), then] {
    auto self = weak.lock();
    if (!self) return;
    // The last owner of it must not be this thread.
    const boost::asio::any_io_executor executor = self->proxy_.upstreams.executor();
    boost::asio::post(executor, [self = std::move(self), then] {
      if (self->done_) ((*self).*then)();
    });
  });
}

// The next owner waits for the guard, which ends a while later.
void Exchange::on_stopped() {
  if (!guard_ || !guard_->work().stop_requested()) return;
  const auto grace = std::make_shared<boost::asio::steady_timer>(
      proxy_.upstreams.executor(), *proxy_.limits.handover_grace);
  grace->async_wait([weak = weak_from_this(), grace, attempt = attempt_](Error) {
    const auto self = weak.lock();
    if (self && self->done_ && attempt == self->attempt_) self->on_handed_over();
  });
}

// A tunnel may last for hours, and would hold up every hand-over: it ends when its partition stops.
void Exchange::follow_ownership() {
  if (!guard_) return;
  when_stopped(&Exchange::end_tunnel);
  guard_.reset();
}

// A client that reads nothing, or an application that answers late.
void Exchange::on_handed_over() {
  ++attempt_;
  if (!answer_) answer_.emplace();
  if (!answered_ && !informs_) {
    if (begins_again()) return;
    count(ProxyCount::failed);
    return answer(504, "another process serves this key now, and this one did not answer in time");
  }
  count(ProxyCount::broken);
  client_.stream.close();
  finish(false);
}

// A peer whose machine is gone sends nothing, for ever.
void Exchange::watch_tunnel() {
  limit_.expires_at(tunnel_used_ + proxy_.limits.tunnel);
  limit_.async_wait([self = shared_from_this()](Error error) {
    if (error || !self->done_) return;
    const bool used = Clock::now() < self->tunnel_used_ + self->proxy_.limits.tunnel;
    used ? self->watch_tunnel() : self->end_tunnel();
  });
}

// What reads and writes there fails, and finishes the exchange.
void Exchange::end_tunnel() {
  client_.stream.close();
  if (upstream_) upstream_->stream.close();
}

// What is in the buffer first. Each direction ends by itself.
void Exchange::pass_bytes(Stream& from, Stream& to, std::vector<char>& buffer) {
  const auto end = [self = shared_from_this(), &to] { self->end_direction(to); };
  const auto read = [self = shared_from_this(), &from, &to, &buffer, end] {
    buffer.resize(kPart);
    from.async_read_some(boost::asio::buffer(buffer),
                         [self, &from, &to, &buffer, end](Error error, std::size_t count) {
                           if (error || !self->done_) return end();
                           self->tunnel_used_ = Clock::now();
                           if (&to == &self->client_.stream) self->bytes_ += count;
                           buffer.resize(count);
                           self->pass_bytes(from, to, buffer);
                         });
  };
  if (buffer.empty()) return read();
  boost::asio::async_write(
      to, boost::asio::buffer(buffer),
      Stream::Moved([self = shared_from_this(), read, end](Error error, std::size_t) {
        error || !self->done_ ? end() : read();
      }));
}

void Exchange::end_direction(Stream& to) {
  to.async_end_sending([self = shared_from_this(), upstream = upstream_](Error) {});
  // Few that speak TLS go on reading after the other side has ended.
  if (client_.stream.has_tls() || (upstream_ && upstream_->stream.has_tls())) end_tunnel();
  if (++tunnel_ends_ == 2 && done_) finish(false);
}

void Exchange::unowned() {
  const bool no_way = lack_ == Lack::way_to_owner || lack_ == Lack::way_to_application;
  count(no_way ? ProxyCount::unreached : ProxyCount::unowned);
  if (lack_ == Lack::owner) return answer(503, "nobody serves this key at present; try again");
  if (!no_way) {
    return answer(503, "this key's owner says that it is not at present; try again");
  }
  const std::string why = fault_ ? ": " + std::string(text_of(*fault_)) : "";
  const std::string whom = lack_ == Lack::way_to_application ? "this key's application"
                           : stale_ ? "the log is silent, and this key's last owner"
                                    : "this key's owner";
  answer(503, whom + " cannot be reached" + why + "; try again");
}

// A store may have told the application of a new owner that this process does not know, as one
// whose executor hangs does not. Others know it.
void Exchange::disowned() {
  count(ProxyCount::refused);
  answer(421, "this process's application says that it does not serve this key: ask another one");
}

// This proxy's own.
void Exchange::answer(unsigned status, const std::string& text, const Direction& owner) {
  answered_ = ending_ = true;
  status_ = status;
  bytes_ = text.size() + 1;
  ++attempt_;
  limit_.cancel();
  drop_upstream();
  guard_.reset();
  // Whoever sent it here looks again who the owner is, and not on this connection.
  const bool misdirected = status == kMisdirected;
  keep_alive_ = client_keeps_alive() && !misdirected;
  const auto made = text_answer(status, text, sent_.method() == http::verb::head, keep_alive_);
  if (misdirected) {
    PeerFields said;
    said.slot = slot_;
    said.epoch = owner.epoch;
    write_peer_fields(*made, said);
    if (!owner.endpoint.empty()) made->set(to_beast(kOwnerField), owner.endpoint);
  }
  if (stale_) made->set(to_beast(kStaleField), "1");
  note_passed(*made, proxy_.name);
  client_.stream.expires_after(proxy_.limits.progress);
  http::async_write(client_.stream, *made,
                    Stream::Moved([self = shared_from_this(), made](Error error, std::size_t) {
                      if (self->done_) self->finish(!error && self->keep_alive_);
                    }));
}

// What still reads or writes it keeps it, and ends at once.
void Exchange::drop_upstream() {
  if (const UpstreamPtr upstream = std::exchange(upstream_, nullptr)) upstream->stream.close();
}

void Exchange::finish(bool keep_alive) {
  ++attempt_;
  stopping_.reset();
  limit_.cancel();
  // Only after its final answer: behind another one there is more to come of this request.
  const bool reusable = upstream_ && passed_ && answer_->is_done() && answer_->keep_alive() &&
                        body_sent_ && !may_have_more(passed_->result_int(), sent_, *answer_);
  if (reusable) proxy_.upstreams.give_back(std::exchange(upstream_, nullptr));
  drop_upstream();
  guard_.reset();
  if (!reads_body_) return end(keep_alive);
  // Nobody else may read the client meanwhile.
  finished_ = true;
  client_.stream.cancel();
}

void Exchange::end(bool keep_alive) {
  if (const Done done = std::exchange(done_, nullptr)) done(keep_alive);
}

}  // namespace neliroute::forward
