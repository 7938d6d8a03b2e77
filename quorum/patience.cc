#include "quorum/patience.h"

#include <algorithm>

#include "quorum/mutation.h"

namespace neliroute::quorum {
namespace {

/// The highest priority of those who can lead next.
int highest(const Configuration& voters, std::optional<VoterId> lost) {
  int highest = 1;
  for (const Member& member : voters.members) {
    if (member.id != lost) {
      highest = std::max(highest, member.priority);
    }
  }
  return highest;
}

}  // namespace

void Patience::begin(const Configuration& voters, std::optional<VoterId> lost, LocalTime now) {
  lost_ = lost;
  target_ = highest(voters, lost);
  waited_ = false;
  until_ = now + election_;
}

bool Patience::timed_out(const Configuration& voters, const Member& own, bool stood,
                         LocalTime now) {
  ++timeouts_;
  if (stood && !mutated(Mutation::target_never_reset)) {
    begin(voters, lost_, now);
  }
  if (waited_ && !mutated(Mutation::target_never_lowered)) {
    target_ = std::max(1, target_ - 1);
  }
  waited_ = true;
  until_ = now + election_;
  constexpr int kRoundsTogether = 3;  // then those who stand at the same time are set apart
  if (timeouts_ >= kRoundsTogether) {
    const auto higher = std::ranges::count_if(voters.members, [&](const Member& other) {
      return other.priority > own.priority ||
             (other.priority == own.priority && other.id > own.id);
    });
    until_ += higher * election_ / 8;
  }
  return own.priority >= target_ || mutated(Mutation::priority_ignored);
}

}  // namespace neliroute::quorum
