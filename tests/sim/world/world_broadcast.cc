// Variation `broadcast` on the simulated ledger: what everybody writes to all partitions, and which
// of it the members of the group hear.
//
// The records of a partition that is assigned are heard by whoever believes that it is: a fetch
// names no generation. What makes a member notice that it was expelled is a timer of its own
// client, see notices_expulsion().
#include <algorithm>

#include "neli_core/broadcast/broadcast.h"
#include "tests/sim/world/world.h"

namespace neliroute::sim {

// Under the assumptions no broker is further than e from any of them.
void World::set_wall_clocks() {
  Random random(plan_.request.seed, 4);
  const Time apart = plan_.store().writers_stamps    ? 10 * kSecond
                     : plan_.beyond(Beyond::clocks) ? 2 * plan_.session()
                                                    : plan_.skew();
  for (Node& node : nodes_) {
    const Time extreme = random.percent(50) ? apart : -apart;
    const Time any = random.between(-apart, apart);
    node.wall_offset = random.percent(40) ? extreme : any;
  }
}

std::unique_ptr<Core> World::make_broadcast(const CoreOptions& options) {
  const bool beside = !plan_.broadcast();
  const Timing& timing = beside ? plan_.beside : plan_.timing;
  BroadcastOptions broadcast;
  broadcast.core = options;
  broadcast.session = timing.session;
  broadcast.local_clock_error = timing.local_clock_error;
  broadcast.groups = beside ? 1 : plan_.lanes;
  broadcast.hints = beside || plan_.hints;
  return own(Broadcast::make(broadcast));
}

// Its records are read by the lane that is judged; it is not judged itself, as more goes wrong here
// than it allows.
void World::choose_beside(CoreOptions& core) const {
  core.lease = plan_.beside.lease;
  core.interval = plan_.beside.interval;
  core.prepare_timeout = milliseconds{0};
}

void World::note_beside(Node& node, const Transition& transition) {
  if (transition.kind != TransitionKind::stopped) return;
  plan_for(node, now_ + node.random.between(0, 10 * kMs), Happening::barrier_done,
           transition.partition.value(), transition.epoch.incarnation, transition.epoch.offset);
}

void World::broadcast(Node& node) {
  for (std::uint32_t p = 0; p < plan_.partitions; ++p) {
    if (happens(Fault::write_lost, node.random)) continue;  // the next one follows soon
    Time lands = now_ + latency(node);
    if (happens(Fault::write_late, node.random)) {
      lands = std::max(lands, until(node.random.between(0, 2 * plan_.lease())));
    }
    plan_for(node, lands, Happening::beat_lands, p, now_ + plan_.lease());
  }
}

void World::beat_lands(Node& node, const Planned& event) {
  const std::uint32_t p = event.a;
  const TopicLog& log = logs_[p % plan_.logs];  // has the same leader
  const Time blocked = std::max(node.links[p % plan_.logs].there_until, log.away_until);
  if (blocked > now_) {
    const bool retries = node.alive && node.life == event.life && blocked + kMs < event.b;
    if (retries) plan_for(node, blocked + kMs, Happening::beat_lands, p, event.b);
    return;
  }
  const Time stamp = now_ + broker_skew_[log.broker];
  beats_[p].push_back(BrokerTime{milliseconds{stamp / kMs + kBrokerEpochMs}});
  ++records_;
  for (Node& other : nodes_) {
    if (!broadcasts(other) || !other.alive || !other.reads(p)) continue;
    schedule_hearing(other, p, now_ + latency(other));
  }
}

// From the end of the partition on, or from somewhat before: a backlog must refresh nothing.
void World::start_hearing(Node& node, PartitionBits parts) {
  for (std::uint32_t p = 0; p < plan_.partitions; ++p) {
    if ((parts >> p & 1U) == 0) continue;
    const auto end = static_cast<std::int64_t>(beats_[p].size());
    node.heard[p] = end - std::min(end, node.random.between(0, 20));
    schedule_hearing(node, p, now_ + latency(node));
  }
}

void World::schedule_hearing(Node& node, std::uint32_t partition, Time when) {
  if (node.hearing[partition]) return;
  node.hearing[partition] = true;
  plan_for(node, when, Happening::beat_heard, partition);
}

void World::hear(Node& node, std::uint32_t partition) {
  node.hearing[partition] = false;
  if (notices_expulsion(node)) return;
  const Time blocked = unreachable_until(node, partition % plan_.logs);
  if (blocked > now_) return schedule_hearing(node, partition, blocked + latency(node));
  const std::uint16_t life = node.life;
  const std::vector<BrokerTime>& beats = beats_[partition];
  while (node.alive && node.life == life && node.reads(partition) &&
         node.heard[partition] < static_cast<std::int64_t>(beats.size())) {
    Heard heard;
    heard.partition = Partition{partition};
    heard.offset = node.heard[partition]++;
    heard.stamped = beats[static_cast<std::size_t>(heard.offset)];
    heard.store_stamped = true;
    heard.read = node.local(now_);
    heard.wall = WallTime{microseconds{kBrokerEpochMs * kMs + now_ + node.wall_offset}};
    step(node, heard);
  }
}

// "A member that was expelled notices": no answer to what was asked within a session means, to the
// client itself, that the session is over. The coordinator counts it from when it was asked, or
// later. Looked at before anything is heard, as who was stopped may find both waiting.
bool World::notices_expulsion(Node& node) {
  Membership& m = node.member;
  if (!plan_.notices_expulsion() || m.id == 0 || m.owned == 0) return false;
  if (now_ < m.answered + plan_.session()) return false;
  tell(node, "its session is over, as far as it can tell");
  m.asking = false;
  lose_membership(node);
  return true;
}

// The paper's case for a grace: the coordinator gives away early what somebody led who does not
// hear of it, nor of anything else. Only the end of its lease protects then.
void World::forget_while_cut_off(Random& random) {
  Node* node = some_node(random);
  // Not so late that it is healed before its session is over by its own timer.
  const Time over = now_ + 2 * plan_.session() + plan_.lease();
  if (node == nullptr || over > chaos_end_) return;
  for (std::size_t link = 0; link < node->links.size(); ++link) cut_until(*node, link, over);
  for (Group& group : groups_) group.forget_all();
}

}  // namespace neliroute::sim
