// The lines of a client's log, by a queue of their own.
//
// librdkafka writes some lines while it holds a queue's lock, as when it drops what is left of a
// partition that is no more. A log that led into that same queue would stop the client for ever.
//
// Threads: the strand.   Units: none.   Errors: none.
#pragma once

#include <librdkafka/rdkafka.h>

#include <functional>
#include <memory>

#include "neli_core/kafka/queue_wakeup.h"
#include "neli_core/kafka/rdkafka_ptr.h"

namespace neliroute {

/// Ends before the client does.
class ClientLog {
 public:
  /// `wakeup`: null for who looks by itself.
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

  /// Hands on every line there is. False: the handler ended this object, and so perhaps its owner.
  [[nodiscard]] bool serve(const std::function<void(const rd_kafka_event_t*)>& handler) {
    while (const auto event = rdkafka::poll(queue_.get())) {
      const std::weak_ptr<bool> alive = alive_;
      handler(event.get());
      if (alive.expired()) return false;
    }
    return true;
  }

 private:
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  QueueWakeup* wakeup_;
  rdkafka::QueuePtr queue_;
};

}  // namespace neliroute
