// What a lookup answers: this process, another one, nobody, or unknown.
//
// Threads: values.   Units: LocalTime (CLOCK_BOOTTIME), microseconds.
// Errors: none; a lookup always answers.
// Paper: "Consistent hashing".
#pragma once

#include <iosfwd>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>

namespace neliroute {

enum class Verdict {
  local,    ///< this process leads the slot now
  remote,   ///< another process is believed to lead it: go to its endpoint
  unowned,  ///< nobody leads it, according to a ledger that answers
  unknown,  ///< the ledger has not answered yet, or has stopped answering
};

[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;
std::ostream& operator<<(std::ostream& out, Verdict verdict);

struct RouteCopy;

/// The answer for one slot at one instant. One cache line: a lookup does not touch what the caller
/// does not read, such as the text of an endpoint.
///
/// A Route may be kept: what it points to stays valid for an hour after a lookup last returned it,
/// but no longer than its Router or Watcher lives. If processes come and go so fast that more than
/// 16 MiB of names would be kept, the oldest are freed earlier, but never within a minute. copy()
/// keeps them longer.
struct Route {
  /// The slot that was looked up: that of a key, the first one of a partition.
  Slot slot;
  Partition partition;
  Verdict verdict = Verdict::unknown;
  /// remote: a caller could not reach the owner, and no record of it was read since: see suspect()
  /// of Router and Watcher.
  bool suspected = false;
  /// local and remote: its log is silent, and the last owner serves on beyond its lease
  /// (TimingOptions::serve_stale).
  bool stale = false;
  /// The owner, and the process that claimed it last but does not lead it yet; null if none.
  const ProcessInfo* owner_info = nullptr;
  const ProcessInfo* next_info = nullptr;
  /// local and remote: the fencing number of the ownership.
  Epoch epoch = kNoEpoch;
  /// local and remote: how long to believe it, at most; a local one may end earlier (Lease::until).
  microseconds valid_for{0};
  /// unowned: since when, as far as is known.
  LocalTime unowned_since;

  /// Empty if there is none.
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
  bool suspected = false;
  bool stale = false;
  std::string owner;
  std::string endpoint;
  std::string next_owner;
  std::string next_endpoint;
  Epoch epoch = kNoEpoch;
  microseconds valid_for{0};
  LocalTime unowned_since;
};

}  // namespace neliroute
