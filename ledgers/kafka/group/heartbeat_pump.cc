#include "ledgers/kafka/group/heartbeat_pump.h"

#include <algorithm>

namespace neliroute {

HeartbeatPump::HeartbeatPump(rd_kafka_t* handle, milliseconds heartbeat) {
  const milliseconds pause = std::max(heartbeat / 3, milliseconds{1});
  thread_ = std::thread([this, handle, pause] {
    std::unique_lock lock(mutex_);
    while (!stopped_.wait_for(lock, pause, [this] { return stop_; })) {
      lock.unlock();
      char* id = rd_kafka_memberid(handle);
      if (id != nullptr) rd_kafka_mem_free(handle, id);
      lock.lock();
    }
  });
}

HeartbeatPump::~HeartbeatPump() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

}  // namespace neliroute
