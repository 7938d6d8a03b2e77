#include "kafka/topic/broker_probe.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <neliroute/clock.h>
#include <utility>

#include "kafka/client/kafka_error.h"
#include "kafka/topic/admin_queue.h"

namespace neliroute {
namespace {

constexpr int kTryMs = 1000;       // one attempt, while there is time for more
constexpr int kAdminTryMs = 5000;  // a check that takes longer counts as unknown
// RD_KAFKA_CONFIG_SOURCE_GROUP_CONFIG, which older headers lack.
constexpr int kOfGroup = 8;

}  // namespace

std::optional<std::int64_t> number_in(const Configs& configs, const char* name) {
  const auto found = configs.find(name);
  if (found == configs.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<milliseconds> duration_in(const Configs& configs, const char* name) {
  const auto value = number_in(configs, name);
  if (!value || *value < 0) return std::nullopt;
  return milliseconds{*value};
}

std::optional<Configs> configs_of(rd_kafka_event_t* event, rd_kafka_resp_err_t& error,
                                  std::set<std::string>* own) {
  error = rd_kafka_event_error(event);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
  std::size_t count = 0;
  const auto** resources = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event), &count);
  if (count == 0) return std::nullopt;
  error = rd_kafka_ConfigResource_error(resources[0]);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
  Configs configs;
  const auto** entries = rd_kafka_ConfigResource_configs(resources[0], &count);
  for (std::size_t i = 0; i < count; ++i) {
    const char* value = rd_kafka_ConfigEntry_value(entries[i]);
    if (value == nullptr) continue;
    configs[rd_kafka_ConfigEntry_name(entries[i])] = value;
    const bool of_group = static_cast<int>(rd_kafka_ConfigEntry_source(entries[i])) == kOfGroup;
    if (own != nullptr && of_group) own->insert(rd_kafka_ConfigEntry_name(entries[i]));
  }
  return configs;
}

BrokerProbe::BrokerProbe(rdkafka::HandlePtr handle, LocalTime deadline)
    : handle_(std::move(handle)),
      queue_(rd_kafka_queue_new(handle_.get())),
      main_(rd_kafka_queue_get_main(handle_.get())),
      deadline_(deadline) {}

bool BrokerProbe::over() const { return boot_now() >= deadline_; }

int BrokerProbe::left_ms() const {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - boot_now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 1, 600'000));
}

// While a broker seems away, the client's own queue may say why: a password, a certificate.
void BrokerProbe::note_refusals() {
  while (const auto event = rdkafka::poll(main_.get())) {
    if (rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_ERROR) continue;
    const rd_kafka_resp_err_t error = rd_kafka_event_error(event.get());
    if (is_refusal(error)) refusal_ = describe(error, rd_kafka_event_error_string(event.get()));
  }
}

std::optional<TopicSeen> BrokerProbe::topic(const std::string& name,
                                                rd_kafka_resp_err_t& error) {
  if (!topic_) topic_.reset(rd_kafka_topic_new(handle_.get(), name.c_str(), nullptr));
  while (true) {
    const struct rd_kafka_metadata* raw = nullptr;
    error = rd_kafka_metadata(handle_.get(), 0, topic_.get(), &raw, std::min(left_ms(), kTryMs));
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
      const rdkafka::MetadataPtr metadata{raw};
      TopicSeen seen;
      seen.error = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
      if (raw->topic_cnt > 0) {
        seen.error = raw->topics[0].err;
        seen.partitions = static_cast<std::uint32_t>(raw->topics[0].partition_cnt);
        if (seen.partitions > 0) seen.replication = raw->topics[0].partitions[0].replica_cnt;
      }
      if (raw->broker_cnt > 0) seen.broker_id = raw->brokers[0].id;
      return seen;
    }
    note_refusals();
    if (over()) return std::nullopt;
    if (const auto told = std::exchange(told_, nullptr)) told(error);
  }
}

rdkafka::EventPtr BrokerProbe::await(rd_kafka_event_type_t type) {
  while (true) {
    auto event = rdkafka::poll(queue_.get(), left_ms());
    if (event && rd_kafka_event_type(event.get()) == type) return event;
    if (over()) return nullptr;
  }
}

rdkafka::AdminOptionsPtr BrokerProbe::options(rd_kafka_admin_op_t operation) const {
  return admin_options(handle_.get(), operation, milliseconds{std::min(left_ms(), kAdminTryMs)});
}

