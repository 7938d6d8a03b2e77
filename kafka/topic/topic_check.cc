#include "kafka/topic/topic_check.h"

#include <utility>

#include "kafka/client/kafka_error.h"
#include "kafka/topic/broker_probe.h"
#include "kafka/topic/topic_setup.h"

namespace neliroute {
namespace {

TopicCheck::Outcome outcome_of(rd_kafka_resp_err_t error) {
  return is_unreachable(error) ? TopicCheck::Outcome::unanswered : TopicCheck::Outcome::missing;
}

}  // namespace

TopicCheck::TopicCheck(rd_kafka_t* handle, QueueWakeup& wakeup, std::string topic, Mode mode,
                       std::uint32_t partitions, bool embedded_broker,
                       milliseconds answer_within)
    : queue_(handle, wakeup),
      topic_(std::move(topic)),
      mode_(mode),
      partitions_(partitions),
      embedded_broker_(embedded_broker),
      answer_within_(answer_within) {}

void TopicCheck::ask(Answer answer) {
  if (answer_) return;
  answer_ = std::move(answer);
  ask_configuration();
}

void TopicCheck::count(std::function<void(std::uint32_t)> answer) {
  if (count_answer_) return;
  count_answer_ = std::move(answer);
  ask_partitions();
}

void TopicCheck::ask_configuration() {
  // Of a topic the library asks the controller, and the embedded broker has none. Asked about
  // itself it says at once that it does not know the question: so it is there.
  const rdkafka::ConfigResourcePtr resource{
      embedded_broker_ ? rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, "1")
                       : rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic_.c_str())};
  rd_kafka_ConfigResource_t* resources[] = {resource.get()};
  const auto options =
      admin_options(queue_.handle(), RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, answer_within_);
  rd_kafka_DescribeConfigs(queue_.handle(), resources, 1, options.get(), queue_.get());
}

bool TopicCheck::serve() {
  const auto event = queue_.poll();
  if (!event) return false;
  if (count_answer_) on_count(event.get());
  if (!answer_) return true;
  if (rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT) {
    on_configuration(event.get());
  } else {
    on_partitions(event.get());
  }
  return true;
}

void TopicCheck::finish(Outcome outcome, const std::string& why) {
  if (auto answer = std::exchange(answer_, nullptr)) answer(outcome, why);
}

void TopicCheck::on_configuration(rd_kafka_event_t* event) {
  rd_kafka_resp_err_t error{};
  const auto configs = configs_of(event, error);
  if (configs) {
    if (const auto unfit = unfit_topic(*configs, topic_, mode_)) {
      return finish(Outcome::unfit, unfit->message());
    }
    return ask_partitions();
  }
  if (is_unknown_answer(error)) {
    return embedded_broker_ ? finish(Outcome::fits) : ask_partitions();
  }
  finish(outcome_of(error), describe(error));
}

// An older library looks at the configuration alone.
#if NELIROUTE_HAS_DESCRIBE_TOPICS

void TopicCheck::ask_partitions() { queue_.describe_topic(topic_, answer_within_); }

void TopicCheck::on_partitions(rd_kafka_event_t* event) {
  const auto* result = rd_kafka_event_DescribeTopics_result(event);
  if (result == nullptr || rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return finish(Outcome::fits);
  }
  std::size_t count = 0;
  const auto** topics = rd_kafka_DescribeTopics_result_topics(result, &count);
  if (count == 0) return finish(Outcome::missing);
  const rd_kafka_error_t* error = rd_kafka_TopicDescription_error(topics[0]);
  if (error != nullptr && rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return finish(Outcome::missing, rd_kafka_error_string(error));
  }
  rd_kafka_TopicDescription_partitions(topics[0], &count);
  if (count >= partitions_) return finish(Outcome::fits);
  finish(Outcome::unfit, "topic " + topic_ + " is back with " + std::to_string(count) +
                             " partitions, this process runs with " +
                             std::to_string(partitions_) +
                             "; stop all processes, or make it again with that many");
}

void TopicCheck::on_count(rd_kafka_event_t* event) {
  const auto answer = std::exchange(count_answer_, nullptr);
  const auto* topic = described_topic(event);
  if (topic == nullptr) return;
  std::size_t partitions = 0;
  rd_kafka_TopicDescription_partitions(topic, &partitions);
  if (partitions > 0) answer(static_cast<std::uint32_t>(partitions));
}

#else

void TopicCheck::ask_partitions() { finish(Outcome::fits); }
void TopicCheck::on_count(rd_kafka_event_t*) {}
void TopicCheck::on_partitions(rd_kafka_event_t*) { finish(Outcome::fits); }

#endif

}  // namespace neliroute
