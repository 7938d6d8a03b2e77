// Exchange: reading the owner's answer, and passing it on to the client.
#include <algorithm>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/write.hpp>
#include <limits>
#include <utility>

#include "forward/exchange/exchange.h"
#include "forward/rules/beast_text.h"

namespace neliroute::forward {
namespace {

namespace http = boost::beast::http;
using http::field;

constexpr std::uint32_t kHeaderMax = 64 * 1024;
constexpr unsigned kSwitching = 101;

bool has_no_body(unsigned status, const RequestHeader& request) {
  return request.method() == http::verb::head || status == 204 || status == 304;
}

}  // namespace

// An owner may answer, and close, before it has read everything: what it said is read.
Awaitable<Exchange::Again> Exchange::receive() {
  body_sent_ = whole_;
  if (!whole_) begin_body();
  unsigned status = 0;
  while (status < 200) {
    if (status > 0) {
      const Error untold = co_await inform(status);
      if (untold) {
        count(ProxyCount::broken);
        co_return false;
      }
      expect_head();
    }
    Error error = head_at_hand();
    while (error == http::error::need_more) {
      const Outcome more = co_await await_moved([this](const Stream::Moved& then) {
        upstream_->input.more(upstream_, answer_limit(), [then](Error ended) { then(ended, 0); });
      });
      check();
      error = more.error ? more.error : head_at_hand();
    }
    if (error) co_return broken(error);
    if (const auto fault = fault_of(answer_->get().base())) {
      count(ProxyCount::failed);
      co_return reply(502, "the owner's answer is malformed: " + *fault);
    }
    status = answer_->get().result_int();
    if (status == kSwitching) {
      co_await tunnel();
      co_return false;
    }
  }
  const bool ours = answer_->get().find(to_beast(kSlotField)) != answer_->get().end();
  if (status == kMisdirected && ours) co_return misdirected();
  const bool bodiless = has_no_body(status, sent_);
  const Error error = bodiless ? Error{} : take_part_at_hand();
  if (error) co_return broken(error);
  make_passed_head();
  note_forwarded();
  Error failed = pass_at_once();
  if (failed == boost::asio::error::would_block) failed = co_await pass_answer();
  end_answer(failed);
  co_return false;
}

void Exchange::expect_head() {
  answer_.emplace();
  answer_->header_limit(kHeaderMax);
  answer_->body_limit(std::numeric_limits<std::uint64_t>::max());
  answer_->skip(sent_.method() == http::verb::head);
}

// A connection that was kept is being read already. Where it was closed from here, what had come
// counts no more.
Exchange::Error Exchange::head_at_hand() {
  if (handed_over_ || body_error_) return boost::asio::error::operation_aborted;
  Input& input = upstream_->input;
  if (input.is_reading()) return http::error::need_more;
  return answer_->take(input.received);
}

// Not to a client of HTTP/1.0, which knows no such status.
Awaitable<Exchange::Error> Exchange::inform(unsigned status) {
  if (status == 100) {
    limit_.cancel();
    co_return Error{};
  }
  if (client_.request.get().version() < 11) co_return Error{};
  http::response<http::empty_body> note(answer_->get().base());
  strip_hop_by_hop(note);
  note.erase(field::content_length);
  co_return co_await tell_client([&](Stream::Moved then) {
    http::async_write(client_.stream, note, std::move(then));
  });
}

// A request of which no byte was answered may have been carried out all the same.
bool Exchange::begins_again() {
  if (!may_send_again() || answer_->got_some() || !is_idempotent(sent_)) return false;
  proxy_.counters.add(ProxyCount::resent);
  search_.note_resent();
  end_attempt();
  return true;
}

Exchange::Again Exchange::broken(Error error) {
  if (body_error_) return refuse_body(*body_error_);
  const bool late = !handed_over_ && error == boost::beast::error::timeout;
  if (!late && begins_again()) return true;
  count(ProxyCount::failed);
  if (handed_over_) {
    return reply(504, "another process serves this key now, and this one did not answer in time");
  }
  if (late) return reply(504, "the owner did not answer in time");
  return reply(502, answer_->got_some() ? "the owner's answer is malformed or incomplete"
                                        : "the owner closed the connection before it answered");
}

// It has not served the request, whatever the method is. A store may have told the application of a
// new owner that this process does not know, as one whose executor hangs does not. Others know it.
Exchange::Again Exchange::misdirected() {
  proxy_.counters.add(ProxyCount::misdirected);
  heed_redirect();
  if (may_send_again()) {
    search_.note_misdirected(direction_);
    end_attempt();
    return true;
  }
  if (!guard_) return refuse(search_.nobody());
  count(ProxyCount::refused);
  return reply(421, "this process's application says that it does not serve this key: ask "
                    "another one");
}

// A greater epoch is heeded where no record can tell of it.
void Exchange::heed_redirect() {
  if (!search_.stale() || guard_) return;
  const ResponseHeader& head = answer_->get().base();
  const auto read = read_peer_fields(head);
  const auto* said = std::get_if<PeerFields>(&read);
  const auto owner = head.find(to_beast(kOwnerField));
  if (said == nullptr || said->epoch <= direction_.epoch || owner == head.end()) return;
  proxy_.directions.redirected(slot_, view_of(owner->value()), said->epoch);
}

void Exchange::note_forwarded() {
  answered_ = true;
  limit_.cancel();
  search_.note_answered(direction_);
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
  keep_alive_ = client_keeps_alive() && (sized || !old);
  status_ = status;
  passed_->version(11);
  if (!sized && !old) passed_->chunked(true);
  if (!keep_alive_) {
    passed_->set(field::connection, "close");
  } else if (old) {
    passed_->set(field::connection, "keep-alive");
  }
  passing_.emplace(*passed_);
}

// Most answers are in one piece. would_block: not all of it was passed on.
Exchange::Error Exchange::pass_at_once() {
  if (tells_client_ || has_no_body(status_, sent_) || !answer_->is_done()) {
    return boost::asio::error::would_block;
  }
  ending_ = true;
  take_part();
  return write_at_once(client_.stream, *passing_);
}

// What came of the body with the head goes on with it, in one write; then one part after the other:
// the owner is read no faster than the client takes it.
Awaitable<Exchange::Error> Exchange::pass_answer() {
  if (ending_) co_return co_await write_part();
  if (tells_client_) co_await client_turn();
  bool more = !has_no_body(status_, sent_);
  ending_ = !more;
  Error error;
  if (!more || (part_taken() == 0 && !answer_->is_done())) {
    set_body(*passed_, nullptr, 0, !answer_->is_done());
    error = co_await timed(client_.stream, proxy_.limits.progress, [this](Stream::Moved then) {
      http::async_write_header(client_.stream, *passing_, std::move(then));
    });
    if (more && !error) error = co_await read_part();
  }
  while (more && !error) {
    more = !answer_->is_done();
    ending_ = !more;
    take_part();
    error = write_at_once(client_.stream, *passing_);
    if (error == boost::asio::error::would_block) error = co_await write_part();
    if (more && !error) error = co_await read_part();
  }
  co_return error;
}

Awaitable<Exchange::Error> Exchange::write_part() {
  return timed(client_.stream, proxy_.limits.progress, [this](Stream::Moved then) {
    http::async_write(client_.stream, *passing_, std::move(then));
  });
}

// The client sees by the framing that the answer is cut short.
void Exchange::end_answer(Error error) {
  if (error) {
    count(ProxyCount::broken);
    client_.stream.close();
  }
  reusable_ = !error && keep_alive_;
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

Awaitable<Exchange::Error> Exchange::read_part() {
  const UpstreamPtr upstream = upstream_;
  Error error;
  do {
    part_.resize(kPart);
    give_room(answer_->get().body(), part_);
    upstream->input.received.reserve(kPart);
    error = co_await timed(upstream->stream, proxy_.limits.progress, [&](Stream::Moved then) {
      read_body(upstream->stream, upstream->input.received, *answer_, std::move(then));
    });
  } while (!error && part_taken() == 0 && !answer_->is_done());
  co_return error;
}

void Exchange::take_part() {
  const std::size_t part = part_taken();
  bytes_ += part;
  set_body(*passed_, part_.data(), part, !answer_->is_done());
}

Awaitable<> Exchange::tunnel() {
  if (upgrade_.empty()) {
    count(ProxyCount::failed);
    reply(502, "the owner switched to another protocol, and nobody asked it to");
    co_return;
  }
  http::response<http::empty_body> head(answer_->get().base());
  const std::string protocol(view_of(head[field::upgrade]));
  strip_hop_by_hop(head);
  strip_peer_fields(head);
  head.erase(field::content_length);
  note_passed(head, proxy_.name);
  head.set(field::connection, "upgrade");
  head.set(field::upgrade, protocol);
  note_forwarded();
  status_ = kSwitching;
  const Error untold = co_await tell_client([&](Stream::Moved then) {
    http::async_write(client_.stream, head, std::move(then));
  });
  if (untold) co_return;
  tunnel_ = std::make_shared<Tunnel>(client_.stream, client_.keeps_alive, upstream_,
                                     proxy_.limits.tunnel);
  if (guard_) {
    when_stopped();
    guard_.reset();
  }
  co_await pause_client();
  co_await tunnel_->run(client_.input.received);
  check();
}

}  // namespace neliroute::forward
