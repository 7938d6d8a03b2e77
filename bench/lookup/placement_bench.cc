// What it costs to find the owner of a hashed key without a table of slots: the algorithms of
// bench/placements, and the structure that cluster clients use, next to neliroute's table.
//
//   placement_bench --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true
//
// All take 64 hashed bits and return a member. 3 of 4 buckets are in use, as after removals, if the
// algorithm supports removals.
//
// plan/...: one call of plan(), an assigner's planner, with 10,000 members of three weights and
// 65,536 partitions.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <neliroute/detail/fast_mod.h>
#include <random>
#include <string>
#include <vector>

#include "bench/placements/hash/anchor.h"
#include "bench/placements/hash/dx.h"
#include "bench/placements/hash/jump.h"
#include "bench/placements/hash/memento.h"
#include "bench/placements/hash/mix.h"
#include "bench/placements/hash/ring.h"
#include "placement/plan.h"

namespace neliroute::placement {
namespace {

constexpr std::uint32_t kSlots = 16384;
constexpr std::uint32_t kPointsEach = 160;
constexpr std::uint32_t kProbes = 21;
constexpr std::size_t kKeys = 4096;

std::vector<std::uint64_t> random_words(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::vector<std::uint64_t> words(count);
  std::generate(words.begin(), words.end(), std::ref(random));
  return words;
}

// Two loads: for neliroute, and for Maglev.
class SlotTable {
 public:
  explicit SlotTable(std::uint32_t members) : modulo_(kSlots), owners_(kSlots) {
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) owners_[slot] = slot % members;
  }
  [[nodiscard]] std::uint32_t find(std::uint64_t hash) const { return owners_[modulo_(hash)]; }

 private:
  FastMod modulo_;
  std::vector<std::uint32_t> owners_;
};

// What clients of clustered stores keep: ranges of slots in an ordered map, behind a mutex.
class RangeMap {
 public:
  explicit RangeMap(std::uint32_t members) : modulo_(kSlots) {
    for (std::uint32_t m = 0; m < members; ++m) ranges_[kSlots / members * m] = m;
  }
  [[nodiscard]] std::uint32_t find(std::uint64_t hash) const {
    const std::lock_guard lock(mutex_);
    return std::prev(ranges_.upper_bound(static_cast<std::uint32_t>(modulo_(hash))))->second;
  }

 private:
  FastMod modulo_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::uint32_t> ranges_;
};

class Circle {
 public:
  Circle(std::uint32_t members, std::uint32_t points_each) {
    const std::vector<std::uint64_t> hashes = random_words(members, 2);
    for (MemberId m = 0; m < members; ++m) add_ring_points(hashes[m], points_each, m, points_);
    std::sort(points_.begin(), points_.end(),
              [](const Point& a, const Point& b) { return a.at < b.at; });
  }
  [[nodiscard]] const Point& next(std::uint64_t at) const {
    const auto found = std::lower_bound(points_.begin(), points_.end(), at,
                                        [](const Point& p, std::uint64_t x) { return p.at < x; });
    return found == points_.end() ? points_.front() : *found;
  }

 private:
  std::vector<Point> points_;
};

class RingLookup {
 public:
  explicit RingLookup(std::uint32_t members) : circle_(members, kPointsEach) {}
  [[nodiscard]] std::uint32_t find(std::uint64_t hash) const { return circle_.next(hash).owner; }

 private:
  Circle circle_;
};

class MultiProbeLookup {
 public:
  explicit MultiProbeLookup(std::uint32_t members) : circle_(members, 1) {}
  [[nodiscard]] std::uint32_t find(std::uint64_t hash) const {
    const std::uint64_t step = hash_words(hash, 1) | 1;
    std::uint64_t least = UINT64_MAX;
    std::uint32_t owner = 0;
    for (std::uint32_t probe = 0; probe < kProbes; ++probe) {
      const std::uint64_t at = hash + probe * step;
      const Point& next = circle_.next(at);
      if (next.at - at < least) {
        least = next.at - at;
        owner = next.owner;
      }
    }
    return owner;
  }

 private:
  Circle circle_;
};

class RendezvousLookup {
 public:
  explicit RendezvousLookup(std::uint32_t members) : hashes_(random_words(members, 3)) {}
  [[nodiscard]] std::uint32_t find(std::uint64_t hash) const {
    std::uint64_t best = 0;
    std::uint32_t owner = 0;
    for (std::uint32_t m = 0; m < hashes_.size(); ++m) {
      const std::uint64_t score = hash_words(hash, hashes_[m]);
      if (score > best) {
        best = score;
        owner = m;
      }
    }
    return owner;
  }

 private:
  std::vector<std::uint64_t> hashes_;
};

class JumpLookup {
 public:
  explicit JumpLookup(std::uint32_t members) : members_(members) {}
  [[nodiscard]] std::uint32_t find(std::uint64_t hash) const { return jump_hash(hash, members_); }