std::optional<Configs> BrokerProbe::configs(rd_kafka_ResourceType_t type,
                                                const std::string& name,
                                                rd_kafka_resp_err_t& error,
                                                std::set<std::string>* own) {
  const rdkafka::ConfigResourcePtr resource{rd_kafka_ConfigResource_new(type, name.c_str())};
  error = RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE;
  if (!resource) return std::nullopt;
  rd_kafka_ConfigResource_t* resources[] = {resource.get()};
  const auto with = options(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
  rd_kafka_DescribeConfigs(handle_.get(), resources, 1, with.get(), queue_.get());
  const auto event = await(RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT);
  error = RD_KAFKA_RESP_ERR__TIMED_OUT;
  if (!event) return std::nullopt;
  return configs_of(event.get(), error, own);
}

// Not asked by name: what librdkafka can describe depends on the kind of group.
std::optional<bool> BrokerProbe::group_is_empty(const std::string& group, std::string& why) {
  const auto with = options(RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS);
  rd_kafka_ListConsumerGroups(handle_.get(), with.get(), queue_.get());
  const auto event = await(RD_KAFKA_EVENT_LISTCONSUMERGROUPS_RESULT);
  why = rd_kafka_err2name(RD_KAFKA_RESP_ERR__TIMED_OUT);
  if (!event) return std::nullopt;
  why = rd_kafka_err2name(rd_kafka_event_error(event.get()));
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
  const auto* result = rd_kafka_event_ListConsumerGroups_result(event.get());
  std::size_t count = 0;
  const auto** errors = rd_kafka_ListConsumerGroups_result_errors(result, &count);
  if (count > 0) why = rd_kafka_error_name(errors[0]);
  if (count > 0) return std::nullopt;  // one broker's groups are missing
  const auto** groups = rd_kafka_ListConsumerGroups_result_valid(result, &count);
  for (std::size_t i = 0; i < count; ++i) {
    if (group != rd_kafka_ConsumerGroupListing_group_id(groups[i])) continue;
    const auto state = rd_kafka_ConsumerGroupListing_state(groups[i]);
    return state == RD_KAFKA_CONSUMER_GROUP_STATE_EMPTY ||
           state == RD_KAFKA_CONSUMER_GROUP_STATE_DEAD;
  }
  return true;
}

std::string BrokerProbe::set_group_configs(const std::string& group, const Configs& configs) {
#if RD_KAFKA_VERSION >= 0x020c00ff
  const rdkafka::ConfigResourcePtr resource{
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_GROUP, group.c_str())};
  for (const auto& [name, value] : configs) {
    const rdkafka::ErrorPtr error{rd_kafka_ConfigResource_add_incremental_config(
        resource.get(), name.c_str(), RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET, value.c_str())};
    if (error) return rd_kafka_error_string(error.get());
  }
  rd_kafka_ConfigResource_t* resources[] = {resource.get()};
  const auto with = options(RD_KAFKA_ADMIN_OP_INCREMENTALALTERCONFIGS);
  rd_kafka_IncrementalAlterConfigs(handle_.get(), resources, 1, with.get(), queue_.get());
  const auto event = await(RD_KAFKA_EVENT_INCREMENTALALTERCONFIGS_RESULT);
  if (!event) return rd_kafka_err2name(RD_KAFKA_RESP_ERR__TIMED_OUT);
  const auto whole = rd_kafka_event_error(event.get());
  if (whole != RD_KAFKA_RESP_ERR_NO_ERROR) return rd_kafka_err2name(whole);
  std::size_t count = 0;
  const auto** results = rd_kafka_IncrementalAlterConfigs_result_resources(
      rd_kafka_event_IncrementalAlterConfigs_result(event.get()), &count);
  const auto error = count > 0 ? rd_kafka_ConfigResource_error(results[0]) : whole;
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  const char* text = rd_kafka_ConfigResource_error_string(results[0]);
  return std::string(rd_kafka_err2name(error)) + (text ? std::string(": ") + text : "");
#else
  static_cast<void>(group);
  static_cast<void>(configs);
  return "this librdkafka cannot";
#endif
}

rd_kafka_resp_err_t BrokerProbe::create_topic(const std::string& name,
                                                  std::uint32_t partitions,
                                                  const Configs& configs) {
  // -1: the broker's own default replication; brokers before 2.4 want a number.
  for (const int replication : {-1, 1}) {
    std::array<char, 256> text{};
    const rdkafka::NewTopicPtr topic{rd_kafka_NewTopic_new(
        name.c_str(), static_cast<int>(partitions), replication, text.data(), text.size())};
    if (!topic) return RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION;
    for (const auto& [key, value] : configs) {
      rd_kafka_NewTopic_set_config(topic.get(), key.c_str(), value.c_str());
    }
    rd_kafka_NewTopic_t* topics[] = {topic.get()};
    const auto with = options(RD_KAFKA_ADMIN_OP_CREATETOPICS);
    rd_kafka_CreateTopics(handle_.get(), topics, 1, with.get(), queue_.get());
    const auto event = await(RD_KAFKA_EVENT_CREATETOPICS_RESULT);
    if (!event) return RD_KAFKA_RESP_ERR__TIMED_OUT;
    rd_kafka_resp_err_t error = rd_kafka_event_error(event.get());
    std::size_t count = 0;
    const auto** results = rd_kafka_CreateTopics_result_topics(
        rd_kafka_event_CreateTopics_result(event.get()), &count);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR && count > 0) {
      error = rd_kafka_topic_result_error(results[0]);
    }
    if (error != RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR) return error;
  }
  return RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR;
}

}  // namespace neliroute
