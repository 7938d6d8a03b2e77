// To which living members an override pins each partition: those that have the name and may own
// something, apart from those that are banned from its log. None: the pin waits for one of them.
//
// Threads: one (inside one plan).   Units: partitions, members by their index.   Errors: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <neliroute/ids.h>
#include <string_view>
#include <utility>
#include <vector>

#include "neli_core/assigner/members.h"
#include "neli_core/mutation.h"
#include "placement/plan.h"

namespace neliroute {

class PinOverrides {
 public:
  static constexpr std::uint32_t kNone = placement::PlanPartition::kNotPinned;

  /// `members`: the living ones, and what each may own.
  PinOverrides(const StandingOverrides& standing, const std::vector<const Member*>& living,
               const std::vector<placement::PlanMember>& members, std::uint32_t partitions) {
    if (standing.pins.empty() || mutated(Mutation::pins_ignored)) return;
    std::map<std::string_view, std::vector<placement::MemberId>> named;
    for (placement::MemberId i = 0; i < living.size(); ++i) {
      if (members[i].weight > 0) named[living[i]->process.name].push_back(i);
    }
    names_.assign(partitions, kNone);
    for (const auto& [name, pinned] : standing.pins) {
      const auto index = static_cast<std::uint32_t>(takers_.size());
      takers_.push_back(named[name]);
      pinned.for_each(partitions, [&](Partition p) { names_[p.value()] = index; });
    }
  }

  /// The index of a set in `sets`; kNone: it may be anywhere. Who `leads` it by designation keeps
  /// it, banned or not, if it has the name.
  template <class IsBanned>
  std::uint32_t at(Partition partition, Log log, placement::MemberId leads, IsBanned&& is_banned,
                   std::vector<std::vector<placement::MemberId>>& sets) {
    if (names_.empty() || names_[partition.value()] == kNone) return kNone;
    const std::uint32_t name = names_[partition.value()];
    const auto& all = takers_[name];
    const bool stays = std::find(all.begin(), all.end(), leads) != all.end();
    const std::pair key{name, stays ? kNone : log.value()};
    if (const auto made = made_.find(key); made != made_.end()) return made->second;
    std::vector<placement::MemberId> fit = all;
    if (!stays) std::erase_if(fit, is_banned);
    std::uint32_t index = kNone;
    if (!fit.empty()) {
      index = static_cast<std::uint32_t>(sets.size());
      sets.push_back(std::move(fit));
    }
    made_.emplace(key, index);
    return index;
  }

 private:
  std::vector<std::uint32_t> names_;  ///< by partition; empty: nothing is pinned
  std::vector<std::vector<placement::MemberId>> takers_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> made_;
};

}  // namespace neliroute
