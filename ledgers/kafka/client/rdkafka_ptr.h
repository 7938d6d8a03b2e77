// librdkafka's objects as unique_ptrs, so that every exit from a function frees them.
//
// Threads: as librdkafka: a handle any thread, the others one.   Units: none.   Errors: none.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>

#include "ledgers/kafka/client/background_destroy.h"

namespace neliroute::rdkafka {

template <auto Destroy>
struct Deleter {
  template <class T>
  void operator()(T* object) const noexcept {
    Destroy(object);
  }
};

struct HandleDeleter {
  void operator()(rd_kafka_t* handle) const noexcept { destroy(handle, kDestroyPatience); }
};

/// rd_kafka_metadata() hands out a pointer to const.
struct MetadataDeleter {
  void operator()(const struct rd_kafka_metadata* metadata) const noexcept {
    rd_kafka_metadata_destroy(metadata);
  }
};

using HandlePtr = std::unique_ptr<rd_kafka_t, HandleDeleter>;
using ConfPtr = std::unique_ptr<rd_kafka_conf_t, Deleter<rd_kafka_conf_destroy>>;
using TopicPtr = std::unique_ptr<rd_kafka_topic_t, Deleter<rd_kafka_topic_destroy>>;
using QueuePtr = std::unique_ptr<rd_kafka_queue_t, Deleter<rd_kafka_queue_destroy>>;
using EventPtr = std::unique_ptr<rd_kafka_event_t, Deleter<rd_kafka_event_destroy>>;
using ErrorPtr = std::unique_ptr<rd_kafka_error_t, Deleter<rd_kafka_error_destroy>>;
using MetadataPtr = std::unique_ptr<const struct rd_kafka_metadata, MetadataDeleter>;
using TopicPartitionPtr =
    std::unique_ptr<rd_kafka_topic_partition_t, Deleter<rd_kafka_topic_partition_destroy>>;
using TopicPartitionsPtr = std::unique_ptr<rd_kafka_topic_partition_list_t,
                                           Deleter<rd_kafka_topic_partition_list_destroy>>;
using AdminOptionsPtr =
    std::unique_ptr<rd_kafka_AdminOptions_t, Deleter<rd_kafka_AdminOptions_destroy>>;
using ConfigResourcePtr =
    std::unique_ptr<rd_kafka_ConfigResource_t, Deleter<rd_kafka_ConfigResource_destroy>>;
using GroupMetadataPtr = std::unique_ptr<rd_kafka_consumer_group_metadata_t,
                                         Deleter<rd_kafka_consumer_group_metadata_destroy>>;
using NewTopicPtr = std::unique_ptr<rd_kafka_NewTopic_t, Deleter<rd_kafka_NewTopic_destroy>>;

/// An event, or null when the queue is empty.
[[nodiscard]] inline EventPtr poll(rd_kafka_queue_t* queue, int timeout_ms = 0) noexcept {
  return EventPtr{rd_kafka_queue_poll(queue, timeout_ms)};
}

}  // namespace neliroute::rdkafka
