#include "router/view/interned_processes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/router/view/allocations.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;

constexpr LocalTime kStart{1000s};

PeerPtr peer(std::uint64_t id, std::size_t bytes = 0) {
  return std::make_shared<const Peer>(Peer{ProcessId{id}, {std::string(bytes, 'n'), "h:1", {}}});
}

struct Interned : testing::Test {
  // Named by one entry, and then by none.
  std::weak_ptr<const Peer> named_once(PeerPtr one, LocalTime now) {
    processes.add(one);
    processes.remove(one);
    processes.retire(now);
    return one;
  }
  InternedProcesses processes;
};

using InternedProcessesTest = Interned;

TEST_F(InternedProcessesTest, keep_what_is_named_for_as_long_as_it_is) {
  PeerPtr one = peer(1);
  const std::weak_ptr<const Peer> watched = one;
  processes.add(one);
  one.reset();
  processes.retire(kStart + 10h);
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(processes.next_deadline(), kNever);
}

TEST_F(InternedProcessesTest, keep_for_an_hour_what_nothing_names_any_more) {
  const auto watched = named_once(peer(1), kStart);
  EXPECT_EQ(processes.next_deadline(), kStart + 1h);
  processes.retire(kStart + 1h - 1us);
  EXPECT_FALSE(watched.expired());
  processes.retire(kStart + 1h);
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(processes.size(), 0u);
  EXPECT_EQ(processes.next_deadline(), kNever);
}

TEST_F(InternedProcessesTest, count_the_hour_from_the_last_entry_that_named_it) {
  const PeerPtr one = peer(1);
  processes.add(one);
  processes.add(one);
  processes.remove(one);
  processes.retire(kStart);
  EXPECT_EQ(processes.next_deadline(), kNever) << "another one names it";
  processes.remove(one);
  processes.retire(kStart + 5min);
  EXPECT_EQ(processes.next_deadline(), kStart + 65min);
}

TEST_F(InternedProcessesTest, begin_the_hour_again_for_one_that_is_named_again) {
  const PeerPtr one = peer(1);
  named_once(one, kStart);
  named_once(one, kStart + 30min);
  processes.retire(kStart + 1h);
  EXPECT_EQ(processes.size(), 1u);
  processes.add(one);
  processes.retire(kStart + 5h);
  EXPECT_EQ(processes.size(), 1u) << "named";
  processes.remove(one);
  processes.retire(kStart + 6h);
  processes.retire(kStart + 7h);
  EXPECT_EQ(processes.size(), 0u);
}

TEST_F(InternedProcessesTest, moved_from_entry_to_entry_between_two_publications_are_not_retired) {
  const PeerPtr one = peer(1);
  processes.add(one);
  processes.remove(one);
  processes.add(one);
  processes.retire(kStart);
  EXPECT_EQ(processes.next_deadline(), kNever);
}

TEST_F(InternedProcessesTest, of_many_bytes_let_the_oldest_go_but_none_within_a_minute) {
  constexpr std::size_t kMegabyte = 1U << 20;
  std::vector<std::weak_ptr<const Peer>> watched;
  for (std::uint64_t i = 0; i < 20; ++i) {
    watched.push_back(named_once(peer(i + 1, kMegabyte), kStart + std::chrono::seconds(i)));
  }
  EXPECT_EQ(processes.size(), 20u) << "all of the last minute";
  EXPECT_EQ(processes.next_deadline(), kStart + 1min);
  processes.retire(kStart + 1min + 10s);
  // 20 MiB and a little: five must go to be within 16 MiB.
  EXPECT_EQ(processes.size(), 15u);
  EXPECT_TRUE(watched[4].expired());
  EXPECT_FALSE(watched[5].expired());
  EXPECT_EQ(processes.next_deadline(), kStart + 1h + 5s) << "the rest keep their hour";
}

// An owner that drains and leads again and again is named and unnamed each time.
TEST_F(InternedProcessesTest, count_the_bytes_of_one_that_is_renewed_often_once) {
  constexpr std::size_t kMegabyte = 1U << 20;
  const PeerPtr often = peer(1, kMegabyte);
  const auto other = named_once(peer(2), kStart);
  for (int i = 1; i <= 100; ++i) named_once(often, kStart + std::chrono::seconds(i));
  EXPECT_EQ(processes.next_deadline(), kStart + 1h) << "1 MiB is not too much";
  processes.retire(kStart + 30min);
  EXPECT_FALSE(other.expired());
  processes.add(often);
  processes.retire(kStart + 2h);
  EXPECT_TRUE(other.expired());
  EXPECT_EQ(processes.next_deadline(), kNever) << "it is named, and nothing is left to be freed";
}

TEST_F(InternedProcessesTest, keep_one_place_for_one_that_is_renewed_often) {
  const PeerPtr often = peer(1);
  named_once(peer(2), kStart);  // it keeps its hour, and would keep all behind it
  named_once(often, kStart);
  const std::uint64_t before = testing_allocations::live_bytes();
  for (int i = 1; i <= 10'000; ++i) named_once(often, kStart + std::chrono::milliseconds(i));
  EXPECT_LT(testing_allocations::live_bytes(), before + 4096);
}

// Or a timer would be set to a time at which there is nothing to do, again and again.
TEST_F(InternedProcessesTest, free_something_whenever_they_said_that_they_would) {
  constexpr std::size_t kMegabyte = 1U << 20;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const PeerPtr one = peer(i + 1, kMegabyte);
    named_once(one, kStart + std::chrono::seconds(i));
    if (i % 3 == 0) named_once(one, kStart + std::chrono::seconds(i));
    if (i % 5 == 0) processes.add(one);
  }
  std::size_t left = processes.size();
  EXPECT_EQ(left, 40u);
  for (LocalTime due = processes.next_deadline(); due != kNever;) {
    processes.retire(due - 1us);
    EXPECT_EQ(processes.size(), left) << "not earlier";
    processes.retire(due);
    ASSERT_LT(processes.size(), left);
    left = processes.size();
    const LocalTime next = processes.next_deadline();
    ASSERT_GT(next, due);
    due = next;
  }
  EXPECT_EQ(left, 8u) << "those that are named";
}

}  // namespace
}  // namespace neliroute
