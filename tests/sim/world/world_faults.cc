// What goes wrong in a run, how it heals, and what must be led then.
#include <algorithm>
#include <utility>

#include "neli_core/mutation.h"
#include "tests/sim/world/world.h"

namespace neliroute::sim {
namespace {

bool strikes_by_itself(Fault fault) {
  return (fault >= Fault::pause && fault <= Fault::retention) ||
         (fault >= Fault::topic_made_again && fault <= Fault::tail_replaced) ||
         fault == Fault::slow_network || fault == Fault::leader_flip ||
         fault == Fault::stopped_in_step ||
         (fault >= Fault::unclean_leader && fault <= Fault::override) ||
         (fault >= Fault::stuck_log && fault != Fault::notice_lost);
}

bool is_of_node(Fault fault) {
  return (fault >= Fault::pause && fault <= Fault::short_leave) ||
         fault == Fault::tail_replaced || fault == Fault::stopped_in_step ||
         fault == Fault::hang || fault == Fault::forbidden || fault == Fault::out_of_reach;
}

bool is_of_group(Fault fault) {
  return fault >= Fault::coordinator_down && fault <= Fault::group_lies;
}

}  // namespace

Time World::until(Time length) const {
  return std::max(now_, std::min(now_ + length, chaos_end_));
}

bool World::happens(Fault fault, Random& random) {
  if (!plan_.has(fault) || !chaos() || !random.per_mille(plan_.rate(fault))) return false;
  count(fault);
  return true;
}

void World::plan_faults() {
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    const auto fault = static_cast<Fault>(i);
    if (!plan_.has(fault) || !strikes_by_itself(fault)) continue;
    // The first start is left alone.
    const Time first = start_ + 4 * kSecond + chance_[i].between(0, plan_.rate(fault));
    plan_at(first, Happening::fault, static_cast<std::uint32_t>(i));
  }
}

Node* World::some_node(Random& random) {
  const std::int64_t spared = plan_.has(Fault::sick) ? 3 : 0;  // the sick one, and two for good
  const auto i = random.between(spared, static_cast<std::int64_t>(nodes_.size()) - 1);
  Node& node = nodes_[static_cast<std::size_t>(i)];
  return node.alive && !node.closing && node.paused_until <= now_ ? &node : nullptr;
}

void World::strike(Fault fault) {
  if (!chaos()) return;
  if (fault == Fault::sick) return be_sick();
  if (!plan_.only_unable) still_unable();
  Random& random = chance_[static_cast<std::size_t>(fault)];
  if (plan_.only_unable && anybody_unable()) {
    // One after the other: else nobody could say who has to lead by when.
  } else if (is_of_node(fault)) {
    if (Node* node = some_node(random)) {
      count(fault);
      tell(*node, "fault " + std::string(to_string(fault)));
      strike_node(fault, *node, random);
    }
  } else {
    count(fault);
    tell("fault " + std::string(to_string(fault)));
    const auto log = static_cast<std::uint32_t>(
        random.between(0, static_cast<std::int64_t>(logs_.size()) - 1));
    if (fault == Fault::store_ahead) {
      raise_store(random);
    } else if (fault == Fault::override) {
      order();
    } else if (is_of_group(fault)) {
      strike_group(fault, random);
    } else {
      strike_log(fault, log, random);
    }
  }
  const Time mean = plan_.rate(fault);
  plan_at(now_ + random.between(mean / 4, mean * 7 / 4), Happening::fault,
          static_cast<std::uint32_t>(fault));
}

