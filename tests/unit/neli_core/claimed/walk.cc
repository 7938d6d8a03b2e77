#include "tests/unit/neli_core/claimed/walk.h"
#include "tests/unit/neli_core/tail_at.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace neliroute::walk {
namespace {

constexpr Time kLongLease = 420 * kMs;
constexpr std::int64_t kClockErrorMs = 40;
constexpr std::int64_t kBrokerEpochMs = 1'700'000'000'000;

}  // namespace

Walk::Walk(WalkOptions options) : options_(options), random_(options.seed) {
  logs_.resize(static_cast<std::size_t>(between(1, 2)));
  partitions_ = static_cast<std::uint32_t>(between(2, 3));
  led_.resize(partitions_, false);
  believe_broker_time_ = options_.calm || chance(80);
  // Who starts after a topic was made again cannot read how long the leases in the old one were.
  two_leases_ = chance(50) && !(options_.topic_made_again && options_.mode == Mode::exclusive);
  fault_percent_ = static_cast<int>(between(0, 25));
  if (options_.calm) fault_percent_ = 0;
  now_ = 1'000'000 * kMs;
}

void Walk::at(Time when, std::function<void()> run) {
  plan_.push({std::max(when, now_), order_++, std::move(run)});
}

// What reaches a process; one that is stopped gets it when it wakes, in order.
void Walk::for_node(Time when, const NodePtr& node, std::function<void()> run) {
  at(when, [this, node, run = std::move(run)]() mutable {
    if (!node->alive) return;
    if (node->paused_until > now_) return for_node(node->paused_until, node, std::move(run));
    run();
  });
}

std::int64_t Walk::between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
}

Time Walk::latency() {
  if (!healed_ && !options_.calm && chance(3)) return between(0, kLease);
  return between(200, healed_ ? 5 * kMs : latency_max_);
}

LocalTime Walk::local(const Node& node) const {
  return LocalTime{microseconds{now_ + now_ * node.drift_ppm / 1'000'000 + node.offset}};
}

// The first true time at which the node's clock shows `local` or more.
Time Walk::true_time(const Node& node, LocalTime local_time) const {
  const Time wait = (local_time - local(node)).count();
  return now_ + std::max<Time>(wait + std::abs(wait) / 1000 + 1, 0);
}

