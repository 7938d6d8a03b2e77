// When a voter without a leader stands for election: by its priority. Each time that an election
// timeout passes without a leader the target falls by one, and who reaches it stands.
//
// Threads: one.   Units: LocalTime.   Errors: none.
// Seed: "Priority based election for uniform distribution of leaders".
#pragma once

#include <neliroute/time.h>
#include <optional>

#include "quorum/entry.h"

namespace neliroute::quorum {

class Patience {
 public:
  explicit Patience(milliseconds election) : election_(election) {}

  /// A leader was heard, or somebody was voted for: a timeout from now, the target is the highest
  /// priority of the others. `lost`: who led last, and does not count.
  void begin(const Configuration& voters, std::optional<VoterId> lost, LocalTime now);
  /// An election goes on, and has a timeout from now.
  void go_on(LocalTime now) noexcept { until_ = now + election_; }
  /// A leader was heard: elections that came to nothing are forgotten.
  void heard() noexcept { timeouts_ = 0; }
  [[nodiscard]] LocalTime until() const noexcept { return until_; }

  /// It is over. Returns whether to stand. `stood`: it did already, in vain.
  bool timed_out(const Configuration& voters, const Member& own, bool stood, LocalTime now);

 private:
  milliseconds election_;
  LocalTime until_{};
  std::optional<VoterId> lost_;
  int target_ = 1;
  /// A timeout passed without standing, since begin(): the next one lowers the target.
  bool waited_ = false;
  /// Since a leader was heard.
  int timeouts_ = 0;
};

}  // namespace neliroute::quorum
