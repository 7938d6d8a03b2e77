// What 100,000 callers cost that wait for owners at once, by the whole way of a caller: a Watcher's
// async_route_after(), its posts, its strand and the callers' cancellation slots. On the embedded
// broker; an owner of everything, on a thread of its own, is what the first ones wait for.
//
//     waiting_bench [--waiters 100000] [--limit-ms 5000] [--json FILE]
//
// --limit-ms is how long those wait whose time ends: until all have begun, also on a busy machine.
// CPU time is of the thread that runs the watcher, which does everything that is counted; a turn is
// one handler, during which the strand does nothing else.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <neliroute/observable.h>
#include <neliroute/router.h>
#include <neliroute/watcher.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/assigner/heap_meter.h"
#include "bench/cpu_clock.h"
#include "embedded_broker/embedded_broker.h"

namespace neliroute::bench {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr auto kPatience = 120s;
constexpr SlotCount kSlots{4096};
constexpr std::uint32_t kPartitions = 64;
constexpr milliseconds kLong{std::chrono::hours{1}};
// Nobody ever has a greater one: these wait for ever.
constexpr Epoch kNobodys{std::numeric_limits<std::int64_t>::max(),
                       std::numeric_limits<std::int64_t>::max()};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "waiting_bench: error: %s\n", what.c_str());
  std::exit(1);
}

template <class Value>
Value must(Result<Value> result) {
  if (!result) fail(result.error().message());
  return std::move(*result);
}

/// An io_context that a thread of its own runs.
class Loop {
 public:
  ~Loop() {
    work_.reset();
    context_.stop();
    thread_.join();
  }
  [[nodiscard]] asio::io_context& context() noexcept { return context_; }

 private:
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_ =
      asio::make_work_guard(context_);
  std::thread thread_{[this] { context_.run(); }};
};

struct Told {
  std::size_t routed = 0;
  std::size_t cancelled = 0;
  std::size_t timed_out = 0;
  std::size_t otherwise = 0;

  void note(boost::system::error_code error) {
    if (!error) {
      ++routed;
    } else if (error == asio::error::operation_aborted) {
      ++cancelled;
    } else if (error == Errc::timed_out) {
      ++timed_out;
    } else {
      ++otherwise;
    }
  }
};

class Bench {
 public:
  Bench(std::size_t count, milliseconds limit, const std::string& brokers)
      : count_(count), limit_(limit) {
    KafkaConnection kafka;
    kafka.brokers = brokers;
    kafka.topic = "waiting";
    WatcherOptions options;
    options.kafka = kafka;
    options.slots = kSlots;
    watcher_ = must(Watcher::open(context_.get_executor(), options));
    owner_.kafka = kafka;
    owner_.group = "waiting";
    owner_.slots = kSlots;
    owner_.assignment = Assignment::group;  // its partitions are the topic's
    owner_.timing.profile = Profile::fast;
    owner_.process.endpoint = "127.0.0.1:7000";
  }

  void run() {
    const scale::HeapScope scope(bytes_);
    phase("begun, nobody owns anything", [&] { begin(kNoEpoch, kLong, false); });
    Loop loop;
    std::unique_ptr<Router> router;
    phase("woken by an owner's claims", [&] {
      asio::post(loop.context(), [&] {
        router = must(Router::open(loop.context().get_executor(), owner_));
      });
      turn_until([&] { return told_.routed == count_; });
    });
    phase("begun, cancellable", [&] {
      signals_ = std::vector<asio::cancellation_signal>(count_);
      begin(kNobodys, kLong, true);
    });
    phase("cancelled", [&] {
      for (asio::cancellation_signal& signal : signals_) {
        signal.emit(asio::cancellation_type::terminal);
      }
      run_until([&] { return told_.cancelled == count_; });
      signals_ = std::vector<asio::cancellation_signal>();
    });
    phase("begun, for a limited time", [&] { begin(kNobodys, limit_, false); });
    phase("timed out", [&] { turn_until([&] { return told_.timed_out == count_; }); });
    if (told_.otherwise != 0) fail(std::to_string(told_.otherwise) + " got another answer");
    drain(*router);
    rows_.push_back({{"what", "left, when all are gone"}, {"bytes_each", each(bytes_ - empty_)}});
    std::printf("%-30s %46.0f\n", "left, when all are gone", each(bytes_ - empty_));
  }

