// Keeps the heartbeats of the classic group protocol going.
//
// librdkafka sends them when its main thread wakes, which otherwise happens every 500 ms; an
// answered request wakes it. So this sends requests, from a thread of its own.
//
// Threads: construct and stop on one; stop before the client is closed.   Units: std::chrono.
// Errors: none.
#pragma once

#include <librdkafka/rdkafka.h>

#include <condition_variable>
#include <mutex>
#include <neliroute/time.h>
#include <thread>

namespace neliroute {

class HeartbeatPump {
 public:
  HeartbeatPump(rd_kafka_t* handle, milliseconds heartbeat);
  ~HeartbeatPump();
  HeartbeatPump(const HeartbeatPump&) = delete;
  HeartbeatPump& operator=(const HeartbeatPump&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace neliroute
