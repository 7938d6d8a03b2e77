#include "admin/event_hub.h"

#include <algorithm>
#include <neliroute/clock.h>
#include <utility>

namespace neliroute::admin {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kTransitionBytesMax = std::size_t{1} << 20;

}  // namespace

EventHub::EventHub(boost::asio::any_io_executor strand, Site& site, const AdminLimits& limits)
    : site_(site),
      limits_(limits),
      flush_timer_(strand),
      age_timer_(strand),
      limit_(limits.stream_bytes) {}

// A client must not end the process, which may own slots, if memory is short for an event. Clients
// that are closed come back, and begin with the whole view.
template <class Step>
void EventHub::or_close_streams(const Step& step) {
  try {
    step();
  } catch (...) {
    close_streams();
    transitions_.clear();
    site_.view().settle();
  }
}

void EventHub::join(boost::beast::tcp_stream client, std::string header, Kept first,
                    Place place) {
  if (closed_) return;
  or_close_streams([&] {
    const auto stream =
        std::make_shared<EventStream>(std::move(client), limits_.write, std::move(place));
    streams_.push_back(stream);  // first: what is under way keeps it alive, whatever fails then
    limit_ = std::max(limits_.stream_bytes, 2 * first.text->size());
    stream->start(std::move(header), std::move(first), limit_);
    if (stream->closed()) streams_.pop_back();
    if (!ageing_) await_age();
  });
}

// Many connect at once after a server was restarted: they share one text.
Text EventHub::first_events() {
  Text whole = site_.whole(boot_now());
  if (whole != rendered_) {
    rendered_ = std::move(whole);
    const AdminView& view = site_.view();
    const LocalTime now = boot_now();
    std::string text = "retry: 1000\n" + event_text("view", *rendered_);
    if (view.assignment().known()) text += event_text("assignment", view.assignment().whole(now));
    text += event_text("moves", view.moves(now));
    first_ = std::make_shared<const std::string>(std::move(text));
  }
  return first_;
}

void EventHub::changed() {
  if (!anybody()) return site_.view().settle();  // a new client gets everything
  flush_soon();
}

void EventHub::transition(std::string line) {
  if (!anybody()) return;
  if (transitions_.size() > kTransitionBytesMax) {
    ++transitions_dropped_;
    return;
  }
  transitions_ += event_text("transition", line);
  flush_soon();
}

void EventHub::flush_soon() {
  if (closed_ || std::exchange(flushing_, true)) return;
  flush_timer_.expires_at(std::max(last_flush_ + limits_.merge, steady_clock::now()));
  flush_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (self && !error) self->flush();
  });
}

// May have been queued when the server, and its site with it, was destroyed.
void EventHub::flush() {
  if (closed_) return;
  flushing_ = false;
  last_flush_ = steady_clock::now();
  or_close_streams([this] { send_changes(); });
}

void EventHub::send_changes() {
  std::string text = std::exchange(transitions_, {});
  if (const std::size_t dropped = std::exchange(transitions_dropped_, 0)) {
    text += ": " + std::to_string(dropped) + " transitions left out, too many at once\n\n";
  }
  AdminView& view = site_.view();
  const LocalTime now = boot_now();
  if (view.renumbered()) {
    text += event_text("view", *site_.whole(now));
  } else if (view.has_changed()) {
    text += event_text("changed", view.changes(now));
  }
  if (view.assignment().has_changed()) {
    text += event_text("assignment", view.assignment().changes(now));
  }
  view.settle();
  if (!text.empty()) broadcast(std::move(text));
}

void EventHub::await_age() {
  ageing_ = !closed_ && anybody();
  if (!ageing_) return;
  const auto now = steady_clock::now();
  const auto due = last_sent_ + limits_.age;
  age_timer_.expires_at(due > now ? due : now + limits_.age);
  age_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!self || error || self->closed_) return;
    if (steady_clock::now() >= self->last_sent_ + self->limits_.age) {
      self->or_close_streams([&self] {
        self->broadcast(event_text("age", self->site_.view().age(boot_now())));
      });
    }
    self->await_age();
  });
}

void EventHub::broadcast(std::string text) {
  last_sent_ = steady_clock::now();
  const auto shared = std::make_shared<const std::string>(std::move(text));
  // A whole view may be sent here, too, with more processes than when the clients connected.
  limit_ = std::max(limit_, 2 * shared->size());
  std::erase_if(streams_, [&](const std::shared_ptr<EventStream>& stream) {
    stream->send({shared, nullptr}, limit_);
    return stream->closed();
  });
}

void EventHub::close() {
  closed_ = true;
  flush_timer_.cancel();
  age_timer_.cancel();
  close_streams();
}

void EventHub::close_streams() {
  for (const auto& stream : std::exchange(streams_, {})) {
    if (stream) stream->close();  // none where broadcast() did not come to its end
  }
}

}  // namespace neliroute::admin
