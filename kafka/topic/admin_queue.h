// Where the answers to questions come that a client asks its brokers without blocking.
//
// Threads: the strand.   Units: std::chrono.   Errors: in the answers.
#pragma once

#include <librdkafka/rdkafka.h>

#include <neliroute/time.h>
#include <string>

#include "kafka/client/queue_wakeup.h"
#include "kafka/client/rdkafka_ptr.h"

// DescribeTopics came with 2.3.
#define NELIROUTE_HAS_DESCRIBE_TOPICS (RD_KAFKA_VERSION >= 0x020300ff)

namespace neliroute {

/// Of a question that is answered within this, or not at all.
[[nodiscard]] rdkafka::AdminOptionsPtr admin_options(rd_kafka_t* handle,
                                                     rd_kafka_admin_op_t operation,
                                                     milliseconds answer_within);

class AdminQueue {
 public:
  /// `handle`: the client that asks; it must outlive this.
  AdminQueue(rd_kafka_t* handle, QueueWakeup& wakeup);
  ~AdminQueue();
  AdminQueue(const AdminQueue&) = delete;
  AdminQueue& operator=(const AdminQueue&) = delete;

  [[nodiscard]] rd_kafka_t* handle() const noexcept { return handle_; }
  [[nodiscard]] rd_kafka_queue_t* get() const noexcept { return queue_.get(); }
  /// The next answer; null: there is none.
  [[nodiscard]] rdkafka::EventPtr poll() const { return rdkafka::poll(queue_.get()); }
#if NELIROUTE_HAS_DESCRIBE_TOPICS
  void describe_topic(const std::string& topic, milliseconds answer_within) const;
#endif

 private:
  rd_kafka_t* handle_;
  QueueWakeup& wakeup_;
  rdkafka::QueuePtr queue_;
};

#if NELIROUTE_HAS_DESCRIBE_TOPICS
/// What the answer to describe_topic() says; null: nobody tells, or the topic is not there.
[[nodiscard]] const rd_kafka_TopicDescription_t* described_topic(const rd_kafka_event_t* answer);
#endif

}  // namespace neliroute
