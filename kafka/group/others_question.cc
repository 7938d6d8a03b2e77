#include "kafka/group/others_question.h"

#include <chrono>
#include <utility>

namespace neliroute {
namespace {

// librdkafka 2.15.1 aborts the process when a question about a group timed out before its
// coordinator was found, and it is found then (rd_kafka_admin_coord_response_parse). So it never
// times out: whoever asks waits as long as he likes, and the client is destroyed before.
constexpr std::chrono::hours kAskGroup{1};

}  // namespace

OthersQuestion::OthersQuestion(rd_kafka_t* handle, QueueWakeup& wakeup, std::string group)
    : queue_(handle, wakeup), group_(std::move(group)) {}

void OthersQuestion::ask(std::string self, bool leaving, Answer answer) {
  self_ = std::move(self);
  leaving_ = leaving;
  answer_ = std::move(answer);
  const char* groups[] = {group_.c_str()};
  const auto options =
      admin_options(queue_.handle(), RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, kAskGroup);
  rd_kafka_DescribeConsumerGroups(queue_.handle(), groups, 1, options.get(), queue_.get());
}

void OthersQuestion::give_up() {
  if (const auto answer = std::exchange(answer_, nullptr)) answer(std::nullopt);
}

bool OthersQuestion::serve() {
  const auto event = queue_.poll();
  if (!event) return false;
  const auto others = others_in(event.get());
  if (const auto answer = std::exchange(answer_, nullptr)) answer(others);
  return true;
}

// A group that the coordinator does not know, or of a kind that it was not asked about, is
// described as one of nobody, too; but as dead, where one that all have left is empty.
std::optional<std::size_t> OthersQuestion::others_in(const rd_kafka_event_t* constant) const {
  auto* event = const_cast<rd_kafka_event_t*>(constant);
  const auto* result = rd_kafka_event_DescribeConsumerGroups_result(event);
  if (result == nullptr || rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return std::nullopt;
  }
  std::size_t count = 0;
  const auto** groups = rd_kafka_DescribeConsumerGroups_result_groups(result, &count);
  if (count != 1 || rd_kafka_ConsumerGroupDescription_error(groups[0]) != nullptr) {
    return std::nullopt;
  }
  const std::size_t members = rd_kafka_ConsumerGroupDescription_member_count(groups[0]);
  const auto state = rd_kafka_ConsumerGroupDescription_state(groups[0]);
  if (members == 0 && state != RD_KAFKA_CONSUMER_GROUP_STATE_EMPTY) return std::nullopt;
  std::size_t others = 0;
  for (std::size_t i = 0; i < members; ++i) {
    const auto* member = rd_kafka_ConsumerGroupDescription_member(groups[0], i);
    if (rd_kafka_MemberDescription_consumer_id(member) != self_) ++others;
  }
  // A coordinator that has just taken over may have yet to read who its members are.
  if (others == members && !self_.empty() && !leaving_) return std::nullopt;
  return others;
}

}  // namespace neliroute
