// What one process needs to take part: identity, settings and timing.
//
// Threads: values, any.   Units: std::chrono.
// Errors: validate() names the option, both numbers and what to do.
// Paper: "Protocol definition" (T), "Exclusivity of role assignment" (e).
#pragma once

#include <cstddef>
#include <cstdint>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>

#include "neli_core/record/record.h"

namespace neliroute {

/// What settings call `variation` claimed with Assignment::assigner, so that processes of the other
/// source refuse.
inline constexpr std::string_view kAssignedVariation = "claimed+assigner";

struct CoreOptions {
  /// 64 random bits, drawn at every start. Never kNobody.
  ProcessId id = kNobody;
  Lane lane;
  Mode mode = Mode::non_exclusive;
  milliseconds interval{500};
  milliseconds lease{9000};
  milliseconds clock_error{150};
  /// Whether the topic is known to stamp LogAppendTime. If not, no broker time is believed and
  /// exclusive mode waits the local graces only.
  bool believe_broker_time = true;
  /// How often the group sends a member its assignment, if it can be queried sooner: the consumer
  /// protocol's heartbeat interval. 0: it cannot.
  milliseconds heartbeat{0};
  /// `mode` inside is filled in from the field above.
  Settings settings;
  ProcessInfo process;
  /// How long the application may prepare before a claim, and again warm up before it leads. 0: it
  /// is not asked to.
  milliseconds prepare_timeout{0};
  /// Non-exclusive mode: for how long what is led is served on while its log is silent, counted
  /// from when the newest own record that was read back was sent. 0: no longer than the lease.
  milliseconds serve_stale{0};
  /// Where a member assigns: no longer than this after another process was named for it, while
  /// log 0 flows and the assigner reads the log.
  milliseconds serve_stale_beside = kServeStaleMax;
  /// A record that would be longer is split, unless it names one partition only.
  std::size_t record_bytes_max = kRecordBytesMax;

  /// Checks the bounds that the state machine itself rests on. Those between lease and session are
  /// in timing.h, as the session is known only after querying the broker.
  [[nodiscard]] Result<void> validate() const;
  /// What every record of this process carries. `lease_bound`: T*; `greatest_incarnation`: of its
  /// log, the least that a claim asks for.
  [[nodiscard]] Record header(RecordType type, milliseconds lease_bound,
                              std::int64_t greatest_incarnation,
                              std::optional<std::int64_t> since) const;
};

}  // namespace neliroute
