// The auditor on forged logs of each kind: what broke a rule for certain, what merely may have, and
// what is allowed.
#include "tests/unit/neli_core/claimed/forged_log.h"

namespace neliroute::forged {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// --- Exclusive mode ------------------------------------------------------------------------------

TEST_F(AuditTest, a_hand_over_by_release_is_allowed) {
  const auto e = at(0, a_.claim("0-1"));
  lead(a_, e, "0-1", 100, 3000);
  const auto f = at(3000, b_.claim("0-1"));
  at(3001, a_.leads(e, "0-1"));  // it was under way
  at(3002, a_.release(e, "0-1"));
  lead(b_, f, "0-1", 3003, 6000);
  auditor_.finish();
  EXPECT_THAT(found_, IsEmpty());
  EXPECT_EQ(auditor_.totals().ownerships, 4U);
  EXPECT_EQ(auditor_.totals().processes.size(), 2U);
  EXPECT_EQ(auditor_.totals().gaps, 0U);
}

TEST_F(AuditTest, a_hand_over_after_the_lease_is_allowed) {
  const auto e = at(0, a_.claim("0"));
  lead(a_, e, "0", 100, 1000);  // the last at 900, so until 1900
  const auto f = at(1500, b_.claim("0"));
  at(1600, b_.looks(f, "0"));
  at(1900, b_.leads(f, "0"));
  EXPECT_THAT(found_, IsEmpty());
}

TEST_F(AuditTest, who_leads_within_the_older_lease_is_early) {
  const auto e = at(0, a_.claim("0-1"));
  lead(a_, e, "0-1", 100, 1000);
  const auto f = at(1000, b_.claim("0-1"));
  const auto r = at(1100, b_.leads(f, "0-1"));
  const Finding& finding = only();
  EXPECT_EQ(finding.kind, FindingKind::early_leader);
  EXPECT_TRUE(finding.certain);
  EXPECT_EQ(finding.partitions.to_string(), "0-1");
  EXPECT_EQ(offsets(finding), (std::vector<std::int64_t>{f - 1, r}));
  EXPECT_EQ(finding.evidence[0].says, Says::leads);
  EXPECT_EQ(finding.evidence[0].id, ProcessId{1});
  EXPECT_EQ(finding.evidence[1].name, "p2");
  EXPECT_EQ(finding.evidence[1].epoch, (Epoch{kInc, f}));
  // Until 1900, less 1100, the clock error, a millisecond and 0.1 % of the lease.
  EXPECT_EQ(finding.at_least, milliseconds{698});
}

TEST_F(AuditTest, what_clocks_may_explain_is_not_early) {
  for (const std::int64_t ms : {1797, 1798}) {  // 1900 - 100 - 1 - 1
    found_.clear();
    Auditor auditor({Lane{0}, milliseconds{100}},
                    [this](const Finding& finding) { found_.push_back(finding); });
    Forger a{1};
    Forger b{2};
    const auto feed = [&](std::int64_t offset, std::int64_t when, const Record& record) {
      const Decoded value = record;
      auditor.on({log_, offset, BrokerTime{milliseconds{kBase + when}}, true, &value});
    };
    feed(0, 0, a.claim("0"));
    feed(1, 900, a.leads(0, "0"));
    feed(2, 1000, b.claim("0"));
    feed(3, ms, b.leads(2, "0"));
    EXPECT_EQ(found_.size(), ms == 1797 ? 1U : 0U) << ms;
  }
}

TEST_F(AuditTest, a_claim_alone_is_waited_for) {
  at(0, a_.claim("0"));
  const auto f = at(100, b_.claim("0"));
  at(200, b_.leads(f, "0"));
  EXPECT_THAT(certain(), ElementsAre(FindingKind::early_leader));
}

TEST_F(AuditTest, a_claim_that_cannot_be_read_is_waited_for) {
  const auto e = at(0, a_.claim("0-1"));
  at(100, a_.leads(e, "0-1"));
  at(200, decode_record(R"({"t":"claim","lane":0})"));
  at(201, a_.release(e, "0-1"));
  const auto f = at(300, a_.claim("0-1"));
  at(900, a_.leads(f, "0-1"));
  EXPECT_THAT(certain(), ElementsAre(FindingKind::early_leader));
  EXPECT_EQ(found_[0].evidence[0].id, kNobody);
}

TEST_F(AuditTest, only_the_epochs_own_id_releases_it) {
  const auto e = at(0, a_.claim("0"));
  at(100, a_.leads(e, "0"));
  const auto f = at(200, b_.claim("0"));
  at(201, b_.release(e, "0"));
  at(300, b_.leads(f, "0"));
  EXPECT_THAT(certain(), ElementsAre(FindingKind::early_leader));
}

TEST_F(AuditTest, renewals_behind_a_newer_claim_are_not_waited_for) {
  const auto e = at(0, a_.claim("0"));
  at(100, a_.leads(e, "0"));
  const auto f = at(1000, b_.claim("0"));
  at(1050, a_.leads(e, "0"));  // extends nothing
  at(1150, b_.leads(f, "0"));
  EXPECT_THAT(certain(), IsEmpty());
}

TEST_F(AuditTest, in_non_exclusive_mode_nobody_waits) {
  a_.mode = b_.mode = Mode::non_exclusive;
  const auto e = at(0, a_.claim("0"));
  lead(a_, e, "0", 100, 1000);
  const auto f = at(1000, b_.claim("0"));
  at(1010, a_.drains(e, "0"));
  at(1100, b_.leads(f, "0"));
  at(1110, a_.release(e, "0"));
  EXPECT_THAT(found_, IsEmpty());
}

TEST_F(AuditTest, who_leads_on_for_long_while_its_successor_leads_overlaps) {
  const auto e = at(0, a_.claim("0"));
  lead(a_, e, "0", 100, 1000);
  const auto f = at(1000, b_.claim("0"));
  for (std::int64_t ms = 2000; ms < 4000; ms += 100) {
    at(ms, a_.leads(e, "0"));
    at(ms + 1, b_.leads(f, "0"));
  }
  EXPECT_THAT(certain(), ElementsAre(FindingKind::overstay, FindingKind::overlap));
  EXPECT_EQ(found_.front().certain, false) << "at first it may have been under way";
  EXPECT_EQ(found_.back().evidence.size(), 3U);
  EXPECT_EQ(found_.back().evidence[1].id, ProcessId{2});
  // B led at 2001 at the latest; the sixth renewal before A's must be 102 ms younger than that.
  EXPECT_EQ(found_.back().evidence[2].stamped, BrokerTime{milliseconds{kBase + 2800}});
}

TEST_F(AuditTest, who_has_read_the_claim_that_ended_it_and_leads_on_overlaps_whatever_the_time) {
  const auto e = at(0, a_.claim("0"));
  at(1, a_.leads(e, "0"));
  const auto f = at(2, b_.claim("0"));
  at(1500, b_.leads(f, "0"));
  const auto own = at(1500, a_.claim("1"));
  Record both = a_.leads(e, "0-1");
  both.epochs = {{e, ranges("0")}, {own, ranges("1")}};
  const auto r = at(1501, both);
  ASSERT_THAT(certain(), ElementsAre(FindingKind::overlap));
  EXPECT_EQ(found_.back().evidence.back().offset, r);
  EXPECT_EQ(found_.back().partitions.to_string(), "0");
}

TEST_F(AuditTest, who_has_read_the_claim_that_ended_it_overstays_if_nobody_leads) {
  const auto e = at(0, a_.claim("0"));
  at(1, a_.leads(e, "0"));
  at(2, b_.claim("0"));
  const auto own = at(3, a_.claim("1"));
  Record both = a_.leads(e, "0-1");
  both.epochs = {{e, ranges("0")}, {own, ranges("1")}};
  at(4, both);
  EXPECT_THAT(certain(), ElementsAre(FindingKind::overstay));
}

TEST_F(AuditTest, who_leads_when_its_lease_must_be_over_overstays) {
  const auto e = at(0, a_.claim("0"));
  lead(a_, e, "0", 100, 1000);
  at(1000, b_.claim("0"));
  lead(a_, e, "0", 1000, 3000);  // over at 1900; six before 2700 is 2100
  ASSERT_THAT(certain(), ElementsAre(FindingKind::overstay));
  EXPECT_EQ(found_.back().evidence.back().stamped, BrokerTime{milliseconds{kBase + 2700}});
  EXPECT_EQ(found_.back().at_least, milliseconds{2100 - 1900 - 102});
}

TEST_F(AuditTest, what_was_long_under_way_does_not_overstay) {
  const auto e = at(0, a_.claim("0"));
  lead(a_, e, "0", 100, 1000);
  const auto f = at(1000, b_.claim("0"));
  at(2000, b_.leads(f, "0"));
  for (int i = 0; i < 6; ++i) at(9000, a_.leads(e, "0"));
  EXPECT_THAT(certain(), IsEmpty());
  EXPECT_THAT(notes(), ElementsAre(FindingKind::overlap));
}

TEST_F(AuditTest, a_repeated_record_says_nothing_new) {
  const auto e = at(0, a_.claim("0"));
  const Record said = a_.leads(e, "0");
  at(100, said);
  const auto f = at(200, b_.claim("0"));
  at(1200, b_.leads(f, "0"));
  for (std::int64_t ms = 1300; ms < 3000; ms += 100) at(ms, said);
  EXPECT_THAT(found_, IsEmpty());
}

// --- Epochs --------------------------------------------------------------------------------------

TEST_F(AuditTest, a_smaller_epoch_behind_a_greater_one_fell) {
  const auto e = at(0, a_.claim("0"));
  const auto g = at(1, a_.leads(e, "0"));
  at(2, a_.release(e, "0"));
  b_.incarnation = kInc - 1;
  const auto f = at(3, b_.claim("0"));
  const auto r = at(4, b_.leads(f, "0"));
  const Finding& finding = only();
  EXPECT_EQ(finding.kind, FindingKind::epoch_fell);
  EXPECT_EQ(offsets(finding), (std::vector<std::int64_t>{g, r}));
}

TEST_F(AuditTest, a_smaller_epoch_that_is_not_led_did_not_fall) {
  const auto e = at(0, a_.claim("0"));
  at(1, a_.leads(e, "0"));
  at(2, a_.release(e, "0"));
  b_.incarnation = kInc - 1;
  const auto f = at(3, b_.claim("0"));
  at(4, b_.looks(f, "0"));
  at(5, b_.release(f, "0"));
  b_.incarnation = kInc + 1;
  const auto h = at(6, b_.claim("0"));
  at(7, b_.leads(h, "0"));
  EXPECT_THAT(found_, IsEmpty());
}

TEST_F(AuditTest, a_claims_own_time_is_the_least_incarnation_of_its_epoch) {
  for (const std::int64_t said : {std::int64_t{0}, std::int64_t{5}}) {
    a_.incarnation = said;
    const std::int64_t ms = next_;
    const auto e = at(ms, a_.claim("0"));
    a_.incarnation = kBase + ms;
    at(ms + 1, a_.leads(e, "0"));
    at(ms + 2, a_.release(e, "0"));
  }
  EXPECT_THAT(found_, IsEmpty());
  b_.incarnation = kBase + 2;
  const auto f = at(9, b_.claim("0"));
  at(10, b_.leads(f, "0"));
  EXPECT_THAT(notes(), ElementsAre(FindingKind::false_epoch)) << "its claim's epoch is later";
}

TEST_F(AuditTest, an_epoch_from_a_former_topic_counts_among_those_that_must_not_fall) {
  Forger former{3};
  former.incarnation = kInc + 1;
  at(0, former.leads(4711, "0"));
  EXPECT_THAT(notes(), ElementsAre(FindingKind::false_epoch));
  const auto e = at(5000, a_.claim("0"));
  at(5001, a_.leads(e, "0"));
  EXPECT_THAT(certain(), ElementsAre(FindingKind::epoch_fell));
}

TEST_F(AuditTest, what_was_released_is_never_resumed) {
  const auto e = at(0, a_.claim("0"));
  at(1, a_.leads(e, "0"));
  const Record under_way = a_.leads(e, "0");
  const auto s = at(2, a_.release(e, "0"));
  at(3, under_way);
  EXPECT_THAT(found_, IsEmpty());
  const auto r = at(4, a_.looks(e, "0"));
  const Finding& finding = only();
  EXPECT_EQ(finding.kind, FindingKind::resumed);
  EXPECT_EQ(offsets(finding), (std::vector<std::int64_t>{s, r}));
}

TEST_F(AuditTest, an_epoch_of_somebody_elses_claim_is_false) {
  const auto e = at(0, a_.claim("0-1"));
  const auto led = at(1, a_.leads(e, "0-1"));
  const auto r = at(2, b_.leads(e, "0-1"));
  const Finding& finding = only();
  EXPECT_EQ(finding.kind, FindingKind::false_epoch);
  EXPECT_TRUE(finding.certain);
  EXPECT_EQ(finding.partitions.to_string(), "0-1");
  EXPECT_EQ(offsets(finding), (std::vector<std::int64_t>{led, r}));
}

// A topic that is made again may have a claim where the former one had another's.
TEST_F(AuditTest, an_epoch_of_somebody_elses_claim_that_never_led_may_be_a_former_topics) {
  const auto e = at(0, a_.claim("0"));
  const auto r = at(1, b_.leads(e, "0"));
  EXPECT_FALSE(only().certain);
  EXPECT_EQ(offsets(only()), (std::vector<std::int64_t>{e, r}));
}

TEST_F(AuditTest, an_epoch_that_nobody_claimed_is_false_for_who_knows_this_log) {
  const auto e = at(0, a_.claim("0"));
  at(1, a_.looks(e, "0"));
  at(2, a_.leads(4711, "0"));
  EXPECT_THAT(certain(), ElementsAre(FindingKind::false_epoch));
  at(3, b_.leads(4711, "0"));
  EXPECT_THAT(notes(), ElementsAre(FindingKind::false_epoch)) << "a former topic's, perhaps";
  at(4, b_.leads(4711, "0"));
  EXPECT_EQ(found_.size(), 2U) << "told once";
}

}  // namespace
}  // namespace neliroute::forged
