// Which overrides stand, as a reader of log 0 knows it.
#include "neli_core/assigner/overrides.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "neli_core/assigner/known_lane.h"
#include "tests/unit/neli_core/assigner/told.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using told::at_ms;
using told::kLease;
using told::ranges;
using enum OverrideVerb;

Override order(OverrideVerb verb, const std::string& name = "", const std::string& partitions = "",
               std::uint32_t weight = 0) {
  return {verb, name, ranges(partitions), weight};
}

StandingOverrides after(const std::vector<Override>& overrides) {
  StandingOverrides standing;
  for (const Override& one : overrides) apply(one, standing);
  return standing;
}

AssignmentRecord list(std::int64_t upto, StandingOverrides standing) {
  AssignmentRecord record;
  record.type = AssignmentType::overrides;
  record.upto = upto;
  record.standing = std::move(standing);
  return record;
}

/// Of who reads log 0 from there on.
Overrides reader(std::int64_t start) {
  Overrides overrides(kLease);
  overrides.tail_started(tail_at(Log{0}, start, start), at_ms(0));
  return overrides;
}

TEST(Overrides, stand_until_they_are_withdrawn) {
  EXPECT_EQ(after({order(cordon, "a"), order(cordon, "b"), order(uncordon, "a")}).cordoned,
            std::set<std::string>{"b"});
  const StandingOverrides weighed =
      after({order(weight, "a", "", 3), order(weight, "b", "", 0), order(weight, "a", "", 5)});
  EXPECT_EQ(weighed.weights, (std::map<std::string, std::uint32_t>{{"a", 5}, {"b", 0}}));
  EXPECT_EQ(after({order(weight, "a", "", 3), order(unweight, "a")}), StandingOverrides{});
  EXPECT_TRUE(after({order(pause_moves)}).moves_paused);
  EXPECT_EQ(after({order(pause_moves), order(resume_moves)}), StandingOverrides{});
}

TEST(Overrides, a_partition_is_pinned_to_one_name) {
  StandingOverrides standing = after({order(pin, "a", "0-9"), order(pin, "b", "3-4,12")});
  EXPECT_EQ(standing.pins.at("a"), ranges("0-2,5-9"));
  EXPECT_EQ(standing.pins.at("b"), ranges("3-4,12"));
  EXPECT_EQ(apply(order(pin, "a", "5"), standing), OverrideEffect::nothing_new);
  EXPECT_EQ(apply(order(unpin, "", "2-3"), standing), OverrideEffect::changes);
  EXPECT_EQ(standing.pins.at("a"), ranges("0-1,5-9"));
  EXPECT_EQ(standing.pins.at("b"), ranges("4,12"));
  apply(order(unpin, "", "4-65535"), standing);
  EXPECT_FALSE(standing.pins.contains("b")) << "nothing is left of it";
  EXPECT_EQ(apply(order(unpin, "", "100"), standing), OverrideEffect::nothing_new);
}

// Everybody ignores the same ones, and what takes less is heeded all the same.
TEST(Overrides, what_would_not_fit_into_a_record_is_ignored) {
  PartitionRanges odd;
  for (std::uint32_t p = 1; p < kPartitionCountMax; p += 2) odd.insert(Partition{p});
  Overrides overrides = reader(0);
  EXPECT_EQ(overrides.read(1, {pin, "a", ranges("0-65535"), 0}), OverrideEffect::changes);
  EXPECT_EQ(overrides.read(2, {unpin, "", odd, 0}), OverrideEffect::too_much);
  EXPECT_EQ(overrides.standing().pins.at("a"), ranges("0-65535"));
  EXPECT_EQ(overrides.ignored(), 1u);
  EXPECT_EQ(overrides.read(3, order(cordon, "b")), OverrideEffect::changes);
  Overrides late = reader(2);
  late.read(2, {unpin, "", odd, 0});
  late.read(3, order(cordon, "b"));
  late.read_list(4, list(2, after({order(pin, "a", "0-65535")})));
  EXPECT_EQ(late.standing(), overrides.standing());
}

TEST(Overrides, are_all_known_from_the_beginning_of_a_log) {
  Overrides overrides = reader(0);
  EXPECT_TRUE(overrides.known());
  EXPECT_FALSE(overrides.used());
  overrides.read(5, order(cordon, "a"));
  EXPECT_FALSE(overrides.uncertain());
  EXPECT_TRUE(overrides.standing().cordoned.contains("a"));
}

