// The questions that a Router and a Watcher share, by key, by slot and by partition.
#include <gtest/gtest.h>
#include <neliroute/lookup.h>
#include <neliroute/slot_space.h>

#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "router/view/route_view.h"
#include "tests/unit/router/view/records.h"

namespace neliroute {
namespace {

using namespace testing_records;
using namespace std::chrono_literals;

constexpr LocalTime kNow{10s};

class Asked : public Lookup {
 public:
  explicit Asked(const RouteView& view) : Lookup(view, Settings{}) {}
};

/// 10 slots on 4 partitions; partition 2 is another process's.
struct LookupTest : testing::Test {
  LookupTest() {
    view.set_log(Log{0}, kNow + 1h, kNow - 1h);
    hint.owner = std::make_shared<const Peer>(Peer{ProcessId{2}, {"other", "h:2", {}}});
    hint.epoch = {7, 9};
    hint.until = kNow + 1h;
    hint.generation = 1;
    say();
  }
  void say(LocalTime now = kNow) {
    view.set_hint(Partition{2}, hint);
    view.publish(now);
    view.set_hint_until(Partition{2}, hint);
  }
  Hint hint;
  RouteView view{Peer{ProcessId{1}, {"self", "h:1", {}}}, std::make_shared<LeaseVector>(4), 1,
                 SlotSpace{10}};
  Asked lookup{view};
};

TEST_F(LookupTest, answers_for_a_slot_and_for_its_partition_alike) {
  for (const std::uint32_t slot : {2u, 6u}) {
    EXPECT_EQ(lookup.route(Slot{slot}, kNow).owner(), "other");
    EXPECT_EQ(lookup.route(Slot{slot}, kNow).slot, Slot{slot});
  }
  const Route route = lookup.route(Partition{2}, kNow);
  EXPECT_EQ(route.owner(), "other");
  EXPECT_EQ(route.partition, Partition{2});
  EXPECT_EQ(route.slot, Slot{2}) << "its first";
  EXPECT_EQ(lookup.route(Slot{3}, kNow).verdict, Verdict::unowned);
}

TEST_F(LookupTest, answers_for_a_key_as_for_its_slot) {
  for (const std::string key : {"a", "b", "", "user:1000"}) {
    const Slot slot = SlotSpace{10}.slot_of(key);
    EXPECT_EQ(lookup.slot_of(key), slot);
    EXPECT_EQ(lookup.partition_of(key), Partition{slot.value() % 4});
    EXPECT_EQ(lookup.route(key, kNow).slot, slot);
    EXPECT_EQ(lookup.route(key, kNow).owner(), lookup.route(slot, kNow).owner());
  }
}

TEST_F(LookupTest, knows_the_slots_of_a_partition) {
  EXPECT_EQ(lookup.slots_of(Partition{1}), (std::vector{Slot{1}, Slot{5}, Slot{9}}));
  EXPECT_EQ(lookup.slots_of(Partition{3}), (std::vector{Slot{3}, Slot{7}}));
}

TEST_F(LookupTest, shows_a_view_of_one_answer_a_partition) {
  const auto view_now = lookup.view(kNow);
  ASSERT_EQ(view_now.size(), 4u);
  EXPECT_EQ(view_now[2].owner(), "other");
  EXPECT_EQ(view_now[3].partition, Partition{3});
}

TEST_F(LookupTest, of_a_partition_that_does_not_exist_aborts) {
  EXPECT_DEATH(static_cast<void>(lookup.route(Partition{4}, kNow)), "no such partition");
  EXPECT_DEATH(static_cast<void>(lookup.slots_of(Partition{4})), "no such partition");
}

TEST_F(LookupTest, without_a_time_asks_for_now) {
  EXPECT_EQ(lookup.route(Partition{2}).verdict,
            boot_now() < hint.until ? Verdict::remote : Verdict::unknown);
}

TEST_F(LookupTest, a_route_may_be_kept_beside_those_that_come_after_it) {
  const Route kept = lookup.route(Partition{2}, kNow);
  hint.owner = std::make_shared<const Peer>(Peer{ProcessId{3}, {"third", "h:3", {}}});
  ++hint.generation;
  hint.epoch = {7, 10};
  say();
  const Route next = lookup.route(Partition{2}, kNow);
  // As many snapshots as there may be spare ones, and more.
  for (int more = 0; more < 100; ++more) {
    ++hint.generation;
    say(kNow + std::chrono::seconds{more});
    static_cast<void>(lookup.route(Partition{2}, kNow));
  }
  EXPECT_EQ(kept.owner(), "other");
  EXPECT_EQ(next.owner(), "third");
}

TEST(RouteText, says_what_a_person_reads) {
  std::ostringstream out;
  out << Verdict::remote << ' ' << Epoch{5, 7} << ' ' << Slot{9} << ' ' << Partition{3} << ' '
      << ProcessId{0xabcd} << ' ' << Error{Errc::bad_option, "slots 0: expected at least 1"};
  EXPECT_EQ(out.str(), "remote 5:7 9 3 000000000000abcd slots 0: expected at least 1");
}

TEST(RouteText, an_epoch_is_read_as_it_was_written) {
  for (const Epoch epoch : {Epoch{1'763'690'000'123, 4711}, Epoch{0, 0}, kNoEpoch}) {
    EXPECT_EQ(parse_epoch(to_string(epoch)), epoch);
  }
  for (const char* text : {"", ":", "5", "5:", ":7", "5:7 ", " 5:7", "5:7:9", "a:7", "5:b",
                           "9223372036854775808:0", "5.7", "+5:7"}) {
    EXPECT_EQ(parse_epoch(text), std::nullopt) << text;
  }
}

// What compiles, and what does not: `options.slots = 4096`, and no number from outside.
static_assert(!std::is_convertible_v<std::uint32_t, SlotCount>);
static_assert(std::is_constructible_v<SlotCount, std::uint32_t>);
static_assert(SlotCount{4096}.value() == 4096);
static_assert([] {
  SlotCount slots = 1;
  slots = 4096;
  return slots.value();
}() == 4096);

}  // namespace
}  // namespace neliroute