void World::strike_node(Fault fault, Node& node, Random& random) {
  const Time longest = std::max(2 * plan_.lease(), plan_.longest_lease()) + plan_.session();
  const Time over = until(random.magnitude(10 * kMs, longest));
  const auto log = static_cast<std::size_t>(
      random.between(0, static_cast<std::int64_t>(logs_.size()) - 1));
  if (fault == Fault::cut_coordinator) {
    node.links[kCoordinator].there_until = over;
    node.links[kCoordinator].back_until = random.percent(50) ? over : now_;
    return oracle_.disturb_group(over);
  }
  // Who would lead in its place may hang.
  for (const Node& other : nodes_) {
    if (other.client_until != 0) oracle_.wrong(other.paused_until);
  }
  if (fault == Fault::hang) return hang(node, over);
  if (fault >= Fault::forbidden) return forbid(fault, node, random);
  const bool cut = fault >= Fault::cut_log && fault <= Fault::cut_full;
  if (cut) {
    oracle_.cut_node(node.index, over);
  } else if (fault != Fault::leave && fault != Fault::crash) {
    oracle_.disturb_node(node.index, over);
  }
  switch (fault) {
    case Fault::pause:
      return pause(node, over);
    case Fault::stopped_in_step:
      node.stop_inside_until = over;
      return;
    case Fault::cut_log:
      node.links[log].there_until = node.links[log].back_until = over;
      return;
    case Fault::cut_one_way:
      (random.percent(50) ? node.links[log].there_until : node.links[log].back_until) = over;
      return;
    case Fault::cut_full:
      for (Link& link : node.links) link.there_until = link.back_until = over;
      return;
    case Fault::crash:
      oracle_.crashed(node.index, now_);
      end_process(node);
      return plan_for(node, now_ + random.between(0, 3 * plan_.session()),
                      Happening::start_process);
    case Fault::leave:
    case Fault::short_leave: {
      node.closing = true;
      oracle_.leaves(node.index, now_);
      oracle_.departs(node.index, now_);
      oracle_.disturb(now_);
      const bool whole = fault == Fault::leave;
      node.left_at = whole ? now_ : 0;
      const LocalTime bound = later(node.local(now_), microseconds{over - now_});
      return step(node, CloseRequested{whole ? leave_bound(node) : bound});
    }
    case Fault::tail_replaced: {
      // A client that was replaced and starts elsewhere than it was.
      const auto l = static_cast<std::uint32_t>(log);
      if (!node.readers[l].running) return;
      const Time wait = random.between(0, kSecond);
      oracle_.disturb_node(node.index, now_ + wait);
      return restart_reader(node, l, wait);
    }
    default:
      return;
  }
}

// Where all others run, somebody else leads soon after the limit, however long it hangs.
void World::hang(Node& node, Time over) {
  const Time limit = now_ + plan_.timing.hang_limit.count() * kMs;
  const bool only_one = std::all_of(nodes_.begin(), nodes_.end(), [&](const Node& other) {
    return other.index == node.index || other.lane != node.lane ||
           (other.alive && !other.closing && other.paused_until <= now_);
  });
  const Time replaced = only_one ? std::min(over, limit) : over;
  oracle_.hangs(node.index, over, replaced);
  // The group may choose it meanwhile, and who led drains for no longer than T.
  if (plan_.broadcast()) oracle_.disturb_group(replaced);
  node.paused_until = over;
  node.client_until = limit;
  plan_for(node, limit, Happening::hang_limit);
}

// librdkafka's own threads serve the group, but what an application must hear waits for it.
bool World::client_handles(Node& node, const Planned& event) {
  if (event.what == Happening::hang_limit) {
    // Classic leaves by itself. With the consumer protocol the leave waits, too, and the
    // coordinator hears no more heartbeats.
    const bool leaves = plan_.assigning != Assigning::consumer && node.member.id != 0;
    if (!leaves) return true;
    ask(node, {GroupRequest::Kind::leave, node.member.id, 0, node.member.membership});
    node.member.answered = 0;  // it knows that its session is over
    return true;
  }
  if (node.client_until <= now_) return false;
  if (event.what == Happening::heartbeat_due) {
    if (node.member.beat == event.b) heartbeat(node);
    return true;
  }
  if (event.what != Happening::group_reply) return false;
  const GroupReply& reply = replies_[event.a];
  Membership& m = node.member;
  if (reply.kind == GroupReply::Kind::nothing) {
    on_reply(node, reply);
    return true;
  }
  const bool repeated = reply.kind == GroupReply::Kind::assignment && reply.member == m.id &&
                        plan_.assigning == Assigning::consumer;
  if (!repeated || reply.membership != m.membership) return false;
  if (m.asking) m.answered = m.asked_first;
  m.asking = false;
  return true;
}

