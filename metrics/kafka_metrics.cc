#include "metrics/kafka_metrics.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace neliroute {
namespace {

struct KafkaClient {
  const char* label;
  ClientStatistics told;
};

void add_each(MetricFamilies& made, const std::vector<KafkaClient>& clients,
              std::uint64_t ClientStatistics::*member) {
  for (const KafkaClient& one : clients) {
    made.add(static_cast<double>(one.told.*member), {{"client", one.label}});
  }
}

void add_kafka_counters(MetricFamilies& made, const std::vector<KafkaClient>& clients) {
  made.counter("kafka_requests_total", "Requests that librdkafka sent");
  add_each(made, clients, &ClientStatistics::requests);
  made.counter("kafka_sent_bytes_total", "Bytes that it sent");
  add_each(made, clients, &ClientStatistics::sent_bytes);
  made.counter("kafka_received_bytes_total", "Bytes that it received");
  add_each(made, clients, &ClientStatistics::received_bytes);
  made.counter("kafka_errors_total", "Requests not sent, answers not read, and timeouts");
  for (const auto& [client, told] : clients) {
    made.add(static_cast<double>(told.send_errors), {{"client", client}, {"reason", "send"}});
    made.add(static_cast<double>(told.receive_errors),
             {{"client", client}, {"reason", "receive"}});
    made.add(static_cast<double>(told.timeouts), {{"client", client}, {"reason", "timeout"}});
  }
  made.counter("kafka_connects_total", "Connections that it opened, or tried to");
  add_each(made, clients, &ClientStatistics::connects);
  made.counter("kafka_disconnects_total", "Connections that ended");
  add_each(made, clients, &ClientStatistics::disconnects);
}

}  // namespace

void add_withdrawals(MetricFamilies& made, const LedgerStatistics& statistics) {
  made.counter("withdrawals_total", "Times that it left the group because it could not lead");
  for (const Obstacle why : {Obstacle::refused, Obstacle::out_of_reach}) {
    made.add(static_cast<double>(statistics.withdrawals(why)), {{"reason", to_string(why)}});
  }
  made.gauge("withdrawn", "1 if it is out of the group for that reason now");
  made.add(statistics.withdrawn() ? 1 : 0);
}

void add_kafka_metrics(MetricFamilies& made, const LedgerStatistics& statistics, LocalTime now) {
  std::vector<KafkaClient> clients;
  for (const auto& [kind, label] : {std::pair{ClientKind::producer, "producer"},
                                    {ClientKind::tail, "tail"},
                                    {ClientKind::group, "group"}}) {
    if (const auto told = statistics.read(kind)) clients.push_back({label, *told});
  }
  if (clients.empty()) return;
  made.gauge("kafka_statistics_age_seconds", "Age of librdkafka's latest statistics");
  for (const auto& [client, told] : clients) {
    made.add(seconds_of(now - told.told_at), {{"client", client}});
  }
  add_kafka_counters(made, clients);
  made.gauge("kafka_brokers_up", "Brokers that librdkafka is connected to");
  for (const auto& [client, told] : clients) made.add(told.brokers_up, {{"client", client}});
  made.gauge("kafka_round_trip_median_seconds", "From request to answer, of the slowest broker");
  for (const auto& [client, told] : clients) {  // none: nothing was sent
    if (const auto median = told.round_trip_median) {
      made.add(seconds_of(*median), {{"client", client}});
    }
  }
  made.gauge("kafka_round_trip_p99_seconds", "99th percentile of the round trips");
  for (const auto& [client, told] : clients) {
    if (const auto p99 = told.round_trip_p99) made.add(seconds_of(*p99), {{"client", client}});
  }
  made.gauge("kafka_throttle_seconds", "The longest time that a broker's quota made it wait");
  for (const auto& [client, told] : clients) {
    made.add(seconds_of(told.throttle), {{"client", client}});
  }
  made.gauge("kafka_unserved_events", "Events of librdkafka that this process has not taken yet");
  add_each(made, clients, &ClientStatistics::unserved_events);
  for (const auto& [client, told] : clients) {  // a watcher has neither producer nor group
    if (told.unsent_records) {
      made.gauge("kafka_unsent_records", "Records that the producer holds");
      made.add(static_cast<double>(*told.unsent_records));
    }
    if (told.unread_records) {
      made.gauge("kafka_unread_records", "Records at the logs' ends that were not read yet");
      made.add(static_cast<double>(*told.unread_records));
    }
    if (told.joined) {
      made.gauge("kafka_group_joined",
                 "1 if it reaches the group's coordinator and no rebalance is pending");
      made.add(*told.joined ? 1 : 0);
    }
  }
}

}  // namespace neliroute
