// The lines of a client's log, by a queue of their own.
//
// librdkafka writes some lines while it holds a queue's lock, for example when it drops what is
// left of a deleted partition. A log that led into that same queue would deadlock the client. At a
// debug level there may be a line for each partition of a topic: they are served in portions.
//
// Threads: the strand.   Units: none.   Errors: none.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstddef>
#include <functional>
#include <memory>

#include "ledgers/kafka/client/queue_wakeup.h"
#include "ledgers/kafka/client/rdkafka_ptr.h"

namespace neliroute {

/// Must be destroyed before the client.
class ClientLog {
 public:
  /// `wakeup`: null for a caller that polls.
  ClientLog(rd_kafka_t* handle, QueueWakeup* wakeup)
      : wakeup_(wakeup), queue_(rd_kafka_queue_new(handle)) {
    rd_kafka_set_log_queue(handle, queue_.get());
    if (wakeup_) wakeup_->attach(queue_.get());
  }
  ~ClientLog() {
    if (wakeup_) wakeup_->detach(queue_.get());
  }
  ClientLog(const ClientLog&) = delete;
  ClientLog& operator=(const ClientLog&) = delete;

  using Handler = std::function<void(const rd_kafka_event_t*)>;
  enum class Served {
    all,   ///< no line is left
    some,  ///< perhaps more are left
    gone,  ///< the handler destroyed this object, and perhaps its owner
  };
  static constexpr std::size_t kLinesAtOnce = 64;

  /// Hands on at most so many lines.
  [[nodiscard]] Served serve(const Handler& handler, std::size_t at_most = kLinesAtOnce) {
    for (std::size_t served = 0; served < at_most; ++served) {
      const auto event = rdkafka::poll(queue_.get());
      if (!event) return Served::all;
      const std::weak_ptr<bool> alive = alive_;
      handler(event.get());
      if (alive.expired()) return Served::gone;
    }
    return Served::some;
  }
  /// Hands on the lines that are there now, and none that arrives meanwhile.
  [[nodiscard]] Served serve_waiting(const Handler& handler) {
    return serve(handler, rd_kafka_queue_length(queue_.get()));
  }

 private:
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  QueueWakeup* wakeup_;
  rdkafka::QueuePtr queue_;
};

}  // namespace neliroute
