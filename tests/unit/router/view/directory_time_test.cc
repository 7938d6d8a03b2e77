// What becomes of what a directory knows as the log's time passes: T* falls, and epochs that nobody
// can lead by are forgotten.
#include <gtest/gtest.h>

#include "router/view/directory.h"
#include "tests/world/memory_log.h"
#include "tests/unit/router/view/records.h"

namespace neliroute {
namespace {

using namespace testing_records;
using namespace std::chrono_literals;

// One partition, one log, whose broker's clock goes with the reader's.
struct Timed {
  explicit Timed(Mode mode = Mode::non_exclusive)
      : directory({1, 1, Lane{0}, mode, kLease}) {
    directory.on(tail_at(kLog, 0, 0), now);
  }
  void read(const Record& record) {
    const Decoded value = record;
    directory.tick(now);
    directory.on(Received{kLog, offset++, broker, true, &value}, now);
  }
  // The log's leader answers all the while.
  void wait(milliseconds time) {
    for (; time > 0ms; time -= 50ms) {
      now += std::min(time, 50ms);
      broker += std::min(time, 50ms);
      directory.tick(now);
      directory.on(LogPosition{kLog, offset}, now);
    }
  }
  // The tail starts again at once, behind all that was read.
  void gap(GapReason reason) {
    directory.on(GapFound{kLog, reason}, now);
    directory.on(tail_at(kLog, offset, offset), now);
  }
  [[nodiscard]] std::string owner() const {
    const Hint& hint = directory.hint(kZero);
    return hint.owner ? hint.owner->info.name : "";
  }

