// What a lookup costs compared with the hash of its key, while a writer publishes 100 times a
// second.
//
//   lookup_bench                                      a table of nanoseconds and ratios
//   lookup_bench --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true
//
// hash_only    XXH3 of xxHash's own header, inlined: the baseline
// slot_of      SlotSpace::slot_of, with 16,384 slots; slot_of_any: with 10,000
// owns         key -> slot -> whether this process leads it
// work         the same, with a guard that is begun and ended: Router::begin(slot, now)
// admit        the same with Router::admit(slot, epoch, hops, now), served
// route_*      key -> slot -> Route: Lookup::route(key, now)
// batch_*      64 keys at once, a key's share of it
//
// chained: each key is chosen by the answer before, so that its latency shows; otherwise keys are
// independent. cold: so many keys that neither they nor the view stay in the cache.
#define XXH_INLINE_ALL
#include <xxhash.h>
#undef XXH_INLINE_ALL

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <neliroute/lookup.h>
#include <neliroute/slot_space.h>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bench/lookup/ratio_reporter.h"
#include "router/view/admissions.h"
#include "router/view/route_view.h"
#include "router/view/work_gate.h"

namespace neliroute::bench {
namespace {

using namespace std::chrono_literals;

constexpr LocalTime kNow{std::chrono::hours{1}};
constexpr ProcessId kSelf{1};
constexpr std::uint32_t kSlots = 16384;
constexpr std::uint32_t kOddSlots = 10'000;
constexpr std::size_t kBatch = 64;
constexpr std::uint32_t kOftenMax = 1024;
constexpr std::uint32_t kHopLimit = 3;

// A view in which either this process leads everything, or `processes` others do.
class World {
 public:
  World(std::uint32_t processes, std::uint32_t partitions, bool local)
      : space_(SlotCount{std::max(kSlots, partitions)}),
        leases_(std::make_shared<LeaseVector>(partitions)),
        gate_(WorkGate::make(leases_, [] {})),
        view_({kSelf, {"self", "10.0.0.1:7000", {}}}, leases_, 4, space_) {
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
        gate_->open(Partition{p}, Epoch{1, p});
      } else {
        move(p);
      }
    }
    publish();
  }

  // As the strand does: publishes the changes, then moves every deadline.
  void change_something() {
    move(round_++ % leases_->size());
    publish();
  }

  [[nodiscard]] bool owns(std::string_view key) const {
    return view_.owns(space_.slot_of(key), kNow);
  }
  [[nodiscard]] Work work(std::string_view key) const {
    return gate_->begin(view_.partition_of(space_.slot_of(key)), kNow);
  }
  [[nodiscard]] Admission admit(std::string_view key) const {
    return Admissions(view_, *gate_, Mode::exclusive, kHopLimit)
        .admit(space_.slot_of(key), {kNoEpoch, 0}, kNow);
  }
  [[nodiscard]] Route route(std::string_view key) const { return lookup_.route(key, kNow); }
  void route(std::span<const std::string_view> keys, std::span<Slot> slots) const {
    space_.slot_of(keys, slots);
    for (const Slot slot : slots) {
      auto result = lookup_.route(slot, kNow);
      benchmark::DoNotOptimize(result);
    }
  }

 private:
  // As a Router or Watcher is one.
  struct ViewLookup : Lookup {
    explicit ViewLookup(const RouteView& view) : Lookup(view, Settings{}) {}
  };

  void move(std::uint32_t p) {
    Hint& hint = hints_[p];
    hint.owner = peers_[(p + round_) % peers_.size()];
    hint.epoch = {1, static_cast<std::int64_t>(round_)};
    hint.until = kNow + 1h;
    ++hint.generation;
    view_.set_hint(Partition{p}, hint);
  }
  void publish() {
    view_.publish(kNow);
    for (std::uint32_t p = 0; p < hints_.size(); ++p) {
      view_.set_hint_until(Partition{p}, hints_[p]);
    }
  }

  SlotSpace space_;
  std::shared_ptr<LeaseVector> leases_;
  std::shared_ptr<WorkGate> gate_;
  RouteView view_;
  ViewLookup lookup_{view_};
  std::vector<PeerPtr> peers_;
  std::vector<Hint> hints_;
  std::uint32_t round_ = 0;
};

// Many keys, so that branch prediction cannot learn them; hot: few enough for the first-level
// cache.
class Keys {
 public:
  Keys(std::size_t length, std::size_t count)
      : length_(length), mask_(count - 1), bytes_(length * count) {
    std::mt19937_64 random{length};
    for (char& c : bytes_) c = static_cast<char>(random());
  }
  [[nodiscard]] std::string_view next(std::size_t skipped = 0) {
    at_ = (at_ + 1 + skipped) & mask_;
    return {bytes_.data() + at_ * length_, length_};
  }

 private:
  std::size_t length_;
  std::size_t mask_;
  std::size_t at_ = 0;
  std::vector<char> bytes_;
};

constexpr std::size_t kHot = 256;
constexpr std::size_t kCold = std::size_t{1} << 18;

