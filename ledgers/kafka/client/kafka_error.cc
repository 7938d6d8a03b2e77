#include "ledgers/kafka/client/kafka_error.h"

namespace neliroute {

std::string_view advice_on(rd_kafka_resp_err_t error) noexcept {
  switch (error) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return "grant READ, WRITE and DESCRIBE on the topic (READ and DESCRIBE for a watcher)";
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
      return "grant READ and DESCRIBE on the group";
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:  // of an idempotent producer
      return "grant WRITE on the topic (before Kafka 2.8 also IDEMPOTENT_WRITE on the cluster)";
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
      return "check `kafka.properties` security.protocol and sasl.*";
    case RD_KAFKA_RESP_ERR__SSL:
      return "check `kafka.properties` security.protocol and ssl.*";
    case RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
      return "a member with another protocol or assignor is in the group: give each application "
             "its own `group`, and all processes the same `group_protocol`";
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
      return "raise the topic's max.message.bytes (and `kafka.properties` message.max.bytes) to 64 "
             "KiB or more";
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
      return "records have no key, which a compacted topic refuses: set cleanup.policy=delete";
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
      return "fewer replicas than min.insync.replicas are in sync: look at the brokers";
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
      return "not stored within a lease: its leader is unreachable or slow, or fewer replicas than "
             "min.insync.replicas are in sync";
    case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED:
      return "a handler blocked this process's executor for too long, so others take over its "
             "slots; it joins again now. Do slow work on another thread; "
             "`timing.hang_limit` "
             "allows more";
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
    case RD_KAFKA_RESP_ERR__BAD_MSG:
    case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
      return "a record on the broker's disk is damaged, or compressed as this program cannot read; "
             "nothing behind it is read before it is gone: delete the records up to it "
             "(kafka-delete-records), or the topic";
    case RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED:
      return "raise the broker's group.max.size or group.consumer.max.size";
    case RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT:
      return "choose a `timing.session` within the broker's group.min.session.timeout.ms and "
             "group.max.session.timeout.ms";
    default:
      return {};
  }
}

// By number: older headers lack some of the names.
TailFault tail_fault_of(rd_kafka_resp_err_t error) noexcept {
  constexpr int kLogTruncation = -139;
  constexpr int kUnknownTopicId = 100;
  constexpr int kInconsistentTopicId = 103;
  switch (static_cast<int>(error)) {
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
      return TailFault::out_of_range;
    case kLogTruncation:
      return TailFault::truncated;
    case kUnknownTopicId:
    case kInconsistentTopicId:
      return TailFault::replaced;
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return TailFault::missing;
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return TailFault::refused;
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
    case RD_KAFKA_RESP_ERR_UNKNOWN:
    case RD_KAFKA_RESP_ERR__BAD_MSG:
    case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
      return TailFault::unreadable;
    default:
      return TailFault::none;
  }
}

bool is_refusal(rd_kafka_resp_err_t error) noexcept {
  switch (error) {
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__SSL:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      return true;
    default:
      return false;
  }
}

bool is_inconsistent_group(rd_kafka_resp_err_t error) noexcept {
  return error == RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL ||
         error == RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND;
}

bool is_own_doing(rd_kafka_resp_err_t error) noexcept {
  return error == RD_KAFKA_RESP_ERR__PURGE_QUEUE || error == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT ||
         error == RD_KAFKA_RESP_ERR__DESTROY;
}

bool is_unreachable(rd_kafka_resp_err_t error) noexcept {
  switch (error) {
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__NODE_UPDATE:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
      return true;
    default:
      return false;
  }
}

bool is_unknown_answer(rd_kafka_resp_err_t error) noexcept {
  return is_refusal(error) || error == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE ||
         error == RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION ||
         error == RD_KAFKA_RESP_ERR_INVALID_REQUEST;
}

std::string describe(rd_kafka_resp_err_t error, std::string_view text) {
  std::string result{text.empty() ? std::string_view{rd_kafka_err2str(error)} : text};
  result.append(" (").append(rd_kafka_err2name(error)).append(")");
  if (const std::string_view what = advice_on(error); !what.empty()) {
    result.append("; ").append(what);
  }
  return result;
}

}  // namespace neliroute
