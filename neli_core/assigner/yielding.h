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
#include <optional>

#include "neli_core/assigner/members.h"
#include "neli_core/assigner/own_reading.h"
#include "neli_core/mutation.h"
#include "neli_core/record/partition_ranges.h"
#include "neli_core/record/record.h"

namespace neliroute {

class Yielding {
 public:
  Yielding(milliseconds session, milliseconds interval) : session_(session), interval_(interval) {}

  /// A renewal of another of the members was read, while this process holds the seat. Who reads in
  /// bursts reads many at once: how far they are apart the log's flow says.
  void read(const Record& renewal, const OwnReading& own, const Members& members, LocalTime now) {
    const microseconds flowed = members.flow().total();
    look(own, flowed, now);
    if (!is_better(*renewal.member, flowed, now)) {
      stated_.erase(renewal.id);
      return;
    }
    Stated& stated = stated_[renewal.id];
    if (stated.times > 0 && flowed < stated.at + interval_ / 2) return;  // the same batch
    stated.times = is_over(stated, flowed) ? 1 : stated.times + 1;
    stated.at = flowed;
    stated.unread = renewal.member->unread.size();
    stated.lag = renewal.member->lag.value_or(milliseconds{0});
    some_ = some_ || stated.times >= kTimes;
  }
  /// To whom: to who reads most, and then soonest; kNobody: to none yet.
  [[nodiscard]] ProcessId to(const Members& members, LocalTime now) {
    const bool pauses = last_ != kLongAgo && now < later(last_, 2 * session_);
    if (!some_ || pauses || mutated(Mutation::never_yields)) return kNobody;
    some_ = false;
    std::erase_if(stated_, [&](const auto& entry) {
      return is_over(entry.second, members.flow().total()) || !members.lives(entry.first);
    });
    auto best = stated_.end();
    for (auto at = stated_.begin(); at != stated_.end(); ++at) {
      if (at->second.times < kTimes || now < later(last_, pause(at->first, now))) continue;
      if (best == stated_.end() || goes_before(*at, *best, members)) best = at;
    }
    if (best == stated_.end()) return kNobody;
    const ProcessId id = best->first;
    wait_ = is_again(id, now) ? std::min<microseconds>(2 * wait_, kLongest) : 2 * session_;
    last_ = now;
    last_to_ = id;
    stated_.clear();
    return id;
  }
  void forget() {
    forget_lags();
    unread_since_ = kNever;
  }
  /// What a log that stood still made of them says nothing of this process.
  void forget_lags() {
    stated_.clear();
    some_ = false;
    lag_ = microseconds{0};
    lags_since_.reset();
  }

 private:
  static constexpr int kTimes = 2;
  static constexpr int kLastsIntervals = 3;
  static constexpr microseconds kLongest = std::chrono::minutes{10};
  struct Stated {
    int times = 0;
    microseconds at{0};  ///< in the log's flow
    std::size_t unread = 0;
    milliseconds lag{0};
  };
  using Entry = std::pair<const ProcessId, Stated>;

  // Who states no more may have died.
  [[nodiscard]] bool is_over(const Stated& stated, microseconds flowed) const {
    return flowed >= stated.at + kLastsIntervals * interval_;
  }
  [[nodiscard]] static bool goes_before(const Entry& one, const Entry& other,
                                        const Members& members) {
    const auto& [id, stated] = one;
    if (stated.unread != other.second.unread) return stated.unread < other.second.unread;
    if (stated.lag != other.second.lag) return stated.lag < other.second.lag;
    return is_preferred(*members.find(id), *members.find(other.first));
  }

  void look(const OwnReading& own, microseconds flowed, LocalTime now) {
    unread_ = own.unread(now);
    unread_since_ = unread_.empty() ? kNever : std::min(unread_since_, now);
    // Of who read nothing of its own in a session, nothing shows that it reads sooner now.
    const auto lag = own.lag(now);
    if (!lag && !mutated(Mutation::lag_forgotten)) return;
    lag_ = lag.value_or(microseconds{0});
    if (lag_ <= session_ / 3) {
      lags_since_.reset();
    } else if (!lags_since_ || has_grown()) {
      lags_since_ = flowed;
      lagged_ = lag_;
    }
  }
  // What others who lag as much stated before is more than half of it: they seem no better.
  [[nodiscard]] bool has_grown() const {
    return 2 * lag_ > 3 * lagged_ && !mutated(Mutation::yields_at_once);
  }
  // What a broker does to all, each states only when it has met it itself: what was written before
  // that says nothing. When that was the log's flow says, as a burst is read at once.
  [[nodiscard]] bool is_better(const MemberFields& theirs, microseconds flowed,
                               LocalTime now) const {
    if (!theirs.reads || theirs.leaving) return false;
    PartitionRanges both = theirs.unread;
    both.insert(unread_);
    if (both != unread_) return false;  // or two would be better than each other
    const microseconds met = mutated(Mutation::yields_at_once) ? microseconds{0} : lag_;
    const bool lags = lags_since_ && flowed >= *lags_since_ + met;
    if (lags && theirs.lag && 2 * *theirs.lag <= lag_) return true;
    return now >= later(unread_since_, std::max(lag_, interval_)) && theirs.unread != unread_;
  }
  /// Twice as long each time to the same one.
  [[nodiscard]] microseconds pause(ProcessId id, LocalTime now) const {
    return is_again(id, now) ? wait_ : 2 * session_;
  }
  [[nodiscard]] bool is_again(ProcessId id, LocalTime now) const {
    return id == last_to_ && now < later(last_, wait_ + kLongest) &&
           !mutated(Mutation::yields_never_double);
  }

  microseconds session_;
  microseconds interval_;
  std::map<ProcessId, Stated> stated_;
  bool some_ = false;                  ///< stated it often enough, and was not looked at
  microseconds lag_{0};                ///< its own
  PartitionRanges unread_;             ///< by it
  std::optional<microseconds> lags_since_;  ///< more than a third of its session; in the flow
  microseconds lagged_{0};                  ///< then
  LocalTime unread_since_ = kNever;
  LocalTime last_ = kLongAgo;
  ProcessId last_to_ = kNobody;
  microseconds wait_{0};
};

}  // namespace neliroute
