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

// librdkafka takes the end of a client for no answer to its request to leave the group. One that is
// destroyed meanwhile waits for that answer for ever, and keeps a core busy. The request itself
// ends after 5 s.
constexpr milliseconds kCloseBound{10'000};
constexpr milliseconds kClosePoll{20};

void await_close(rd_kafka_t* handle) noexcept {
  for (milliseconds waited{0}; waited < kCloseBound; waited += kClosePoll) {
    if (rd_kafka_consumer_closed(handle) != 0) return;
    std::this_thread::sleep_for(kClosePoll);
  }
}

void destroy_now(rd_kafka_t* handle, bool closing) noexcept {
  if (closing) await_close(handle);
  if (rd_kafka_type(handle) == RD_KAFKA_PRODUCER) {
    rd_kafka_purge(handle, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  }
  rd_kafka_destroy_flags(handle, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

}  // namespace

void destroy(rd_kafka_t* handle, milliseconds within, bool closing) noexcept {
  if (handle == nullptr) return;
  static const AtExit at_exit;
  under_way().add(1);
  std::promise<void> done;
  const std::future<void> ended = done.get_future();
  try {
    std::thread([handle, closing, done = std::move(done)]() mutable {
      destroy_now(handle, closing);
      done.set_value();
      under_way().add(-1);
    }).detach();
  } catch (const std::system_error&) {  // no thread available: then wait for it
    destroy_now(handle, closing);
    return under_way().add(-1);
  }
  ended.wait_for(within);
}

}  // namespace neliroute::rdkafka
