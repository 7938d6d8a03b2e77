// What who only reads a lane's logs can show of it.
#include "neli_core/assigner/lane_reader.h"

#include <gtest/gtest.h>

#include "placement/plan.h"
#include "tests/unit/neli_core/assigner/assigned_rig.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::AssignedRig;
using told::kInterval;
using told::kLease;
using told::kSession;
using told::ranges;
using enum OverrideVerb;

/// Beside two members, it reads everything from an offset on.
struct Watched : AssignedRig {
  told::Process& first = start(1);
  told::Process& second = start(2);
  LaneReader reader;
  std::vector<std::int64_t> next;

  explicit Watched(std::uint32_t log_count = 1)
      : AssignedRig({Mode::non_exclusive, 8, log_count}),
        reader({Lane{0}, kNobody, kInterval, kLease, log_count, 8}),
        next(log_count) {
    EXPECT_TRUE(run_until([&] { return led_by(first) == 4 && led_by(second) == 4; }, 5000ms));
    run_for(1000ms);
  }
  void begin(std::uint32_t l, std::int64_t from) {
    next[l] = from;
    reader.on(tail_at(Log{l}, from, log(l).end()), now());
    read(l);
  }
  void begin(std::int64_t from) {
    for (std::uint32_t l = 0; l < options.logs; ++l) begin(l, from);
  }
  void read(std::uint32_t l) {
    while (log(l).find(next[l]) != nullptr) {
      const Received record = log(l).received(Log{l}, next[l]++);
      reader.on(record, now());
    }
    reader.on(LogPosition{Log{l}, next[l]}, now());
  }
  void watch_for(milliseconds duration) {
    for (milliseconds passed{0}; passed < duration; passed += 50ms) {
      run_for(50ms);
      for (std::uint32_t l = 0; l < options.logs; ++l) read(l);
    }
  }
  [[nodiscard]] std::size_t shown_members() const { return reader.lane().members.size(); }
};

TEST(LaneReader, shows_members_designees_and_overrides) {
  Watched lane;
  lane.order({weight, "p2", {}, 3});
  lane.order({pin, "p1", ranges("0"), 0});
  lane.run_for(1000ms);
  lane.begin(0);
  lane.watch_for(500ms);
  ASSERT_TRUE(lane.reader.caught_up());
  const ShownLane shown = lane.reader.lane();
  EXPECT_EQ(shown.assigner, ProcessId{1});
  ASSERT_EQ(shown.members.size(), 2u);
  EXPECT_EQ(shown.members[1].process.name, "p2");
  EXPECT_EQ(shown.members[1].fields.weight, 1u);
  EXPECT_TRUE(shown.overrides_known);
  EXPECT_EQ(shown.overrides, lane.first.core.overrides().standing());
  const KnownLane& known = lane.reader.known();
  EXPECT_GT(known.overrides.listed_upto(), 0);
  for (std::uint32_t p = 0; p < 8; ++p) {
    EXPECT_EQ(known.designations.at(Partition{p}).id,
              lane.first.core.designations().at(Partition{p}).id);
  }
}

TEST(LaneReader, says_what_an_override_would_move_before_it_is_written) {
  Watched lane;
  lane.begin(0);
  lane.watch_for(500ms);
  EXPECT_TRUE(lane.reader.would_move({}, lane.now()).empty());
  const auto moves = lane.reader.would_move({{cordon, "p2", {}, 0}}, lane.now());
  ASSERT_EQ(moves.size(), 4u);
  EXPECT_EQ(moves[0].from, ProcessId{2});
  EXPECT_EQ(moves[0].to, ProcessId{1});
  EXPECT_EQ(moves[0].why, placement::Reason::cordon);
  EXPECT_EQ(lane.led_by(lane.second), 4u);
  lane.order({cordon, "p2", {}, 0});
  lane.watch_for(1000ms);
  EXPECT_EQ(lane.led_by(lane.first), 8u);
  EXPECT_TRUE(lane.reader.would_move({}, lane.now()).empty());
  EXPECT_TRUE(lane.reader.lane().overrides.cordoned.contains("p2"));
}

TEST(LaneReader, that_starts_late_knows_overrides_after_the_next_list) {
  Watched lane;
  lane.order({cordon, "p2", {}, 0});
  lane.run_for(1000ms);
  lane.begin(lane.log(0).end());
  EXPECT_FALSE(lane.reader.lane().overrides_known);
  lane.watch_for(kLease / 2 + 300ms);
  EXPECT_TRUE(lane.reader.lane().overrides_known);
  EXPECT_TRUE(lane.reader.lane().overrides.cordoned.contains("p2"));
}

TEST(LaneReader, no_longer_shows_who_is_dead) {
  Watched lane;
  lane.begin(0);
  lane.watch_for(500ms);
  lane.kill(lane.second);
  lane.watch_for(kSession + 4 * kInterval);
  EXPECT_EQ(lane.shown_members(), 1u);
}

TEST(LaneReader, takes_nobody_for_dead_after_an_outage_of_log_0) {
  Watched lane(2);
  lane.begin(0);
  lane.watch_for(500ms);
  lane.first.forbidden = {0};
  lane.second.forbidden = {0};
  lane.watch_for(kLease);
  lane.first.forbidden.clear();
  lane.watch_for(2 * kInterval);
  EXPECT_EQ(lane.shown_members(), 2u);
}

TEST(LaneReader, a_tail_that_goes_on_where_it_was_forgets_nothing) {
  Watched lane;
  lane.order({cordon, "p2", {}, 0});
  lane.begin(lane.log(0).end() - 1);
  lane.watch_for(kLease);
  ASSERT_TRUE(lane.reader.lane().overrides_known);
  lane.begin(lane.next[0]);
  EXPECT_TRUE(lane.reader.lane().overrides_known);
  EXPECT_EQ(lane.reader.lane().assigner, ProcessId{1});
}

TEST(LaneReader, a_gap_in_log_0_leaves_open_who_assigns_and_one_in_log_1_does_not) {
  Watched lane(2);
  lane.begin(0);
  lane.watch_for(500ms);
  lane.reader.on(GapFound{Log{1}, GapReason::out_of_range}, lane.now());
  EXPECT_EQ(lane.reader.lane().assigner, ProcessId{1});
  lane.reader.on(GapFound{Log{0}, GapReason::out_of_range}, lane.now());
  EXPECT_NE(lane.reader.lane().assigner, ProcessId{1});
}

}  // namespace
}  // namespace neliroute
