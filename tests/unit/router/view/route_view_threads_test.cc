// Many readers and one writer; most of what is checked here is checked by ThreadSanitizer.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "router/view/route_view.h"
#include "tests/unit/router/view/allocations.h"
#include "tests/unit/router/view/records.h"

namespace neliroute {
namespace {

using namespace testing_records;
using namespace std::chrono_literals;

constexpr std::uint32_t kPartitions = 8;
constexpr std::uint32_t kRounds = 30'000;
constexpr int kReaders = 4;
constexpr std::uint64_t kSeen = 1000;  // answers of a kind, by which something is proven

// The writer gives partition p in round r to the owner "r" under the epoch r, or leads itself
// under the epoch r; so whatever a reader sees must agree with itself.
struct Hammered {
  std::shared_ptr<LeaseVector> leases = std::make_shared<LeaseVector>(kPartitions);
  RouteView view{Peer{ProcessId{1}, {"self", "self:7000", {}}}, leases, 1, SlotSpace{64}};
  std::vector<Hint> hints{kPartitions};
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> inconsistent{0};
  std::atomic<std::uint64_t> told_before_seen{0};
  std::atomic<int> reading{0};
  std::atomic<std::uint64_t> seen_remote{0};
  std::atomic<std::uint64_t> seen_local{0};

  /// Rounds until `enough` says so, and `kRounds` at least. A reader that had no core saw nothing
  /// yet, so that it proves nothing.
  void write_until(const std::function<bool()>& enough) {
    const auto until = std::chrono::steady_clock::now() + 40s;
    std::uint32_t round = 0;
    for (; round < kRounds; ++round) write(round);
    for (; !enough() && std::chrono::steady_clock::now() < until; ++round) write(round);
    EXPECT_TRUE(enough());
  }

  void write(std::uint32_t round) {
    const Partition p{round % kPartitions};
    Hint& hint = hints[p.value()];
    const auto generation = static_cast<std::uint16_t>(round / kPartitions + 1);
    if (round % 3 == 0) {
      leases->set(p, LocalTime{10s} + 1s, generation);
      view.set_local(p, epoch(round), generation);
    } else {
      leases->set(p, kLongAgo, generation);
      view.set_local(p, kNoEpoch, generation);
      const std::string name = "an owner with a long name, of round " + std::to_string(round);
      hint.owner = std::make_shared<const Peer>(Peer{ProcessId{2}, {name, name + ":7000", {}}});
      hint.epoch = epoch(round);
      hint.until = LocalTime{10s} + 1s;
      ++hint.generation;
      view.set_hint(p, hint);
    }
    view.publish(LocalTime{1h});
    view.set_hint_until(p, hint);
    view.set_log(Log{0}, LocalTime{10s} + std::chrono::seconds{round % 2}, LocalTime{10s});
    // What the application would ask from inside of its handler.
    const Route route = view.route(Slot{p.value()}, LocalTime{10s});
    if (route.epoch != epoch(round)) ++told_before_seen;
  }

  void read(std::uint32_t slot) {
    const Route route = view.route(Slot{slot}, LocalTime{10s});
    if (view.owns(Slot{slot}, LocalTime{10s} + 1h)) ++inconsistent;
    bool fits = true;
    if (route.verdict == Verdict::remote) {
      ++seen_remote;
      const std::string name =
          "an owner with a long name, of round " + std::to_string(route.epoch.offset);
      fits = route.owner() == name && route.endpoint() == name + ":7000" &&
             route.epoch.offset % kPartitions == slot % kPartitions;
    } else if (route.verdict == Verdict::local) {
      ++seen_local;
      fits = route.owner() == "self" && route.epoch.offset % 3 == 0 &&
             route.epoch.offset % kPartitions == slot % kPartitions;
    }
    if (!fits) ++inconsistent;
  }
};

TEST(RouteViewThreads, no_answer_is_torn_and_none_is_older_than_what_the_application_heard) {
  Hammered h;
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&h] {
      ++h.reading;
      for (std::uint32_t slot = 0; !h.done; ++slot) h.read(slot);
    });
  }
  while (h.reading < kReaders) std::this_thread::yield();
  h.write_until([&h] { return h.seen_remote >= kSeen && h.seen_local >= kSeen; });
  h.done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(h.inconsistent, 0u);
  EXPECT_EQ(h.told_before_seen, 0u);
}

TEST(RouteViewThreads, readers_do_not_allocate_while_a_writer_publishes) {
  Hammered h;
  std::atomic<std::uint64_t> allocated{0};
  std::vector<std::thread> readers;
  std::array<std::atomic<std::uint64_t>, 2> looked_up{};
  for (std::atomic<std::uint64_t>& lookups : looked_up) {
    readers.emplace_back([&] {
      (void)h.view.route(Slot{0}, LocalTime{10s});
      ++h.reading;
      const std::uint64_t before = testing_allocations::count();
      for (std::uint32_t slot = 0; !h.done; ++slot) {
        (void)h.view.route(Slot{slot}, LocalTime{10s});
        ++lookups;
      }
      allocated += testing_allocations::count() - before;
    });
  }
  while (h.reading < 2) std::this_thread::yield();
  h.write_until([&] { return looked_up[0] >= kSeen && looked_up[1] >= kSeen; });
  h.done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(allocated, 0u);
}

TEST(RouteViewThreads, threads_and_views_come_and_go) {
  for (int round = 0; round < 20; ++round) {
    Hammered first;
    Hammered second;
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) {
      readers.emplace_back([&] {
        for (std::uint32_t slot = 0; slot < 50; ++slot) {
          first.read(slot);
          second.read(slot);
        }
      });
    }
    for (std::uint32_t i = 0; i < 50; ++i) {
      first.write(i);
      second.write(i);
    }
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(first.inconsistent + second.inconsistent, 0u);
  }
}

}  // namespace
}  // namespace neliroute
