// What a lookup answers: this process, another one, nobody, or that it cannot be known now.
//
// Threads: values.   Units: LocalTime (CLOCK_BOOTTIME), microseconds.
// Errors: none; a lookup always answers.
// Paper: "Consistent hashing".
#pragma once

#include <iosfwd>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <neliroute/slot.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>

namespace neliroute {

enum class Verdict {
  local,    ///< this process leads the slot now
  remote,   ///< another process is believed to lead it: go to its endpoint
  unowned,  ///< nobody leads it, as far as a living ledger tells
  unknown,  ///< the ledger has not told yet, or has fallen silent
};

[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;
std::ostream& operator<<(std::ostream& out, Verdict verdict);

struct RouteCopy;

/// The answer for one slot at one instant. One cache line: what a caller does not ask for, such as
/// the text of an endpoint, is not touched.
///
/// A Route may be kept beside others: what it points to stays valid for an hour after lookups last
/// named it, and no longer than its Router or Watcher lives. Where processes come and go so fast
/// that more than 16 MiB of names would be kept, the oldest go earlier, never within a minute.
/// copy() keeps them longer.
struct Route {
  /// What was asked for; of a partition or key, its slot (a partition's first).
  Slot slot;
  Partition partition;
  Verdict verdict = Verdict::unknown;
  /// Who owns it, and who claimed it last and does not lead it yet; null if nobody.
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

}  // namespace neliroute