  LocalTime now = at_ms(10'000);
  BrokerTime broker{milliseconds{kInc + 10'000}};
  std::int64_t offset = 0;
  Directory directory;
};

// As the record of a process that claimed at `inc`.
Record claims(const Writer& writer, std::int64_t incarnation) {
  Record record = writer.claim("0");
  record.incarnation = incarnation;
  return record;
}

Record leads(const Writer& writer, std::int64_t incarnation, std::int64_t claim) {
  Record record = writer.leads(claim, "0");
  record.incarnation = incarnation;
  return record;
}

TEST(DirectoryTime, waits_for_a_long_lease_that_was_told_once_no_longer_than_for_its_end) {
  Timed timed;
  timed.read(Writer{9, "long", Mode::non_exclusive, 5s}.claim("0"));
  const LocalTime started = at_ms(10'000);
  EXPECT_EQ(timed.directory.history_until(kLog), started + 5s);
  timed.wait(5s);
  timed.read(kB.claim("0"));
  EXPECT_EQ(timed.directory.history_until(kLog), started + 5s);
  timed.wait(50ms);
  timed.read(kB.claim("0"));
  EXPECT_EQ(timed.directory.history_until(kLog), started + kLease);
}

// The former log's epochs may be greater than any that is claimed in this one.
TEST(DirectoryTime, a_tail_that_starts_again_in_a_shorter_log_reads_another_one) {
  for (const bool elsewhere : {true, false}) {
    Timed timed;
    timed.read(claims(kB, kInc + 50'000));
    timed.read(leads(kB, kInc + 50'000, 0));
    ASSERT_EQ(timed.owner(), "p2");
    const std::int64_t start = elsewhere ? 0 : timed.offset;
    timed.directory.on(tail_at(kLog, start, start), timed.now);
    timed.offset = start;
    EXPECT_EQ(timed.owner(), elsewhere ? "" : "p2");
    const Writer other{3};
    timed.read(claims(other, kInc + 20'000));
    for (int step = 0; step < 60; ++step) {
      timed.read(leads(other, kInc + 20'000, start));
      timed.wait(100ms);
    }
    EXPECT_EQ(timed.owner(), elsewhere ? "p3" : "");
  }
}

// An old owner's renewal may be stored long after its epoch was over.
TEST(DirectoryTime, a_tail_that_starts_again_further_back_forgets_no_epoch) {
  Timed timed;
  timed.read(claims(kB, kInc + 50'000));
  timed.read(leads(kB, kInc + 50'000, 0));
  timed.directory.on(tail_at(kLog, 0, timed.offset), timed.now);
  EXPECT_EQ(timed.owner(), "p2");
  timed.wait(3 * kLease);
  EXPECT_EQ(timed.owner(), "") << "it has not renewed";
  timed.read(leads(Writer{3}, kInc + 20'000, 1));
  EXPECT_EQ(timed.owner(), "");
  timed.read(leads(kB, kInc + 50'000, 0));
  EXPECT_EQ(timed.owner(), "p2");
}

TEST(DirectoryTime, after_a_gap_a_long_lease_that_was_known_counts_until_its_end_is_read_again) {
  Timed timed;
  timed.read(Writer{9, "long", Mode::non_exclusive, 5s}.claim("0"));
  timed.wait(4s);
  timed.directory.on(GapFound{kLog, GapReason::changed}, timed.now);
  timed.directory.on(tail_at(kLog, timed.offset, timed.offset), timed.now);
  timed.wait(2s);
  timed.read(kB.claim("0"));
  EXPECT_EQ(timed.directory.history_until(kLog), at_ms(14'000) + 5s);
  timed.wait(3050ms);
  timed.read(kB.claim("0"));
  timed.wait(3050ms);
  timed.read(kB.claim("0"));
  EXPECT_EQ(timed.directory.history_until(kLog), at_ms(14'000) + kLease);
}

TEST(DirectoryTime, who_leads_again_after_a_release_is_believed_for_as_long_as_it_renews) {
  Timed timed;
  timed.read(leads(Writer{1}, kInc, 0));
  timed.read(Writer{1}.release(0, "0"));
  EXPECT_EQ(timed.owner(), "");
  timed.read(Writer{1}.claim("0"));
  for (int renewals = 0; renewals < 3; ++renewals) {
    timed.read(leads(Writer{1}, kInc + 10'000, 2));
    timed.wait(kLease - 50ms);
    EXPECT_EQ(timed.owner(), "p1");
  }
}

// A producer may store a record a second time, or only after a newer one.
TEST(DirectoryTime, an_older_renewal_that_is_read_behind_a_newer_one_loses_no_owner) {
  Timed timed;
  Record in_grace = Writer{1}.looks(0, "0");
  in_grace.seq = 7;
  Record owner = leads(Writer{1}, kInc, 0);
  owner.seq = 8;
  timed.read(owner);
  timed.read(in_grace);
  EXPECT_EQ(timed.owner(), "p1");
  Record of_another = kB.looks(0, "0");
  of_another.seq = 7;
  timed.read(of_another);
  EXPECT_EQ(timed.owner(), "") << "its numbers are its own";
  timed.read(owner);
  in_grace.seq = 9;
  timed.read(in_grace);
  EXPECT_EQ(timed.owner(), "") << "its lease lapsed since";
}

// Only until the owner renews: a great number that was forged does not last.
TEST(DirectoryTime, who_leads_by_an_older_renewal_is_believed_as_that_says) {
  Timed timed;
  Record forged = leads(Writer{1}, kInc, 0);
  forged.seq = UINT64_MAX;
  timed.read(forged);
  Record owner = leads(Writer{1}, kInc, 0);
  owner.seq = 8;
  timed.read(owner);
  Record lapsed = Writer{1}.looks(0, "0");
  lapsed.seq = 9;
  timed.read(lapsed);
  EXPECT_EQ(timed.owner(), "");
}

// Nothing could ever outrank it.
TEST(DirectoryTime, an_incarnation_a_lifetime_ahead_is_not_believed) {
  Timed timed;
  timed.read(leads(kB, kIncarnationMax, 0));
  EXPECT_EQ(timed.owner(), "");
  timed.read(leads(Writer{1}, kInc, 0));
  EXPECT_EQ(timed.owner(), "p1");
}

// The log lost the claim, which its owner has never read.
TEST(DirectoryTime, a_claim_that_was_read_before_a_gap_keeps_nobody_out_behind_it) {
  Timed timed(Mode::exclusive);
  const Record owner = leads(Writer{1, "p1", Mode::exclusive}, kInc, 0);
  timed.read(owner);
  timed.read(kExclusiveB.claim("0"));
  EXPECT_EQ(timed.owner(), "");
  timed.gap(GapReason::truncated);
  timed.read(owner);
  EXPECT_EQ(timed.owner(), "p1");
}

// Found by the simulator (assigner, non-exclusive, seed 810003398): a log whose replica in sync
// fetches nothing answers, and shows what was written long before.
TEST(DirectoryTime, answers_without_records_make_nothing_forgotten) {
  Timed timed;
  timed.read(leads(Writer{1}, kInc, 16));
  timed.gap(GapReason::restarted);
  timed.wait(10 * kLease);
  timed.read(leads(Writer{3}, kInc, 12));
  EXPECT_EQ(timed.owner(), "");
}

TEST(DirectoryTime, a_silence_of_more_than_half_a_lease_makes_nothing_forgotten) {
  Timed timed;
  timed.read(leads(Writer{1}, kInc, 16));
  timed.gap(GapReason::restarted);
  timed.wait(kLease);
  timed.now += kLease * 6 / 10;
  timed.read(leads(Writer{3}, kInc, 12));
  EXPECT_EQ(timed.owner(), "");
}

// The topic's records expired while nobody led, and the broker's clock stepped back: who starts
// then knows nothing of a greater epoch, and a watcher that has read on since does.
class Outgrown : public testing::TestWithParam<Mode> {
 protected:
  Outgrown() {
    timed.read(leads(Writer{1, "p1", GetParam()}, kLater, -1));
    EXPECT_EQ(timed.owner(), "p1");
    timed.broker = BrokerTime{milliseconds{kInc}};
  }
  void goes_on() {
    const std::int64_t incarnation = timed.broker.time_since_epoch().count();
    timed.read(claims(newcomer, incarnation));
    timed.read(leads(newcomer, incarnation, timed.offset - 1));
  }
  static constexpr std::int64_t kLater = kInc + 9'000;
  const Writer newcomer{2, "p2", GetParam()};
  Timed timed{GetParam()};
};

TEST_P(Outgrown, epochs_are_forgotten_once_nobody_can_lead_by_them) {
  timed.wait(kLease + kLease * 3 / 2);
  EXPECT_EQ(timed.owner(), "");
  goes_on();
  EXPECT_EQ(timed.owner(), "p2");
}

TEST_P(Outgrown, epochs_hold_until_then) {
  timed.wait(kLease + kLease * 3 / 2 - 50ms);
  goes_on();
  EXPECT_EQ(timed.owner(), "");
}

TEST_P(Outgrown, epochs_hold_after_a_silence) {
  timed.wait(kLease + kLease * 3 / 2 - 50ms);
  timed.now += 10s;
  goes_on();
  EXPECT_EQ(timed.owner(), "") << "it may have been written long ago";
}

// A process that was stopped may still send what it had written before.
TEST_P(Outgrown, a_renewal_alone_makes_nothing_forgotten) {
  timed.wait(10 * kLease);
  timed.read(leads(newcomer, kInc, 0));
  EXPECT_EQ(timed.owner(), "");
}

// A claim whose writer never led outranks newcomers no longer than an owner's.
TEST_P(Outgrown, a_claim_is_forgotten_too_once_nobody_can_lead_by_it) {
  for (const std::int64_t led : {kInc, kLater}) {
    timed = Timed{GetParam()};
    timed.read(leads(Writer{1, "p1", GetParam()}, led, -1));
    timed.read(claims(Writer{3, "p3", GetParam()}, kLater));
    timed.broker = BrokerTime{milliseconds{kInc}};
    timed.wait(kLease + kLease * 3 / 2);
    EXPECT_EQ(timed.owner(), "");
    goes_on();
    EXPECT_EQ(timed.owner(), "p2");
    EXPECT_EQ(timed.directory.hint(kZero).next, nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(DirectoryTime, Outgrown,
                         testing::Values(Mode::non_exclusive, Mode::exclusive),
                         [](const auto& mode) { return std::string(to_string(mode.param)) ==
                                                               "exclusive" ? "exclusive"
                                                                           : "non_exclusive"; });

}  // namespace
}  // namespace neliroute