  [[nodiscard]] boost::json::object result() const {
    return {{"waiters", count_}, {"rows", rows_}};
  }

 private:
  [[nodiscard]] double each(double of_all) const { return of_all / static_cast<double>(count_); }
  [[nodiscard]] double each(std::int64_t of_all) const {
    return each(static_cast<double>(of_all));
  }

  void begin(const Epoch& after, milliseconds limit, bool cancellable) {
    for (std::size_t i = 0; i < count_; ++i) {
      const Slot slot{static_cast<std::uint32_t>(i % kSlots.value())};
      const auto note = [this](boost::system::error_code error, const Route&) {
        told_.note(error);
      };
      if (cancellable) {
        watcher_->async_route_after(slot, after, limit,
                                    asio::bind_cancellation_slot(signals_[i].slot(), note));
      } else {
        watcher_->async_route_after(slot, after, limit, note);
      }
    }
    run_until([&] {
      return watcher_->observable().waiters() == count_ || told_.timed_out > 0;
    });
  }

  template <class Condition>
  void run_until(const Condition& holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) fail("not done in time");
      if (context_.poll() == 0) context_.run_one_for(100ms);
    }
  }

  /// As run_until(), for phases with few handlers: each one's length is measured.
  template <class Condition>
  void turn_until(const Condition& holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) fail("not done in time");
      const double before = thread_cpu_seconds();
      context_.run_one_for(100ms);
      longest_ = std::max(longest_, thread_cpu_seconds() - before);
    }
  }

  template <class Work>
  void phase(const char* what, const Work& work) {
    if (rows_.empty()) empty_ = bytes_;
    longest_ = 0;
    const std::int64_t bytes = bytes_;
    const double before = thread_cpu_seconds();
    work();
    const double cpu = thread_cpu_seconds() - before;
    rows_.push_back({{"what", what},
                     {"cpu_ms", cpu * 1e3},
                     {"ns_each", each(cpu * 1e9)},
                     {"bytes_each", each(bytes_ - bytes)},
                     {"longest_turn_ms", longest_ * 1e3}});
    std::printf("%-30s %9.1f ms %9.0f ns each %9.0f bytes each", what, cpu * 1e3, each(cpu * 1e9),
                each(bytes_ - bytes));
    std::printf(longest_ > 0 ? ", longest turn %.1f ms\n" : "\n", longest_ * 1e3);
    std::fflush(stdout);
  }

  void drain(Router& router) {
    bool drained = false;
    router.async_drain(0ms, [&](boost::system::error_code) {
      asio::post(context_, [&] { drained = true; });
    });
    run_until([&] { return drained; });
  }

  std::size_t count_;
  milliseconds limit_;
  asio::io_context context_;
  RouterOptions owner_;
  std::vector<asio::cancellation_signal> signals_;  // of those that may be cancelled
  std::unique_ptr<Watcher> watcher_;
  Told told_;
  std::int64_t bytes_ = 0;
  std::int64_t empty_ = 0;
  double longest_ = 0;
  boost::json::array rows_;
};

int run(int argc, char** argv) {
  std::size_t count = 100'000;
  std::int64_t limit_ms = 5000;
  std::string json;
  CLI::App app{"What callers cost that wait for owners."};
  app.add_option("--waiters", count)->check(CLI::Range(1, 100'000));
  app.add_option("--limit-ms", limit_ms)->check(CLI::Range(1, 60'000));
  app.add_option("--json", json, "also write all figures there");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  Loop broker_loop;
  EmbeddedBrokerOptions options;
  options.port = 0;
  options.topics = {{"waiting", kPartitions}};
  const auto broker = must(EmbeddedBroker::open(broker_loop.context().get_executor(), options));
  Bench bench(count, milliseconds{limit_ms}, broker->address());
  bench.run();
  if (!json.empty()) std::ofstream(json) << boost::json::serialize(bench.result()) << '\n';
  return 0;
}

}  // namespace
}  // namespace neliroute::bench

int main(int argc, char** argv) { return neliroute::bench::run(argc, argv); }
