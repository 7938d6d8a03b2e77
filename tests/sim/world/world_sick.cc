// A process that is never dead and never well, beside others that crash, and two that nothing
// strikes.
#include <utility>

#include "tests/sim/world/world.h"

namespace neliroute::sim {

// Never dead, and never well: from here on until everything heals.
void World::be_sick() {
  Node& node = nodes_.front();
  Random& random = chance_[static_cast<std::size_t>(Fault::sick)];
  if (!sickness_) {
    sickness_ = static_cast<Sickness>(random.between(0, 3));
    sick_by_ = random.magnitude(plan_.session() / 3, 2 * plan_.session());
    tell(node, "is sick: " + std::to_string(static_cast<int>(*sickness_)) + ", by " +
                   clock_text(sick_by_));
    const Time claims_late = *sickness_ == Sickness::writes_late ? sick_by_ : 0;
    oracle_.sickens(node.index, chaos_end_ + plan_.settled(), claims_late);
  }
  count(Fault::sick);
  switch (*sickness_) {
    case Sickness::stalls:
      pause(node, until(plan_.session() * 47 / 100));
      return plan_at(now_ + plan_.session() * 8 / 5, Happening::fault,
                     static_cast<std::uint32_t>(Fault::sick));
    case Sickness::reads_late:
      node.reads_late = sick_by_;
      return;
    case Sickness::writes_late:
      node.writes_late = sick_by_;
      return;
    case Sickness::one_way:
      const bool there = random.percent(50);
      for (Link& link : node.links) (there ? link.there_until : link.back_until) = chaos_end_;
      return;
  }
}

}  // namespace neliroute::sim
