// Watches this program's calls of librdkafka, by the linker's --wrap: what a test must know to the
// instant, and what no broker can be made to answer on demand.
//
// Threads: any; the functions run on the calling thread.   Units: offsets.   Errors: none.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <functional>
#include <optional>

namespace neliroute::librdkafka_calls {

struct Watching {
  /// Before a queue is polled.
  std::function<void(rd_kafka_queue_t*)> before_poll;
  /// After it was polled, with what it gave; null where it was empty.
  std::function<void(rd_kafka_queue_t*, rd_kafka_event_t*)> after_poll;
  /// A log's end, by partition and offset, that is about to be read from its event: returns what
  /// the reader gets instead, or nothing: it gets no event.
  std::function<std::optional<std::int64_t>(std::int32_t, std::int64_t)> end_of_log;
  /// Of a log, as a query for both told it; returns what the caller gets as its end instead.
  std::function<std::int64_t(std::int64_t)> queried_end;
  /// Of a query for both ends, by partition; returns what the caller gets instead.
  std::function<rd_kafka_resp_err_t(std::int32_t, rd_kafka_resp_err_t)> query_error;
  /// What is wrong, by an event; returns what the reader gets instead.
  std::function<rd_kafka_resp_err_t(rd_kafka_resp_err_t)> error;
  /// Before partitions are assigned; other than none: they are not, and the caller gets this error.
  std::function<rd_kafka_resp_err_t()> assign;
  /// Before they are taken away.
  std::function<void()> unassign;
  /// Before a client is destroyed.
  std::function<void(rd_kafka_t*)> destroy;
};

/// In force while it lives; its end waits for those who are in one of the functions. One at a time.
class Watch {
 public:
  explicit Watch(Watching watching);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
};

}  // namespace neliroute::librdkafka_calls
