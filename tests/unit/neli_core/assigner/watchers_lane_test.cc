// A watcher, which knows neither group nor interval of a lane, reads the same of members, seat and
// designations as the members themselves.
#include <gtest/gtest.h>

#include <set>

#include "neli_core/assigner/lane_reader.h"
#include "tests/unit/neli_core/assigner/assigned_rig.h"
#include "tests/world/memory_log.h"

namespace neliroute::told {
namespace {

/// Reads log 0 of a rig from somewhere on.
struct Reading {
  explicit Reading(AssignedRig& of, std::int64_t from = 0)
      : rig(of),
        reader({Lane{}, kNobody, milliseconds{0}, kLeaseMax, of.options.logs, of.options.partitions,
                watchers(of)}),
        next(from) {
    reader.on(tail_at(Log{0}, from, of.log(0).end()), of.now());
    read();
  }
  static Settings watchers(const AssignedRig& of) {
    // As a watcher has them, which knows nothing of the lane.
    Settings settings = of.core_options(1).core.settings;
    settings.group = "";
    settings.mode = "exclusive";
    return settings;
  }
  void read() {
    for (; next < rig.log(0).end(); ++next) {
      const StoredRecord* found = rig.log(0).find(next);
      if (found == nullptr) continue;
      reader.on(Received{Log{0}, next, found->stamped, true, found->value.get()}, rig.now());
    }
    if (reader.next_deadline(rig.now() - milliseconds{50}) <= rig.now()) reader.tick(rig.now());
  }
  void read_for(milliseconds duration) {
    for (const LocalTime end = rig.now() + duration; rig.now() < end;) {
      rig.run_for(milliseconds{50});
      read();
    }
  }
  [[nodiscard]] std::set<std::uint64_t> living() const {
    std::set<std::uint64_t> ids;
    for (const Member* member : reader.known().members.living()) ids.insert(member->id.value());
    return ids;
  }
  [[nodiscard]] std::size_t named_for(std::uint64_t id) const {
    std::size_t count = 0;
    for (std::uint32_t p = 0; p < rig.options.partitions; ++p) {
      count += reader.known().designations.at(Partition{p}).id == ProcessId{id};
    }
    return count;
  }

