// Options for open(): of a Router, which owns slots, and of a Watcher, which only looks them up.
//
// All of them have defaults. A value that is given is never changed; one that breaks a bound is
// refused, and the error names both numbers.
//
// Threads: values.   Units: std::chrono.
// Errors: open() and from_environment() name the option, what was expected and what to do.
// Paper: "Protocol definition" (T and session.timeout.ms), "Exclusivity" (T + e).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace neliroute {

/// How to reach Kafka.
struct KafkaConnection {
  std::string brokers = "127.0.0.1:9092";  ///< bootstrap servers, HOST:PORT,...
  std::string topic = "neliroute";
  /// Any librdkafka property that has no option of its own, for TLS and SASL
  /// (docs/operating.md says which are refused).
  std::map<std::string, std::string> properties;
  /// How long to wait for a broker's first answer at start.
  milliseconds timeout{10'000};
};

/// Kafka's group protocol. `consumer` is KIP-848, Kafka 4.0 and later.
enum class GroupProtocol { classic, consumer };
[[nodiscard]] std::string_view to_string(GroupProtocol protocol) noexcept;

enum class Profile {
  fast,      ///< interval 100 ms, session 500 ms
  balanced,  ///< interval 500 ms, session 3 s
  steady,    ///< interval 2 s, session 10 s
};
[[nodiscard]] std::string_view to_string(Profile profile) noexcept;
[[nodiscard]] std::optional<Profile> parse_profile(std::string_view text) noexcept;

/// A profile, and single durations that override it. What is not given follows from the session in
/// force.
struct TimingOptions {
  Profile profile = Profile::balanced;
  /// How long this process may be silent before others replace it: at least 300 ms, and no broker
  /// knows of it. With Assignment::group it is the member's; the consumer protocol has one session
  /// for all members, which is set where the broker allows it.
  std::optional<milliseconds> session = std::nullopt;
  /// Between two renewals.
  std::optional<milliseconds> interval = std::nullopt;
  /// How long one renewal entitles its sender to lead.
  std::optional<milliseconds> lease = std::nullopt;
  /// Variation `claimed`: by how much the timestamps of two brokers may differ.
  std::optional<milliseconds> clock_error = std::nullopt;
  /// Variation `broadcast`: by how much a broker's clock and this machine's may differ.
  std::optional<milliseconds> local_clock_error = std::nullopt;
  /// Variation `broadcast`: how many groups share the topic.
  std::uint32_t groups = 1;
  /// Assignment::group only, for handlers that block: raises Timing::hang_limit. They need a longer
  /// `lease` as well, since nothing is renewed meanwhile.
  std::optional<milliseconds> hang_limit = std::nullopt;
  /// Non-exclusive mode: for how long an owner serves on while Kafka is silent, and callers go on
  /// naming it, at most 24 h. No value: 15 min. 0: no longer than the lease.
  std::optional<milliseconds> serve_stale = std::nullopt;
};

/// The durations in force, all consistent.
struct Timing {
  milliseconds interval{0};
  milliseconds lease{0};
  milliseconds clock_error{0};
  milliseconds local_clock_error{0};
  milliseconds session{0};
  /// Zero with Assignment::assigner: there is no group.
  milliseconds heartbeat{0};
  /// A process whose executor is blocked for longer leaves the group: Kafka's
  /// max.poll.interval.ms. Others own its slots within this, plus 0.5 s and a session. With
  /// Assignment::assigner it is the session: a process that hangs is silent, and then replaced.
  milliseconds hang_limit{0};
  /// What to give Router::async_drain(): how long a planned leave may take. With
  /// Assignment::assigner 3 x session + 4 x interval, in exclusive mode 2 x lease + session: a
  /// successor that does not lead is replaced by another in that time. With a group lease +
  /// session, at most 10 s, as one that does not hear the leave assigns others a session later.
  milliseconds drain{0};
  /// Zero in exclusive mode and with Variation::broadcast.
  milliseconds serve_stale{0};
  std::vector<std::string> warnings;
};

/// Called with each line that an operator should read: on the strand, and during open() on the
/// thread that opens.
using NoticeHandler = std::function<void(const Notice&)>;

struct RouterOptions {
  KafkaConnection kafka;
  /// In place of kafka.brokers and kafka.topic: `kafka://HOST:PORT,.../TOPIC`,
  /// `etcd://[USER@]HOST:PORT,.../PREFIX`, or any URI of libpq, as in
  /// `postgres://USER@HOST/DATABASE?topic=NAME`; `quorum://HOST:PORT,.../NAME`, voters that keep
  /// the logs themselves; or `memory:NAME`, which all Routers and Watchers of one program share,
  /// for tests without a broker.
  std::string ledger;
  /// Names the processes that divide the slots. With Assignment::group the Kafka group is `group`
  /// in lane 0, else `group`.lane-N.
  std::string group = "neliroute";
  /// One of several disjoint groups over the same slots.
  Lane lane;
  /// Assignment::group only. No value: `consumer` where library and broker have it, else `classic`.
  std::optional<GroupProtocol> group_protocol;
  /// Any number up to that of slots, whatever the topic has. No value: the running group's, or 64.
  /// With Assignment::group it is the topic's; no value: an existing topic's, or 64 for a new one.
  std::optional<std::uint32_t> partitions;
  /// How many of the topic's partitions carry records. No value: 4, or all if there are fewer. A
  /// new topic has no others, but with Assignment::group.
  std::optional<std::uint32_t> logs;