void World::pause(Node& node, Time over) {
  node.paused_until = over;
  if (!mutated(Mutation::not_boottime)) return;
  // Its clock stands still, and with it every lease.
  node.clock_offset -= over - now_;
  for (std::uint32_t p = 0; p < plan_.partitions; ++p) {
    if (oracle_.led(node.index, part_of(node, p), now_)) tell_oracle(node, p);
  }
}

void World::strike_log(Fault fault, std::uint32_t log, Random& random) {
  TopicLog& l = logs_[log];
  switch (fault) {
    case Fault::leader_change:
      l.broker = static_cast<std::size_t>(random.between(0, 2));
      l.away_until = until(random.magnitude(kMs, 2 * plan_.session()));
      return oracle_.cut_log(log, l.away_until);
    case Fault::stuck_log:
      return stick(log, random);
    case Fault::compaction:
      return compact(log);
    case Fault::leader_flip:
      l.broker = l.broker == 0 ? 1 : 0;
      return;
    case Fault::broker_clock_step: {
      const Time apart = broker_skew_[1];
      broker_skew_[2] = random.between(-apart, apart);
      l.broker = 2;
      return;
    }
    case Fault::retention:
      return expire_log(log);
    case Fault::topic_made_again:
      return make_topic_again(random);
    case Fault::truncation:
      return truncate(log, random, now_);
    case Fault::unclean_leader:
      l.broker = static_cast<std::size_t>(random.between(0, 2));
      l.away_until = until(random.magnitude(kMs, 2 * plan_.session()));
      return truncate(log, random, l.away_until);
    case Fault::other_version:
      return odd_claim(log, random);
    case Fault::noise:
      return noise(log, random);
    case Fault::slow_network:
      slow_until_ = until(random.magnitude(100 * kMs, 10 * kSecond));
      for (Node& node : nodes_) oracle_.cut_node(node.index, slow_until_);
      return;
    default:
      return;
  }
}

void World::strike_group(Fault fault, Random& random) {
  oracle_.disturb(now_);
  switch (fault) {
    case Fault::coordinator_down:
      coordinator_down_until_ = until(random.magnitude(10 * kMs, 3 * plan_.session()));
      // Its successor gives everybody a new session.
      for (Group& group : groups_) group.refresh(coordinator_down_until_);
      return oracle_.disturb_group(coordinator_down_until_);
    case Fault::group_forgotten:
      if (plan_.beyond(Beyond::grace)) return forget_while_cut_off(random);
      for (Group& group : groups_) group.forget_all();
      return;
    case Fault::reshuffle:
      for (Group& group : groups_) group.reshuffle();
      return;
    case Fault::group_lies:
      return lie(random);
    default:
      return;
  }
}

// A second assignee, of which the first one is not notified.
void World::lie(Random& random) {
  Node* node = some_node(random);
  if (node == nullptr || !node->member.wanted) return;
  const auto p = random.between(0, static_cast<std::int64_t>(plan_.partitions) - 1);
  const PartitionBits bit = PartitionBits{1} << p;
  if ((node->member.owned_soon() & bit) != 0) return;
  oracle_.given_twice(static_cast<std::uint32_t>(node->lane * plan_.partitions + p), now_);
  node->member.pending.push_back({true, false, bit});
  announce(*node);
}

// Acknowledged records are lost; who read them learns it soon after `notice`.
void World::truncate(std::uint32_t log, Random& random, Time notice) {
  TopicLog& l = logs_[log];
  const std::int64_t end = std::max(l.low, l.end() - random.between(1, 20));
  l.records.resize(static_cast<std::size_t>(end));
  l.places.erase(l.places.lower_bound(end), l.places.end());
  l.stuck_until = 0;
  if (log == 0) look_for_seats();
  const Time noticed = std::max(notice, until(kSecond));
  oracle_.disturb_log(log, noticed);
  // A claim that its writer had not read is written again after 2 T, where nothing else is.
  oracle_.disturb(now_ + 2 * plan_.longest_lease());
  for (Node& node : nodes_) {
    if (!node.alive || !node.readers[log].running || node.readers[log].next <= end) continue;
    plan_for(node, notice + latency(node), Happening::topic_lost, log, node.readers[log].version,
             1);
  }
}