  AssignedRig& rig;
  LaneReader reader;
  std::int64_t next;
};

using Ids = std::set<std::uint64_t>;

TEST(WatchersLane, reads_what_a_member_reads) {
  AssignedRig rig;
  Process& first = rig.start(1);
  rig.start(2);
  Reading watcher(rig);
  watcher.read_for(milliseconds{2000});
  const KnownLane& seen = watcher.reader.known();
  EXPECT_EQ(watcher.living(), (Ids{1, 2}));
  EXPECT_TRUE(seen.seat.known());
  EXPECT_EQ(seen.seat.holder(), first.core.seat().holder());
  EXPECT_EQ(seen.seat.epoch(), first.core.seat().epoch());
  EXPECT_TRUE(seen.members.find(seen.seat.holder())->fields.assigning);
  for (std::uint32_t p = 0; p < rig.options.partitions; ++p) {
    EXPECT_EQ(seen.designations.at(Partition{p}).id, first.core.designations().at(Partition{p}).id);
  }
  EXPECT_EQ(watcher.named_for(1) + watcher.named_for(2), 8u);
}

TEST(WatchersLane, knows_who_is_silent_without_a_record_of_its_own) {
  AssignedRig rig;
  rig.start(1);
  Process& second = rig.start(2);
  rig.start(3);
  Reading watcher(rig);
  watcher.read_for(milliseconds{2000});
  rig.kill(second);
  watcher.read_for(kSession - milliseconds{150});
  EXPECT_EQ(watcher.living(), (Ids{1, 2, 3}));
  watcher.read_for(milliseconds{400});
  EXPECT_EQ(watcher.living(), (Ids{1, 3}));
  EXPECT_TRUE(watcher.reader.known().members.find(ProcessId{2})->dead);
  EXPECT_EQ(watcher.named_for(2), 0u) << "they were named for others, which it reads";
}

TEST(WatchersLane, that_reads_nothing_takes_nobody_for_silent) {
  AssignedRig rig;
  rig.start(1);
  rig.start(2);
  Reading watcher(rig);
  watcher.read_for(milliseconds{2000});
  const std::int64_t here = watcher.next;
  rig.run_for(10 * kSession);
  watcher.reader.tick(rig.now());
  EXPECT_EQ(watcher.living(), (Ids{1, 2}));
  EXPECT_GT(rig.log(0).end(), here);
  watcher.read();
  EXPECT_EQ(watcher.living(), (Ids{1, 2})) << "the first record that it reads again excuses all";
}

TEST(WatchersLane, that_begins_late_learns_of_the_seat_from_renewals) {
  AssignedRig rig;
  Process& first = rig.start(1);
  rig.start(2);
  rig.run_for(milliseconds{2000});
  Reading watcher(rig, rig.log(0).end());
  EXPECT_FALSE(watcher.reader.known().seat.known());
  watcher.read_for(milliseconds{300});
  EXPECT_TRUE(watcher.reader.known().seat.known());
  EXPECT_EQ(watcher.reader.known().seat.epoch(), first.core.seat().epoch());
  EXPECT_EQ(watcher.living(), (Ids{1, 2}));
}

TEST(WatchersLane, that_begins_late_says_what_an_override_would_move) {
  AssignedRig rig;
  rig.start(1);
  rig.start(2);
  rig.run_for(milliseconds{2000});
  Reading watcher(rig, rig.log(0).end());
  watcher.read_for(milliseconds{300});
  EXPECT_TRUE(watcher.reader.would_move({}, rig.now()).empty())
      << "who owns what it was named for before is not moved to itself";
  const auto moves = watcher.reader.would_move({{OverrideVerb::cordon, "p2", {}, 0}}, rig.now());
  ASSERT_EQ(moves.size(), 4u) << "no list of overrides was ever written";
  for (const WouldMove& move : moves) {
    EXPECT_EQ(move.from, ProcessId{2});
    EXPECT_EQ(move.to, ProcessId{1});
  }
}

TEST(WatchersLane, follows_the_seat_and_who_leaves) {
  AssignedRig rig;
  Process& first = rig.start(1);
  rig.start(2);
  Reading watcher(rig);
  watcher.read_for(milliseconds{2000});
  ASSERT_EQ(watcher.reader.known().seat.holder(), ProcessId{1});
  rig.close(first, milliseconds{5000});
  watcher.read();
  EXPECT_TRUE(watcher.reader.known().members.find(ProcessId{1})->leaving);
  watcher.read_for(milliseconds{1000});
  EXPECT_EQ(watcher.reader.known().seat.holder(), ProcessId{2});
  EXPECT_EQ(watcher.living(), (Ids{2}));
  EXPECT_EQ(watcher.named_for(2), 8u);
}

TEST(WatchersLane, ignores_other_lanes_other_settings_and_refused_assignments) {
  AssignedRig rig;
  rig.start(1);
  Reading watcher(rig);
  watcher.read_for(milliseconds{2000});
  const auto hear = [&](const Decoded& value) {
    watcher.reader.on(Received{Log{0}, watcher.next++, rig.broker_now(), true, &value}, rig.now());
  };
  Record other = renewal(7);
  other.settings = rig.core_options(7).core.settings;
  other.settings->variation = kAssignedVariation;
  other.settings->slots = 16;
  hear(other);
  other.settings->slots = 8;
  other.lane = Lane{1};
  hear(other);
  EXPECT_EQ(watcher.living(), (Ids{1}));
  hear(assign(1, {1, 1}, {{7, "0-7"}}));
  EXPECT_EQ(watcher.named_for(7), 0u) << "under a seat that nobody holds";
  AssignmentRecord foreign = assign(1, watcher.reader.known().seat.epoch(), {{7, "0-7"}});
  foreign.lane = Lane{1};
  hear(foreign);
  EXPECT_EQ(watcher.named_for(7), 0u);
  foreign.lane = Lane{};
  hear(foreign);
  EXPECT_EQ(watcher.named_for(7), 8u);
}

TEST(WatchersLane, after_a_gap_does_not_know_the_seat_until_it_is_told) {
  AssignedRig rig;
  rig.start(1);
  Reading watcher(rig);
  watcher.read_for(milliseconds{2000});
  watcher.reader.on(GapFound{Log{0}}, rig.now());
  EXPECT_FALSE(watcher.reader.known().seat.known());
  const std::int64_t end = rig.log(0).end();
  watcher.reader.on(tail_at(Log{0}, end, end), rig.now());
  watcher.next = end;
  watcher.read_for(milliseconds{300});
  EXPECT_EQ(watcher.reader.known().seat.holder(), ProcessId{1});
}

}  // namespace
}  // namespace neliroute::told
