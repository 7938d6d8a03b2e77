#include "ledgers/kafka/topic/last_settings.h"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <neliroute/clock.h>
#include <optional>
#include <string>

#include "ledgers/kafka/client/client_config.h"
#include "ledgers/kafka/client/kafka_error.h"
#include "ledgers/kafka/client/rdkafka_ptr.h"
#include "ledgers/newest_settings.h"
#include "neli_core/options.h"

namespace neliroute {
namespace {

constexpr int kPollMs = 50;
// Every member's renewals carry settings; assignments and leaves between them do not.
constexpr std::int64_t kRecords = 256;

/// Reads the end of log 0.
class LastRecords {
 public:
  LastRecords(const KafkaOptions& options, bool embedded_broker)
      : options_(options),
        embedded_broker_(embedded_broker),
        deadline_(later(boot_now(), options.timeout)) {}

  /// What the newest of them says; `failed` is set if they could not be read.
  [[nodiscard]] std::optional<Settings> settings(rd_kafka_resp_err_t& failed);

 private:
  [[nodiscard]] int left_ms() const {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - boot_now());
    return static_cast<int>(std::max<milliseconds::rep>(left.count(), 1));
  }
  void take(rd_kafka_event_t* event);
  void take_error(rd_kafka_event_t* event);

  const KafkaOptions& options_;
  bool embedded_broker_;
  LocalTime deadline_;
  std::int64_t next_ = 0;
  bool ended_ = false;  ///< nothing more is there
  NewestSettings newest_;
  rd_kafka_resp_err_t error_ = RD_KAFKA_RESP_ERR_NO_ERROR;
};

// The log's end is one of them: its last offset may have no record. Of others, those that concern
// the log end it, as retention that has passed where it begins; a broker that is away does not.
void LastRecords::take_error(rd_kafka_event_t* event) {
  const rd_kafka_resp_err_t error = rd_kafka_event_error(event);
  const rdkafka::TopicPartitionPtr log{rd_kafka_event_topic_partition(event)};
  if (log && error == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    ended_ = true;
  } else if (log || is_refusal(error)) {
    error_ = error;
  }
}

void LastRecords::take(rd_kafka_event_t* event) {
  if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR) return take_error(event);
  if (rd_kafka_event_type(event) != RD_KAFKA_EVENT_FETCH) return;
  while (const auto* message = rd_kafka_event_message_next(event)) {
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    next_ = message->offset + 1;
    newest_.take(decode_record({static_cast<const char*>(message->payload), message->len}));
  }
}

std::optional<Settings> LastRecords::settings(rd_kafka_resp_err_t& failed) {
  Timing timing;
  timing.lease = milliseconds{3000};  // only bounds how long a request may take
  const auto made = make_client(ClientKind::tail,
                                {options_, timing, GroupProtocol::classic, embedded_broker_});
  failed = RD_KAFKA_RESP_ERR__INVALID_ARG;
  if (!made) return std::nullopt;
  rd_kafka_t* const client = made->get();
  std::int64_t low = 0;
  std::int64_t end = 0;
  failed = rd_kafka_query_watermark_offsets(client, options_.topic.c_str(), 0, &low, &end,
                                            left_ms());
  if (failed != RD_KAFKA_RESP_ERR_NO_ERROR || low >= end) return std::nullopt;
  const rdkafka::TopicPtr topic{rd_kafka_topic_new(client, options_.topic.c_str(), nullptr)};
  const rdkafka::QueuePtr queue{rd_kafka_queue_new(client)};
  next_ = std::max(low, end - kRecords);
  rd_kafka_consume_start_queue(topic.get(), 0, next_, queue.get());
  while (next_ < end && !ended_ && error_ == RD_KAFKA_RESP_ERR_NO_ERROR) {
    if (boot_now() >= deadline_) error_ = RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (const auto event = rdkafka::poll(queue.get(), kPollMs)) take(event.get());
  }
  if (!newest_.found()) failed = error_;
  return newest_.found();
}

}  // namespace

// Only where a member assigns is the number the lane's own. What a group's records say may be old:
// the topic tells it. A watcher that is told another number than old records say finds out later.
Result<void> learn_partitions(const KafkaOptions& options, TopicFacts& facts) {
  const bool free = options.watcher || options.assignment == Assignment::assigner;
  const bool told = options.partitions.has_value();
  if (!free || (told && (!options.watcher || *options.partitions == facts.topic_partitions))) {
    return {};
  }
  rd_kafka_resp_err_t failed = RD_KAFKA_RESP_ERR_NO_ERROR;
  const auto theirs = LastRecords(options, facts.embedded_broker).settings(failed);
  if (failed != RD_KAFKA_RESP_ERR_NO_ERROR) {
    facts.notices.push_back(
        {Severity::warning, "log 0 of topic " + options.topic + " cannot be read (" +
                                describe(failed) +
                                "), so the number of partitions is taken to be " +
                                std::to_string(facts.partitions) +
                                "; say `partitions` if the running group has another"});
  }
  if (!theirs || theirs->partitions == 0 || theirs->partitions > kPartitionCountMax) return {};
  if (theirs->variation != kAssignedVariation) {
    if (!options.watcher || !told) return {};
    return Error{Errc::bad_option, "`partitions` " + std::to_string(*options.partitions) +
                                       ", but topic " + options.topic + " has " +
                                       std::to_string(facts.topic_partitions) +
                                       "; leave `partitions` out, or use another `kafka.topic`"};
  }
  facts.own_partitions = true;
  if (told) return {};
  facts.partitions = theirs->partitions;
  facts.logs = options.logs.value_or(std::clamp(theirs->logs, 1U, facts.topic_partitions));
  return {};
}

}  // namespace neliroute
