#include "neli_core/kafka/leader_question.h"

#include <algorithm>
#include <array>
#include <utility>

namespace neliroute {
namespace {

// It may be asked of a broker that cannot be reached; then it is asked of another one soon.
constexpr int kAnswerWithinMs = 3000;

}  // namespace

LeaderQuestion::LeaderQuestion(rd_kafka_t* handle, QueueWakeup& wakeup, std::string topic,
                               std::uint32_t logs, Answer answer)
    : handle_(handle),
      wakeup_(wakeup),
      topic_(std::move(topic)),
      logs_(logs),
      answer_(std::move(answer)),
      queue_(rd_kafka_queue_new(handle)) {
  wakeup_.attach(queue_.get());
}

LeaderQuestion::~LeaderQuestion() { wakeup_.detach(queue_.get()); }

bool LeaderQuestion::serve() {
  const auto event = rdkafka::poll(queue_.get());
  if (!event) return false;
  asked_ = false;
  on_answer(event.get());
  return true;
}

#if RD_KAFKA_VERSION >= 0x020300ff

void LeaderQuestion::ask() {
  if (std::exchange(asked_, true)) return;
  const char* names[] = {topic_.c_str()};
  rd_kafka_TopicCollection_t* topics = rd_kafka_TopicCollection_of_topic_names(names, 1);
  const rdkafka::AdminOptionsPtr options{
      rd_kafka_AdminOptions_new(handle_, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS)};
  std::array<char, 256> text{};
  rd_kafka_AdminOptions_set_request_timeout(options.get(), kAnswerWithinMs, text.data(),
                                            text.size());
  rd_kafka_DescribeTopics(handle_, topics, options.get(), queue_.get());
  rd_kafka_TopicCollection_destroy(topics);
}

void LeaderQuestion::on_answer(const rd_kafka_event_t* constant) const {
  auto* event = const_cast<rd_kafka_event_t*>(constant);
  const auto* result = rd_kafka_event_DescribeTopics_result(event);
  if (result == nullptr || rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  std::size_t count = 0;
  const auto** topics = rd_kafka_DescribeTopics_result_topics(result, &count);
  if (count == 0) return;
  const rd_kafka_error_t* error = rd_kafka_TopicDescription_error(topics[0]);
  if (error != nullptr && rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const auto** partitions = rd_kafka_TopicDescription_partitions(topics[0], &count);
  std::vector<std::optional<std::int32_t>> leaders(logs_);
  for (std::size_t i = 0; i < count; ++i) {
    const int number = rd_kafka_TopicPartitionInfo_partition(partitions[i]);
    if (number < 0 || static_cast<std::uint32_t>(number) >= logs_) continue;
    const rd_kafka_Node_t* node = rd_kafka_TopicPartitionInfo_leader(partitions[i]);
    const int leader = node == nullptr ? -1 : rd_kafka_Node_id(node);
    if (leader >= 0) leaders[static_cast<std::size_t>(number)] = leader;
  }
  answer_(leaders);
}

#else

void LeaderQuestion::ask() {}
void LeaderQuestion::on_answer(const rd_kafka_event_t*) const {}

#endif

}  // namespace neliroute
