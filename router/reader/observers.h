// The view as observers know it, and the observers. Private.
//
// Threads: one (the strand).   Units: LocalTime.   Errors: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <neliroute/observer.h>
#include <utility>
#include <vector>

namespace neliroute {

class Observers {
 public:
  explicit Observers(std::uint32_t partitions) : routes_(partitions), marks_(partitions) {}

  /// `look(Partition)` returns the route now, and its owner as the log shows it (mark_of).
  using Seen = std::pair<ObservedRoute, std::uint64_t>;
  /// What an owner and its epoch add to the digest. The same in every process.
  [[nodiscard]] static std::uint64_t mark_of(Partition partition, ProcessId owner,
                                             const Epoch& epoch) noexcept;

  /// The partition may have another route since the last tell_view().
  void touch(Partition partition) { touched_.push_back(partition); }
  /// Looks at what was touched, and reports what changed.
  template <class Look>
  void tell_view(const Look& look, LocalTime now) {
    if (touched_.empty()) return;
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    changed_.clear();
    for (const Partition p : std::exchange(touched_, {})) note(p, look(p), now);
    tell_changed(now);
  }
  void tell_assignment(const AssignmentNews& news);
  void tell_transition(const Transition& transition);
  void tell_failure(const Error& error);
  void tell_recovery();
  /// Reports everything, as it is, to it.
  void add(std::weak_ptr<Observer> observer, LocalTime now);

  /// As it was last reported.
  [[nodiscard]] const ObservedRoute& route(Partition partition) const noexcept {
    return routes_[partition.value()];
  }
  [[nodiscard]] bool empty() const noexcept { return observers_.empty(); }

 private:
  void note(Partition partition, Seen seen, LocalTime now);
  void tell_changed(LocalTime now);
  template <class Tell>
  void each(const Tell& tell) noexcept;

  std::vector<ObservedRoute> routes_;
  std::vector<std::uint64_t> marks_;
  std::vector<Partition> touched_;
  std::vector<ChangedRoute> changed_;
  std::vector<std::weak_ptr<Observer>> observers_;
  std::uint64_t version_ = 0;
  std::uint64_t digest_ = 0;
};

}  // namespace neliroute
