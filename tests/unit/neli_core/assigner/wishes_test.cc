// Which wishes stand, as a reader of log 0 knows it.
#include "neli_core/assigner/wishes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "neli_core/assigner/known_lane.h"
#include "tests/unit/neli_core/assigner/told.h"
#include "tests/unit/neli_core/tail_at.h"

namespace neliroute {
namespace {

using told::at_ms;
using told::kLease;
using told::ranges;
using enum WishVerb;

Wish wish(WishVerb verb, const std::string& name = "", const std::string& partitions = "",
          std::uint32_t weight = 0) {
  return {verb, name, ranges(partitions), weight};
}

StandingWishes after(const std::vector<Wish>& wishes) {
  StandingWishes standing;
  for (const Wish& one : wishes) apply(one, standing);
  return standing;
}

AssignmentRecord list(std::int64_t upto, StandingWishes standing) {
  AssignmentRecord record;
  record.type = AssignmentType::wishes;
  record.upto = upto;
  record.standing = std::move(standing);
  return record;
}

/// Of who reads log 0 from there on.
Wishes reader(std::int64_t start) {
  Wishes wishes(kLease);
  wishes.tail_started(tail_at(Log{0}, start, start), at_ms(0));
  return wishes;
}

TEST(Wishes, stand_until_they_are_taken_back) {
  EXPECT_EQ(after({wish(cordon, "a"), wish(cordon, "b"), wish(uncordon, "a")}).cordoned,
            std::set<std::string>{"b"});
  const StandingWishes weighed =
      after({wish(weight, "a", "", 3), wish(weight, "b", "", 0), wish(weight, "a", "", 5)});
  EXPECT_EQ(weighed.weights, (std::map<std::string, std::uint32_t>{{"a", 5}, {"b", 0}}));
  EXPECT_EQ(after({wish(weight, "a", "", 3), wish(unweight, "a")}), StandingWishes{});
  EXPECT_TRUE(after({wish(pause_moves)}).moves_paused);
  EXPECT_EQ(after({wish(pause_moves), wish(resume_moves)}), StandingWishes{});
}

TEST(Wishes, a_partition_is_pinned_to_one_name) {
  StandingWishes standing = after({wish(pin, "a", "0-9"), wish(pin, "b", "3-4,12")});
  EXPECT_EQ(standing.pins.at("a"), ranges("0-2,5-9"));
  EXPECT_EQ(standing.pins.at("b"), ranges("3-4,12"));
  EXPECT_EQ(apply(wish(pin, "a", "5"), standing), WishEffect::nothing_new);
  EXPECT_EQ(apply(wish(unpin, "", "2-3"), standing), WishEffect::changes);
  EXPECT_EQ(standing.pins.at("a"), ranges("0-1,5-9"));
  EXPECT_EQ(standing.pins.at("b"), ranges("4,12"));
  apply(wish(unpin, "", "4-65535"), standing);
  EXPECT_FALSE(standing.pins.contains("b")) << "nothing is left of it";
  EXPECT_EQ(apply(wish(unpin, "", "100"), standing), WishEffect::nothing_new);
}

// Everybody ignores the same ones, and what takes less is heeded all the same.
TEST(Wishes, what_would_not_fit_into_a_record_is_ignored) {
  PartitionRanges odd;
  for (std::uint32_t p = 1; p < kPartitionCountMax; p += 2) odd.insert(Partition{p});
  Wishes wishes = reader(0);
  EXPECT_EQ(wishes.read(1, {pin, "a", ranges("0-65535"), 0}), WishEffect::changes);
  EXPECT_EQ(wishes.read(2, {unpin, "", odd, 0}), WishEffect::too_much);
  EXPECT_EQ(wishes.standing().pins.at("a"), ranges("0-65535"));
  EXPECT_EQ(wishes.ignored(), 1u);
  EXPECT_EQ(wishes.read(3, wish(cordon, "b")), WishEffect::changes);
  Wishes late = reader(2);
  late.read(2, {unpin, "", odd, 0});
  late.read(3, wish(cordon, "b"));
  late.read_list(4, list(2, after({wish(pin, "a", "0-65535")})));
  EXPECT_EQ(late.standing(), wishes.standing());
}

TEST(Wishes, are_all_known_from_the_beginning_of_a_log) {
  Wishes wishes = reader(0);
  EXPECT_TRUE(wishes.known());
  EXPECT_FALSE(wishes.used());
  wishes.read(5, wish(cordon, "a"));
  EXPECT_FALSE(wishes.uncertain());
  EXPECT_TRUE(wishes.standing().cordoned.contains("a"));
}

TEST(Wishes, who_starts_late_learns_them_from_a_list_that_reaches_its_start) {
  Wishes wishes = reader(100);
  EXPECT_FALSE(wishes.known());
  EXPECT_FALSE(wishes.uncertain()) << "nothing says that anything is wished";
  wishes.read_list(101, list(99, after({wish(cordon, "old")})));
  EXPECT_TRUE(wishes.uncertain()) << "what was wished at 99 is not known";
  EXPECT_EQ(wishes.standing(), StandingWishes{});
  wishes.read_list(102, list(100, after({wish(cordon, "a")})));
  EXPECT_TRUE(wishes.known());
  EXPECT_EQ(wishes.standing().cordoned, std::set<std::string>{"a"});
}

TEST(Wishes, without_a_list_for_a_lease_there_is_nothing_but_what_was_read) {
  Wishes wishes = reader(100);
  wishes.read(110, wish(pin, "a", "3"));
  EXPECT_TRUE(wishes.uncertain());
  const LocalTime end = later(at_ms(0), with_drift(kLease));
  EXPECT_EQ(wishes.next_deadline(), end);
  wishes.tick(end - microseconds{1});
  EXPECT_TRUE(wishes.uncertain());
  wishes.tick(end);
  EXPECT_FALSE(wishes.uncertain());
  EXPECT_EQ(wishes.standing().pins.at("a"), ranges("3"));
  EXPECT_EQ(wishes.next_deadline(), kNever);
  // Time in which nothing was read does not count.
  Wishes cut = reader(100);
  cut.read(110, wish(pin, "a", "3"));
  cut.excuse(milliseconds{10});
  cut.tick(end);
  EXPECT_TRUE(cut.uncertain());
  cut.tick(end + milliseconds{10});
  EXPECT_FALSE(cut.uncertain());
}

TEST(Wishes, a_list_never_undoes_a_newer_wish) {
  Wishes wishes = reader(0);
  wishes.read(10, wish(cordon, "a"));
  wishes.read(20, wish(uncordon, "a"));
  wishes.read(21, wish(cordon, "b"));
  wishes.read_list(22, list(15, after({wish(cordon, "a")})));
  EXPECT_EQ(wishes.standing().cordoned, std::set<std::string>{"b"});
  // Nor one that was written before another that was read.
  wishes.read_list(30, list(29, after({wish(cordon, "b")})));
  wishes.read_list(31, list(15, after({wish(cordon, "a")})));
  EXPECT_EQ(wishes.standing().cordoned, std::set<std::string>{"b"});
  EXPECT_EQ(wishes.listed_upto(), 29);
}

TEST(Wishes, a_list_that_speaks_for_what_is_not_there_says_nothing) {
  Wishes wishes = reader(0);
  wishes.read(10, wish(cordon, "a"));
  wishes.read_list(11, list(12, {}));
  EXPECT_EQ(wishes.listed_upto(), -1);
  EXPECT_TRUE(wishes.standing().cordoned.contains("a"));
}

// Whoever missed a part of the log agrees with the others after the next list.
TEST(Wishes, a_list_corrects_who_believes_something_else) {
  Wishes wishes = reader(0);
  wishes.read(10, wish(cordon, "a"));
  const std::uint64_t before = wishes.version();
  wishes.read_list(20, list(20, after({wish(cordon, "b")})));
  EXPECT_EQ(wishes.standing().cordoned, std::set<std::string>{"b"});
  EXPECT_NE(wishes.version(), before);
}

TEST(Wishes, a_list_counts_once_it_speaks_for_all_that_was_left_out) {
  Wishes wishes(kLease);
  wishes.tail_started({Log{0}, 7, 90, Below::unread}, at_ms(0));
  wishes.read_list(91, list(89, after({wish(cordon, "a")})));
  EXPECT_FALSE(wishes.known());
  wishes.read_list(92, list(90, after({wish(cordon, "b")})));
  EXPECT_TRUE(wishes.known());
  EXPECT_EQ(wishes.standing().cordoned, std::set<std::string>{"b"});
}

TEST(Wishes, after_a_gap_what_was_known_stays_until_a_list_says_more) {
  Wishes wishes = reader(0);
  wishes.read(10, wish(cordon, "a"));
  wishes.tail_started(tail_at(Log{0}, 50, 50), at_ms(10));
  EXPECT_TRUE(wishes.uncertain());
  EXPECT_TRUE(wishes.standing().cordoned.contains("a"));
  wishes.read_list(60, list(55, {}));
  EXPECT_FALSE(wishes.uncertain());
  EXPECT_EQ(wishes.standing(), StandingWishes{});
  // Another log has wishes of its own, and lists of its own.
  wishes.read(61, wish(cordon, "a"));
  wishes.tail_started(tail_at(Log{0}, 0, 0), at_ms(20));
  EXPECT_EQ(wishes.standing(), StandingWishes{});
  EXPECT_EQ(wishes.listed_upto(), -1);
  wishes.read(4, wish(cordon, "b"));
  EXPECT_TRUE(wishes.unlisted());
  wishes.read_list(6, list(5, after({wish(cordon, "b")})));
  EXPECT_EQ(wishes.listed_upto(), 5);
  EXPECT_EQ(wishes.standing(), after({wish(cordon, "b")}));
  EXPECT_FALSE(wishes.unlisted());
}

TEST(Wishes, one_is_listed_when_a_list_reaches_beyond_it) {
  Wishes wishes = reader(0);
  EXPECT_FALSE(wishes.unlisted());
  wishes.read(10, wish(cordon, "a"));
  EXPECT_TRUE(wishes.unlisted());
  wishes.read_list(11, list(10, {}));
  EXPECT_TRUE(wishes.unlisted());
  EXPECT_TRUE(wishes.standing().cordoned.contains("a"));
  wishes.read_list(12, list(11, after({wish(cordon, "a")})));
  EXPECT_FALSE(wishes.unlisted());
}

// Memory is bounded, and what is forgotten is forgotten in order.
TEST(Wishes, very_many_of_them_between_two_lists_count_all_the_same) {
  Wishes wishes = reader(0);
  for (int i = 0; i < 10'000; ++i) {
    wishes.read(i,
                wish(weight, "n" + std::to_string(i % 7), "", static_cast<std::uint32_t>(i % 11)));
  }
  const StandingWishes all = wishes.standing();
  EXPECT_EQ(all.weights.size(), 7u);
  wishes.read_list(10'001, list(9'990, all));
  EXPECT_EQ(wishes.standing(), all);
  wishes.read_list(10'002, list(100, {}));
  EXPECT_EQ(wishes.standing(), all) << "too old to apply the later ones to it";
}

TEST(Wishes, of_a_name_override_what_a_member_says) {
  Member member;
  member.process.name = "a";
  member.fields.weight = 2;
  EXPECT_EQ(wished_weight(member, {}), 2u);
  EXPECT_EQ(wished_weight(member, after({wish(weight, "b", "", 9), wish(cordon, "b")})), 2u);
  EXPECT_EQ(wished_weight(member, after({wish(weight, "a", "", 9)})), 9u);
  EXPECT_EQ(wished_weight(member, after({wish(weight, "a", "", 9), wish(cordon, "a")})), 0u);
  member.fields.cordoned = true;
  EXPECT_EQ(wished_weight(member, after({wish(weight, "a", "", 9), wish(uncordon, "a")})), 0u)
      << "its own cordon stays";
}

// A process of another mode hears no member of its lane, and so learns of no seat. Before its
// settings are refused it may take the seat, and must repeat what is wished (found by the
// simulator).
TEST(KnownLaneWishes, lists_count_by_the_newest_seat_while_none_is_known) {
  KnownLane lane({Lane{}, ProcessId{9}, told::kInterval, kLease});
  lane.tail_started(tail_at(Log{0}, 10, 20), at_ms(0));
  std::int64_t offset = 20;
  const auto read = [&](std::int64_t seat, const std::string& cordoned) {
    AssignmentRecord record = list(offset, after({wish(cordon, cordoned)}));
    record.id = ProcessId{1};
    record.seat = {1, seat};
    const Received event{Log{0}, offset++, BrokerTime{milliseconds{1}}, true, nullptr};
    EXPECT_EQ(lane.read(event, record, false, at_ms(1)), Assigned::told);
    return *lane.wishes.standing().cordoned.begin();
  };
  EXPECT_EQ(read(5, "a"), "a");
  EXPECT_FALSE(lane.wishes.known()) << "its writer may have lost the seat";
  EXPECT_EQ(read(4, "b"), "a") << "an older seat";
  EXPECT_EQ(read(5, "c"), "c");
  EXPECT_EQ(read(6, "d"), "d");
  lane.seat.claimed(ProcessId{1}, {1, 3}, lane.members);
  EXPECT_EQ(read(7, "e"), "d") << "not the seat that is known";
  EXPECT_EQ(read(3, "f"), "f");
  EXPECT_TRUE(lane.wishes.known());
  lane.tail_started(tail_at(Log{0}, offset, offset), at_ms(2));
  EXPECT_EQ(read(1, "g"), "g") << "the topic may have been made again";
}

}  // namespace
}  // namespace neliroute
