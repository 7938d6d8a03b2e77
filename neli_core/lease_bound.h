// T*: the longest lease by which anybody may still be leading (rule 6).
//
// A newcomer reads only the end of a log, and does not see which process was given a long lease
// before that. So every record carries what its writer knows (`max_ms`), and a newcomer believes
// it. A process that has read a log for that long, without a gap, has read of every lease that is
// still in force, and believes `lease_ms` alone: otherwise a single long lease would be handed on
// for ever. The stamps in the log measure that time, so a process that lags behind, or was stopped,
// forgets nothing too early.
//
// Threads: one (inside ClaimProtocol or HintClaims).   Units: milliseconds, BrokerTime.
// Errors: none. The value may be too great, never too small.
#pragma once

#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <vector>

#include "neli_core/event.h"
#include "neli_core/options.h"
#include "neli_core/record/record.h"

namespace neliroute {

class LeaseBound {
 public:
  explicit LeaseBound(const CoreOptions& options);

  /// The next record of its log, of any lane.
  void read(const Received& event, const Record& record);
  /// Records read from this log from here on do not continue those read before.
  void gap(Log log);
  /// Never below this process's own lease.
  [[nodiscard]] milliseconds value() const noexcept { return value_; }

 private:
  struct InForce {
    milliseconds lease{0};
    BrokerTime until;
  };
  struct LogLeases {
    milliseconds told{0};             ///< stated by `max_ms`, or known before a gap
    std::optional<BrokerTime> since;  ///< of the first record that was read
    bool read_for_long = false;       ///< so this process knows better than what others state
    std::vector<InForce> in_force;    ///< the longer a lease, the earlier it ends

    [[nodiscard]] milliseconds bound() const noexcept;
    void add(const InForce& added);
  };
  void read_stamped(LogLeases& l, const Record& record, BrokerTime stamped) const;

  milliseconds own_;
  milliseconds clock_error_;
  bool believe_broker_time_;
  std::vector<LogLeases> logs_;
  milliseconds value_;
};

}  // namespace neliroute
