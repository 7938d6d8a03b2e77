// The session timeout of a group with the consumer protocol: whether this process may set the one
// that its options ask for, and what to report if it is long and cannot be set.
//
// Threads: pure functions, any.   Units: std::chrono.   Errors: none; texts say what to do.
#pragma once

#include <optional>
#include <string>

#include "ledgers/kafka/kafka_options.h"
#include "neli_core/timing.h"

namespace neliroute {

/// The wanted session, and what the brokers report.
struct GroupSession {
  std::string brokers;
  std::string group;
  /// --session; no value: any session in force is fine.
  std::optional<milliseconds> wanted;
  /// In force; no value: unknown.
  std::optional<milliseconds> session;
  /// The broker's floors for what a group may set for itself. Both are static.
  std::optional<milliseconds> session_floor;
  std::optional<milliseconds> heartbeat_floor;
  /// Of a session with the classic protocol.
  std::optional<milliseconds> classic_floor;
  /// The group's session or heartbeat was set for this group.
  bool own_settings = false;
  /// It has no member; no value: unknown, or not queried yet.
  std::optional<bool> empty;
};

struct GroupSessionPlan {
  enum class Step {
    leave,      ///< nothing to do, or nothing that this process may do: `why_not` says what
    ask_empty,  ///< all depends on whether the group has members
    set,
  };
  Step step = Step::leave;
  milliseconds session{0};
  milliseconds heartbeat{0};
  std::string why_not;
};

[[nodiscard]] GroupSessionPlan plan_group_session(const GroupSession& found);

/// The same if the broker refused to set it.
[[nodiscard]] std::string cannot_set(const GroupSession& found, const std::string& refusal);

/// A warning if no session was asked for and the one in force leaves slots unowned for long after
/// a kill; no value: it is short enough.
[[nodiscard]] std::optional<std::string> long_session_warning(const GroupSession& found);

}  // namespace neliroute
