#include "ledgers/kafka/topic/broker_probe.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <neliroute/clock.h>
#include <utility>

namespace neliroute {
namespace {

// RD_KAFKA_CONFIG_SOURCE_GROUP_CONFIG, which older headers lack.
constexpr int kOfGroup = 8;
// librdkafka 2.15.1 aborts the process when a description of a group timed out before the group's
// coordinator was found, and it is found then (rd_kafka_admin_coord_response_parse). So it never
// times out: the client is destroyed before. Longer than this the library allows none.
constexpr std::chrono::hours kNoTimeout{1};
constexpr std::chrono::minutes kMembersMost{50};
// How often it looks whether a broker is connected, while requests wait for that.
constexpr milliseconds kLookEvery{200};

template <class T>
Answer<T> unknown(rd_kafka_resp_err_t error, std::string why = {}) {
  return {std::nullopt, error, std::move(why)};
}

template <class T>
Answer<T> known(T value) {
  return {std::move(value), RD_KAFKA_RESP_ERR_NO_ERROR, {}};
}

Answer<Done> done_unless(rd_kafka_resp_err_t error, const char* why) {
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return known(Done{});
  return unknown<Done>(error, why == nullptr ? "" : why);
}

Answer<ResourceConfigs> decode_configs(rd_kafka_event_t* event) {
  std::size_t count = 0;
  const auto** resources = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event), &count);
  if (count == 0) return {};
  const rd_kafka_resp_err_t error = rd_kafka_ConfigResource_error(resources[0]);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return unknown<ResourceConfigs>(error);
  ResourceConfigs found;
  const auto** entries = rd_kafka_ConfigResource_configs(resources[0], &count);
  for (std::size_t i = 0; i < count; ++i) {
    const char* value = rd_kafka_ConfigEntry_value(entries[i]);
    if (value == nullptr) continue;
    const char* name = rd_kafka_ConfigEntry_name(entries[i]);
    found.values[name] = value;
    const bool of_group = static_cast<int>(rd_kafka_ConfigEntry_source(entries[i])) == kOfGroup;
    if (of_group) found.set_for_group.insert(name);
  }
  return known(std::move(found));
}

Answer<Done> decode_created(rd_kafka_event_t* event) {
  std::size_t count = 0;
  const auto** results = rd_kafka_CreateTopics_result_topics(
      rd_kafka_event_CreateTopics_result(event), &count);
  if (count == 0) return known(Done{});
  return done_unless(rd_kafka_topic_result_error(results[0]),
                     rd_kafka_topic_result_error_string(results[0]));
}

Answer<MemberIds> decode_members(rd_kafka_event_t* event) {
  std::size_t count = 0;
  const auto** groups = rd_kafka_DescribeConsumerGroups_result_groups(
      rd_kafka_event_DescribeConsumerGroups_result(event), &count);
  if (count != 1) return {};
  const rd_kafka_error_t* error = rd_kafka_ConsumerGroupDescription_error(groups[0]);
  if (error != nullptr) return unknown<MemberIds>(rd_kafka_error_code(error));
  MemberIds ids;
  count = rd_kafka_ConsumerGroupDescription_member_count(groups[0]);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* member = rd_kafka_ConsumerGroupDescription_member(groups[0], i);
    ids.emplace_back(rd_kafka_MemberDescription_consumer_id(member));
  }
  // A group that the coordinator does not know, or of another kind than was described, has no
  // member, either; but it is dead, while one that all have left is empty.
  const auto state = rd_kafka_ConsumerGroupDescription_state(groups[0]);
  if (ids.empty() && state != RD_KAFKA_CONSUMER_GROUP_STATE_EMPTY) return {};
  return known(std::move(ids));
}

using GroupListings = std::map<std::string, rd_kafka_consumer_group_state_t>;

