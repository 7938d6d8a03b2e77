// What listeners prepare, or warm up, before this process leads, and which of it is done. Private.
//
// A run begins when they are called, and ends with the last of their tokens, on any thread. By then
// it may be void: its time was over, or the partition went elsewhere.
//
// Threads: Preparing: one (the strand); EndedRuns: any.   Units: LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "router/reader/meter.h"

namespace neliroute {

/// How long each step took, or was waited for if it did not end in time.
struct RunTimes {
  microseconds prepare{0};
  microseconds warm_up{0};
};

/// One call of the listeners for one partition.
struct Run {
  RunKind kind = RunKind::prepare;
  Partition partition;
  std::uint64_t id = 0;
};

class Preparing {
 public:
  /// Instead of one that is under way.
  [[nodiscard]] Run begin(RunKind kind, Partition partition, LocalTime now);
  /// For the preparation that began last. No value: there is none.
  [[nodiscard]] std::stop_token cancelled(Partition partition) const;
  /// It ended. Returns how long it took; no value: it was void.
  [[nodiscard]] std::optional<microseconds> end(const Run& run, LocalTime now);
  /// The next step came, whether it had ended or not. Returns whether it had not.
  bool pass(RunKind kind, Partition partition, LocalTime now);
  /// This process leads the partition: how long that took. Forgets it.
  [[nodiscard]] RunTimes take_times(Partition partition);
  /// It stopped leading the partition, perhaps before it had warmed up.
  void forget(Partition partition);
  /// This process will not lead the partition: what prepared for it is requested to stop.
  void cancel(Partition partition);
  /// It will lead none any more.
  void cancel_all();
  [[nodiscard]] bool empty() const noexcept { return runs_.empty(); }

 private:
  struct Begun {
    std::uint64_t id = 0;
    LocalTime at;
    std::optional<microseconds> took = std::nullopt;
    std::stop_source stop{std::nostopstate};
  };
  using Key = std::pair<Partition, RunKind>;

  std::map<Key, Begun> runs_;
  std::map<Partition, RunTimes> times_;  ///< of steps that were passed
  std::uint64_t last_id_ = 0;
};

/// Those that ended, on their way to the strand.
class EndedRuns {
 public:
  /// Returns whether the strand must be called to take them.
  [[nodiscard]] bool add(const Run& run) {
    const std::lock_guard lock(mutex_);
    runs_.push_back(run);
    return !std::exchange(taker_comes_, true);
  }
  /// The strand is about to take them: nobody needs to call it.
  void expect_taker() {
    const std::lock_guard lock(mutex_);
    taker_comes_ = true;
  }
  [[nodiscard]] std::vector<Run> take() {
    const std::lock_guard lock(mutex_);
    taker_comes_ = false;
    return std::exchange(runs_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Run> runs_;
  bool taker_comes_ = false;
};

}  // namespace neliroute
