#include "tests/unit/ledgers/kafka/librdkafka_calls.h"

#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

extern "C" {
rd_kafka_event_t* __real_rd_kafka_queue_poll(rd_kafka_queue_t* queue, int timeout_ms);
rd_kafka_topic_partition_t* __real_rd_kafka_event_topic_partition(rd_kafka_event_t* event);
rd_kafka_resp_err_t __real_rd_kafka_event_error(rd_kafka_event_t* event);
rd_kafka_error_t* __real_rd_kafka_incremental_unassign(
    rd_kafka_t* handle, const rd_kafka_topic_partition_list_t* partitions);
rd_kafka_error_t* __real_rd_kafka_incremental_assign(
    rd_kafka_t* handle, const rd_kafka_topic_partition_list_t* partitions);
rd_kafka_resp_err_t __real_rd_kafka_query_watermark_offsets(rd_kafka_t* handle, const char* topic,
                                                            int32_t partition, int64_t* low,
                                                            int64_t* high, int timeout_ms);
void __real_rd_kafka_destroy_flags(rd_kafka_t* handle, int flags);
}

namespace neliroute::librdkafka_calls {
namespace {

struct Current {
  std::shared_mutex mutex;  ///< held by those who are in one of its functions
  std::optional<Watching> watching;
};

Current& current() {
  static auto* one = new Current;  // librdkafka's threads may outlive main()
  return *one;
}

/// Calls it with what watches now, if anything does.
template <typename Work>
void with_watching(const Work& work) {
  const std::shared_lock lock(current().mutex);
  if (current().watching) work(*current().watching);
}

void watch(std::optional<Watching> next) {
  const std::unique_lock lock(current().mutex);
  current().watching = std::move(next);
}

}  // namespace

Watch::Watch(Watching watching) { watch(std::move(watching)); }
Watch::~Watch() { watch(std::nullopt); }

}  // namespace neliroute::librdkafka_calls

extern "C" {

using neliroute::librdkafka_calls::Watching;
using neliroute::librdkafka_calls::with_watching;

rd_kafka_event_t* __wrap_rd_kafka_queue_poll(rd_kafka_queue_t* queue, int timeout_ms) {
  with_watching([&](const Watching& watching) {
    if (watching.before_poll) watching.before_poll(queue);
  });
  rd_kafka_event_t* event = __real_rd_kafka_queue_poll(queue, timeout_ms);
  with_watching([&](const Watching& watching) {
    if (watching.after_poll) watching.after_poll(queue, event);
  });
  return event;
}

rd_kafka_topic_partition_t* __wrap_rd_kafka_event_topic_partition(rd_kafka_event_t* event) {
  rd_kafka_topic_partition_t* named = __real_rd_kafka_event_topic_partition(event);
  const bool is_end = named != nullptr && rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR &&
                      __real_rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__PARTITION_EOF;
  if (!is_end) return named;
  std::optional<std::int64_t> told = named->offset;
  with_watching([&](const Watching& watching) {
    if (watching.end_of_log) told = watching.end_of_log(named->partition, named->offset);
  });
  // The caller owns what it was given.
  if (told) {
    named->offset = *told;
    return named;
  }
  rd_kafka_topic_partition_destroy(named);
  return nullptr;
}

rd_kafka_resp_err_t __wrap_rd_kafka_event_error(rd_kafka_event_t* event) {
  rd_kafka_resp_err_t error = __real_rd_kafka_event_error(event);
  with_watching([&](const Watching& watching) {
    if (watching.error) error = watching.error(error);
  });
  return error;
}

rd_kafka_resp_err_t __wrap_rd_kafka_query_watermark_offsets(rd_kafka_t* handle, const char* topic,
                                                            int32_t partition, int64_t* low,
                                                            int64_t* high, int timeout_ms) {
  rd_kafka_resp_err_t error = __real_rd_kafka_query_watermark_offsets(
      handle, topic, partition, low, high, timeout_ms);
  with_watching([&](const Watching& watching) {
    if (watching.queried_end && error == RD_KAFKA_RESP_ERR_NO_ERROR) {
      *high = watching.queried_end(*high);
    }
    if (watching.query_error) error = watching.query_error(partition, error);
  });
  return error;
}

rd_kafka_error_t* __wrap_rd_kafka_incremental_assign(
    rd_kafka_t* handle, const rd_kafka_topic_partition_list_t* partitions) {
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  with_watching([&](const Watching& watching) {
    if (watching.assign) error = watching.assign();
  });
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return rd_kafka_error_new(error, "a test");
  return __real_rd_kafka_incremental_assign(handle, partitions);
}

rd_kafka_error_t* __wrap_rd_kafka_incremental_unassign(
    rd_kafka_t* handle, const rd_kafka_topic_partition_list_t* partitions) {
  with_watching([&](const Watching& watching) {
    if (watching.unassign) watching.unassign();
  });
  return __real_rd_kafka_incremental_unassign(handle, partitions);
}

void __wrap_rd_kafka_destroy_flags(rd_kafka_t* handle, int flags) {
  with_watching([&](const Watching& watching) {
    if (watching.destroy) watching.destroy(handle);
  });
  __real_rd_kafka_destroy_flags(handle, flags);
}

}
