// Applications that prepare before a claim and warm up after it, in time or too late.
#include "tests/sim/world/world.h"

namespace neliroute::sim {

void World::let_prepare(Node& node, const Ready& ready) {
  const auto plan_one = [&](Partition partition, bool warm) {
    const std::uint32_t p = partition.value();
    (warm ? node.warm_run : node.prepare_run)[p] = ++node.runs;
    const Time length = node.random.percent(30)
                            ? 0
                            : node.random.between(0, plan_.prepare() + plan_.prepare() / 4);
    plan_for(node, now_ + length, Happening::prepared, p, node.runs, warm ? 1 : 0);
  };
  for (const Partition partition : ready.prepares) plan_one(partition, false);
  for (const Partition partition : ready.unprepared) node.prepare_run[partition.value()] = 0;
  for (const Transition& t : ready.warm_ups) {
    node.warm_until[t.partition.value()] = later(t.at, plan_.prepare_timeout);
    plan_one(t.partition, true);
  }
}

void World::on_prepared(Node& node, const Planned& event) {
  const bool warm = event.c != 0;
  if ((warm ? node.warm_run : node.prepare_run)[event.a] != event.b) return;
  PartitionRanges one;
  one.insert(Partition{event.a});
  if (!warm) return step(node, Prepared{one});
  node.warm_until[event.a] = kLongAgo;
  step(node, WarmedUp{one});
}

// It leads, so its application has warmed up, or had its time.
void World::check_ready(Node& node, Partition partition) {
  node.warm_run[partition.value()] = 0;
  if (node.last_now >= node.warm_until[partition.value()]) return;
  wrong_answer(node, partition.value(), "leads, and its application is not ready");
}

}  // namespace neliroute::sim
