// Who assigns and who the members are, as the admin port serves it: a copy of what observers
// receive, and its JSON. Empty where Kafka's group assigns.
//
// Two forms, so that a lane of thousands of members costs little: the stream gets members once, and
// then only those that changed, which they do when processes start, leave or die. What follows from
// the view (who owns how much, who is designated for what) is in the rows of the view itself, and
// is counted only when /v1/assignment is requested.
//
// Threads: one (the server's strand).   Units: milliseconds and Unix seconds in the JSON.
// Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <neliroute/observer.h>
#include <set>
#include <span>
#include <string>

namespace neliroute::admin {

/// An AssignmentNews that owns its data; later ones are merged into it.
struct KeptAssignment {
  PeerPtr assigner;
  Epoch seat = kNoEpoch;
  bool assigning = false;
  std::map<ProcessId, ObservedMember> members;
  std::set<ProcessId> gone;
  std::shared_ptr<const ObservedOverrides> overrides = nullptr;

  void add(const AssignmentNews& news);
};

class AssignmentView {
 public:
  /// `assigned`: a member assigns in this lane, whether or not anything was heard of it yet.
  explicit AssignmentView(bool assigned) : known_(assigned) {}

  void take(const KeptAssignment& news);
  /// Whether a member assigns, as far as is known.
  [[nodiscard]] bool known() const noexcept { return known_; }
  [[nodiscard]] const PeerPtr& assigner() const noexcept { return assigner_; }
  [[nodiscard]] const std::map<ProcessId, ObservedMember>& members() const noexcept {
    return members_;
  }

  /// All of it, with what `routes` say of each member, as /v1/assignment answers. `waits`: as
  /// Count::assigner_waits.
  [[nodiscard]] std::string text(std::span<const ObservedRoute> routes, std::uint64_t waits,
                                 LocalTime now) const;
  /// All members, as a stream begins.
  [[nodiscard]] std::string whole(LocalTime now) const;
  /// What changed since the last settle().
  [[nodiscard]] std::string changes(LocalTime now) const;
  [[nodiscard]] bool has_changed() const noexcept { return changed_; }
  void settle();

 private:
  [[nodiscard]] std::string opened(LocalTime now) const;
  void put_overrides(std::string& text) const;

  PeerPtr assigner_;
  Epoch seat_ = kNoEpoch;
  bool assigning_ = false;
  std::map<ProcessId, ObservedMember> members_;
  std::set<ProcessId> changed_members_;
  std::set<ProcessId> gone_;
  std::shared_ptr<const ObservedOverrides> overrides_;
  bool overrides_changed_ = false;
  bool known_;
  bool changed_ = false;
};

}  // namespace neliroute::admin
