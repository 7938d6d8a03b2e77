#include "admin/control/steps.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/json/serialize.hpp>
#include <functional>
#include <neliroute/clock.h>
#include <stop_token>
#include <utility>

#include "router/text/json_text.h"

namespace neliroute::admin {
namespace {

namespace json = boost::json;

// Of each partition, besides AdminLimits::stream_bytes: some ten events.
constexpr std::size_t kUnreadEach = 4096;

json::object json_of_process(const ProcessInfo& process) {
  json::object made;
  put_text(made, "name", process.name);
  put_text(made, "endpoint", process.endpoint);
  return made;
}

json::object json_of_predecessor(const Predecessor& one) {
  json::object made = json_of_process(one.process);
  made["epoch"] = neliroute::json_of(one.epoch);
  made["ending"] = to_string(one.ending);
  return made;
}

Steps::Step step_of(std::string_view event, const Transition& t) {
  Steps::Step made{event, t.partition};
  made.fields["epoch"] = neliroute::json_of(t.epoch);
  if (t.previous) made.fields["predecessor"] = json_of_predecessor(*t.previous);
  if (t.successor) made.fields["successor"] = json_of_process(*t.successor);
  if (t.kind == TransitionKind::stopped) made.fields["reason"] = to_string(t.reason);
  return made;
}

}  // namespace

/// What the router calls, on its strand; passes all of it on to the server's.
class Steps::Calls : public Listener {
 public:
  explicit Calls(Steps& of)
      : strand_(of.strand_), of_(of.weak_from_this()), awaits_(of.awaits_) {}

  void prepare(Partition partition, PrepareToken token) override {
    Step step{"prepare", partition};
    if (const Predecessor* const one = token.predecessor()) {
      step.fields["predecessor"] = json_of_predecessor(*one);
    }
    cancelled_.erase(partition);
    cancelled_.try_emplace(partition, token.cancelled(), [this, partition] {
      pass({"cancelled", partition}, {});
    });
    pass(std::move(step), std::move(token));
  }
  void warm_up(const Transition& t, ReadyToken token) override {
    cancelled_.erase(t.partition);
    pass(step_of("warm_up", t), std::move(token));
  }
  void acquired(const Transition& t) override {
    cancelled_.erase(t.partition);
    pass(step_of("acquired", t), {});
  }
  void draining(const Transition& t) override { pass(step_of("draining", t), {}); }
  // After a lapse its time may be over at once.
  void stopped(const Transition& t, BarrierToken token) override {
    const bool over = t.barrier_deadline <= boot_now();
    pass(step_of("stopped", t), over ? BarrierToken{} : std::move(token));
  }
  void barrier_overdue(const Transition& t) override {
    boost::asio::post(strand_, [of = of_, partition = t.partition] {
      const auto steps = of.lock();
      const Last* const last = steps ? steps->last_if(partition, "stopped") : nullptr;
      if (last != nullptr) steps->awaited_.erase(last->seq);
    });
  }
  void released(const Transition& t) override { pass(step_of("released", t), {}); }

 private:
  void pass(Step step, CompletionToken token) {
    if ((*awaits_ & step_bit(step.event)) == 0) token = {};
    boost::asio::post(strand_, [of = of_, step = std::move(step), token = std::move(token)] {
      const auto steps = of.lock();
      if (steps) steps->or_close_streams([&] { steps->tell(step, token); });
    });
  }