TEST(Overrides, who_starts_late_learns_them_from_a_list_that_reaches_its_start) {
  Overrides overrides = reader(100);
  EXPECT_FALSE(overrides.known());
  EXPECT_FALSE(overrides.uncertain()) << "nothing says that there are any";
  overrides.read_list(101, list(99, after({order(cordon, "old")})));
  EXPECT_TRUE(overrides.uncertain()) << "what was ordered at 99 is not known";
  EXPECT_EQ(overrides.standing(), StandingOverrides{});
  overrides.read_list(102, list(100, after({order(cordon, "a")})));
  EXPECT_TRUE(overrides.known());
  EXPECT_EQ(overrides.standing().cordoned, std::set<std::string>{"a"});
}

TEST(Overrides, without_a_list_for_a_lease_there_is_nothing_but_what_was_read) {
  Overrides overrides = reader(100);
  overrides.read(110, order(pin, "a", "3"));
  EXPECT_TRUE(overrides.uncertain());
  const LocalTime end = later(at_ms(0), with_drift(kLease));
  EXPECT_EQ(overrides.next_deadline(), end);
  overrides.tick(end - microseconds{1});
  EXPECT_TRUE(overrides.uncertain());
  overrides.tick(end);
  EXPECT_FALSE(overrides.uncertain());
  EXPECT_EQ(overrides.standing().pins.at("a"), ranges("3"));
  EXPECT_EQ(overrides.next_deadline(), kNever);
  // Time in which nothing was read does not count.
  Overrides cut = reader(100);
  cut.read(110, order(pin, "a", "3"));
  cut.excuse(milliseconds{10});
  cut.tick(end);
  EXPECT_TRUE(cut.uncertain());
  cut.tick(end + milliseconds{10});
  EXPECT_FALSE(cut.uncertain());
}

TEST(Overrides, a_list_never_undoes_a_newer_override) {
  Overrides overrides = reader(0);
  overrides.read(10, order(cordon, "a"));
  overrides.read(20, order(uncordon, "a"));
  overrides.read(21, order(cordon, "b"));
  overrides.read_list(22, list(15, after({order(cordon, "a")})));
  EXPECT_EQ(overrides.standing().cordoned, std::set<std::string>{"b"});
  // Nor one that was written before another that was read.
  overrides.read_list(30, list(29, after({order(cordon, "b")})));
  overrides.read_list(31, list(15, after({order(cordon, "a")})));
  EXPECT_EQ(overrides.standing().cordoned, std::set<std::string>{"b"});
  EXPECT_EQ(overrides.listed_upto(), 29);
}

TEST(Overrides, a_list_that_speaks_for_what_is_not_there_says_nothing) {
  Overrides overrides = reader(0);
  overrides.read(10, order(cordon, "a"));
  overrides.read_list(11, list(12, {}));
  EXPECT_EQ(overrides.listed_upto(), -1);
  EXPECT_TRUE(overrides.standing().cordoned.contains("a"));
}

// Whoever missed a part of the log agrees with the others after the next list.
TEST(Overrides, a_list_corrects_who_believes_something_else) {
  Overrides overrides = reader(0);
  overrides.read(10, order(cordon, "a"));
  const std::uint64_t before = overrides.version();
  overrides.read_list(20, list(20, after({order(cordon, "b")})));
  EXPECT_EQ(overrides.standing().cordoned, std::set<std::string>{"b"});
  EXPECT_NE(overrides.version(), before);
}

TEST(Overrides, a_list_counts_where_every_override_was_read) {
  Overrides overrides(kLease);
  overrides.tail_started({Log{0}, 7, 90, Below::unread}, at_ms(0));
  overrides.read_list(8, list(7, after({order(cordon, "a")})));
  EXPECT_TRUE(overrides.known());
  EXPECT_EQ(overrides.standing().cordoned, std::set<std::string>{"a"});
}

TEST(Overrides, after_a_gap_what_was_known_stays_until_a_list_says_more) {
  Overrides overrides = reader(0);
  overrides.read(10, order(cordon, "a"));
  overrides.tail_started(tail_at(Log{0}, 50, 50), at_ms(10));
  EXPECT_TRUE(overrides.uncertain());
  EXPECT_TRUE(overrides.standing().cordoned.contains("a"));
  overrides.read_list(60, list(55, {}));
  EXPECT_FALSE(overrides.uncertain());
  EXPECT_EQ(overrides.standing(), StandingOverrides{});
  // Another log has overrides of its own, and lists of its own.
  overrides.read(61, order(cordon, "a"));
  overrides.tail_started(tail_at(Log{0}, 0, 0), at_ms(20));
  EXPECT_EQ(overrides.standing(), StandingOverrides{});
  EXPECT_EQ(overrides.listed_upto(), -1);
  overrides.read(4, order(cordon, "b"));
  EXPECT_TRUE(overrides.unlisted());
  overrides.read_list(6, list(5, after({order(cordon, "b")})));
  EXPECT_EQ(overrides.listed_upto(), 5);
  EXPECT_EQ(overrides.standing(), after({order(cordon, "b")}));
  EXPECT_FALSE(overrides.unlisted());
}

