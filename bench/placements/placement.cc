#include "bench/placements/placement.h"

#include <algorithm>
#include <neliroute/detail/assert.h>

#include "bench/placements/hash/mix.h"

namespace neliroute::placement {
namespace {

// The values of present_. A member that leaves and joins in one change would be neither: refused.
constexpr std::uint8_t kAbsent = 0;
constexpr std::uint8_t kPresent = 1;
constexpr std::uint8_t kLeaving = 2;

}  // namespace

Placement::Placement(const Setting& setting)
    : owners_(setting.items, kNobody), setting_(setting), present_(setting.roster.size()) {
  NELIROUTE_ASSERT(setting.items != 0, "a placement must have items");
  hashes_.reserve(setting.roster.size());
  for (const Member& member : setting.roster) {
    NELIROUTE_ASSERT(member.weight >= 1 && member.weight <= kWeightMax,
                     "a weight must be 1 to 1000");
    hashes_.push_back(member_hash(member.name, setting.seed));
  }
}

void Placement::change(std::span<const MemberId> leaving, std::span<const MemberId> joining) {
  for (const MemberId member : leaving) {
    NELIROUTE_ASSERT(member < present_.size() && present_[member] == kPresent,
                     "only a member can leave");
    present_[member] = kLeaving;
  }
  std::erase_if(members_, [this](MemberId member) { return present_[member] == kLeaving; });
  for (const MemberId member : joining) {
    NELIROUTE_ASSERT(member < present_.size() && present_[member] == kAbsent,
                     "who joins must be on the roster, and have been absent before");
    present_[member] = kPresent;
    members_.push_back(member);
  }
  for (const MemberId member : leaving) present_[member] = kAbsent;
  NELIROUTE_ASSERT(members_.size() <= setting_.most_members, "there are more members than said");
  update(leaving, joining);
  if (members_.empty()) std::fill(owners_.begin(), owners_.end(), kNobody);
}

std::size_t Placement::memory() const {
  return bytes_of(owners_) + bytes_of(members_) + bytes_of(present_) + bytes_of(hashes_) +
         own_memory();
}

std::vector<MemberId> Placement::sorted_by_name() const {
  std::vector<MemberId> sorted = members_;
  std::sort(sorted.begin(), sorted.end(), [this](MemberId a, MemberId b) {
    return setting_.roster[a].name < setting_.roster[b].name;
  });
  return sorted;
}

}  // namespace neliroute::placement
