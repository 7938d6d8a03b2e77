// What a lookup costs beside the hash of its key, while a writer publishes 100 times a second.
//
//   lookup_bench                                      a table of nanoseconds and ratios
//   lookup_bench --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true
//
// hash_only    XXH3 of xxHash's own header, inlined: the baseline
// slot_of      SlotSpace::slot_of
// owns         key -> slot -> whether this process leads it
// route_*      key -> slot -> Route, as Router::route(key, now) does it
#define XXH_INLINE_ALL
#include <xxhash.h>
#undef XXH_INLINE_ALL

#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "bench/lookup/ratio_reporter.h"
#include "router/route_view.h"
#include "slots/slot_space.h"

namespace neliroute::bench {
namespace {

using namespace std::chrono_literals;

constexpr LocalTime kNow{std::chrono::hours{1}};
constexpr ProcessId kSelf{1};
constexpr std::uint32_t kSlots = 16384;

// A view in which either this process leads everything, or `processes` others do.
class World {
 public:
  World(std::uint32_t processes, bool local)
      : leases_(std::make_shared<LeaseVector>(processes < 64 ? 64 : 1024)),
        view_({kSelf, {"self", "10.0.0.1:7000", {}}}, leases_, 4) {
    for (std::uint32_t i = 0; i < processes; ++i) {
      peers_.push_back(std::make_shared<const Peer>(Peer{
          ProcessId{i + 2},
          {"process-" + std::to_string(i), "10.0.0.2:" + std::to_string(7001 + i), {}}}));
    }
    hints_.resize(leases_->size());
    for (std::uint32_t l = 0; l < 4; ++l) view_.set_log(Log{l}, kNow + 1h, kNow - 1h);
    for (std::uint32_t p = 0; p < leases_->size(); ++p) {
      if (local) {
        leases_->set(Partition{p}, kNow + 1h, 1);
        view_.set_local(Partition{p}, Epoch{1, p}, 1);
      } else {
        move(p);
      }
    }
    publish();
  }

  // As the strand does: what changed is published, then every deadline is moved.
  void change_something() {
    move(round_++ % leases_->size());
    publish();
  }

  [[nodiscard]] bool owns(std::string_view key) const {
    return view_.owns(space_.slot_of(key), kNow);
  }
  [[nodiscard]] Route route(std::string_view key) const { return route(space_.slot_of(key)); }

 private:
  // Not inlined, as Router::route(Slot) is not.
  [[nodiscard]] [[gnu::noinline]] Route route(Slot slot) const { return view_.route(slot, kNow); }

  void move(std::uint32_t p) {
    Hint& hint = hints_[p];
    hint.owner = peers_[(p + round_) % peers_.size()];
    hint.epoch = {1, static_cast<std::int64_t>(round_)};
    hint.until = kNow + 1h;
    ++hint.generation;
    view_.set_hint(Partition{p}, hint);
  }
  void publish() {
    view_.publish();
    for (std::uint32_t p = 0; p < hints_.size(); ++p) {
      view_.set_hint_until(Partition{p}, hints_[p]);
    }
  }

  SlotSpace space_{SlotCount{kSlots}};
  std::shared_ptr<LeaseVector> leases_;
  RouteView view_;
  std::vector<PeerPtr> peers_;
  std::vector<Hint> hints_;
  std::uint32_t round_ = 0;
};

// Many keys, so that no branch is learnt by heart; few enough for the first-level cache.
class Keys {
 public:
  explicit Keys(std::size_t length) : length_(length) {
    std::mt19937_64 random{length};
    for (char& c : bytes_) c = static_cast<char>(random());
  }
  [[nodiscard]] std::string_view next() {
    at_ = (at_ + 1) % kCount;
    return {bytes_.data() + at_ * length_, length_};
  }

 private:
  static constexpr std::size_t kCount = 256;
  std::size_t length_;
  std::size_t at_ = 0;
  std::array<char, kCount * 32> bytes_{};
};

template <class Call>
void measure(benchmark::State& state, std::size_t key_length, Call call) {
  Keys keys(key_length);
  for (auto _ : state) {
    auto result = call(keys.next());
    benchmark::DoNotOptimize(result);
  }
}

template <class Call>
void add(const std::string& what, std::size_t key, const std::string& condition, Call call) {
  benchmark::RegisterBenchmark(
      (what + "/key:" + std::to_string(key) + condition).c_str(),
      [key, call](benchmark::State& state) { measure(state, key, call); })
      ->ThreadRange(1, 2);
}

struct Worlds {
  std::uint32_t processes;
  World local;
  World remote;
  explicit Worlds(std::uint32_t count)
      : processes(count), local(count, true), remote(count, false) {}
};

void add_all(std::array<Worlds, 2>& all) {
  for (const std::size_t key : {std::size_t{16}, std::size_t{32}}) {
    add("hash_only", key, "", [](std::string_view k) { return XXH3_64bits(k.data(), k.size()); });
    add("slot_of", key, "", [space = SlotSpace{SlotCount{kSlots}}](std::string_view k) {
      return space.slot_of(k);
    });
    for (const Worlds& worlds : all) {
      const std::string condition = "/processes:" + std::to_string(worlds.processes);
      const World* local = &worlds.local;
      const World* remote = &worlds.remote;
      add("owns", key, condition, [local](std::string_view k) { return local->owns(k); });
      add("route_local", key, condition, [local](std::string_view k) { return local->route(k); });
      add("route_remote", key, condition,
          [remote](std::string_view k) { return remote->route(k); });
    }
  }
}

int run() {
  std::array<Worlds, 2> all{Worlds{3}, Worlds{1000}};
  add_all(all);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done) {
      for (Worlds& worlds : all) {
        worlds.local.change_something();
        worlds.remote.change_something();
      }
      std::this_thread::sleep_for(10ms);
    }
  });
  RatioReporter reporter("hash_only");
  const std::size_t ran = benchmark::RunSpecifiedBenchmarks(&reporter);
  done = true;
  writer.join();
  return ran > 0 ? 0 : 1;
}

}  // namespace
}  // namespace neliroute::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  return neliroute::bench::run();
}