TEST(Overrides, one_is_listed_when_a_list_reaches_beyond_it) {
  Overrides overrides = reader(0);
  EXPECT_FALSE(overrides.unlisted());
  overrides.read(10, order(cordon, "a"));
  EXPECT_TRUE(overrides.unlisted());
  overrides.read_list(11, list(10, {}));
  EXPECT_TRUE(overrides.unlisted());
  EXPECT_TRUE(overrides.standing().cordoned.contains("a"));
  overrides.read_list(12, list(11, after({order(cordon, "a")})));
  EXPECT_FALSE(overrides.unlisted());
}

// Memory is bounded, and what is forgotten is forgotten in order.
TEST(Overrides, very_many_of_them_between_two_lists_count_all_the_same) {
  Overrides overrides = reader(0);
  for (int i = 0; i < 10'000; ++i) {
    overrides.read(
        i, order(weight, "n" + std::to_string(i % 7), "", static_cast<std::uint32_t>(i % 11)));
  }
  const StandingOverrides all = overrides.standing();
  EXPECT_EQ(all.weights.size(), 7u);
  overrides.read_list(10'001, list(9'990, all));
  EXPECT_EQ(overrides.standing(), all);
  overrides.read_list(10'002, list(100, {}));
  EXPECT_EQ(overrides.standing(), all) << "too old to apply the later ones to it";
}

TEST(Overrides, of_a_name_outrank_what_a_member_says) {
  Member member;
  member.process.name = "a";
  member.fields.weight = 2;
  EXPECT_EQ(effective_weight(member, {}), 2u);
  EXPECT_EQ(effective_weight(member, after({order(weight, "b", "", 9), order(cordon, "b")})), 2u);
  EXPECT_EQ(effective_weight(member, after({order(weight, "a", "", 9)})), 9u);
  EXPECT_EQ(effective_weight(member, after({order(weight, "a", "", 9), order(cordon, "a")})), 0u);
  member.fields.cordoned = true;
  EXPECT_EQ(effective_weight(member, after({order(weight, "a", "", 9), order(uncordon, "a")})), 0u)
      << "its own cordon stays";
}

// A process of another mode hears no member of its lane, and so learns of no seat. Before its
// settings are refused it may take the seat, and must repeat the overrides (found by the
// simulator).
TEST(KnownLaneOverrides, lists_count_by_the_newest_seat_while_none_is_known) {
  KnownLane lane({Lane{}, ProcessId{9}, told::kInterval, kLease});
  lane.tail_started(tail_at(Log{0}, 10, 20), at_ms(0));
  std::int64_t offset = 20;
  const auto read = [&](std::int64_t seat, const std::string& cordoned) {
    AssignmentRecord record = list(offset, after({order(cordon, cordoned)}));
    record.id = ProcessId{1};
    record.seat = {1, seat};
    const Received event{Log{0}, offset++, BrokerTime{milliseconds{1}}, true, nullptr};
    EXPECT_EQ(lane.read(event, record, false, at_ms(1)), Assigned::told);
    return *lane.overrides.standing().cordoned.begin();
  };
  EXPECT_EQ(read(5, "a"), "a");
  EXPECT_FALSE(lane.overrides.known()) << "its writer may have lost the seat";
  EXPECT_EQ(read(4, "b"), "a") << "an older seat";
  EXPECT_EQ(read(5, "c"), "c");
  EXPECT_EQ(read(6, "d"), "d");
  lane.seat.claimed(told::seat_claim(ProcessId{1}), {1, 3}, lane.members);
  EXPECT_EQ(read(7, "e"), "d") << "not the seat that is known";
  EXPECT_EQ(read(3, "f"), "f");
  EXPECT_TRUE(lane.overrides.known());
  lane.tail_started(tail_at(Log{0}, offset, offset), at_ms(2));
  EXPECT_EQ(read(1, "g"), "g") << "the topic may have been made again";
}

}  // namespace
}  // namespace neliroute
