// What a lookup answers: this process, another one, nobody, or that it cannot be known now.
//
// Threads: values; see Route for how long its strings live.
// Units: LocalTime (CLOCK_BOOTTIME), microseconds.   Errors: none; a lookup always answers.
// Paper: "Consistent hashing".
#pragma once

#include <neliroute/ids.h>
#include <neliroute/process.h>
#include <neliroute/slot.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>
#include <vector>

namespace neliroute {

enum class Verdict {
  local,    ///< this process leads the slot now
  remote,   ///< another process is believed to lead it: go to its endpoint
  unowned,  ///< nobody leads it, as far as a living ledger tells
  unknown,  ///< the ledger has not told yet, or has fallen silent
};

[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;

struct RouteCopy;

/// The answer for one slot at one instant. One cache line: what a caller does not ask for, such as
/// the text of an endpoint, is not touched.
struct Route {
  Slot slot;
  Partition partition;
  Verdict verdict = Verdict::unknown;
  /// Who owns it, and who claimed it last and does not lead it yet; null if nobody. Both, and the
  /// views below, are valid until this thread's next call on the same Router or Watcher; copy()
  /// keeps them.
  const ProcessInfo* owner_info = nullptr;
  const ProcessInfo* next_info = nullptr;
  /// local and remote: the fencing number of the ownership.
  Epoch epoch = kNoEpoch;
  /// local and remote: how long to believe this answer.
  microseconds valid_for{0};
  /// unowned: since when, as far as is known.
  LocalTime unowned_since;

  /// Empty where there is nobody.
  [[nodiscard]] std::string_view owner() const noexcept {
    return owner_info ? std::string_view(owner_info->name) : std::string_view();
  }
  [[nodiscard]] std::string_view endpoint() const noexcept {
    return owner_info ? std::string_view(owner_info->endpoint) : std::string_view();
  }
  [[nodiscard]] std::string_view next_owner() const noexcept {
    return next_info ? std::string_view(next_info->name) : std::string_view();
  }
  [[nodiscard]] std::string_view next_endpoint() const noexcept {
    return next_info ? std::string_view(next_info->endpoint) : std::string_view();
  }

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
  LocalTime until;  ///< no promise: it may stop and a successor lead before; a Work is (begin())
};

}  // namespace neliroute