// Who reads on hears of it, soon or late. Who was cut off for long enough reads on in the new log
// without being told, if that has got as long.
void World::make_topic_again(Random& random) {
  ++topic_;
  topic_made_at_ = now_;
  // It takes longer than brokers' clocks differ: no stamp falls.
  const Time least = 2 * plan_.clock_error();
  topic_away_until_ = now_ + least + random.magnitude(kMs, 2 * kSecond);
  for (std::uint32_t l = 0; l < plan_.logs; ++l) {
    TopicLog fresh;
    fresh.broker = logs_[l].broker;
    logs_[l] = std::move(fresh);
    oracle_.disturb_log(l, std::max(topic_away_until_, until(3 * plan_.lease())));
  }
  look_for_seats();
  Random& chance = chance_[static_cast<std::size_t>(Fault::log_as_long)];
  for (Node& node : nodes_) {
    if (!node.alive) continue;
    const bool told = random.percent(60);
    const Time unaware = plan_.lease() * 3 / 2;
    if (!told && plan_.has(Fault::log_as_long) && chaos()) {
      count(Fault::log_as_long);
      await_as_long(node, now_ + unaware, chance.percent(50));
      continue;
    }
    for (std::uint32_t l = 0; l < plan_.logs; ++l) {
      Reader& reader = node.readers[l];
      if (!reader.running) continue;  // it is about to ask what there is
      const Time when = told ? now_ + latency(node) + random.magnitude(kMs, 300 * kMs)
                             : now_ + random.between(unaware, 2 * unaware);
      if (!told) {
        Link& link = node.links[l];
        link.there_until = std::max(link.there_until, when);
        link.back_until = std::max(link.back_until, when);
        oracle_.disturb_log(l, when);
      }
      plan_for(node, when, Happening::topic_lost, l, reader.version, told ? 1 : 0);
    }
  }
}

// It is cut off until the new logs are as long as what it has read of the old ones: what stands
// at its next offset then is not out of range, and looks like what came next.
void World::await_as_long(Node& node, Time at_least, bool coordinator_too) {
  for (std::uint32_t l = 0; l < plan_.logs; ++l) {
    if (!node.readers[l].running) continue;
    cut_until(node, l, at_least);
    plan_for(node, at_least, Happening::topic_lost, l, node.readers[l].version,
             at_least + 2 * plan_.lease());
  }
  if (coordinator_too) cut_until(node, kCoordinator, at_least);
}

void World::cut_until(Node& node, std::size_t link, Time when) {
  Link& cut = node.links[link];
  cut.there_until = std::max(cut.there_until, when);
  cut.back_until = std::max(cut.back_until, when);
  oracle_.disturb_node(node.index, when);
}

void World::on_topic_lost(Node& node, const Planned& event) {
  Reader& reader = node.readers[event.a];
  if (reader.version != event.b || !reader.running) return;
  if (event.c > 1 && logs_[event.a].end() < reader.next && now_ < event.c && chaos()) {
    const Time again = now_ + 5 * kMs;
    cut_until(node, event.a, again);
    if (node.links[kCoordinator].back_until >= now_) cut_until(node, kCoordinator, again);
    return plan_for(node, again, Happening::topic_lost, event.a, event.b, event.c);
  }
  if (event.c == 1) {
    ++reader.version;
    reader.running = false;
    // Who hung meanwhile learns it late, and then releases claims that the log has lost: a gap to
    // whoever reads that.
    oracle_.disturb_log(event.a, now_);
    const bool again = reader.topic != topic_;
    return step(node, GapFound{Log{event.a}, again ? GapReason::replaced
                                                   : GapReason::truncated});
  }
  reader.topic = topic_;
  schedule_fetch(node, event.a, now_);
}

