// How late this process reads what it writes to log 0, and which logs it does not read at all: what
// its renewals say of it, and the holder of the seat compares (rule A2).
//
// Threads: one (inside AssignedCore).   Units: LocalTime, std::chrono.   Errors: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <utility>
#include <vector>

#include "neli_core/record/partition_ranges.h"

namespace neliroute {

struct OwnReadingOptions {
  std::uint32_t logs = 1;
  milliseconds session{0};
  milliseconds lease{0};
};

class OwnReading {
 public:
  explicit OwnReading(OwnReadingOptions options) : options_(options), logs_(options.logs) {}

  /// From the first call on it counts what it does not read.
  void begins(LocalTime now) {
    if (began_ == kLongAgo) began_ = now;
  }
  void wrote(Log log, LocalTime now) {
    LogReads& reads = logs_[log.value()];
    reads.wrote = now;
    reads.waits_since = std::min(reads.waits_since, now);
  }
  /// The log answered, with a record or with its end.
  void answered(Log log, LocalTime now) { logs_[log.value()].answered = now; }
  /// An own record was read. `sent`: no value: it was under way for longer than a lease.
  void read_back(Log log, std::optional<LocalTime> sent, LocalTime now) {
    if (sent && now - *sent < options_.lease) logs_[log.value()].waits_since = kNever;
    if (log != Log{0}) return;
    read_ = now;
    lag_ = sent ? now - *sent : microseconds{options_.session} + options_.lease;
    if (!sent || *sent < gap_end_) return;  // what everybody waits for says nothing of this one
    while (!lags_.empty() && lags_.back().second <= lag_) lags_.pop_back();
    while (!lags_.empty() && now - lags_.front().first > options_.session) lags_.pop_front();
    lags_.emplace_back(now, lag_);
  }
  /// Log 0 stood still for everybody until now.
  void gap(LocalTime now) {
    gap_end_ = now;
    lags_.clear();
  }

  /// Its last own record in log 0 took at most a session to come back, and is not older.
  [[nodiscard]] bool in_time(LocalTime now) const noexcept {
    return read_ != kLongAgo && lag_ <= options_.session && now - read_ <= options_.session;
  }
  /// The longest that one took within the last session. No value: none was read in it.
  [[nodiscard]] std::optional<microseconds> lag(LocalTime now) const {
    for (const auto& [read, lag] : lags_) {
      if (now - read <= options_.session) return lag;  // the later ones are shorter
    }
    return std::nullopt;
  }
  /// Nothing was read of them for a lease, or nothing that this process wrote.
  [[nodiscard]] PartitionRanges unread(LocalTime now) const {
    std::vector<Partition> unread;  // their numbers
    for (std::uint32_t l = 0; l < options_.logs; ++l) {
      const LogReads& reads = logs_[l];
      const auto is_over = [&](LocalTime since) { return now >= later(since, options_.lease); };
      const bool writes = reads.wrote != kLongAgo && !is_over(reads.wrote);
      const LocalTime answered = std::max(reads.answered, began_);
      const bool silent = answered != kLongAgo && is_over(answered);
      if (silent || (writes && is_over(reads.waits_since))) unread.push_back(Partition{l});
    }
    return PartitionRanges::of(unread);
  }
 private:
  struct LogReads {
    LocalTime answered = kLongAgo;
    LocalTime wrote = kLongAgo;
    LocalTime waits_since = kNever;  ///< for an own record
  };

  OwnReadingOptions options_;
  std::vector<LogReads> logs_;
  LocalTime began_ = kLongAgo;
  LocalTime read_ = kLongAgo;
  microseconds lag_{0};
  LocalTime gap_end_ = kLongAgo;
  std::deque<std::pair<LocalTime, microseconds>> lags_;  ///< the longest first
};

}  // namespace neliroute
