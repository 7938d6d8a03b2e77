// Questions to the broker, asked and awaited: metadata, configurations, topic creation.
//
// Threads: one; blocking, at start only.   Units: std::chrono.
// Errors: by librdkafka's code; what nobody can tell is an empty optional.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <functional>
#include <map>
#include <neliroute/time.h>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "kafka/client/rdkafka_ptr.h"

namespace neliroute {

using Configs = std::map<std::string, std::string>;

[[nodiscard]] std::optional<std::int64_t> number_in(const Configs& configs, const char* name);
[[nodiscard]] std::optional<milliseconds> duration_in(const Configs& configs, const char* name);
/// The entries of the first resource of a DescribeConfigs result event.
[[nodiscard]] std::optional<Configs> configs_of(rd_kafka_event_t* event,
                                                rd_kafka_resp_err_t& error,
                                                std::set<std::string>* own = nullptr);

struct TopicSeen {
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::uint32_t partitions = 0;
  int replication = 0;
  int broker_id = -1;
};

class BrokerProbe {
 public:
  BrokerProbe(rdkafka::HandlePtr handle, LocalTime deadline);

  /// The topic as a broker sees it; no value: no broker answered by the deadline.
  [[nodiscard]] std::optional<TopicSeen> topic(const std::string& name,
                                               rd_kafka_resp_err_t& error);
  /// No value: nobody could tell, and `error` says why. `own`: those that a group has for itself.
  [[nodiscard]] std::optional<Configs> configs(rd_kafka_ResourceType_t type,
                                               const std::string& name,
                                               rd_kafka_resp_err_t& error,
                                               std::set<std::string>* own = nullptr);
  /// Whether a group has no member, or is not there; no value: nobody could tell, `why` says it.
  [[nodiscard]] std::optional<bool> group_is_empty(const std::string& group, std::string& why);
  /// Sets these and leaves the others as they are; why not, or nothing: it is done.
  [[nodiscard]] std::string set_group_configs(const std::string& group, const Configs& configs);
  [[nodiscard]] rd_kafka_resp_err_t create_topic(const std::string& name,
                                                 std::uint32_t partitions,
                                                 const Configs& configs);
  /// Called once, when the first attempt got no answer and there will be others.
  void on_first_silence(std::function<void(rd_kafka_resp_err_t)> told) { told_ = std::move(told); }
  [[nodiscard]] bool over() const;
  /// From now on answers are awaited until then.
  void set_deadline(LocalTime deadline) noexcept { deadline_ = deadline; }
  /// An error that tells more than "no answer": refused credentials, a broken certificate.
  [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }

 private:
  [[nodiscard]] int left_ms() const;
  [[nodiscard]] rdkafka::EventPtr await(rd_kafka_event_type_t type);
  [[nodiscard]] rdkafka::AdminOptionsPtr options(rd_kafka_admin_op_t operation) const;
  void note_refusals();

  rdkafka::HandlePtr handle_;
  rdkafka::QueuePtr queue_;
  rdkafka::QueuePtr main_;
  rdkafka::TopicPtr topic_;
  LocalTime deadline_;
  std::string refusal_;
  std::function<void(rd_kafka_resp_err_t)> told_;
};

}  // namespace neliroute