Answer<GroupListings> decode_groups(rd_kafka_event_t* event) {
  const auto* result = rd_kafka_event_ListConsumerGroups_result(event);
  std::size_t count = 0;
  const auto** errors = rd_kafka_ListConsumerGroups_result_errors(result, &count);
  // One broker's groups are missing.
  if (count > 0) return unknown<GroupListings>(rd_kafka_error_code(errors[0]));
  GroupListings listed;
  const auto** groups = rd_kafka_ListConsumerGroups_result_valid(result, &count);
  for (std::size_t i = 0; i < count; ++i) {
    listed.emplace(rd_kafka_ConsumerGroupListing_group_id(groups[i]),
                   rd_kafka_ConsumerGroupListing_state(groups[i]));
  }
  return known(std::move(listed));
}

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

BrokerProbe::BrokerProbe(rd_kafka_t* handle, QueueWakeup* wakeup)
    : handle_(handle), wakeup_(wakeup), queue_(rd_kafka_queue_new(handle)) {
  if (wakeup_) wakeup_->attach(queue_.get());
}

BrokerProbe::~BrokerProbe() {
  if (wakeup_) wakeup_->detach(queue_.get());
}

// The answer carries the request's number.
template <class T>
rdkafka::AdminOptionsPtr BrokerProbe::request(rd_kafka_admin_op_t operation, milliseconds within,
                                              Answer<T> (*decode)(rd_kafka_event_t*),
                                              Then<T> then) {
  rdkafka::AdminOptionsPtr options{rd_kafka_AdminOptions_new(handle_, operation)};
  std::array<char, 256> text{};
  rd_kafka_AdminOptions_set_request_timeout(options.get(), static_cast<int>(within.count()),
                                            text.data(), text.size());
  rd_kafka_AdminOptions_set_opaque(options.get(), reinterpret_cast<void*>(++last_request_));
  awaited_[last_request_] = [decode, then = std::move(then)](rd_kafka_event_t* event) {
    const rd_kafka_resp_err_t error =
        event == nullptr ? RD_KAFKA_RESP_ERR__TIMED_OUT : rd_kafka_event_error(event);
    then(error == RD_KAFKA_RESP_ERR_NO_ERROR ? decode(event) : unknown<T>(error));
  };
  return options;
}

// Without time to wait it fails if no broker is connected, makes the client connect to one with the
// pauses of `reconnect.backoff.ms`, and times out if one is.
bool BrokerProbe::is_connected() const {
  const struct rd_kafka_metadata* raw = nullptr;
  const rd_kafka_resp_err_t error = rd_kafka_metadata(handle_, 0, nullptr, &raw, 0);
  const rdkafka::MetadataPtr metadata{raw};
  return error != RD_KAFKA_RESP_ERR__TRANSPORT;
}

void BrokerProbe::when_connected(milliseconds within, std::function<void(milliseconds)> send,
                                 std::function<void()> give_up) {
  if (wakeup_ == nullptr || is_connected()) return send(within);
  postponed_.push_back({later(boot_now(), within), std::move(send), std::move(give_up)});
}

bool BrokerProbe::serve_postponed() {
  if (postponed_.empty()) return false;
  const LocalTime now = boot_now();
  if (now >= next_look_) {
    next_look_ = later(now, kLookEvery);
    connected_ = is_connected();
  }
  const auto left = std::chrono::ceil<milliseconds>(postponed_.front().until - now);
  if (!connected_ && left.count() > 0) return false;
  const Postponed first = std::move(postponed_.front());
  postponed_.pop_front();
  left.count() > 0 ? first.send(left) : first.give_up();  // which may destroy this
  return true;
}

bool BrokerProbe::serve(int timeout_ms) {
  if (serve_postponed()) return true;
  const auto event = rdkafka::poll(queue_.get(), timeout_ms);
  if (!event) return false;
  const auto request = reinterpret_cast<std::uintptr_t>(rd_kafka_event_opaque(event.get()));
  const auto answered = awaited_.extract(request);
  if (answered) answered.mapped()(event.get());  // which may destroy this
  return true;
}