  boost::asio::any_io_executor strand_;
  std::weak_ptr<Steps> of_;
  std::shared_ptr<const std::atomic<unsigned>> awaits_;
  std::map<Partition, std::stop_callback<std::function<void()>>> cancelled_;
};

std::unique_ptr<Listener> Steps::listener() { return std::make_unique<Calls>(*this); }

// A program must not end the process, which owns slots, if memory is short for an event. One that
// was closed comes back, and begins with what holds by then.
template <class Work>
void Steps::or_close_streams(const Work& work) {
  if (closed_) return;
  try {
    work();
  } catch (...) {
    close_streams();
  }
}

void Steps::tell(const Step& step, CompletionToken token) {
  const ProcessId id = observable_.facts().id.value_or(ProcessId{});
  constexpr std::uint64_t kBegins = 0xffff'ffff;
  if (seq_ == 0) seq_ = (id.value() & kBegins) << 20;
  const std::uint64_t seq = ++seq_;
  json::object row{{"seq", seq},
                   {"process", to_string(id)},
                   {"event", step.event},
                   {"partition", step.partition.value()}};
  for (const auto& field : step.fields) row[field.key()] = field.value();
  const auto text =
      std::make_shared<const std::string>(event_text(step.event, json::serialize(row)));
  note(step, seq, text);
  if ((*awaits_ & step_bit(step.event)) != 0) {
    awaited_.emplace(seq, Awaited{step.event, std::move(token)});
  }
  const std::size_t limit =
      limits_.stream_bytes + kUnreadEach * observable_.facts().settings.partitions;
  for (const Stream& stream : streams_) stream.to->send({text, nullptr}, limit);
  std::erase_if(streams_, [](const Stream& stream) { return stream.to->closed(); });
}

// A release is told once it is stored: the partition may be claimed or led again by then.
void Steps::note(const Step& step, std::uint64_t seq, const Text& text) {
  if (step.event == "released") return forget(step.partition, "stopped");
  if (step.event == "cancelled") return forget(step.partition, "prepare");
  Last& last = last_[step.partition];
  awaited_.erase(last.seq);  // whatever follows it, it is over
  last = {seq, step.event, text};
}

void Steps::forget(Partition partition, std::string_view event) {
  const Last* const last = last_if(partition, event);
  if (last == nullptr) return;
  awaited_.erase(last->seq);
  last_.erase(partition);
}

/// Null: the partition's last event is another one, or it has none.
const Steps::Last* Steps::last_if(Partition partition, std::string_view event) const {
  const auto last = last_.find(partition);
  return last != last_.end() && last->second.event == event ? &last->second : nullptr;
}

Text Steps::first() const {
  std::vector<const Last*> all;
  for (const auto& [partition, last] : last_) all.push_back(&last);
  std::sort(all.begin(), all.end(), [](const Last* a, const Last* b) { return a->seq < b->seq; });
  std::string text = "retry: 1000\n\n";
  for (const Last* last : all) text += *last->text;
  return std::make_shared<const std::string>(std::move(text));
}

void Steps::join(boost::beast::tcp_stream client, std::string header, Kept first,
                 unsigned awaits, Place place) {
  or_close_streams([&] {
    std::erase_if(streams_, [](const Stream& stream) { return stream.to->closed(); });
    // Whatever closes the stream lets go of its place.
    Place until_closed(static_cast<void*>(this), [weak = weak_from_this(), place](void*) {
      if (const auto self = weak.lock()) self->note_who_awaits();
    });
    const auto stream = std::make_shared<EventStream>(std::move(client), limits_.write,
                                                      std::move(until_closed));
    streams_.push_back({stream, awaits});
    note_who_awaits();
    const std::size_t limit = header.size() + first.text->size();
    stream->start(std::move(header), std::move(first), limit);
  });
}

// Nothing waits on for who has gone.
void Steps::note_who_awaits() {
  unsigned all = 0;
  for (const Stream& stream : streams_) {
    if (!stream.to->closed()) all |= stream.awaits;
  }
  const unsigned gone = awaits_->exchange(all) & ~all;
  if (gone == 0) return;
  std::erase_if(awaited_,
                [gone](const auto& one) { return (step_bit(one.second.event) & gone) != 0; });
}

bool Steps::end(std::uint64_t seq) {
  auto node = awaited_.extract(seq);
  if (node) node.mapped().token.complete();
  return static_cast<bool>(node);
}

void Steps::close() {
  closed_ = true;
  close_streams();
}

void Steps::close_streams() {
  for (const Stream& stream : std::exchange(streams_, {})) stream.to->close();
  *awaits_ = 0;
  awaited_.clear();
}

}  // namespace neliroute::admin
