#include "ledgers/kafka/client/background_destroy.h"

#include <condition_variable>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>

namespace neliroute::rdkafka {
namespace {

// A program that ends at once should not exit while clients are still being destroyed.
constexpr milliseconds kExitPatience{2000};

struct UnderWay {
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;

  void add(int change) {
    const std::lock_guard lock(mutex);
    count += change;
    changed.notify_all();
  }
};

UnderWay& under_way() {
  static auto* one = new UnderWay;  // the threads may outlive every static
  return *one;
}

struct AtExit {
  ~AtExit() {
    UnderWay& all = under_way();
    std::unique_lock lock(all.mutex);
    all.changed.wait_for(lock, kExitPatience, [&] { return all.count == 0; });
  }
};

void destroy_now(rd_kafka_t* handle, const std::function<void()>& first) noexcept {
  if (first) first();
  if (rd_kafka_type(handle) == RD_KAFKA_PRODUCER) {
    rd_kafka_purge(handle, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  }
  rd_kafka_destroy_flags(handle, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

}  // namespace

void destroy(rd_kafka_t* handle, milliseconds within, std::function<void()> first) noexcept {
  if (handle == nullptr) return;
  static const AtExit at_exit;
  under_way().add(1);
  std::promise<void> done;
  const std::future<void> ended = done.get_future();
  try {
    std::thread([handle, first, done = std::move(done)]() mutable {
      destroy_now(handle, first);
      done.set_value();
      under_way().add(-1);
    }).detach();
  } catch (const std::system_error&) {  // no thread available: then wait for it
    destroy_now(handle, first);
    return under_way().add(-1);
  }
  ended.wait_for(within);
}

}  // namespace neliroute::rdkafka
