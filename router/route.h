// What a lookup answers: this process, another one, nobody, or that it cannot be known now.
//
// Threads: values; see Route for how long its strings live.
// Units: LocalTime (CLOCK_BOOTTIME), microseconds.   Errors: none; a lookup always answers.
// Paper: "Consistent hashing".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "neli_core/ids.h"
#include "neli_core/time.h"
#include "slots/slot.h"

namespace neliroute {

enum class Verdict {
  local,    ///< this process leads the slot now
  remote,   ///< another process is believed to lead it: go to its endpoint
  unowned,  ///< nobody leads it, as far as a living ledger tells
  unknown,  ///< the ledger has not told yet, or has fallen silent
};

[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;

struct RouteCopy;

/// The answer for one slot at one instant.
struct Route {
  Slot slot;
  Partition partition;
  Verdict verdict = Verdict::unknown;
  /// Views: valid until this thread's next call on the same Router or Watcher; copy() keeps them.
  std::string_view owner;
  std::string_view endpoint;
  /// Who claimed the slot last and does not lead it yet; empty if nobody.
  std::string_view next_owner;
  std::string_view next_endpoint;
  /// local and remote: the fencing number of the ownership.
  Epoch epoch = kNoEpoch;
  /// local and remote: how long to believe this answer.
  microseconds valid_for{0};
  /// unowned: since when, as far as is known.
  LocalTime unowned_since;

  [[nodiscard]] RouteCopy copy() const;
};

/// A Route that owns its strings.
struct RouteCopy {
  Slot slot;
  Partition partition;
  Verdict verdict = Verdict::unknown;
  std::string owner;
  std::string endpoint;
  std::string next_owner;
  std::string next_endpoint;
  Epoch epoch = kNoEpoch;
  microseconds valid_for{0};
  LocalTime unowned_since;
};

/// The right to act for a slot: check it before the act, and hand the epoch to the store.
struct Lease {
  Epoch epoch;
  LocalTime until;
};

}  // namespace neliroute
