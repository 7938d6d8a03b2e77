// The auditor on forged logs of each kind: what broke a rule for certain, what merely may have, and
// what is allowed.
#include "neli_core/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "neli_core/options.h"

namespace neliroute {
namespace {

constexpr std::int64_t kInc = 1'000;
constexpr std::int64_t kBase = 1'700'000'000'000;

PartitionRanges ranges(const std::string& text) {
  return text.empty() ? PartitionRanges{} : PartitionRanges::parse(text).value();
}

/// One process that writes, honest or not.
struct Forger {
  std::uint64_t id = 1;
  Mode mode = Mode::exclusive;
  milliseconds lease{1000};
  std::uint32_t logs = 1;
  std::uint32_t partitions = 2;
  Lane lane{};
  std::uint64_t seq = 0;
  std::int64_t inc = kInc;

  Record header(RecordType type) {
    Record record;
    record.type = type;
    record.lane = lane;
    record.id = ProcessId{id};
    record.seq = ++seq;
    record.inc = inc;
    record.lease = record.max_lease = lease;
    record.process.name = "p" + std::to_string(id);
    record.settings =
        Settings{"g", 16, partitions, logs, "xxh3", std::string(to_string(mode))};
    return record;
  }
  Record claim(const std::string& parts) {
    Record record = header(RecordType::claim);
    record.parts = ranges(parts);
    return record;
  }
  Record renewal(std::int64_t epoch, const std::string& parts, const std::string& leading,
                 const std::string& draining = "") {
    Record record = header(RecordType::renewal);
    record.epochs = {{epoch, ranges(parts)}};
    record.leading = ranges(leading);
    record.draining = ranges(draining);
    return record;
  }
  Record leads(std::int64_t epoch, const std::string& parts) {
    return renewal(epoch, parts, parts);
  }
  Record drains(std::int64_t epoch, const std::string& parts) {
    return renewal(epoch, parts, "", parts);
  }
  Record looks(std::int64_t epoch, const std::string& parts) { return renewal(epoch, parts, ""); }
  Record release(std::int64_t epoch, const std::string& parts) {
    Record record = header(RecordType::release);
    record.epochs = {{epoch, ranges(parts)}};
    return record;
  }
};

/// A log that is written, and audited at once.
class AuditTest : public testing::Test {
 protected:
  /// At this many milliseconds; its offset.
  std::int64_t at(std::int64_t ms, const Record& record) { return at(ms, Decoded{record}); }
  std::int64_t at(std::int64_t ms, const Decoded& value) {
    auditor_.on({log_, next_, BrokerTime{milliseconds{kBase + ms}}, broker_time_, &value});
    return next_++;
  }
  /// Renewals of these partitions every 100 ms, the first at `from`, the last before `to`.
  void lead(Forger& who, std::int64_t epoch, const std::string& parts, std::int64_t from,
            std::int64_t to) {
    for (std::int64_t ms = from; ms < to; ms += 100) at(ms, who.leads(epoch, parts));
  }
  std::vector<FindingKind> certain() const { return kinds(true); }
  std::vector<FindingKind> notes() const { return kinds(false); }
  std::vector<FindingKind> kinds(bool certain) const {
    std::vector<FindingKind> kinds;
    for (const Finding& finding : found_) {
      if (finding.certain == certain) kinds.push_back(finding.kind);
    }
    return kinds;
  }
  const Finding& only() const {
    EXPECT_EQ(found_.size(), 1U);
    return found_.front();
  }
  std::vector<std::int64_t> offsets(const Finding& finding) const {
    std::vector<std::int64_t> offsets;
    for (const Evidence& one : finding.evidence) offsets.push_back(one.offset);
    return offsets;
  }

  Forger a_{1};
  Forger b_{2};
  Log log_{0};
  std::int64_t next_ = 0;
  bool broker_time_ = true;
  std::vector<Finding> found_;
  Auditor auditor_{AuditOptions{Lane{0}, milliseconds{100}},
                   [this](const Finding& finding) { found_.push_back(finding); }};
};

using testing::ElementsAre;
using testing::IsEmpty;

// --- Exclusive mode -------------------------------------------------------------------------------

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

// --- Epochs ---------------------------------------------------------------------------------------

TEST_F(AuditTest, a_smaller_epoch_behind_a_greater_one_fell) {
  const auto e = at(0, a_.claim("0"));
  const auto g = at(1, a_.leads(e, "0"));
  at(2, a_.release(e, "0"));
  b_.inc = kInc - 1;
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
  b_.inc = kInc - 1;
  const auto f = at(3, b_.claim("0"));
  at(4, b_.looks(f, "0"));
  at(5, b_.release(f, "0"));
  b_.inc = kInc + 1;
  const auto h = at(6, b_.claim("0"));
  at(7, b_.leads(h, "0"));
  EXPECT_THAT(found_, IsEmpty());
}

TEST_F(AuditTest, inc_zero_is_the_claims_own_time) {
  a_.inc = 0;
  const auto e = at(0, a_.claim("0"));
  a_.inc = kBase;
  at(1, a_.leads(e, "0"));
  at(2, a_.release(e, "0"));
  EXPECT_THAT(found_, IsEmpty());
  b_.inc = 5;
  const auto f = at(3, b_.claim("0"));
  at(4, b_.leads(f, "0"));
  EXPECT_THAT(certain(), ElementsAre(FindingKind::epoch_fell));
}

TEST_F(AuditTest, an_epoch_from_a_former_topic_counts_among_those_that_must_not_fall) {
  Forger former{3};
  former.inc = kInc + 1;
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

// --- Gaps -----------------------------------------------------------------------------------------

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

// --- What is not known ----------------------------------------------------------------------------

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

TEST_F(AuditTest, a_partition_of_another_log_is_not_this_logs_business) {
  a_.logs = b_.logs = 2;
  const auto e = at(0, a_.claim("0-1"));
  at(1, a_.leads(e, "0-1"));
  const auto f = at(2, b_.claim("1"));
  at(3, b_.leads(f, "1"));
  EXPECT_THAT(found_, IsEmpty());
  EXPECT_EQ(auditor_.totals().ownerships, 1U);
}

TEST_F(AuditTest, what_another_version_says_of_its_state_is_not_read) {
  const auto e = at(0, a_.claim("0"));
  at(1, a_.leads(e, "0"));
  const auto f = at(2, b_.claim("0"));
  Record newer = b_.leads(f, "0");
  newer.version = 2;
  at(3, newer);
  EXPECT_THAT(found_, IsEmpty());
}

}  // namespace
}  // namespace neliroute
