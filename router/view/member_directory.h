// What observers were notified of the members of a lane in which one of them assigns, and what
// differs from that now.
//
// A look costs a few comparisons while nothing changed, and one per member when something did:
// members change when processes start, leave or die, not with each of their renewals.
//
// Threads: one (the strand).   Units: none.   Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <neliroute/observer.h>
#include <vector>

#include "neli_core/assigner/known_lane.h"

namespace neliroute {

class MemberDirectory {
 public:
  /// Whether news() has anything that was not there at the last look. Not before a member or an
  /// assigner is known.
  [[nodiscard]] bool look(const KnownLane& lane);
  /// What the last look found. Valid until the next one.
  [[nodiscard]] AssignmentNews news() const;
  /// All that is known, for an observer that joins; `all` holds the members that it refers to.
  [[nodiscard]] AssignmentNews whole(std::vector<ObservedMember>& all) const;
  [[nodiscard]] bool known() const noexcept { return known_; }

  /// The designee of a partition, unless it is `owner`; null: none, or nothing is known of it.
  [[nodiscard]] PeerPtr designee(const KnownLane& lane, Partition partition,
                                 const PeerPtr& owner) const;

 private:
  struct Holder {
    ProcessId id = kNobody;
    Epoch seat = kNoEpoch;
    bool assigning = false;
    friend bool operator==(const Holder&, const Holder&) = default;
  };
  [[nodiscard]] static Holder holder_of(const KnownLane& lane);
  void compare(const KnownLane& lane);
  [[nodiscard]] bool note_overrides(const Overrides& overrides);

  std::map<ProcessId, ObservedMember> members_;  ///< as they were last reported
  std::vector<ObservedMember> changed_;
  std::vector<ProcessId> gone_;
  Holder holder_;
  PeerPtr assigner_;
  std::uint64_t seen_ = 0;  ///< the versions of members and overrides
  std::shared_ptr<const ObservedOverrides> overrides_;
  bool known_ = false;
};

}  // namespace neliroute
