// What goes wrong in a random walk, how it heals, and what must hold.
#include <algorithm>
#include <cstdio>

#include "tests/unit/neli_core/claimed/walk.h"

namespace neliroute::walk {
namespace {

constexpr Time kChaos = 1500 * kMs;
constexpr Time kHealed = 3600 * kMs;  // 8 of the longer lease, and a start
constexpr std::uint64_t kEventsMax = 60'000;

}  // namespace

std::string Walk::run() {
  for (int i = 0; i < 3; ++i) start();
  const Time end = now_ + kChaos;
  at(now_ + 60 * kMs, [this] { options_.calm ? calm_step() : mischief(); });
  at(end, [this] { heal(); });
  const Time healed_at = end + (options_.calm ? 4 * kLease : kHealed);
  at(healed_at, [this] { check_healed(); });
  at(healed_at + 2 * kLease, [this] { check_healed(); });
  while (!plan_.empty() && plan_.top().at <= healed_at + 2 * kLease && broken_.empty()) {
    const Planned next = plan_.top();
    plan_.pop();
    now_ = next.at;
    next.run();
    check();
    if (++events_ > kEventsMax) broken("it does not come to rest");
  }
  return broken_;
}

void Walk::mischief() {
  if (healed_) return;
  const auto able = members();
  const auto p = static_cast<std::uint32_t>(between(0, partitions_ - 1));
  if (!able.empty()) {
    const NodePtr& some = able[static_cast<std::size_t>(between(0, std::ssize(able) - 1))];
    chance(60) ? move(p, some) : faults(some);
  }
  if (chance(4)) odd_claim();
  if (chance(1)) {  // more claims than a process keeps apart
    for (std::size_t i = 0; i < 2 * EpochHistory::kKnownMax; ++i) odd_claim();
  }
  if (chance(5)) {
    logs_[static_cast<std::size_t>(between(0, std::ssize(logs_) - 1))].skew_ms = between(-20, 20);
  }
  if (options_.topic_made_again && chance(4)) make_topic_again();
  const auto living = std::count_if(nodes_.begin(), nodes_.end(),
                                    [](const NodePtr& node) { return node->alive; });
  if (living < 3 || (living < 5 && chance(4))) start();
  at(now_ + between(1, 100) * kMs, [this] { mischief(); });
}

void Walk::faults(const NodePtr& node) {
  switch (between(0, 5)) {
    case 0:
      node->paused_until = now_ + between(0, 3 * kLease);
      break;
    case 1:
    case 2: {
      Tail& tail = node->tails[static_cast<std::size_t>(between(0, std::ssize(node->tails) - 1))];
      tail.cut_until = now_ + between(0, 3 * kLease);
      break;
    }
    case 3:
      node->alive = node->member = false;  // killed
      break;
    case 4:
      node->closing = true;
      step(node, CloseRequested{local(*node) + microseconds{between(0, 2 * kLease)}});
      break;
    default:
      for (std::uint32_t p = 0; p < partitions_; ++p) group_event(node, p, chance(50));
  }
}

// Tells a process; in order, as a group does.
void Walk::group_event(const NodePtr& node, std::uint32_t partition, bool assigned) {
  if (node->assigned.contains(partition) == assigned) return;
  if (assigned) {
    node->assigned.insert(partition);
  } else {
    node->assigned.erase(partition);
  }
  const auto parts = PartitionRanges::of({Partition{partition}});
  const Event event = assigned ? Event{GroupAssigned{parts}}
                               : Event{GroupRevoked{parts, chance(20)}};
  node->last_group_event = std::max(now_ + latency(), node->last_group_event + 1);
  tell(node, partition, assigned ? "is given" : "is taken");
  node->group_events.push_back(event);
  for_node(node->last_group_event, node, [this, node] {
    const Event next = node->group_events.front();
    node->group_events.pop_front();
    step(node, next);
  });
}

// Gives a partition to a process. The others are notified too, except those that are cut off.
void Walk::move(std::uint32_t partition, const NodePtr& to) {
  for (const NodePtr& node : nodes_) {
    if (node != to && node->alive && chance(70)) group_event(node, partition, false);
  }
  group_event(to, partition, true);
}

// Who reads on hears of it, soon or late; who was cut off for long enough reads on in the new log
// without being told, if it has got as long.
void Walk::make_topic_again() {
  ++topic_;
  for (TopicLog& log : logs_) {
    log.records.clear();
    log.skew_ms = 20;  // it takes longer than brokers' clocks differ: no stamp falls
  }
  for (const NodePtr& node : nodes_) {
    const bool told = chance(60);
    for (std::uint32_t l = 0; l < logs_.size() && node->alive; ++l) {
      if (!node->tails[l].running) continue;  // it is about to ask what there is
      const std::uint64_t version = node->tails[l].version;
      const Time when = told ? now_ + latency() : now_ + between(15 * kLease / 10, 3 * kLease);
      if (!told) node->tails[l].cut_until = std::max(node->tails[l].cut_until, when);
      for_node(when, node, [this, node, l, told, version] {
        Tail& tail = node->tails[l];
        if (tail.version != version || !tail.running) return;
        if (told) return step(node, GapFound{Log{l}, GapReason::replaced});
        tail.topic = topic_;
        schedule_fetch(node, l, 0);
      });
    }
  }
}

// What every version freezes, incarnation among it, is as an honest process would write it: the
// greatest in the log. One with less could be all that a newcomer reads, and it would claim with
// less too.
void Walk::odd_claim() {
  const auto log = static_cast<std::uint32_t>(between(0, std::ssize(logs_) - 1));
  const std::int64_t incarnation = logs_[log].greatest_incarnation();
  static const char* const kRests[] = {
      R"(})", R"(,"v":3,"lparts":{"p":[1]},"mode":"odd"})",
      R"(,"v":3,"id":"00000000000000aa","lparts":"0","lease_ms":250})"};
  append(log, read_value(R"({"t":"claim","lane":0,"inc":)" + std::to_string(incarnation) +
                         kRests[between(0, 2)]));
}

std::vector<Walk::NodePtr> Walk::members() const {
  std::vector<NodePtr> able;
  for (const NodePtr& node : nodes_) {
    if (node->alive && node->member && !node->closing) able.push_back(node);
  }
  return able;
}

// One planned change: a process joins, leaves in an orderly way, or partitions move.
void Walk::calm_step() {
  if (healed_) return;
  const auto able = members();
  if (able.size() > 2 && chance(20)) {
    able[0]->closing = true;
    step(able[0], CloseRequested{kNever});
  } else if (able.size() < 5 && chance(30)) {
    start();
  }
  rebalance();
  at(now_ + between(1, 300) * kMs, [this] { calm_step(); });
}

void Walk::heal() {
  healed_ = true;
  for (const NodePtr& node : nodes_) {
    node->paused_until = 0;
    for (Tail& tail : node->tails) tail.cut_until = 0;
  }
  if (!options_.calm) start();
  rebalance();
}

void Walk::rebalance() {
  const auto able = members();
  for (std::uint32_t p = 0; p < partitions_ && !able.empty(); ++p) {
    const std::size_t shift = healed_ || chance(70) ? 0 : static_cast<std::size_t>(between(0, 9));
    const NodePtr& to = able[(p + shift) % able.size()];
    for (const NodePtr& node : nodes_) {
      if (node->alive) group_event(node, p, node == to);
    }
  }
  if (healed_) at(now_ + 50 * kMs, [this] { rebalance(); });
}

void Walk::check() {
  for (std::uint32_t p = 0; p < partitions_; ++p) {
    int leaders = 0;
    for (const NodePtr& node : nodes_) {
      if (node->alive && node->core->leads(Partition{p}, local(*node))) ++leaders;
    }
    if (options_.mode == Mode::exclusive && leaders > 1) {
      broken("two leaders of partition " + std::to_string(p));
    }
    if (options_.calm && options_.mode == Mode::non_exclusive) {
      if (led_[p] && leaders == 0) broken("nobody leads partition " + std::to_string(p));
      led_[p] = led_[p] || leaders > 0;
    }
  }
}

void Walk::check_healed() {
  const auto able = members();
  for (std::uint32_t p = 0; p < partitions_; ++p) {
    for (const NodePtr& node : nodes_) {
      if (!node->alive) continue;
      const bool leads = node->core->leads(Partition{p}, local(*node));
      const bool wanted = !able.empty() && node == able[p % able.size()];
      if (leads != wanted) {
        broken("healed, but node " + std::to_string(node->id) +
               (leads ? " leads" : " does not lead") + " partition " + std::to_string(p));
      }
    }
  }
}

void Walk::tell(const NodePtr& node, std::uint32_t partition, const std::string& what) const {
  if (!options_.verbose) return;
  std::printf("%9.3f node %d p%u %s\n", static_cast<double>(now_ % 100'000'000) / 1000.0,
              static_cast<int>(node->id), partition, what.c_str());
}

void Walk::broken(const std::string& what) {
  if (!broken_.empty()) return;
  broken_ = what + " at " + std::to_string(static_cast<double>(now_ % 100'000'000) / 1000.0) +
            " ms, seed " + std::to_string(options_.seed);
  if (options_.verbose) std::printf("BROKEN %s\n", broken_.c_str());
}

}  // namespace neliroute::walk
