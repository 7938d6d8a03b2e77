// How long the designees have not led what they are named for (rule A5): time in which one does not
// lead adds up, time in which it leads takes off as much, both in the flow of the partition's log.
// A log in which nothing is written, or from which nothing is read, says nothing of anybody.
//
// Threads: one (inside Assigner).   Units: flow, in microseconds.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <vector>

#include "neli_core/log/flow.h"
#include "neli_core/record/record.h"

namespace neliroute {

class Patience {
 public:
  Patience(std::uint32_t logs, std::uint32_t partitions, milliseconds session)
      : session_(session), flows_(logs), waits_(partitions) {}

  /// A record of the lane was read in that log, whose time was then `stamp`. Returns whether the
  /// log had stood still before.
  bool read(const Record& record, const LogPlace& place, microseconds stamp);
  /// Who is named for it, and how long it may take. Another one has all its time before it.
  void name(Partition partition, ProcessId designee, microseconds limit);
  /// Nothing that was not led so far counts any more.
  void begin_anew();
  /// What is read next of that log need not follow what was read last.
  void restarted(Log log) { flows_[log.value()].lost(); }

  /// How much longer its designee may not lead. Zero: it has failed.
  [[nodiscard]] microseconds left(Partition partition) const {
    return waits_[partition.value()].limit - missed(partition);
  }

 private:
  struct Wait {
    ProcessId designee = kNobody;
    microseconds limit{0};
    Flow::Mark from;
    microseconds missed{0};   ///< up to there
    microseconds covered{0};  ///< so much of what follows it leads, unless it says otherwise
    microseconds excused{0};  ///< as its application prepared; leading takes off an eighth
    microseconds excuse{0};   ///< how much may be
  };
  [[nodiscard]] Flow& flow_of(Partition partition) {
    return flows_[partition.value() % flows_.size()];
  }
  [[nodiscard]] microseconds since_settled(Partition partition) const;
  /// How much of that its designee led.
  [[nodiscard]] microseconds led(Partition partition) const;
  [[nodiscard]] microseconds missed(Partition partition) const;
  void note(const Record& record, const LogPlace& place);
  void settle(Partition partition, bool counts);
  void excuse(const Record& record);
  void excuse(Partition partition, microseconds preparing);

  milliseconds session_;  ///< the assigner's
  std::vector<Flow> flows_;
  std::vector<Wait> waits_;
};

}  // namespace neliroute
