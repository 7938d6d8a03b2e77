// What a process must know of the topic, the broker and the group before it takes part; creates the
// topic if it is missing.
//
// Threads: blocking, any one; at start only.   Units: std::chrono.
// Errors: ledger_unreachable (no broker answered in time), ledger_refused, ledger_unfit,
// bad_option; each says what to do.
#pragma once

#include <cstdint>
#include <map>
#include <neliroute/error.h>
#include <optional>
#include <string>

#include "ledgers/kafka/group/group_session.h"
#include "ledgers/kafka/kafka_options.h"
#include "ledgers/prepared_store.h"
#include "neli_core/ledger.h"
#include "neli_core/ready.h"
#include "neli_core/timing.h"

namespace neliroute {

struct TopicFacts : LedgerFacts {
  /// Whether `partitions` is the lane's own number, and not the topic's.
  bool own_partitions = false;
  /// Of the topic. At least as many as logs.
  std::uint32_t topic_partitions = 0;
  /// How long the topic keeps records; no value: for ever, or unknown.
  std::optional<milliseconds> retention;
  /// After how long a broker that is dead, and one that lives and fetches nothing, is no replica in
  /// sync any more: until then nothing is acknowledged. No value: not known.
  std::optional<milliseconds> broker_session;
  std::optional<milliseconds> replica_lag;
  bool created = false;
  /// Consumer protocol: what its session depends on.
  GroupSession group_session;
};

/// How many logs there are where no option says it.
[[nodiscard]] std::uint32_t logs_for(const TopicFacts& facts) noexcept;

/// How many partitions the topic must have, should it be recreated.
[[nodiscard]] std::uint32_t needed_partitions(const TopicFacts& facts) noexcept;

/// `waiting` is notified when no broker answers at first, or a watcher's topic is missing.
/// `before_creation` may refuse options that a new topic would not fit: then none is created.
[[nodiscard]] Result<TopicFacts> prepare_topic(
    const KafkaOptions& options, const NoticeSink& waiting = {},
    const std::function<Result<void>(const TopicFacts& facts)>& before_creation = {});

/// Refuses a topic that keeps less than 10 x T.
[[nodiscard]] Result<void> check_retention(const TopicFacts& facts, milliseconds lease);

/// What must be said where a silence that is served through may outlast the last record; no value:
/// nothing.
[[nodiscard]] std::optional<std::string> short_retention_warning(const TopicFacts& facts,
                                                                 const Timing& timing);

/// Exclusive mode: for how long the loss of one broker stops slots, with a lease of that length; no
/// value: for no time, or it is not known.
[[nodiscard]] std::optional<std::string> broker_loss_text(const TopicFacts& facts,
                                                          milliseconds lease);

/// Why a topic with this configuration cannot be the ledger; no value: it can.
[[nodiscard]] std::optional<Error> unfit_topic(const std::map<std::string, std::string>& configs,
                                               const std::string& topic, Mode mode);

/// What follows for epochs if writers stamp their records themselves; no value: the broker does.
[[nodiscard]] std::optional<std::string> stamp_warning(
    const std::map<std::string, std::string>& configs, const std::string& topic);

}  // namespace neliroute
