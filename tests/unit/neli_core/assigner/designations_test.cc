// What an assigner plans from and by: who is named (A4), who leads (A7), who is banned (A5).
#include "neli_core/assigner/designations.h"

#include <gtest/gtest.h>

#include "neli_core/assigner/planning/bans.h"
#include "neli_core/assigner/owners.h"
#include "tests/unit/neli_core/assigner/told.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::assign;
using told::at_ms;
using told::holding;
using told::kLease;
using told::kPlace;

constexpr ProcessId kA{1};
constexpr ProcessId kB{2};
constexpr Epoch kSeat{1'000, 5};

TEST(Designations, name_whom_the_newest_assignment_names) {
  Designations designations(8);
  EXPECT_EQ(designations.count(), 8u);
  EXPECT_FALSE(designations.names(kA));
  designations.read(assign(9, kSeat, {{1, "0-3"}, {2, "4-7"}}), kA, at_ms(1));
  designations.read(assign(9, kSeat, {{2, "1"}}), kA, at_ms(2));
  EXPECT_EQ(designations.at(Partition{0}).id, kA);
  EXPECT_EQ(designations.at(Partition{0}).since, at_ms(1));
  EXPECT_EQ(designations.at(Partition{1}).id, kB);
  EXPECT_EQ(designations.at(Partition{1}).since, at_ms(2));
  EXPECT_EQ(designations.at(Partition{7}).id, kB);
  EXPECT_TRUE(designations.names(kA));
  EXPECT_FALSE(designations.names(ProcessId{9}));
}

TEST(Designations, say_what_a_process_was_given_and_what_was_taken) {
  Designations designations(8);
  auto change = designations.read(assign(9, kSeat, {{1, "0-3"}, {2, "4-7"}}), kA, at_ms(1));
  EXPECT_EQ(change.given.to_string(), "0-3");
  EXPECT_TRUE(change.taken.empty());
  change = designations.read(assign(9, kSeat, {{2, "3,1"}, {1, "5"}}), kA, at_ms(2));
  EXPECT_EQ(change.given.to_string(), "5");
  EXPECT_EQ(change.taken.to_string(), "1,3");
  change = designations.read(assign(9, kSeat, {{3, "6-7"}}), kA, at_ms(3));
  EXPECT_TRUE(change.given.empty());
  EXPECT_TRUE(change.taken.empty());
}

TEST(Designations, name_a_process_until_its_last_partition_is_another_ones) {
  Designations designations(8);
  designations.read(assign(9, kSeat, {{1, "0-1"}}), kA, at_ms(1));
  designations.read(assign(9, kSeat, {{2, "0"}}), kA, at_ms(2));
  EXPECT_TRUE(designations.names(kA));
  designations.read(assign(9, kSeat, {{2, "1"}}), kA, at_ms(3));
  EXPECT_FALSE(designations.names(kA));
}

// A repeated assignment is no new one: A5 counts from when the designee was first named.
TEST(Designations, that_are_repeated_change_nothing) {
  Designations designations(8);
  designations.read(assign(9, kSeat, {{1, "0-3"}}), kA, at_ms(1));
  const std::uint64_t version = designations.version();
  const auto change = designations.read(assign(9, kSeat, {{1, "0-3"}}), kA, at_ms(2));
  EXPECT_TRUE(change.given.empty());
  EXPECT_EQ(designations.at(Partition{0}).since, at_ms(1));
  EXPECT_EQ(designations.version(), version);
  designations.read(assign(9, kSeat, {{2, "0"}}), kA, at_ms(3));
  EXPECT_GT(designations.version(), version);
}

TEST(Designations, of_partitions_that_do_not_exist_are_left_out) {
  Designations designations(8);
  const auto change = designations.read(assign(9, kSeat, {{1, "7-65535"}}), kA, at_ms(1));
  EXPECT_EQ(change.given.to_string(), "7");
}

// The last one counts, also for who is named on the way.
TEST(Designations, of_a_partition_that_is_named_twice_the_last_one_stands) {
  Designations designations(4);
  constexpr ProcessId kSelf{1};
  const auto read = [&](const AssignmentRecord& record) {
    const auto change = designations.read(record, kSelf, told::at_ms(0));
    return change.given.to_string() + "|" + change.taken.to_string();
  };
  EXPECT_EQ(read(told::assign(9, {1, 1}, {{1, "0-1"}, {2, "0"}})), "1|");
  EXPECT_EQ(designations.at(Partition{0}).id, ProcessId{2});
  EXPECT_EQ(read(told::assign(9, {1, 1}, {{2, "1"}, {1, "1"}})), "|");
  EXPECT_EQ(designations.at(Partition{1}).id, kSelf);
  EXPECT_EQ(read(told::assign(9, {1, 1}, {{2, "1"}, {1, "1,3"}, {3, "1"}})), "3|1");
}

class OwnersTest : public testing::Test {
 protected:
  void read(const Record& record) { owners.read(record, kPlace, kLease, now); }
  [[nodiscard]] Owner at(std::uint32_t p) const { return owners.at(Partition{p}, now); }

  Owners owners{8};
  LocalTime now = at_ms(10'000);
};

TEST_F(OwnersTest, are_those_who_say_that_they_lead_or_drain) {
  read(holding(1, {1'000, 3}, "0-3", "0-1", "2"));
  EXPECT_EQ(at(0).id, kA);
  EXPECT_FALSE(at(0).draining);
  EXPECT_EQ(at(2).id, kA);
  EXPECT_TRUE(at(2).draining);
  EXPECT_EQ(at(3).id, kNobody);  // it looks
  EXPECT_EQ(at(4).id, kNobody);
}

TEST_F(OwnersTest, own_until_a_lease_after_their_last_renewal) {
  read(holding(1, {1'000, 3}, "0", "0"));
  now += kLease - 1ms;
  EXPECT_EQ(at(0).id, kA);
  now += 1ms;
  EXPECT_EQ(at(0).id, kNobody);
}

TEST_F(OwnersTest, of_older_epochs_are_not_believed_while_a_newer_one_is_in_force) {
  read(holding(2, {1'000, 5}, "0", "0"));
  read(holding(1, {1'000, 3}, "0", "", "0"));
  EXPECT_EQ(at(0).id, kB);
  read(holding(3, {1'000, 7}, "0", "0"));
  EXPECT_EQ(at(0).id, ProcessId{3});
  now += kLease;
  read(holding(1, {1'000, 3}, "0", "", "0"));  // it drains, as nobody leads
  EXPECT_EQ(at(0).id, kA);
}

TEST_F(OwnersTest, who_only_looks_under_a_newer_epoch_leaves_the_owner) {
  read(holding(1, {1'000, 3}, "0", "", "0"));
  read(holding(2, {1'000, 5}, "0", ""));
  EXPECT_EQ(at(0).id, kA);
  read(holding(2, {1'000, 5}, "0", "0"));
  EXPECT_EQ(at(0).id, kB);
  read(holding(2, {1'000, 5}, "0", ""));  // no longer
  EXPECT_EQ(at(0).id, kNobody);
}

TEST_F(OwnersTest, who_release_own_nothing) {
  read(holding(1, {1'000, 3}, "0-1", "0-1"));
  const auto release = [&](std::uint64_t id, const Epoch& epoch) {
    Record record = holding(id, epoch, "0", "");
    record.type = RecordType::release;
    read(record);
  };
  release(2, {1'000, 3});
  release(1, {1'000, 2});
  EXPECT_EQ(at(0).id, kA);
  release(1, {1'000, 3});
  EXPECT_EQ(at(0).id, kNobody);
  EXPECT_EQ(at(1).id, kA);
}

TEST_F(OwnersTest, are_not_made_by_claims) {
  Record claim = holding(1, {1'000, 3}, "0", "0");
  claim.type = RecordType::claim;
  read(claim);
  EXPECT_EQ(at(0).id, kNobody);
}

TEST_F(OwnersTest, are_forgotten_a_log_at_a_time) {
  const LogPlace first{Log{0}, 2, 8};
  const LogPlace second{Log{1}, 2, 8};
  owners.read(holding(1, {1'000, 3}, "0-3", "0-3"), first, kLease, now);
  owners.read(holding(1, {1'000, 4}, "0-3", "0-3"), second, kLease, now);
  EXPECT_EQ(at(0).id, kA);
  EXPECT_EQ(at(7).id, kA);
  const std::uint64_t version = owners.version();
  owners.forget(second);
  EXPECT_EQ(at(6).id, kA);
  EXPECT_EQ(at(7).id, kNobody);
  EXPECT_GT(owners.version(), version);
}

TEST_F(OwnersTest, that_only_renew_change_no_plan) {
  read(holding(1, {1'000, 3}, "0", "0"));
  std::uint64_t version = owners.version();
  now += 500ms;
  read(holding(1, {1'000, 3}, "0", "0"));
  EXPECT_EQ(owners.version(), version);
  read(holding(1, {1'000, 3}, "0", "", "0"));
  EXPECT_GT(owners.version(), version);
  version = owners.version();
  now += kLease;
  read(holding(1, {1'000, 3}, "0", "", "0"));  // again, after its lease had ended
  EXPECT_GT(owners.version(), version);
}

TEST(Bans, last_a_minute_and_twice_as_long_each_time_up_to_an_hour) {
  Bans bans;
  LocalTime now = at_ms(10'000);
  milliseconds expected = 1min;
  for (int i = 0; i < 9; ++i) {
    bans.ban(Log{0}, kA, now);
    EXPECT_EQ(bans.next_end(now), now + expected);
    EXPECT_TRUE(bans.is_banned(Log{0}, kA, now + expected - 1ms));
    now += expected;
    EXPECT_FALSE(bans.is_banned(Log{0}, kA, now));
    EXPECT_EQ(bans.next_end(now), kNever);
    expected = std::min<milliseconds>(2 * expected, 1h);
  }
  EXPECT_EQ(expected, 1h);
}

TEST(Bans, in_force_are_not_made_longer) {
  Bans bans;
  bans.ban(Log{0}, kA, at_ms(0));
  bans.ban(Log{0}, kA, at_ms(30'000));
  EXPECT_EQ(bans.next_end(at_ms(30'000)), at_ms(60'000));
  bans.ban(Log{0}, kA, at_ms(60'000));
  EXPECT_EQ(bans.next_end(at_ms(60'000)), at_ms(180'000));
}

TEST(Bans, are_of_one_member_in_one_log) {
  Bans bans;
  bans.ban(Log{3}, kA, at_ms(0));
  EXPECT_TRUE(bans.any(Log{3}, at_ms(1)));
  EXPECT_FALSE(bans.any(Log{0}, at_ms(1)));
  EXPECT_FALSE(bans.is_banned(Log{0}, kA, at_ms(1)));
  EXPECT_FALSE(bans.is_banned(Log{3}, kB, at_ms(1)));
  EXPECT_FALSE(bans.any(Log{3}, at_ms(60'000)));
}

TEST(Bans, that_are_long_over_are_forgotten) {
  Bans bans;
  bans.ban(Log{0}, kA, at_ms(0));
  const LocalTime over = at_ms(60'000) + 1h;
  bans.forget(over - 1ms);
  Bans remembering = bans;
  remembering.ban(Log{0}, kA, over);
  EXPECT_EQ(remembering.next_end(over), over + 2min);
  bans.forget(over);
  bans.ban(Log{0}, kA, over);
  EXPECT_EQ(bans.next_end(over), over + 1min);
}

}  // namespace
}  // namespace neliroute
