// T*: the longest lease by which anybody may still be leading (rule 6).
//
// A newcomer reads only the end of a log, and does not see which process was given a long lease
// before that. So every record carries what its writer knows (`max_ms`), and a newcomer believes
// it. A process that has read a log for that long, without a gap, has read of every lease that is
// still in force, and believes `lease_ms` alone: otherwise a single long lease would be handed on
// for ever. The store's stamps in the log measure that time, so a process that lags behind, or was
// stopped, forgets nothing too early. Where writers stamp the records, its own clock does: what it
// reads was sent before, and when it reads an own record back it has read all that came before.
//
// Threads: one (inside ClaimProtocol or HintClaims).   Units: milliseconds, BrokerTime, LocalTime.
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
  void read(const Received& event, const Record& record, LocalTime now);
  /// An own record was read back that was sent then. Who never says so forgets no `max_ms` of
  /// records that their writers stamped.
  void read_back(Log log, LocalTime sent);
  /// Records read from this log from here on do not continue those read before.
  void gap(Log log);
  /// Never below this process's own lease.
  [[nodiscard]] milliseconds value() const noexcept { return value_; }

 private:
  /// By the store's clock, or by this process's.
  using Time = microseconds;
  struct InForce {
    milliseconds lease{0};
    Time until;
  };
  struct LogLeases {
    milliseconds told{0};        ///< stated by `max_ms`, or known before a gap
    bool stamped = true;         ///< by the store
    std::optional<Time> since;   ///< of the first record that was read
    bool read_for_long = false;  ///< so this process knows better than what others state
    std::vector<InForce> in_force;    ///< the longer a lease, the earlier it ends

    [[nodiscard]] milliseconds bound() const noexcept;
    void add(const InForce& added);
  };
  void note_length(LogLeases& l, Time time, milliseconds error) const;
  void update();

  milliseconds own_;
  milliseconds clock_error_;
  bool believe_broker_time_;
  std::vector<LogLeases> logs_;
  milliseconds value_;
};

}  // namespace neliroute
