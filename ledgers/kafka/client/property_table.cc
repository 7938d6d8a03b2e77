#include "ledgers/kafka/client/property_table.h"

#include <algorithm>
#include <array>
#include <span>

namespace neliroute {
namespace {

struct Refusal {
  std::string_view property;
  std::string_view why;
};

constexpr std::string_view kFixed = "the protocol fixes it; leave it out";
constexpr std::string_view kCallback = "it is not a text";

constexpr std::array kRefusals = {
    Refusal{"bootstrap.servers", "use `kafka.brokers`"},
    Refusal{"metadata.broker.list", "use `kafka.brokers`"},
    Refusal{"group.id", "use `group`"},
    Refusal{"group.protocol", "use `group_protocol`"},
    Refusal{"group.instance.id", "static membership is not supported"},
    Refusal{"session.timeout.ms", "use `timing.session`"},
    Refusal{"heartbeat.interval.ms", "it follows from `timing.session`"},
    Refusal{"max.poll.interval.ms", "use `timing.hang_limit`"},
    Refusal{"message.timeout.ms", "it follows from `timing.lease`"},
    Refusal{"delivery.timeout.ms", "it follows from `timing.lease`"},
    Refusal{"acks", kFixed},
    Refusal{"request.required.acks", kFixed},
    Refusal{"enable.idempotence", kFixed},
    Refusal{"enable.gapless.guarantee", kFixed},
    Refusal{"enable.auto.commit", kFixed},
    Refusal{"auto.commit.enable", kFixed},
    Refusal{"enable.auto.offset.store", kFixed},
    Refusal{"enable.partition.eof", kFixed},
    Refusal{"transactional.id", kFixed},
    Refusal{"linger.ms", kFixed},
    Refusal{"queue.buffering.max.ms", kFixed},
    Refusal{"isolation.level", kFixed},
    Refusal{"auto.offset.reset", kFixed},
    Refusal{"allow.auto.create.topics", "a topic is created at start only"},
    Refusal{"delivery.report.only.error", kFixed},
    Refusal{"log.queue", kFixed},
    Refusal{"enabled_events", kFixed},
    Refusal{"test.mock.num.brokers", "use `neliroute broker`"},
    Refusal{"background_event_cb", kCallback},
    Refusal{"closesocket_cb", kCallback},
    Refusal{"connect_cb", kCallback},
    Refusal{"consume_cb", kCallback},
    Refusal{"default_topic_conf", kCallback},
    Refusal{"dr_cb", kCallback},
    Refusal{"dr_msg_cb", kCallback},
    Refusal{"error_cb", kCallback},
    Refusal{"interceptors", kCallback},
    Refusal{"log_cb", kCallback},
    Refusal{"msg_order_cmp", kCallback},
    Refusal{"oauthbearer_token_refresh_cb", kCallback},
    Refusal{"offset_commit_cb", kCallback},
    Refusal{"opaque", kCallback},
    Refusal{"open_cb", kCallback},
    Refusal{"partitioner_cb", kCallback},
    Refusal{"rebalance_cb", kCallback},
    Refusal{"resolve_cb", kCallback},
    Refusal{"socket_cb", kCallback},
    Refusal{"ssl.certificate.verify_cb", kCallback},
    Refusal{"ssl_ca", kCallback},
    Refusal{"ssl_certificate", kCallback},
    Refusal{"ssl_engine_callback_data", kCallback},
    Refusal{"ssl_key", kCallback},
    Refusal{"stats_cb", kCallback},
    Refusal{"throttle_cb", kCallback},
};

constexpr std::array<std::string_view, 18> kProducer = {
    "batch.num.messages", "batch.size", "compression.codec", "compression.level",
    "compression.type", "message.send.max.retries", "partitioner", "produce.offset.report",
    "queue.buffering.backpressure.threshold", "queue.buffering.max.kbytes",
    "queue.buffering.max.messages", "queuing.strategy", "request.timeout.ms", "retries",
    "sticky.partitioning.linger.ms", "transaction.timeout.ms", "enable.random.seed",
    "message.copy.max.bytes"};

constexpr std::array<std::string_view, 23> kConsumer = {
    "auto.commit.interval.ms", "check.crcs", "consume.callback.max.messages", "client.rack",
    "coordinator.query.interval.ms", "fetch.error.backoff.ms", "fetch.max.bytes",
    "fetch.message.max.bytes", "fetch.min.bytes", "fetch.queue.backoff.ms", "fetch.wait.max.ms",
    "group.protocol.type", "group.remote.assignor", "max.partition.fetch.bytes",
    "max.poll.records", "offset.store.method", "offset.store.path",
    "offset.store.sync.interval.ms", "partition.assignment.strategy",
    "queued.max.messages.kbytes", "queued.min.messages", "share.acknowledgement.mode",
    "socket.blocking.max.ms"};

constexpr std::array<std::string_view, 4> kGroup = {
    "coordinator.query.interval.ms", "group.protocol.type", "group.remote.assignor",
    "partition.assignment.strategy"};

bool is_in(std::span<const std::string_view> list, std::string_view property) noexcept {
  return std::find(list.begin(), list.end(), property) != list.end();
}

// The library strips "topic." from the name of a topic property: both names mean the same.
std::string_view without_prefix(std::string_view property) noexcept {
  constexpr std::string_view kPrefix = "topic.";
  return property.starts_with(kPrefix) ? property.substr(kPrefix.size()) : property;
}

}  // namespace

std::string_view why_refused(std::string_view property) noexcept {
  property = without_prefix(property);
  const auto found = std::find_if(kRefusals.begin(), kRefusals.end(), [&](const Refusal& refusal) {
    return refusal.property == property;
  });
  return found == kRefusals.end() ? std::string_view{} : found->why;
}

bool is_producer_property(std::string_view property) noexcept {
  return is_in(kProducer, without_prefix(property));
}

bool is_consumer_property(std::string_view property) noexcept {
  return is_in(kConsumer, without_prefix(property));
}

bool is_group_property(std::string_view property) noexcept { return is_in(kGroup, property); }

bool is_file_property(std::string_view property) noexcept {
  constexpr std::array<std::string_view, 5> kFiles = {
      "ssl.ca.location", "ssl.certificate.location", "ssl.crl.location", "ssl.key.location",
      "ssl.keystore.location"};
  return is_in(kFiles, property);
}

bool is_secret_property(std::string_view property) noexcept {
  constexpr std::array<std::string_view, 8> kWords = {
      "password", "passphrase", "secret", ".pem", "token", "jaas", "oauthbearer.config",
      "oauthbearer.extensions"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return property.find(word) != std::string_view::npos;
  });
}

}  // namespace neliroute