  SlotCount slots = 1024;
  HashScheme hash;
  /// Whether partitions may carry unequal numbers of slots.
  bool allow_uneven = false;

  Mode mode = Mode::non_exclusive;
  TimingOptions timing;
  /// Name (default host_pid_id), endpoint, tags.
  ProcessInfo process;

  /// `broadcast` is the paper's own protocol, with its assumptions.
  Variation variation = Variation::claimed;
  /// Who decides which process should claim what. With `assigner`, of variation `claimed` only,
  /// there is no group, nor a client of one. No value: `assigner`; or `group`, and a notice says
  /// so, if `variation` is `broadcast`, or `group_protocol` or `timing.hang_limit` is given.
  std::optional<Assignment> assignment;
  /// Assignment::assigner only: how much this process should own beside the others, from 0,
  /// nothing, to 1000.
  std::uint32_t weight = 1;
  /// Assignment::assigner only: of the processes that live, the one of the highest seat priority, 0
  /// to 100, becomes the assigner where there is none. It takes nothing from one that assigns.
  std::uint32_t seat_priority = 50;
  /// How many roles there are at first; no value: as many as slots. Router::set_role_count().
  std::optional<std::uint32_t> roles;
  /// How long listeners may prepare before a claim, and again warm up before this process leads; at
  /// most 10 minutes. Others meanwhile lead on, or nobody does. 0: they are not asked to.
  milliseconds prepare_timeout{5000};
  /// How often a request is sent on before admit() refuses to send it on once more.
  std::uint32_t hop_limit = 3;
  /// Variation `broadcast`: whether claims are written as well, by which others find the owner.
  bool hints = true;

  /// Default: notices are dropped.
  NoticeHandler on_notice;

  /// The defaults, overridden by the command's environment variables: NELIROUTE_BROKERS,
  /// NELIROUTE_GROUP, NELIROUTE_SLOTS and so on (`neliroute run --help-all` lists the options;
  /// --group-protocol is NELIROUTE_GROUP_PROTOCOL). A variable with a wrong value is an error; one
  /// that only the command uses, such as NELIROUTE_HTTP, is ignored.
  [[nodiscard]] static Result<RouterOptions> from_environment();
};

/// What a Watcher does at start while the topic, which its owners create, is missing.
enum class MissingTopic { fail, wait_for_timeout, wait_for_ever };

struct WatcherOptions {
  KafkaConnection kafka;
  std::string ledger;  ///< as RouterOptions::ledger
  Lane lane;
  /// No value: what the newest records say, or the topic's if there are none.
  std::optional<std::uint32_t> partitions;
  std::optional<std::uint32_t> logs;
  /// Slots and hash must equal the owners': while they differ, every answer is `unknown`.
  SlotCount slots = 1024;
  HashScheme hash;
  bool allow_uneven = false;
  MissingTopic missing_topic = MissingTopic::wait_for_timeout;
  /// Assumed to be the owners' lease until a record of theirs says it. No value: 9 s.
  std::optional<milliseconds> lease;
  /// For how long an owner is named while Kafka is silent, and no longer than it says itself.
  milliseconds serve_stale = kServeStaleDefault;
  /// Default: notices are dropped.
  NoticeHandler on_notice;

  /// As RouterOptions::from_environment(). Variables that only owners use are ignored.
  [[nodiscard]] static Result<WatcherOptions> from_environment();
};

}  // namespace neliroute
