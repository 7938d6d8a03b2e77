#include "neli_core/kafka/background_destroy.h"

#include <future>
#include <system_error>
#include <thread>

namespace neliroute::rdkafka {
namespace {

void destroy_now(rd_kafka_t* handle) noexcept {
  if (rd_kafka_type(handle) == RD_KAFKA_PRODUCER) {
    rd_kafka_purge(handle, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  }
  rd_kafka_destroy_flags(handle, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

}  // namespace

void destroy(rd_kafka_t* handle, milliseconds patience) noexcept {
  std::promise<void> done;
  const std::future<void> ended = done.get_future();
  try {
    std::thread([handle, done = std::move(done)]() mutable {
      destroy_now(handle);
      done.set_value();
    }).detach();
  } catch (const std::system_error&) {  // no thread to be had: then it is waited for
    return destroy_now(handle);
  }
  ended.wait_for(patience);
}

}  // namespace neliroute::rdkafka