Walk::NodePtr Walk::start() {
  auto node = std::make_shared<Node>();
  node->id = next_id_++;
  node->offset = between(0, 1'000'000'000);
  node->drift_ppm = between(-400, 400);
  node->tails.resize(logs_.size());
  CoreOptions core;
  core.id = ProcessId{0x1000 + random_() % 1000 * 64 + node->id};
  core.mode = options_.mode;
  core.lease = milliseconds{(two_leases_ && chance(50) ? kLongLease : kLease) / kMs};
  core.interval = milliseconds{100};
  core.clock_error = milliseconds{kClockErrorMs};
  core.believe_broker_time = believe_broker_time_;
  core.settings = {"g", 8, partitions_, static_cast<std::uint32_t>(logs_.size()), "xxh3", ""};
  core.process = {"same", "name:1", {}};
  auto made = ClaimProtocol::make(std::move(core));
  if (!made) std::abort();
  node->core.emplace(std::move(*made));
  nodes_.push_back(node);
  node->core->tick(local(*node));
  after(node);
  for (std::uint32_t l = 0; l < logs_.size(); ++l) restart_tail(node, l);
  return node;
}

void Walk::step(const NodePtr& node, const Event& event) {
  if (!node->alive) return;
  node->core->step(event, local(*node));
  after(node);
}

void Walk::after(const NodePtr& node) {
  Ready ready = node->core->take_ready();
  for (const Transition& transition : ready.transitions) note(node, transition);
  for (const Write& write : ready.writes) send(node, write);
  for (const Log log : ready.restart_tails) restart_tail(node, log.value());
  for (const RereadRequest& request : ready.rereads) reread(node, request);
  if (ready.subscribe) node->member = true;
  if (ready.leave_group) node->member = false;
  for (const Notice& notice : ready.notices) tell(node, 0, notice.text);
  if (ready.refused) {
    node->closing = true;
    tell(node, 0, "refuses: " + ready.refused->message());
  }
  if (ready.closed) node->alive = node->member = false;
  const Ready again = node->core->take_ready();
  if (!again.transitions.empty() || !again.writes.empty() || !again.rereads.empty()) {
    broken("take_ready() made more work");
  }
  if (node->core->next_deadline() <= local(*node)) broken("the next deadline has passed already");
  set_timer(node);
}

void Walk::set_timer(const NodePtr& node) {
  const LocalTime deadline = node->core->next_deadline();
  const std::uint64_t timer = ++node->timer;
  if (deadline == kNever) return;
  const Time lateness = chance(10) && !healed_ ? between(0, 20 * kMs) : 0;
  for_node(true_time(*node, deadline) + lateness, node, [this, node, timer] {
    if (node->timer != timer) return;
    node->core->tick(local(*node));
    after(node);
  });
}

void Walk::note(const NodePtr& node, const Transition& transition) {
  const std::uint32_t p = transition.partition.value();
  tell(node, p, std::string(to_string(transition.kind)) + " " + to_string(transition.epoch) + " " +
                    to_string(transition.reason));
  if (transition.kind == TransitionKind::stopped) {
    node->holds.erase(p);
    const BarrierDone done{transition.partition, transition.epoch};
    const Time length = healed_ || options_.calm || !chance(15) ? between(0, 10 * kMs)
                                                                : between(0, 3 * kLease);
    for_node(now_ + length, node, [this, node, done] { step(node, done); });
  }
  if (transition.kind != TransitionKind::acquired) return;
  Epoch& own = node->acquired.try_emplace(p, kNoEpoch).first->second;
  if (transition.epoch < own) broken("a process acquired a smaller epoch than before");
  const bool again = transition.epoch == own;
  own = transition.epoch;
  const bool went_on = !node->holds.insert(p).second;
  const std::uint64_t holder = std::exchange(last_holder_[p], node->id);
  if (options_.mode != Mode::exclusive) return;
  if (went_on && holder != node->id) {
    broken("partition " + std::to_string(p) + " acquired again without having been stopped, though "
           "another held it in between");
  }
  Epoch& last = last_acquired_.try_emplace(p, kNoEpoch).first->second;
  if (again ? transition.epoch < last : transition.epoch <= last) {
    broken("partition " + std::to_string(p) + " acquired with " + to_string(transition.epoch) +
           " after " + to_string(last));
  }
  last = transition.epoch;
}

void Walk::send(const NodePtr& node, const Write& write) {
  const std::uint32_t l = write.log.value();
  const std::uint64_t seq = write.seq;
  const std::uint64_t topic = topic_;
  Tail& tail = node->tails[l];
  const bool faulty = !healed_ && chance(fault_percent_);
  const int kind = faulty ? static_cast<int>(between(1, 4)) : 0;
  Time lands = std::max(now_ + latency(), tail.cut_until);
  if (kind != 4) lands = std::max(lands, tail.last_append + 1);  // in order, but for some
  tail.last_append = std::max(tail.last_append, lands);
  const auto land = [this, l, topic, value = read_value(write.value)] {
    if (topic == topic_ || chance(50)) append(l, value);
  };
  const auto answer = [this, node](Time when, const Event& event) {
    for_node(when, node, [this, node, event] { step(node, event); });
  };
  if (kind == 1 || lands > now_ + 2 * kLease) {  // lost
    return answer(now_ + between(0, kLease), WriteFailed{seq});
  }
  const auto stored_at = std::make_shared<std::int64_t>(-1);
  at(lands, [this, l, land, stored_at] {
    land();
    *stored_at = logs_[l].end() - 1;
  });
  if (kind == 2) return answer(now_ + between(0, kLease), WriteFailed{seq});  // stored all the same
  if (kind == 3) at(lands + between(0, kLease), land);                        // twice
  for_node(lands + latency(), node, [this, node, seq, stored_at] {
    step(node, WriteAcknowledged{seq, *stored_at});
  });
}

void Walk::append(std::uint32_t log, const std::shared_ptr<const Decoded>& value) {
  TopicLog& l = logs_[log];
  const BrokerTime stamp{milliseconds{now_ / kMs + kBrokerEpochMs + l.skew_ms}};
  const std::int64_t offset = l.append(value, stamp);
  if (const auto* record = l.records.back().record(); record != nullptr && options_.verbose) {
    std::printf("%9.3f log %u topic %d offset %d stamp %+d: %s\n",
                static_cast<double>(now_ % 100'000'000) / 1000.0, log, static_cast<int>(topic_),
                static_cast<int>(offset), static_cast<int>(l.skew_ms),
                encode_record(*record).substr(0, 175).c_str());
  }
  for (const NodePtr& node : nodes_) {
    if (node->alive) schedule_fetch(node, log, latency());
  }
}

void Walk::schedule_fetch(const NodePtr& node, std::uint32_t log, Time wait) {
  Tail& tail = node->tails[log];
  const Time when = std::max(now_ + wait, tail.cut_until);
  if (!tail.running || (tail.fetch_at != 0 && tail.fetch_at <= when)) return;
  tail.fetch_at = when;
  const std::uint64_t version = tail.version;
  for_node(when, node, [this, node, log, version, when] {
    if (node->tails[log].version != version || node->tails[log].fetch_at != when) return;
    node->tails[log].fetch_at = 0;
    fetch(node, log);
  });
}

void Walk::fetch(const NodePtr& node, std::uint32_t log) {
  Tail& tail = node->tails[log];
  if (tail.cut_until > now_) return schedule_fetch(node, log, 0);
  const std::uint64_t version = tail.version;
  if (tail.topic != topic_) return;  // an error will say so, see make_topic_again()
  const std::int64_t end = logs_[log].end();
  if (tail.next > end) return step(node, GapFound{Log{log}, GapReason::out_of_range});
  while (tail.version == version && tail.running && node->alive && tail.next < end) {
    const StoredRecord record = *logs_[log].find(tail.next);
    const std::int64_t offset = tail.next++;
    step(node, Received{Log{log}, offset, record.stamped, believe_broker_time_,
                        record.value.get()});
  }
  if (tail.version != version || !node->alive) return;
  step(node, LogPosition{Log{log}, tail.next});
  if (tail.version == version) schedule_fetch(node, log, 70 * kMs);  // and again if nothing comes
}

// Rule 6: an owner's tail starts at the horizon - e, at least one record back.
void Walk::restart_tail(const NodePtr& node, std::uint32_t log) {
  Tail& tail = node->tails[log];
  tail.running = false;
  const std::uint64_t version = ++tail.version;
  for_node(std::max(now_ + latency(), tail.cut_until), node, [this, node, log, version] {
    Tail& t = node->tails[log];
    if (t.version != version) return;
    const MemoryLog& stored = logs_[log];
    const std::int64_t end = stored.end();
    std::int64_t start = 0;
    if (believe_broker_time_ && end > 0) {
      const StoredRecord& last = stored.records.back();
      const BrokerTime from =
          history_horizon(last.record(), last.stamped, node->core->options().lease);
      start = std::min(stored.first_since(from - milliseconds{kClockErrorMs}), end - 1);
    }
    const std::uint64_t topic = topic_;
    for_node(now_ + latency(), node, [this, node, log, version, start, end, topic] {
      Tail& u = node->tails[log];
      if (u.version != version) return;
      if (topic != topic_) return restart_tail(node, log);
      u.next = start;
      u.topic = topic;
      u.running = true;
      u.fetch_at = 0;
      step(node, tail_at(Log{log}, start, end));
      schedule_fetch(node, log, latency());
    });
  });
}

void Walk::reread(const NodePtr& node, const RereadRequest& request) {
  const std::uint32_t l = request.log.value();
  for_node(std::max(now_, node->tails[l].cut_until) + latency(), node, [this, node, l, request] {
    if (node->tails[l].cut_until > now_) return;  // it will ask again
    const Reread answer = logs_[l].answer(request);
    for_node(now_ + latency(), node, [this, node, answer] { step(node, answer); });
  });
}

}  // namespace neliroute::walk
