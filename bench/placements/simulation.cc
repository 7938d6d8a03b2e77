#include "bench/placements/simulation.h"

#include <algorithm>
#include <cmath>
#include <neliroute/detail/assert.h>

#include "placement/least_moves.h"

namespace neliroute::placement {

Balance balance_of(std::span<const std::uint64_t> loads, std::span<const std::uint32_t> weights) {
  double all = 0;
  double weight = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    all += static_cast<double>(loads[i]);
    weight += weights[i];
  }
  if (loads.empty() || all == 0) return {};
  const double mean = all / weight;
  double peak = 0;
  double squares = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const double share = static_cast<double>(loads[i]) / weights[i] / mean;
    peak = std::max(peak, share);
    squares += (share - 1) * (share - 1) * weights[i];
  }
  return {peak, std::sqrt(squares / weight)};
}

Simulation::Simulation(Placement& placement, const Trace& trace, std::uint32_t slots_each,
                       Timing timing)
    : placement_(placement), trace_(trace), slots_each_(slots_each), timing_(timing),
      was_member_(trace.roster.size()) {
  NELIROUTE_ASSERT(placement.members().empty(), "a simulation begins without members");
}

std::vector<std::uint64_t> Simulation::loads() const {
  std::vector<std::uint64_t> loads(trace_.roster.size());
  for (const MemberId owner : placement_.owners()) {
    if (owner != kNobody) ++loads[owner];
  }
  return loads;
}

Balance Simulation::balance() const {
  const std::vector<std::uint64_t> by_roster = loads();
  std::vector<std::uint64_t> held;
  std::vector<std::uint32_t> weights;
  for (const MemberId member : placement_.members()) {
    held.push_back(by_roster[member]);
    weights.push_back(trace_.roster[member].weight);
  }
  return balance_of(held, weights);
}

std::uint64_t Simulation::least_from_here() const {
  std::vector<std::uint64_t> by_roster(trace_.roster.size());
  std::uint64_t unowned = 0;
  for (const MemberId owner : before_) {
    if (owner == kNobody) {
      ++unowned;
    } else {
      ++by_roster[owner];
    }
  }
  std::vector<std::uint64_t> held;
  std::vector<Share> shares;
  for (const MemberId member : placement_.members()) {
    // A member that is new, or has come back, has nothing.
    held.push_back(was_member_[member] != 0 ? by_roster[member] : 0);
    shares.push_back({member, trace_.roster[member].weight});
  }
  if (shares.empty()) return before_.size() - unowned;
  const std::vector<Band> bands = bands_of(before_.size(), shares, 0);
  // Unowned items are placed, not moved.
  return least_count(before_.size(), held, bands).moves - unowned;
}

void Simulation::count_moves(Report& report) const {
  std::vector<std::uint64_t> gains(trace_.roster.size());
  const std::span<const MemberId> now = placement_.owners();
  for (std::size_t item = 0; item < now.size(); ++item) {
    const MemberId then = before_[item];
    if (then == now[item]) continue;
    if (now[item] != kNobody) ++gains[now[item]];
    if (then == kNobody) continue;
    ++report.moved;
    if (!placement_.is_member(then)) {
      ++report.unavoidable;
    } else if (now[item] != kNobody && was_member_[now[item]] != 0) {
      ++report.excess;
    }
  }
  report.moved *= slots_each_;
  report.unavoidable *= slots_each_;
  report.excess *= slots_each_;
  report.gain = *std::max_element(gains.begin(), gains.end()) * slots_each_;
}

Report Simulation::advance() {
  NELIROUTE_ASSERT(!done(), "a trace ends with its last step");
  const Step& step = trace_.steps[next_++];
  Report report;
  report.at_ms = step.at_ms;
  report.before = balance();
  before_.assign(placement_.owners().begin(), placement_.owners().end());
  std::fill(was_member_.begin(), was_member_.end(), std::uint8_t{0});
  for (const MemberId member : placement_.members()) was_member_[member] = 1;
  std::vector<MemberId> going = step.leaving;
  going.insert(going.end(), step.crashing.begin(), step.crashing.end());
  const std::vector<std::uint64_t> held = loads();
  placement_.change(going, step.joining);
  report.members = static_cast<std::uint32_t>(placement_.members().size());
  report.after = balance();
  const bool first = next_ == 1;
  count_moves(report);
  if (first) return report;
  report.least = least_from_here() * slots_each_;
  std::uint64_t crashed = 0;
  for (const MemberId member : step.crashing) crashed += held[member] * slots_each_;
  const std::uint64_t revoked = timing_.eager ? before_.size() * slots_each_ : report.moved;
  report.unowned_s = static_cast<double>(crashed) * timing_.session_s +
                     static_cast<double>(revoked) * timing_.rebalance_s;
  return report;
}

}  // namespace neliroute::placement
