// Whether the holder of the seat gives way to a member that reads better: never because it reads
// badly itself, since a broker may be slow for everybody (rule A2).
//
// Threads: one (inside AssignedCore).   Units: LocalTime, std::chrono.   Errors: none.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <neliroute/ids.h>
#include <neliroute/time.h>

#include "neli_core/assigner/members.h"
#include "neli_core/assigner/own_reading.h"
#include "neli_core/mutation.h"
#include "neli_core/record/partition_ranges.h"
#include "neli_core/record/record.h"

namespace neliroute {

class Yielding {
 public:
  Yielding(milliseconds session, milliseconds interval) : session_(session), interval_(interval) {}

  /// A renewal of another member was read, while this process holds the seat.
  void read(const Record& renewal, const OwnReading& own, LocalTime now) {
    look(own, now);
    if (!is_better(*renewal.member, now)) {
      stated_.erase(renewal.id);
      return;
    }
    Stated& stated = stated_[renewal.id];
    if (stated.times > 0 && now < later(stated.at, interval_ / 2)) return;  // the same batch
    ++stated.times;
    stated.at = now;
  }
  /// To whom; kNobody: to none yet.
  [[nodiscard]] ProcessId to(const Members& members, LocalTime now) {
    if (stated_.empty() || mutated(Mutation::never_yields)) return kNobody;
    for (const Member* member : members.living()) {
      const auto stated = stated_.find(member->id);
      if (stated == stated_.end() || stated->second.times < kTimes) continue;
      if (last_ != kLongAgo && now < later(last_, pause(member->id))) return kNobody;
      wait_ = pause(member->id);
      if (member->id == last_to_) wait_ = std::min<microseconds>(2 * wait_, kLongest);
      last_ = now;
      last_to_ = member->id;
      stated_.clear();
      return member->id;
    }
    return kNobody;
  }
  void forget() {
    stated_.clear();
    lags_since_ = kNever;
    unread_since_ = kNever;
  }

 private:
  static constexpr int kTimes = 2;
  static constexpr microseconds kLongest = std::chrono::minutes{10};
  struct Stated {
    int times = 0;
    LocalTime at = kLongAgo;
  };

  void look(const OwnReading& own, LocalTime now) {
    lag_ = own.lag(now);
    unread_ = own.unread(now);
    lags_since_ = lag_ > session_ / 3 ? std::min(lags_since_, now) : kNever;
    unread_since_ = unread_.empty() ? kNever : std::min(unread_since_, now);
  }
  // What a broker does to all, each states only when it has met it itself: what was written before
  // that says nothing.
  [[nodiscard]] bool is_better(const MemberFields& theirs, LocalTime now) const {
    if (!theirs.reads || theirs.leaving) return false;
    const microseconds met = mutated(Mutation::yields_at_once) ? microseconds{0} : lag_;
    const bool lags = now >= later(lags_since_, met);
    if (lags && theirs.lag && 2 * *theirs.lag <= lag_) return true;
    if (now < later(unread_since_, std::max(lag_, interval_))) return false;
    PartitionRanges both = theirs.unread;
    both.insert(unread_);
    return both == unread_ && theirs.unread != unread_;
  }
  /// Twice as long each time to the same one.
  [[nodiscard]] microseconds pause(ProcessId id) const {
    return id == last_to_ && !mutated(Mutation::yields_never_double) ? wait_ : 2 * session_;
  }

  microseconds session_;
  microseconds interval_;
  std::map<ProcessId, Stated> stated_;
  microseconds lag_{0};                ///< its own
  PartitionRanges unread_;             ///< by it
  LocalTime lags_since_ = kNever;      ///< more than a third of its session
  LocalTime unread_since_ = kNever;
  LocalTime last_ = kLongAgo;
  ProcessId last_to_ = kNobody;
  microseconds wait_{0};
};

}  // namespace neliroute
