#include "kafka/topic/admin_queue.h"

#include <array>

namespace neliroute {

rdkafka::AdminOptionsPtr admin_options(rd_kafka_t* handle, rd_kafka_admin_op_t operation,
                                       milliseconds answer_within) {
  rdkafka::AdminOptionsPtr options{rd_kafka_AdminOptions_new(handle, operation)};
  std::array<char, 256> text{};
  rd_kafka_AdminOptions_set_request_timeout(
      options.get(), static_cast<int>(answer_within.count()), text.data(), text.size());
  return options;
}

AdminQueue::AdminQueue(rd_kafka_t* handle, QueueWakeup& wakeup)
    : handle_(handle), wakeup_(wakeup), queue_(rd_kafka_queue_new(handle)) {
  wakeup_.attach(queue_.get());
}

AdminQueue::~AdminQueue() { wakeup_.detach(queue_.get()); }

#if NELIROUTE_HAS_DESCRIBE_TOPICS

void AdminQueue::describe_topic(const std::string& topic, milliseconds answer_within) const {
  const char* names[] = {topic.c_str()};
  rd_kafka_TopicCollection_t* topics = rd_kafka_TopicCollection_of_topic_names(names, 1);
  const auto options = admin_options(handle_, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS, answer_within);
  rd_kafka_DescribeTopics(handle_, topics, options.get(), queue_.get());
  rd_kafka_TopicCollection_destroy(topics);
}

const rd_kafka_TopicDescription_t* described_topic(const rd_kafka_event_t* answer) {
  auto* event = const_cast<rd_kafka_event_t*>(answer);
  const auto* result = rd_kafka_event_DescribeTopics_result(event);
  if (result == nullptr || rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return nullptr;
  }
  std::size_t count = 0;
  const auto** topics = rd_kafka_DescribeTopics_result_topics(result, &count);
  if (count == 0) return nullptr;
  const rd_kafka_error_t* error = rd_kafka_TopicDescription_error(topics[0]);
  const bool told = error == nullptr || rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR_NO_ERROR;
  return told ? topics[0] : nullptr;
}

#endif

}  // namespace neliroute
