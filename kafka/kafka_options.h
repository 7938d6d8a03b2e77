// The options of the ledger on Kafka: how to reach it, and the part that this process takes.
//
// Threads: values, any.   Units: std::chrono.   Errors: see topic_setup.h and client_config.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/options.h>
#include <optional>
#include <string>
#include <string_view>

namespace neliroute {

/// The Kafka group of a lane.
[[nodiscard]] inline std::string group_id(const std::string& group, Lane lane) {
  return lane.value() == 0 ? group : group + ".lane-" + std::to_string(lane.value());
}

struct KafkaOptions : KafkaConnection {
  /// G; the Kafka group is G in lane 0 and G.lane-N else (group_id()).
  std::string group = "neliroute";
  Lane lane;
  Mode mode = Mode::non_exclusive;
  /// `broadcast`: the group's member reads its partitions, and records go to all of them.
  Variation variation = Variation::claimed;
  /// `assigner`: there is no group.
  Assignment assignment = Assignment::group;
  /// No value: an existing topic's, or kPartitionsDefault for a new one. With an assigner any
  /// number; no value: the running group's, or kPartitionsDefault.
  std::optional<std::uint32_t> partitions;
  /// No value: min(4, partitions). With an assigner, all partitions of a new topic.
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
  /// Of a watcher: it has a producer all the same, as an operator's command.
  bool writes = false;

  [[nodiscard]] std::string group_id() const {
    return neliroute::group_id(group, lane);
  }
};

/// Kafka's own limit: it makes folders of them.
inline constexpr std::size_t kTopicNameMax = 249;
/// Whether Kafka accepts it: 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-', but not . or .. alone.
[[nodiscard]] constexpr bool is_topic_name(std::string_view name) noexcept {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !name.empty() && name.size() <= kTopicNameMax && name != "." && name != ".." &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

inline constexpr std::uint32_t kPartitionsDefault = 64;
inline constexpr std::uint32_t kLogsDefault = 4;

}  // namespace neliroute
