// What a process asks of a ledger, whichever store that is on: the lane, and the part that it
// takes in it.
//
// Threads: values, any.   Units: std::chrono.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/options.h>
#include <optional>
#include <string>

namespace neliroute {

inline constexpr std::uint32_t kPartitionsDefault = 64;
inline constexpr std::uint32_t kLogsDefault = 4;

/// Kafka's name of a lane's group.
[[nodiscard]] inline std::string group_id(const std::string& group, Lane lane) {
  return lane.value() == 0 ? group : group + ".lane-" + std::to_string(lane.value());
}

struct LedgerNeeds {
  /// G; Kafka's group is G in lane 0 and G.lane-N else (group_id()).
  std::string group = "neliroute";
  Lane lane;
  Mode mode = Mode::non_exclusive;
  /// `broadcast`: the group's member reads its partitions, and records go to all of them.
  Variation variation = Variation::claimed;
  /// `assigner`: there is no group.
  Assignment assignment = Assignment::group;
  /// With an assigner any number; no value: the running group's, or kPartitionsDefault. With a
  /// group no value means an existing topic's, or kPartitionsDefault for a new one.
  std::optional<std::uint32_t> partitions;
  /// No value: kLogsDefault, or all if there are fewer.
  std::optional<std::uint32_t> logs;
  /// No value: `consumer` where library and broker have it, else `classic`.
  std::optional<GroupProtocol> protocol;
  MissingTopic missing_topic = MissingTopic::wait_for_timeout;
  /// What --session requests: it is set where a group's session can be set (group_session.h).
  std::optional<milliseconds> session;
  /// How long an application may prepare: who cannot lead stays away for as long (Withdrawal).
  milliseconds prepare_timeout{0};
  /// A reader that owns nothing: reads from the end, no group, no producer, creates nothing.
  bool watcher = false;
  /// Of a watcher: it writes all the same, as an operator's command.
  bool writes = false;
};

}  // namespace neliroute
