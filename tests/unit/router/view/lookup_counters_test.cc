// Counting of lookups, and of durations.
#include "router/view/lookup_counters.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "base/histogram.h"
#include "router/view/route_view.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;

TEST(LookupCounters, sum_what_threads_counted_those_that_ended_included) {
  LookupCounters counters;
  const auto count = [&](Verdict verdict, int times) {
    const auto block = counters.take();
    for (int i = 0; i < times; ++i) block->add(verdict);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(count, Verdict::remote, 10'000);
  for (std::thread& thread : threads) thread.join();
  count(Verdict::unknown, 3);
  EXPECT_EQ(counters.total(), (LookupCounters::Counts{0, 40'000, 0, 3}));
}

TEST(LookupCounters, of_a_thread_that_ended_are_taken_over) {
  LookupCounters counters;
  auto first = counters.take();
  const void* place = first.get();
  first->add(Verdict::local);
  const auto second = counters.take();
  EXPECT_NE(second.get(), place) << "it is in use";
  first.reset();
  first = counters.take();
  EXPECT_EQ(first.get(), place);
  first->add(Verdict::local);
  EXPECT_EQ(counters.total(), (LookupCounters::Counts{2, 0, 0, 0}));
}

TEST(LookupCounters, stand_in_cache_lines_of_their_own) {
  LookupCounters counters;
  const auto first = counters.take();
  const auto second = counters.take();
  static_assert(sizeof(LookupCounters::Block) % 64 == 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.get()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second.get()) % 64, 0u);
}

TEST(LookupCounters, of_a_view_count_its_lookups_from_all_threads) {
  const auto leases = std::make_shared<LeaseVector>(2);
  RouteView one({ProcessId{1}, {"self", "h:1", {}}}, leases, 1, SlotSpace{2});
  RouteView other({ProcessId{1}, {"self", "h:1", {}}}, leases, 1, SlotSpace{2});
  const LocalTime now{1h};
  static_cast<void>(one.route(Slot{0}, now));
  static_cast<void>(other.route(Slot{0}, now));
  static_cast<void>(one.route(Slot{1}, now));
  std::thread([&] { static_cast<void>(one.route(Slot{0}, now)); }).join();
  static_cast<void>(one.look(Slot{0}, now));
  static_cast<void>(one.look_at_all(now));
  EXPECT_EQ(one.lookups(), (LookupCounters::Counts{0, 0, 0, 3}));
  EXPECT_EQ(other.lookups(), (LookupCounters::Counts{0, 0, 0, 1}));
}

TEST(Histogram, are_counted_in_the_bucket_that_holds_them) {
  Histogram timings;
  timings.note(0us);
  timings.note(500us);
  timings.note(501us);
  timings.note(1h);
  const auto reading = timings.read();
  EXPECT_EQ(reading.counts[0], 2u) << "0.5 ms is the first bound, and belongs to it";
  EXPECT_EQ(reading.counts[1], 1u);
  EXPECT_EQ(reading.counts.back(), 1u);
  EXPECT_EQ(reading.sum, 1h + 1001us);
}

}  // namespace
}  // namespace neliroute
