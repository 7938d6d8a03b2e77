// The logs of a lane in memory: every record is encoded by its writer and decoded here, once for
// all of its readers, who may read it some milliseconds after it was written.
//
// Threads: one.   Units: LocalTime is simulated; CPU time is this machine's.   Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <string>
#include <vector>

#include "neli_core/event.h"
#include "neli_core/record/record.h"

namespace neliroute::scale {

/// A record as its log holds it.
struct Stored {
  LocalTime readable;
  BrokerTime stamped;
  std::shared_ptr<const Decoded> value;
};

/// What was written to a log so far.
struct Written {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  ///< of values, without what Kafka adds
};

class MemoryLogs {
 public:
  MemoryLogs(std::uint32_t logs, milliseconds delay) : logs_(logs), delay_(delay) {}

  /// Returns the record's offset.
  std::int64_t append(Log log, const std::string& value, LocalTime now);

  [[nodiscard]] std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(logs_.size());
  }
  [[nodiscard]] std::int64_t end(Log log) const noexcept {
    return static_cast<std::int64_t>(logs_[log.value()].records.size());
  }
  [[nodiscard]] const Written& written(Log log) const noexcept {
    return logs_[log.value()].written;
  }
  /// Of one thread that decodes every record once.
  [[nodiscard]] double decoding_seconds() const noexcept { return decoding_seconds_; }
  [[nodiscard]] milliseconds delay() const noexcept { return delay_; }

  /// Calls visit(Received) for what a reader that has read up to `next` reads now; moves `next` on.
  template <class Visitor>
  void read(Log log, std::int64_t& next, LocalTime now, Visitor&& visit) const {
    const std::vector<Stored>& records = logs_[log.value()].records;
    while (next < end(log) && records[static_cast<std::size_t>(next)].readable <= now) {
      const Stored& stored = records[static_cast<std::size_t>(next)];
      visit(Received{log, next++, stored.stamped, true, stored.value.get()});
    }
  }

 private:
  struct OneLog {
    std::vector<Stored> records;
    Written written;
  };
  std::vector<OneLog> logs_;
  milliseconds delay_;
  double decoding_seconds_ = 0;
};

}  // namespace neliroute::scale
