// Which refusals by stores the state machine is notified of: every write to a store may report one,
// on many threads, while the executor is busy.
//
// Of a greater incarnation it is notified at once, and of any after an interval: it may not have
// led when it was notified, or not have believed what another store said.
//
// Threads: any.   Units: LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <neliroute/ids.h>
#include <neliroute/time.h>

namespace neliroute {

class Refusals {
 public:
  explicit Refusals(milliseconds interval) : interval_(interval) {}

  [[nodiscard]] bool is_news(Partition partition, std::int64_t incarnation, LocalTime now) {
    const std::lock_guard lock(mutex_);
    Refusal& last = last_[partition];
    if (incarnation <= last.incarnation && now < later(last.told, interval_)) return false;
    last = {incarnation, now};
    return true;
  }

 private:
  /// The greatest incarnation that a store reported, and when the strand was notified of it.
  struct Refusal {
    std::int64_t incarnation = -1;
    LocalTime told = kLongAgo;
  };
  milliseconds interval_;
  std::mutex mutex_;
  std::map<Partition, Refusal> last_;
};

}  // namespace neliroute