void BrokerProbe::give_up() {
  const auto postponed = std::exchange(postponed_, {});
  for (const auto& [request, answer] : std::exchange(awaited_, {})) answer(nullptr);
  for (const Postponed& waits : postponed) waits.give_up();
}

void BrokerProbe::configs(rd_kafka_ResourceType_t type, const std::string& name,
                          milliseconds within, Then<ResourceConfigs> then) {
  when_connected(
      within,
      [this, type, name, then](milliseconds left) { describe_configs(type, name, left, then); },
      [then] { then(unknown<ResourceConfigs>(RD_KAFKA_RESP_ERR__TIMED_OUT)); });
}

void BrokerProbe::describe_configs(rd_kafka_ResourceType_t type, const std::string& name,
                                   milliseconds within, Then<ResourceConfigs> then) {
  const rdkafka::ConfigResourcePtr resource{rd_kafka_ConfigResource_new(type, name.c_str())};
  if (!resource) return then(unknown<ResourceConfigs>(RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE));
  rd_kafka_ConfigResource_t* resources[] = {resource.get()};
  const auto options =
      request(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, within, decode_configs, std::move(then));
  rd_kafka_DescribeConfigs(handle_, resources, 1, options.get(), queue_.get());
}

void BrokerProbe::create_topic(const std::string& name, std::uint32_t partitions, int replication,
                               const Configs& configs, milliseconds within, Then<Done> then) {
  std::array<char, 256> text{};
  const rdkafka::NewTopicPtr topic{rd_kafka_NewTopic_new(
      name.c_str(), static_cast<int>(partitions), replication, text.data(), text.size())};
  if (!topic) return then(unknown<Done>(RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION));
  for (const auto& [key, value] : configs) {
    rd_kafka_NewTopic_set_config(topic.get(), key.c_str(), value.c_str());
  }
  rd_kafka_NewTopic_t* topics[] = {topic.get()};
  const auto options =
      request(RD_KAFKA_ADMIN_OP_CREATETOPICS, within, decode_created, std::move(then));
  rd_kafka_CreateTopics(handle_, topics, 1, options.get(), queue_.get());
}

// All groups are listed, since librdkafka can describe only some kinds of them.
void BrokerProbe::group_is_empty(const std::string& group, milliseconds within, Then<bool> then) {
  const auto options = request<GroupListings>(
      RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS, within, decode_groups,
      [group, then = std::move(then)](const Answer<GroupListings>& listed) {
        if (!listed.value) return then(unknown<bool>(listed.error));
        const auto found = listed.value->find(group);
        then(known(found == listed.value->end() ||
                   found->second == RD_KAFKA_CONSUMER_GROUP_STATE_EMPTY ||
                   found->second == RD_KAFKA_CONSUMER_GROUP_STATE_DEAD));
      });
  rd_kafka_ListConsumerGroups(handle_, options.get(), queue_.get());
}

void BrokerProbe::members(const std::string& group, Then<MemberIds> then) {
  const char* groups[] = {group.c_str()};
  if (members_awaited_++ == 0) members_asked_ = boot_now();
  const auto options = request<MemberIds>(
      RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, kNoTimeout, decode_members,
      [this, then = std::move(then)](const Answer<MemberIds>& answer) {
        if (--members_awaited_ == 0) members_asked_ = kNever;
        then(answer);  // which may destroy this
      });
  rd_kafka_DescribeConsumerGroups(handle_, groups, 1, options.get(), queue_.get());
}

bool BrokerProbe::is_overdue(LocalTime now) const noexcept {
  return members_asked_ != kNever && now >= later(members_asked_, kMembersMost);
}

#if RD_KAFKA_VERSION >= 0x020300ff