// Every fault ends by itself; who is not there comes back, and nobody lies any more.
void World::heal() {
  tell("everything heals");
  oracle_.disturb(now_);
  coordinator_down_until_ = slow_until_ = 0;
  topic_away_until_ = std::min(topic_away_until_, now_);
  if (plan_.beyond(Beyond::broker_clocks)) {
    for (Time& skew : broker_skew_) skew /= 16;  // within clock_error again
  }
  if (plan_.has(Fault::group_lies)) for (Group& group : groups_) group.forget_all();
  for (TopicLog& l : logs_) l.stuck_until = std::min(l.stuck_until, now_);
  for (Node& node : nodes_) {
    for (Link& link : node.links) link = {std::min(link.there_until, now_),
                                          std::min(link.back_until, now_)};
    node.forbidden_until.fill(0);
    node.unable_until = 0;
    node.reads_late = node.writes_late = 0;
    if (node.other_settings) {
      oracle_.disturb_node(node.index, now_);
      end_process(node);
    }
    if (!node.alive) {
      start_process(node);
      continue;
    }
    try_logs_again(node);
    if (node.withdrawal && node.withdrawal->away()) join_again(node);
    if (node.closing) {
      // All of them may be leaving: then nobody takes over.
      oracle_.disturb_node(node.index, now_);
      plan_for(node, now_, Happening::close_now);
    }
  }
}

// A client that cannot reach a log asks every moment; here it had waited for the end of the cut.
void World::try_logs_again(Node& node) {
  for (std::uint32_t l = 0; l < plan_.logs; ++l) {
    if (node.readers[l].running) {
      schedule_fetch(node, l, now_ + latency(node));
    } else if (node.readers[l].version != 0) {
      restart_reader(node, l, 0);
    }
  }
}

// From the end of the recovery on, the group's assignee leads, and everybody knows it.
void World::check_alive() {
  for (std::uint8_t lane = 0; lane < plan_.lanes; ++lane) {
    if (lane == 1 && plan_.has(Fault::broadcast_beside)) continue;
    if (plan_.assigner()) check_assigner(lane);
    for (std::uint32_t p = 0; p < plan_.partitions; ++p) check_alive(lane, p);
  }
  if (now_ + plan_.heartbeat() < end_) plan_at(now_ + plan_.heartbeat(), Happening::check_alive);
}

void World::check_alive(std::uint8_t lane, std::uint32_t p) {
  const std::string where =
      "healed, but partition " + std::to_string(p) +
      (plan_.lanes == 1 ? std::string{} : " of lane " + std::to_string(lane));
  std::uint8_t owner = 0;
  std::uint16_t life = 0;
  if (plan_.assigner()) {
    if (is_moving()) return;
    if (!leader_of(lane, p, owner, life)) {
      return oracle_.broken(where + " is led by nobody", now_);
    }
  } else if (!groups_[lane].assignee(p, owner, life)) {
    return oracle_.broken(where + " is assigned to nobody", now_);
  }
  if (!oracle_.led(owner, part_of(nodes_[owner], p), now_) || nodes_[owner].life != life) {
    oracle_.broken(where + " is not led by process " + std::to_string(owner), now_);
  }
  for (const Node& node : nodes_) {
    if (!node.alive || node.lane != lane) continue;
    if (node.index != owner && oracle_.led(node.index, part_of(node, p), now_)) {
      oracle_.broken(where + " is also led by process " + std::to_string(node.index), now_);
    }
    const Hint& hint = node.directory->hint(Partition{p});
    if (plan_.broadcast() && !plan_.hints) continue;
    const bool known = node.index == owner || (hint.owner && hint.owner->id == nodes_[owner].id);
    if (!known) {
      oracle_.broken(where + " has another owner for process " + std::to_string(node.index), now_);
    }
  }
}

}  // namespace neliroute::sim