std::string key_condition(std::size_t length) { return "/key:" + std::to_string(length); }

template <class Call>
void add(const std::string& what, std::size_t key, const std::string& condition, Call call,
         std::size_t count = kHot) {
  benchmark::RegisterBenchmark(
      (what + key_condition(key) + (count == kCold ? "/cold" : "") + condition).c_str(),
      [key, count, call](benchmark::State& state) {
        Keys keys(key, count);
        for (auto _ : state) {
          auto result = call(keys.next());
          benchmark::DoNotOptimize(result);
        }
      })
      ->ThreadRange(1, 2);
}

// `number` of the answer, at most 1, affects the choice of the next key.
template <class Call>
void add_chained(const std::string& what, std::size_t key, Call number) {
  benchmark::RegisterBenchmark((what + key_condition(key) + "/chained").c_str(),
                               [key, number](benchmark::State& state) {
                                 Keys keys(key, kHot);
                                 std::size_t last = 0;
                                 for (auto _ : state) last = number(keys.next(last)) & 1;
                                 benchmark::DoNotOptimize(last);
                               })
      ->Threads(1);
}

template <class Call>
void add_batch(const std::string& what, std::size_t key, const std::string& condition, Call call) {
  benchmark::RegisterBenchmark((what + key_condition(key) + condition).c_str(),
                               [key, call](benchmark::State& state) {
                                 Keys keys(key, kHot);
                                 std::array<std::string_view, kBatch> some;
                                 std::array<Slot, kBatch> slots;
                                 while (state.KeepRunningBatch(kBatch)) {
                                   for (std::string_view& one : some) one = keys.next();
                                   call(some, slots);
                                   benchmark::DoNotOptimize(slots);
                                 }
                               })
      ->ThreadRange(1, 2);
}

struct Worlds {
  std::uint32_t processes;
  std::uint32_t partitions;
  World local;
  World remote;
  Worlds(std::uint32_t count, std::uint32_t partition_count)
      : processes(count),
        partitions(partition_count),
        local(count, partition_count, true),
        remote(count, partition_count, false) {}
  [[nodiscard]] std::string condition() const {
    return "/processes:" + std::to_string(processes) + "/partitions:" + std::to_string(partitions);
  }
};

std::uint64_t hash_only(std::string_view key) { return XXH3_64bits(key.data(), key.size()); }

void add_slots(std::size_t key) {
  const SlotSpace space{SlotCount{kSlots}};
  const SlotSpace odd{SlotCount{kOddSlots}};
  const auto number = [](SlotSpace of) {
    return [of](std::string_view k) { return std::size_t{of.slot_of(k).value()}; };
  };
  add("hash_only", key, "", hash_only);
  add("slot_of", key, "", [space](std::string_view k) { return space.slot_of(k); });
  add("slot_of_any", key, "", [odd](std::string_view k) { return odd.slot_of(k); });
  add_batch("batch_slot_of", key, "", [space](auto& keys, auto& slots) {
    space.slot_of(keys, slots);
  });
  add_chained("hash_only", key, hash_only);
  add_chained("slot_of", key, number(space));
  add_chained("slot_of_any", key, number(odd));
}

void add_routes(std::size_t key, const Worlds& worlds, bool with_cold) {
  const World* local = &worlds.local;
  const World* remote = &worlds.remote;
  const std::string condition = worlds.condition();
  const auto route = [](const World* world) {
    return [world](std::string_view k) { return world->route(k); };
  };
  add("owns", key, condition, [local](std::string_view k) { return local->owns(k); });
  add("work", key, condition, [local](std::string_view k) {
    const Work work = local->work(k);
    return static_cast<bool>(work);
  });
  add("admit", key, condition, [local](std::string_view k) {
    const Admission admitted = local->admit(k);
    return static_cast<bool>(admitted);
  });
  add("route_local", key, condition, route(local));
  add("route_remote", key, condition, route(remote));
  add_batch("batch_route", key, condition,
            [remote](auto& keys, auto& slots) { remote->route(keys, slots); });
  if (with_cold) add("route_remote", key, condition, route(remote), kCold);
}

void add_all(const std::deque<Worlds>& all) {
  for (const std::size_t key : {8U, 16U, 32U, 64U, 256U}) {
    add_slots(key);
    const bool usual = key == 16 || key == 32;
    if (key == 16) add("hash_only", key, "", hash_only, kCold);
    for (const Worlds& worlds : all) {
      if (usual || worlds.partitions == 64) add_routes(key, worlds, key == 16);
    }
  }
}

int run() {
  std::deque<Worlds> all;
  all.emplace_back(3U, 64U);
  all.emplace_back(3U, 1024U);
  all.emplace_back(1000U, 1024U);
  all.emplace_back(1000U, 65536U);
  add_all(all);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint32_t round = 0; !done; ++round) {
      for (Worlds& worlds : all) {
        // A snapshot of 65,536 partitions takes milliseconds to make; the writer has no core of its
        // own.
        if (worlds.partitions > kOftenMax && round % 100 != 0) continue;
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
