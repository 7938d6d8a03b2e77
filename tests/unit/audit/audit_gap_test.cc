// The auditor on gaps, and on what a log does not contain.
#include "tests/unit/neli_core/claimed/forged_log.h"

namespace neliroute::forged {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// --- Gaps ----------------------------------------------------------------------------------------

class AuditGapTest : public AuditTest {
 protected:
  AuditGapTest() { a_.mode = b_.mode = Mode::non_exclusive; }
};

TEST_F(AuditGapTest, a_lease_that_ends_while_somebody_else_lives_leaves_a_gap) {
  const auto e = at(0, a_.claim("0"));
  const auto f = at(0, b_.claim("1"));
  const auto last = at(100, a_.leads(e, "0"));
  lead(b_, f, "1", 100, 3000);
  const auto g = at(3000, b_.claim("0"));
  const Finding& finding = only();
  EXPECT_EQ(finding.kind, FindingKind::gap);
  EXPECT_TRUE(finding.certain);
  EXPECT_EQ(finding.partitions.to_string(), "0");
  EXPECT_EQ(offsets(finding), (std::vector<std::int64_t>{last, g - 1, g}));
  EXPECT_EQ(finding.at_least, milliseconds{1900 - 102});
  EXPECT_EQ(auditor_.totals().longest_gap, milliseconds{1798});
}

TEST_F(AuditGapTest, a_release_before_a_successor_claims_leaves_a_gap_however_short) {
  const auto e = at(0, a_.claim("0"));
  const auto f = at(0, b_.claim("1"));
  at(100, a_.leads(e, "0"));
  const auto s = at(101, a_.release(e, "0"));
  const auto alive = at(101, b_.leads(f, "1"));
  const auto g = at(102, b_.claim("0"));
  EXPECT_EQ(offsets(only()), (std::vector<std::int64_t>{s, alive, g}));
  EXPECT_TRUE(only().certain);
  EXPECT_EQ(only().at_least, milliseconds{0});
}

TEST_F(AuditGapTest, a_planned_move_leaves_none) {
  const auto e = at(0, a_.claim("0-1"));
  lead(a_, e, "0-1", 100, 1000);
  const auto f = at(1000, b_.claim("0"));
  at(1001, a_.renewal(e, "0-1", "1", "0"));
  at(1002, b_.leads(f, "0"));
  at(1003, a_.release(e, "0"));
  lead(a_, e, "1", 1100, 3000);
  at(3000, b_.leads(f, "0"));
  auditor_.finish();
  EXPECT_EQ(certain(), std::vector<FindingKind>{FindingKind::gap}) << "B was silent from 1002 on";
  EXPECT_EQ(found_[0].at_least, milliseconds{3000 - 2002 - 102});
}

TEST_F(AuditGapTest, a_claim_that_never_led_covers_only_its_lease) {
  const auto e = at(0, a_.claim("0"));
  const auto f = at(0, b_.claim("1"));
  at(100, a_.leads(e, "0"));
  at(150, b_.claim("0"));
  at(151, a_.release(e, "0"));
  lead(b_, f, "1", 200, 3000);
  auditor_.finish();
  ASSERT_THAT(certain(), ElementsAre(FindingKind::gap));
  EXPECT_EQ(found_[0].evidence.size(), 2U) << "open at the end";
}

TEST_F(AuditGapTest, when_all_have_gone_there_is_no_finding) {
  const auto e = at(0, a_.claim("0-1"));
  lead(a_, e, "0-1", 100, 1000);
  at(1000, a_.drains(e, "0-1"));
  at(1001, a_.release(e, "0-1"));
  auditor_.finish();
  EXPECT_THAT(found_, IsEmpty());
  const auto f = at(60'000, b_.claim("0-1"));
  at(60'001, b_.leads(f, "0-1"));
  EXPECT_THAT(certain(), IsEmpty());
  EXPECT_THAT(notes(), ElementsAre(FindingKind::gap)) << "nobody was there";
  EXPECT_EQ(found_[0].partitions.to_string(), "0-1");
}

TEST_F(AuditGapTest, a_partition_that_nobody_ever_leads_is_a_gap) {
  const auto e = at(0, a_.claim("0"));
  lead(a_, e, "0", 100, 3000);
  auditor_.finish();
  ASSERT_THAT(certain(), ElementsAre(FindingKind::gap));
  EXPECT_EQ(found_[0].partitions.to_string(), "1");
  EXPECT_EQ(found_[0].at_least, milliseconds{2900 - 1000 - 102});
}

TEST_F(AuditGapTest, who_has_not_led_yet_may_still_be_getting_there) {
  const auto e = at(0, a_.claim("0"));
  lead(a_, e, "0", 100, 1900);
  const auto f = at(1900, b_.claim("1"));
  at(1901, b_.leads(f, "1"));
  EXPECT_THAT(found_, IsEmpty());
}

TEST_F(AuditGapTest, a_lapse_and_its_end_are_a_gap) {
  const auto e = at(0, a_.claim("0"));
  const auto f = at(0, b_.claim("1"));
  at(100, a_.leads(e, "0"));
  lead(b_, f, "1", 100, 2000);
  at(2000, a_.looks(e, "0"));
  EXPECT_THAT(certain(), ElementsAre(FindingKind::gap));
}

TEST_F(AuditGapTest, in_exclusive_mode_a_gap_is_counted_only) {
  a_.mode = b_.mode = Mode::exclusive;
  const auto e = at(0, a_.claim("0"));
  const auto f = at(0, b_.claim("1"));
  at(100, a_.leads(e, "0"));
  lead(b_, f, "1", 100, 3000);
  at(3000, b_.claim("0"));
  EXPECT_THAT(found_, IsEmpty());
  EXPECT_EQ(auditor_.totals().gaps, 1U);
  EXPECT_EQ(auditor_.totals().longest_gap, milliseconds{1798});
}

// --- Served on while the log was silent ----------------------------------------------------------

class AuditStaleTest : public AuditGapTest {
 protected:
  AuditStaleTest() { a_.serve_stale = b_.serve_stale = milliseconds{900'000}; }
  /// A leads partition 0 and B 1, with their last records just before 1000.
  void begin() {
    e_ = at(0, a_.claim("0"));
    f_ = at(0, b_.claim("1"));
    for (std::int64_t ms = 100; ms < 1000; ms += 100) {
      last_ = at(ms, a_.leads(e_, "0"));
      at(ms, b_.leads(f_, "1"));
    }
  }
  std::int64_t e_ = 0;
  std::int64_t f_ = 0;
  std::int64_t last_ = 0;
};

TEST_F(AuditStaleTest, owners_that_say_so_leave_no_gap) {
  begin();
  at(60'000, b_.serves_on(f_, "1", "1"));
  const auto back = at(60'001, a_.serves_on(e_, "0", "0"));
  lead(a_, e_, "0", 60'100, 61'000);
  lead(b_, f_, "1", 60'100, 61'000);
  auditor_.finish();
  EXPECT_THAT(certain(), IsEmpty());
  ASSERT_THAT(notes(), ElementsAre(FindingKind::served_stale, FindingKind::served_stale));
  EXPECT_EQ(offsets(found_[1]), (std::vector<std::int64_t>{last_, back}));
  EXPECT_EQ(found_[1].partitions.to_string(), "0");
  EXPECT_EQ(found_[1].at_least, milliseconds{60'001 - 1900 - 102});
  EXPECT_EQ(auditor_.totals().gaps, 0U);
  EXPECT_EQ(auditor_.totals().served_stale, 2U);
  EXPECT_EQ(auditor_.totals().longest_stale, milliseconds{60'001 - 1900 - 102});
}

TEST_F(AuditStaleTest, a_record_that_was_under_way_in_the_silence_does_not_say_so_yet) {
  begin();
  at(4000, b_.leads(f_, "1"));
  at(4001, a_.leads(e_, "0"));
  auditor_.finish();
  EXPECT_THAT(certain(), IsEmpty());
  EXPECT_EQ(auditor_.totals().served_stale, 2U);
  EXPECT_EQ(auditor_.totals().gaps, 0U);
}

TEST_F(AuditStaleTest, who_led_by_its_claim_alone_served_on_as_well) {
  const auto e = at(0, a_.claim("0"));
  const auto f = at(0, b_.claim("1"));
  at(4000, b_.leads(f, "1"));
  at(4001, a_.serves_on(e, "0", "0"));
  auditor_.finish();
  EXPECT_THAT(certain(), IsEmpty());
  EXPECT_EQ(auditor_.totals().served_stale, 2U);
}

TEST_F(AuditStaleTest, a_claim_that_was_read_too_late_served_nothing) {
  const auto e = at(0, a_.claim("0"));
  lead(b_, at(0, b_.claim("1")), "1", 100, 4000);
  at(4000, a_.looks(e, "0"));
  at(4100, a_.leads(e, "0"));
  EXPECT_THAT(certain(), ElementsAre(FindingKind::gap));
  EXPECT_EQ(auditor_.totals().served_stale, 0U);
}

TEST_F(AuditStaleTest, who_was_suspended_served_nothing) {
  begin();
  lead(b_, f_, "1", 1000, 4000);
  at(4000, a_.looks(e_, "0"));
  EXPECT_THAT(certain(), ElementsAre(FindingKind::gap));
  EXPECT_EQ(auditor_.totals().served_stale, 0U);
}

TEST_F(AuditStaleTest, what_the_claim_of_a_successor_ends_is_a_gap) {
  begin();
  lead(b_, f_, "1", 1000, 4000);
  at(4000, b_.claim("0"));
  EXPECT_THAT(certain(), ElementsAre(FindingKind::gap));
}

TEST_F(AuditStaleTest, nobody_serves_on_for_longer_than_it_says) {
  a_.serve_stale = b_.serve_stale = milliseconds{2000};
  begin();
  at(10'000, b_.leads(f_, "1"));
  at(10'001, a_.leads(e_, "0"));
  EXPECT_THAT(certain(), ElementsAre(FindingKind::gap));
  EXPECT_EQ(auditor_.totals().served_stale, 0U);
}

TEST_F(AuditStaleTest, nor_in_exclusive_mode) {
  a_.mode = b_.mode = Mode::exclusive;
  begin();
  at(10'000, b_.serves_on(f_, "1", "1"));
  EXPECT_EQ(auditor_.totals().served_stale, 0U);
  EXPECT_EQ(auditor_.totals().gaps, 1U);
}

// --- What is not known ---------------------------------------------------------------------------

TEST_F(AuditTest, without_broker_time_only_order_counts) {
  broker_time_ = false;
  a_.mode = b_.mode = Mode::non_exclusive;
  const auto e = at(0, a_.claim("0"));
  const auto f = at(0, b_.claim("1"));
  at(100, a_.leads(e, "0"));
  lead(b_, f, "1", 100, 3000);
  auditor_.finish();
  EXPECT_THAT(found_, IsEmpty()) << "time tells nothing";
  EXPECT_FALSE(auditor_.totals().broker_time);
  at(3000, a_.release(e, "0"));
  at(3001, b_.leads(f, "1"));
  at(3002, b_.claim("0"));
  ASSERT_THAT(certain(), ElementsAre(FindingKind::gap)) << "the order does";
  EXPECT_EQ(found_[0].at_least, std::nullopt);
}

TEST_F(AuditTest, without_broker_time_nobody_is_early) {
  broker_time_ = false;
  const auto e = at(0, a_.claim("0"));
  at(100, a_.leads(e, "0"));
  const auto f = at(101, b_.claim("0"));
  at(102, b_.leads(f, "0"));
  EXPECT_THAT(found_, IsEmpty());
}

TEST_F(AuditTest, an_owner_from_below_the_start_is_waited_for_once_it_is_known_to_be_the_newest) {
  next_ = 1000;
  lead(a_, 7, "0-1", 0, 3000);
  const auto f = at(3000, b_.claim("0-1"));
  at(3001, b_.leads(f, "0-1"));
  EXPECT_THAT(certain(), ElementsAre(FindingKind::early_leader));
}

TEST_F(AuditTest, an_owner_from_below_the_start_may_have_been_superseded_there) {
  next_ = 1000;
  at(0, a_.leads(7, "0-1"));
  const auto f = at(1, b_.claim("0-1"));
  at(2, b_.leads(f, "0-1"));
  EXPECT_THAT(certain(), IsEmpty());
}

TEST_F(AuditTest, who_claimed_below_the_start_is_not_early) {
  next_ = 1000;
  at(0, a_.leads(7, "0"));
  at(1, b_.leads(900, "0"));
  EXPECT_THAT(certain(), IsEmpty());
}

TEST_F(AuditTest, a_hole_makes_it_forget) {
  const auto e = at(0, a_.claim("0"));
  lead(a_, e, "0", 100, 1000);
  const auto f = at(1000, b_.claim("0"));
  ++next_;  // it may have been the release
  const auto r = at(1002, b_.leads(f, "0"));
  EXPECT_THAT(certain(), IsEmpty());
  ASSERT_THAT(notes(), ElementsAre(FindingKind::hole));
  EXPECT_EQ(found_[0].evidence[0].offset, r);
}

TEST_F(AuditTest, other_settings_start_anew) {
  a_.mode = b_.mode = Mode::non_exclusive;
  const auto e = at(0, a_.claim("0-1"));
  at(1, a_.leads(e, "0-1"));
  at(2, a_.release(e, "0-1"));
  b_.partitions = 1;
  const auto f = at(60'000, b_.claim("0"));
  lead(b_, f, "0", 60'100, 63'000);
  auditor_.finish();
  EXPECT_THAT(certain(), IsEmpty()) << "partition 1 is no more";
  EXPECT_THAT(notes(), ElementsAre(FindingKind::settings));
}

TEST_F(AuditTest, other_lanes_and_garbage_are_counted_only) {
  const auto e = at(0, a_.claim("0"));
  at(1, a_.leads(e, "0"));
  b_.lane = Lane{1};
  const auto f = at(2, b_.claim("0"));
  at(3, b_.leads(f, "0"));
  at(4, Decoded{Ignored::not_json});
  EXPECT_THAT(found_, IsEmpty());
  EXPECT_EQ(auditor_.totals().records, 2U);
  EXPECT_EQ(auditor_.totals().other_lanes, 2U);
  EXPECT_EQ(auditor_.totals().ignored, 1U);
}

TEST_F(AuditTest, what_an_assigner_writes_is_counted_apart) {
  const auto e = at(0, a_.claim("0"));
  at(1, a_.leads(e, "0"));
  AssignmentRecord record;
  record.id = ProcessId{9};
  record.override = {OverrideVerb::cordon, "p9", {}, 0};
  for (const AssignmentType type :
       {AssignmentType::seat_claim, AssignmentType::assign, AssignmentType::leave,
        AssignmentType::override, AssignmentType::overrides}) {
    record.type = type;
    at(2, Decoded{record});
  }
  record.lane = Lane{1};
  at(3, Decoded{record});
  at(4, a_.leads(e, "0"));
  EXPECT_THAT(found_, IsEmpty());
  EXPECT_EQ(auditor_.totals().assignments, 5U);
  EXPECT_EQ(auditor_.totals().records, 3U);
  EXPECT_EQ(auditor_.totals().other_lanes, 1U);
  EXPECT_EQ(auditor_.totals().ignored, 0U);
}

TEST_F(AuditTest, a_partition_that_there_is_not_is_nobodys_business) {
  a_.logs = b_.logs = 2;  // of 2 partitions: this log has one
  const auto e = at(0, a_.claim("0,2"));
  at(1, a_.leads(e, "0,2"));
  const auto f = at(2, b_.claim("2"));
  at(3, b_.leads(f, "2"));
  EXPECT_THAT(found_, IsEmpty());
  EXPECT_EQ(auditor_.totals().ownerships, 1U);
}

TEST_F(AuditTest, who_holds_nothing_and_says_that_it_lives_leaves_no_trace) {
  const auto e = at(0, a_.claim("0"));
  at(1, a_.leads(e, "0"));
  Record empty = b_.looks(0, "");
  empty.epochs.clear();
  at(2, empty);
  at(500, a_.leads(e, "0"));
  EXPECT_THAT(found_, IsEmpty());
  EXPECT_EQ(auditor_.totals().ownerships, 1U);
  EXPECT_EQ(auditor_.totals().ignored, 0U);
}

TEST_F(AuditTest, partitions_are_those_of_the_log_that_is_read) {
  a_.logs = b_.logs = 2;
  a_.partitions = b_.partitions = 8;
  log_ = Log{1};
  const auto e = at(0, a_.claim("3"));
  at(1, a_.leads(e, "3"));
  const auto f = at(2, b_.claim("3"));
  at(3, b_.leads(f, "3"));  // within the lease of the first
  ASSERT_FALSE(found_.empty());
  EXPECT_EQ(found_.front().partitions.to_string(), "3");
}

TEST_F(AuditTest, what_another_version_says_of_its_state_is_not_read) {
  const auto e = at(0, a_.claim("0"));
  at(1, a_.leads(e, "0"));
  const auto f = at(2, b_.claim("0"));
  Record newer = b_.leads(f, "0");
  newer.version = kRecordVersion + 1;
  at(3, newer);
  EXPECT_THAT(found_, IsEmpty());
}

}  // namespace
}  // namespace neliroute::forged