namespace {

Answer<TopicDescription> decode_topic(rd_kafka_event_t* event) {
  std::size_t count = 0;
  const auto** topics = rd_kafka_DescribeTopics_result_topics(
      rd_kafka_event_DescribeTopics_result(event), &count);
  TopicDescription topic;
  topic.error = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
  if (count == 0) return known(std::move(topic));
  const rd_kafka_error_t* error = rd_kafka_TopicDescription_error(topics[0]);
  topic.error = error == nullptr ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_error_code(error);
  const auto** partitions = rd_kafka_TopicDescription_partitions(topics[0], &count);
  topic.partitions = static_cast<std::uint32_t>(count);
  topic.leaders.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const int number = rd_kafka_TopicPartitionInfo_partition(partitions[i]);
    if (number < 0 || static_cast<std::size_t>(number) >= count) continue;
    const rd_kafka_Node_t* node = rd_kafka_TopicPartitionInfo_leader(partitions[i]);
    const int leader = node == nullptr ? -1 : rd_kafka_Node_id(node);
    if (leader >= 0) topic.leaders[static_cast<std::size_t>(number)] = leader;
  }
  return known(std::move(topic));
}

}  // namespace

void BrokerProbe::topic(const std::string& name, milliseconds within, Then<TopicDescription> then) {
  when_connected(
      within, [this, name, then](milliseconds left) { describe_topic(name, left, then); },
      [then] { then(unknown<TopicDescription>(RD_KAFKA_RESP_ERR__TIMED_OUT)); });
}

void BrokerProbe::describe_topic(const std::string& name, milliseconds within,
                                 Then<TopicDescription> then) {
  const char* names[] = {name.c_str()};
  rd_kafka_TopicCollection_t* topics = rd_kafka_TopicCollection_of_topic_names(names, 1);
  const auto options =
      request(RD_KAFKA_ADMIN_OP_DESCRIBETOPICS, within, decode_topic, std::move(then));
  rd_kafka_DescribeTopics(handle_, topics, options.get(), queue_.get());
  rd_kafka_TopicCollection_destroy(topics);
}

#else

void BrokerProbe::topic(const std::string&, milliseconds, Then<TopicDescription> then) {
  then(unknown<TopicDescription>(RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE));
}

#endif

#if RD_KAFKA_VERSION >= 0x020c00ff

namespace {

Answer<Done> decode_set(rd_kafka_event_t* event) {
  std::size_t count = 0;
  const auto** results = rd_kafka_IncrementalAlterConfigs_result_resources(
      rd_kafka_event_IncrementalAlterConfigs_result(event), &count);
  if (count == 0) return known(Done{});
  return done_unless(rd_kafka_ConfigResource_error(results[0]),
                     rd_kafka_ConfigResource_error_string(results[0]));
}

}  // namespace

void BrokerProbe::set_group_configs(const std::string& group, const Configs& configs,
                                    milliseconds within, Then<Done> then) {
  const rdkafka::ConfigResourcePtr resource{
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_GROUP, group.c_str())};
  for (const auto& [name, value] : configs) {
    const rdkafka::ErrorPtr error{rd_kafka_ConfigResource_add_incremental_config(
        resource.get(), name.c_str(), RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET, value.c_str())};
    if (!error) continue;
    return then(
        unknown<Done>(rd_kafka_error_code(error.get()), rd_kafka_error_string(error.get())));
  }
  rd_kafka_ConfigResource_t* resources[] = {resource.get()};
  const auto options =
      request(RD_KAFKA_ADMIN_OP_INCREMENTALALTERCONFIGS, within, decode_set, std::move(then));
  rd_kafka_IncrementalAlterConfigs(handle_, resources, 1, options.get(), queue_.get());
}

#else

void BrokerProbe::set_group_configs(const std::string&, const Configs&, milliseconds,
                                    Then<Done> then) {
  then(unknown<Done>(RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE, "this librdkafka cannot"));
}

#endif

}  // namespace neliroute
