// Exchange: one attempt after the other, and what ends them.
#include "forward/exchange/exchange.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/write.hpp>
#include <utility>

#include "forward/rules/beast_text.h"

namespace neliroute::forward {
namespace {

namespace http = boost::beast::http;
using http::field;

// Of what a client sends behind a request that is under way. A client that has sent more is not
// watched.
constexpr std::size_t kAheadMax = std::size_t{16} * 1024;

// Only after its final answer: behind another one there is more to come of this request. Whoever
// frames a body that an answer cannot have may send it, too: that would be taken for the next
// answer. To HEAD some servers send it whatever they say.
bool may_have_more(unsigned status, const RequestHeader& request,
                   const MessageParser<false>& answer) {
  const bool framed = answer.chunked() || answer.content_length().value_or(0) > 0;
  return request.method() == http::verb::head || ((status == 204 || status == 304) && framed);
}

}  // namespace

Exchange::Exchange(Proxy& proxy, ClientSide client, const Target& target, Slot slot,
                   PeerFields said)
    : proxy_(proxy),
      client_(std::move(client)),
      allowance_(std::min(proxy.limits.deadline, said.timeout.value_or(proxy.limits.deadline))),
      search_(proxy, {slot, said.epoch, said.hops, said.detour}, allowance_),
      limit_(proxy.upstreams.executor()),
      changed_(proxy.upstreams.executor()),
      sent_(std::move(client_.request.get().base())),
      slot_(slot),
      hops_(said.hops),
      // A tunnel reads and writes both sides itself, which the passing of a body does, too.
      upgrade_(client_.request.is_done() ? upgrade_of(sent_) : std::string()),
      keep_alive_(client_.request.keep_alive()),
      has_body_(!client_.request.is_done()),
      expects_(client_.request.get().version() >= 11 &&
               is_same_name(view_of(sent_[field::expect]), "100-continue")),
      whole_(!has_body_),
      no_host_(target.authority.empty() && sent_.find(field::host) == sent_.end()),
      grace_(proxy.upstreams.executor()) {
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
  made.bytes = bytes_ + (tunnel_ ? tunnel_->bytes_to_client() : 0);
  made.took = std::chrono::duration_cast<microseconds>(Clock::now() - began_);
  return made;
}

void Exchange::count(ProxyCount what) {
  proxy_.counters.add(what);
  result_ = result_of(what);
}

void Exchange::start(Done done) {
  done_ = std::move(done);
  boost::asio::co_spawn(
      proxy_.upstreams.executor(), run(),
      [self = shared_from_this()](const std::exception_ptr& thrown) { rethrow_other(thrown); });
}

Awaitable<> Exchange::run() {
  Again again = true;
  if (!whole_ && is_kept()) again = co_await keep_body();
  while (again) {
    Unsent unsent;
    if (!sent_at_once()) unsent = co_await attempt();
    again = unsent.value_or(false);
    if (!unsent) again = co_await receive();
  }
  if (reply_) co_await write_reply();
  release();
  while (passes_body_) co_await await_change();
  std::exchange(done_, nullptr)(reusable_);
}

// Most requests are, on a connection that was kept. That spares them the memory of coroutines.
bool Exchange::sent_at_once() {
  watch_client();
  direction_ = search_.look();
  upstream_ = search_.kept(direction_, must_be_sent_once());
  return upstream_ && begin_attempt() != boost::asio::error::would_block;
}

Awaitable<Exchange::Unsent> Exchange::attempt() {
  Error error = boost::asio::error::would_block;
  if (!upstream_) {
    auto found = co_await search_.next(direction_, must_be_sent_once(), whole_);
    if (const auto* refusal = std::get_if<OwnerSearch::Refusal>(&found)) co_return refuse(*refusal);
    upstream_ = std::move(std::get<UpstreamPtr>(found));
    error = begin_attempt();
  }
  if (error == boost::asio::error::would_block) error = co_await send();
  if (error == boost::beast::error::timeout) co_return broken(error);
  co_return std::nullopt;
}

// would_block: it is not sent yet, or not all of it.
Exchange::Error Exchange::begin_attempt() {
  ++tries_;
  owner_ = direction_.endpoint;
  follow_guard();
  prepare();
  expect_head();
  return whole_ ? write_at_once(upstream_->stream, *sending_) : boost::asio::error::would_block;
}

void Exchange::cancel() {
  done_ = nullptr;
  limit_.cancel();
  changed_.cancel();
  grace_.cancel();
  stopping_.reset();
  end_attempt();  // or its upstream would keep who awaits it, which keeps this
  search_.cancel();
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

// Whoever reads the client itself.
Awaitable<> Exchange::pause_client() {
  if (!client_.input.is_reading()) co_return;
  co_await await_moved([this](const Stream::Moved& then) {
    client_.input.pause([then] { then({}, 0); });
  });
  check();
}

void Exchange::follow_guard() {
  handed_over_ = false;
  stopping_.reset();
  guard_ = std::move(direction_.guard);
  if (guard_ && proxy_.limits.handover_grace) when_stopped();
}

// On the executor, once the partition that the guard is of has stopped.
void Exchange::when_stopped() {
  stopping_.emplace(guard_->work().stop_token(), [weak = weak_from_this()] {
    auto self = weak.lock();
    if (!self) return;
    // The last owner of it must not be this thread.
    const boost::asio::any_io_executor executor = self->proxy_.upstreams.executor();
    boost::asio::post(executor, [self = std::move(self)] {
      if (self->done_) self->on_stopped();
    });
  });
}

// The next owner waits for the guard, which ends a while later. A tunnel may last for hours, and
// would hold up every hand-over: it has none, and ends at once.
void Exchange::on_stopped() {
  if (tunnel_) return tunnel_->end();
  if (!guard_ || !guard_->work().stop_requested()) return;
  grace_.expires_after(*proxy_.limits.handover_grace);
  grace_.async_wait([weak = weak_from_this(), attempt = tries_](Error) {
    const auto self = weak.lock();
    if (self && self->done_ && attempt == self->tries_ && self->guard_) self->on_handed_over();
  });
}

// A client that reads nothing, or an application that answers late. What waits for it goes on.
void Exchange::on_handed_over() {
  handed_over_ = true;
  if (answered_ || tells_client_) client_.stream.close();
  upstream_->stream.close();
}

Exchange::Again Exchange::refuse(const OwnerSearch::Refusal& refusal) {
  count(refusal.count);
  return reply(refusal.status, refusal.text, refusal.owner);
}

Exchange::Again Exchange::reply(unsigned status, const std::string& text, const Direction& owner) {
  answered_ = true;
  limit_.cancel();
  end_attempt();
  status_ = status;
  bytes_ = text.size() + 1;
  // Whoever sent it here looks again who the owner is, and not on this connection.
  const bool misdirected = status == kMisdirected;
  keep_alive_ = client_keeps_alive() && !misdirected;
  reply_ = text_answer(status, text, sent_.method() == http::verb::head, keep_alive_);
  if (misdirected) {
    PeerFields said;
    said.slot = slot_;
    said.epoch = owner.epoch;
    write_peer_fields(*reply_, said);
    if (!owner.endpoint.empty()) reply_->set(to_beast(kOwnerField), owner.endpoint);
  }
  if (search_.stale()) reply_->set(to_beast(kStaleField), "1");
  note_passed(*reply_, proxy_.name);
  return false;
}

Awaitable<> Exchange::write_reply() {
  co_await client_turn();
  ending_ = true;
  const Error untold = co_await tell_client([this](Stream::Moved then) {
    http::async_write(client_.stream, *reply_, std::move(then));
  });
  reusable_ = keep_alive_ && !untold;
}

// What still reads or writes the upstream keeps it, and ends at once.
void Exchange::end_attempt() {
  if (const UpstreamPtr upstream = std::exchange(upstream_, nullptr)) upstream->stream.close();
  direction_.guard.reset();
  guard_.reset();
}

void Exchange::release() {
  answered_ = true;  // no body is passed on any more
  stopping_.reset();
  limit_.cancel();
  const bool is_free = upstream_ && passed_ && answer_->is_done() && answer_->keep_alive() &&
                       body_sent_ && !may_have_more(passed_->result_int(), sent_, *answer_);
  if (is_free) proxy_.upstreams.give_back(std::exchange(upstream_, nullptr));
  end_attempt();
  // Nobody else may read the client meanwhile.
  if (passes_body_ && !client_.request.is_done()) client_.stream.cancel();
}

Awaitable<> Exchange::client_turn() {
  while (tells_client_) co_await await_change();
}

// Meanwhile nothing else is written to the client, which may take its time.
Awaitable<Exchange::Error> Exchange::tell_client(std::function<void(Stream::Moved)> write) {
  co_await client_turn();
  tells_client_ = true;
  const Error error = co_await timed(client_.stream, proxy_.limits.progress, std::move(write));
  tells_client_ = false;
  changed_.cancel();
  co_return error;
}

Awaitable<Exchange::Error> Exchange::timed(Stream& stream, milliseconds limit,
                                           std::function<void(Stream::Moved)> start) {
  stream.expires_after(limit);
  const Outcome moved = co_await await_moved(std::move(start));
  check();
  co_return unless_more(moved.error);
}

Awaitable<> Exchange::await_change() {
  changed_.expires_at(Clock::time_point::max());
  co_await await_timer(changed_);
  check();
}

}  // namespace neliroute::forward
