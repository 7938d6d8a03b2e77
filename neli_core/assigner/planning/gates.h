// Whether the assigner may plan now: what it would plan from may be incomplete, and each reason to
// wait has a name and an end (rules A6, A7 and A9).
//
// Threads: one (inside Assigner).   Units: LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <vector>

#include "neli_core/assigner/planning/view.h"
#include "neli_core/core.h"
#include "neli_core/ready.h"

namespace neliroute {

struct GatesOptions {
  std::uint32_t logs = 1;
  milliseconds interval{0};
  milliseconds session{0};
};

class Gates {
 public:
  struct Wait {
    WaitReason reason{};
    LocalTime until;
  };

  explicit Gates(GatesOptions options) : options_(options), logs_(options.logs) {}

  /// It holds the seat from now on, or again. `predecessor`: who held it before, and may be dead.
  void begin(ProcessId predecessor, LocalTime now);
  /// That log is read anew, or has been read to its end: who leads what in it is to be heard first.
  void read_anew(Log log, LocalTime now);
  /// An assignment was written; it was read back; it is known to be lost.
  void wrote(LocalTime now) noexcept { written_ = now; }
  void settled() noexcept { written_ = kLongAgo; }
  void lost(LocalTime now) noexcept { written_ = now - options_.interval; }

  /// The first reason to wait; no value: it may plan.
  [[nodiscard]] std::optional<Wait> closed(const AssignerView& view, LocalTime now);
  /// Times that it waited since many seemed dead at once.
  [[nodiscard]] std::uint64_t waits_for_many() const noexcept { return waits_; }
  [[nodiscard]] std::vector<Notice> take_notices();

 private:
  struct LogStarts {
    LocalTime started = kLongAgo;  ///< when its tail did, or was at the end
    LocalTime series = kLongAgo;   ///< the first of several starts
  };
  [[nodiscard]] LocalTime plan_read_by() const;
  [[nodiscard]] LocalTime owners_heard_by(const Members& members) const;
  [[nodiscard]] LocalTime newcomers_come_by(const AssignerView& view) const;
  [[nodiscard]] LocalTime dead_by(const Members& members, LocalTime now);
  [[nodiscard]] static bool some_live(const AssignerView& view, LocalTime now);

  GatesOptions options_;
  std::vector<LogStarts> logs_;
  LocalTime begun_ = kLongAgo;
  ProcessId predecessor_ = kNobody;
  LocalTime written_ = kLongAgo;        ///< kLongAgo: nothing is on its way
  LocalTime patient_until_ = kLongAgo;  ///< many seem to have died at once
  LocalTime patient_from_ = kLongAgo;   ///< after this
  bool patient_ = false;
  std::uint64_t waits_ = 0;
  std::vector<Notice> notices_;
};

}  // namespace neliroute
