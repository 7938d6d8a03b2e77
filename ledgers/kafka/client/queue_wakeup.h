// Wakes the strand when librdkafka has put something into a queue: one eventfd for all queues.
//
// Threads: the strand; librdkafka writes the eventfd from its own, and so does waker().
// Units: none.
// Errors: open() returns what the system refused.
#pragma once

#include <librdkafka/rdkafka.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <vector>

namespace neliroute {

class QueueWakeup : public std::enable_shared_from_this<QueueWakeup> {
 public:
  explicit QueueWakeup(const boost::asio::any_io_executor& strand) : descriptor_(strand) {}
  ~QueueWakeup() { close(); }

  [[nodiscard]] Result<void> open();
  void start(std::function<void()> wake);
  void attach(rd_kafka_queue_t* queue);
  /// Call it before a queue is destroyed.
  void detach(rd_kafka_queue_t* queue);
  /// Wakes the strand, on any thread, also after the end.
  [[nodiscard]] std::function<void()> waker();
  void close();

 private:
  void wait();

  boost::asio::posix::stream_descriptor descriptor_;
  std::function<void()> wake_;
  std::vector<rd_kafka_queue_t*> queues_;
};

}  // namespace neliroute