 private:
  std::uint32_t members_;
};

// A third more were added, and every fourth was removed again.
template <class State>
class InUse {
 public:
  explicit InUse(std::uint32_t members, State state) : state_(std::move(state)) {
    const std::uint32_t added = members + members / 3;
    for (std::uint32_t i = 0; i < added; ++i) state_.add();
    for (std::uint32_t i = members; i < added; ++i) state_.remove((i - members) * 4);
  }
  [[nodiscard]] std::uint32_t find(std::uint64_t hash) const { return state_.find(hash); }

 private:
  State state_;
};

template <class Lookup>
void add(const std::string& name, std::uint32_t members, std::shared_ptr<const Lookup> lookup) {
  const auto keys = std::make_shared<const std::vector<std::uint64_t>>(random_words(kKeys, 1));
  benchmark::RegisterBenchmark((name + "/members:" + std::to_string(members)).c_str(),
                               [lookup, keys](benchmark::State& state) {
                                 std::size_t at = 0;
                                 for (auto _ : state) {
                                   auto owner = lookup->find((*keys)[at++ % kKeys]);
                                   benchmark::DoNotOptimize(owner);
                                 }
                               });
}

void add_all(std::uint32_t members) {
  add("slot_table", members, std::make_shared<const SlotTable>(members));
  add("range_map_and_mutex", members, std::make_shared<const RangeMap>(members));
  add("jump", members, std::make_shared<const JumpLookup>(members));
  add("ring", members, std::make_shared<const RingLookup>(members));
  add("multiprobe", members, std::make_shared<const MultiProbeLookup>(members));
  add("rendezvous", members, std::make_shared<const RendezvousLookup>(members));
  const std::uint32_t capacity = 2 * members + 2;
  add("anchor", members, std::make_shared<const InUse<Anchor>>(members, Anchor(capacity)));
  add("dx", members, std::make_shared<const InUse<Dx>>(members, Dx(std::bit_ceil(capacity))));
  add("memento", members, std::make_shared<const InUse<Memento>>(members, Memento{}));
}

struct Plannable {
  std::vector<PlanMember> members = std::vector<PlanMember>(10'000);
  std::vector<PlanPartition> partitions = std::vector<PlanPartition>(65'536);
  std::vector<std::vector<MemberId>> pins;
};

/// Everything is owned as planned.
Plannable settled() {
  Plannable made;
  for (std::size_t i = 0; i < made.members.size(); ++i) {
    made.members[i].weight = 1 + static_cast<std::uint32_t>(i % 3);
  }
  for (const Designation& one : plan(made.members, made.partitions)) {
    made.partitions[one.partition.value()] = {one.to, one.to, PlanPartition::kNotPinned};
  }
  return made;
}

void add_plan(const std::string& name, Plannable of, PlanLimits limits = {}) {
  const auto shared = std::make_shared<const Plannable>(std::move(of));
  benchmark::RegisterBenchmark(("plan/" + name).c_str(),
                               [shared, limits](benchmark::State& state) {
                                 for (auto _ : state) {
                                   auto made = plan(shared->members, shared->partitions,
                                                    shared->pins, limits);
                                   benchmark::DoNotOptimize(made);
                                 }
                               })
      ->Unit(benchmark::kMillisecond);
}

void add_plans() {
  add_plan("nothing_to_do", settled());
  Plannable first = settled();
  std::fill(first.partitions.begin(), first.partitions.end(), PlanPartition{});
  add_plan("all_unowned", first);
  Plannable join = settled();
  join.members.push_back({3});
  add_plan("one_joins", join);
  Plannable crash = settled();
  for (PlanPartition& partition : crash.partitions) {
    if (partition.owner % 3 == 0) partition.owner = partition.designee = kNobody;
  }
  for (std::size_t i = 0; i < crash.members.size(); i += 3) crash.members[i].weight = 0;
  add_plan("a_third_crashes", crash);
  Plannable doubled = settled();
  doubled.members.resize(20'000);
  add_plan("twice_as_many_at_64_moves", doubled, {64});
  // As if 100 names, with 100 processes each, shared half of the partitions.
  Plannable pinned = settled();
  pinned.pins.resize(100);
  for (MemberId m = 0; m < 10'000; ++m) pinned.pins[m % 100].push_back(m);
  for (std::size_t p = 0; p < pinned.partitions.size(); p += 2) {
    pinned.partitions[p].pinned_to = static_cast<std::uint32_t>(p / 2 % 100);
  }
  add_plan("half_pinned_to_sets_of_100", pinned);
}

}  // namespace
}  // namespace neliroute::placement

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (const std::uint32_t members : {3U, 16U, 128U, 1000U}) {
    neliroute::placement::add_all(members);
  }
  neliroute::placement::add_plans();
  return benchmark::RunSpecifiedBenchmarks() > 0 ? 0 : 1;
}
