#include "kafka/topic/leader_question.h"

#include <utility>

namespace neliroute {
namespace {

// It may be asked of a broker that cannot be reached; then it is asked of another one soon.
constexpr milliseconds kAnswerWithin{3000};

}  // namespace

LeaderQuestion::LeaderQuestion(rd_kafka_t* handle, QueueWakeup& wakeup, std::string topic,
                               std::uint32_t logs, Answer answer)
    : queue_(handle, wakeup), topic_(std::move(topic)), logs_(logs), answer_(std::move(answer)) {}

bool LeaderQuestion::serve() {
  const auto event = queue_.poll();
  if (!event) return false;
  asked_ = false;
  on_answer(event.get());
  return true;
}

#if NELIROUTE_HAS_DESCRIBE_TOPICS

void LeaderQuestion::ask() {
  if (!std::exchange(asked_, true)) queue_.describe_topic(topic_, kAnswerWithin);
}

void LeaderQuestion::on_answer(const rd_kafka_event_t* event) const {
  const auto* topic = described_topic(event);
  if (topic == nullptr) return;
  std::size_t count = 0;
  const auto** partitions = rd_kafka_TopicDescription_partitions(topic, &count);
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
