// --events: what happened to the partitions of this process, a JSON object a line.
//
// Each line is one write(2), so that a process that is killed leaves no half line but its last, and
// whoever follows the file sees a line at once.
//
// Threads: one at a time.
// Units: `at` is Unix seconds, `boot` CLOCK_BOOTTIME seconds, to the microsecond: both of the
// instant at which the answer changed, not of the writing.
// Errors: open() names the file and what to do; a failed write is told once, and does not stop the
// process: it would give up its slots for the sake of a log.
#pragma once

#include <memory>
#include <string>

#include "neli_core/ids.h"
#include "neli_core/options.h"
#include "neli_core/result.h"
#include "router/transition.h"

namespace neliroute::tool {

/// A file that is written a whole line at a time.
class LineWriter {
 public:
  /// "-" is stdout. A file is appended to.
  [[nodiscard]] static Result<std::unique_ptr<LineWriter>> open(const std::string& path);
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  void write(std::string line);

 private:
  LineWriter(std::string path, int file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  int file_;
  bool failed_ = false;
};

/// Whose events they are.
struct EventSource {
  std::string process;
  ProcessId id;
  Lane lane;
  Mode mode = Mode::non_exclusive;
};

/// The line of a transition, without its end; empty for one that has none (barrier_overdue).
/// `unix_minus_boot`: what to add to LocalTime for Unix time.
[[nodiscard]] std::string event_line(const EventSource& source, const Transition& transition,
                                     microseconds unix_minus_boot);

[[nodiscard]] microseconds unix_minus_boot_now();
/// "1234.567890"
[[nodiscard]] std::string seconds_text(microseconds since_epoch);

}  // namespace neliroute::tool
