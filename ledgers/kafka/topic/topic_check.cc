#include "ledgers/kafka/topic/topic_check.h"

#include <utility>

#include "ledgers/kafka/client/kafka_error.h"
#include "ledgers/kafka/topic/topic_setup.h"

namespace neliroute {

using Kind = TopicVerdict::Kind;

TopicVerdict judge(const Answer<ResourceConfigs>& configs, const TopicNeeds& needs) {
  if (configs.value) {
    const auto unfit = unfit_topic(configs.value->values, needs.topic, needs.mode);
    return unfit ? TopicVerdict{Kind::unfit, unfit->message()} : TopicVerdict{};
  }
  if (is_unknown_answer(configs.error)) return {};
  const Kind kind = is_unreachable(configs.error) ? Kind::unknown : Kind::missing;
  return {kind, describe(configs.error)};
}

TopicVerdict judge(const Answer<TopicDescription>& described, const TopicNeeds& needs) {
  if (!described.value) return {};
  const TopicDescription& topic = *described.value;
  if (topic.error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return {Kind::missing, rd_kafka_err2str(topic.error)};
  }
  if (topic.partitions >= needs.partitions) return {};
  return {Kind::unfit, "topic " + needs.topic + " is back with " +
                           std::to_string(topic.partitions) +
                           " partitions, this process runs with " +
                           std::to_string(needs.partitions) +
                           "; stop all processes, or recreate it with that many"};
}

void check_topic(BrokerProbe& probe, const TopicNeeds& needs, milliseconds answer_within,
                 std::function<void(const TopicVerdict&)> then) {
  // Only the controller reports a topic's configuration, and the embedded broker has none. Queried
  // about itself, it answers at once that it does not know the request: so it exists.
  const bool embedded = needs.embedded_broker;
  probe.configs(embedded ? RD_KAFKA_RESOURCE_BROKER : RD_KAFKA_RESOURCE_TOPIC,
                embedded ? "1" : needs.topic, answer_within,
                [&probe, needs, answer_within, then](const Answer<ResourceConfigs>& configs) {
                  const TopicVerdict verdict = judge(configs, needs);
                  if (needs.embedded_broker || verdict.kind != Kind::fits) return then(verdict);
                  // An older library, which cannot do this, looks at the configuration alone.
                  probe.topic(needs.topic, answer_within,
                              [needs, then](const Answer<TopicDescription>& described) {
                                then(judge(described, needs));
                              });
                });
}

}  // namespace neliroute
