// What callers believe of an owner whose log is silent ("Serving on" of docs/protocol.md).
#include <gtest/gtest.h>

#include "router/view/directory.h"
#include "tests/world/memory_log.h"
#include "tests/unit/router/view/records.h"

namespace neliroute {
namespace {

using namespace testing_records;
using namespace std::chrono_literals;

// Stale for 20 s by the reader, for 30 s by the owners. T is 1 s.
DirectoryOptions options(milliseconds serve_stale = 20s) {
  DirectoryOptions made{4, 2, Lane{0}, Mode::non_exclusive, kLease};
  made.serve_stale = serve_stale;
  return made;
}

Record serving(Record record, milliseconds stale_for = 30s) {
  record.serve_stale = stale_for;
  return record;
}

/// p1 owns 0 in log 0 and 1 in log 1, p2 owns 2 in log 0.
struct SilentLogs {
  explicit SilentLogs(DirectoryOptions made = options()) : directory(std::move(made)) {
    for (std::uint32_t l = 0; l < 2; ++l) directory.on(tail_at(Log{l}, 0, 10), now);
    read(1, serving(kA.leads(10, "1")));
    read(0, serving(kB.leads(11, "2")));
    read(0, serving(kA.leads(10, "0")));
    static_cast<void>(directory.take_changed());
  }
  void read(std::uint32_t log, const Record& record) {
    const Decoded value = record;
    directory.tick(now);
    const auto since = std::chrono::duration_cast<milliseconds>(now - at_ms(10'000));
    directory.on(Received{Log{log}, ++offset, BrokerTime{milliseconds{kInc} + since}, true, &value},
                 now);
  }
  // As the strand does: whatever is due, it runs in time.
  void wait(milliseconds time) {
    const LocalTime end = now + time;
    while (now < end) {
      now = std::min(end, std::max(directory.next_expiry(), now + 1ms));
      directory.tick(now);
    }
  }
  [[nodiscard]] const Hint& hint(std::uint32_t p) const { return directory.hint(Partition{p}); }

  const Writer kA{1};
  LocalTime now = at_ms(10'000);
  std::int64_t offset = 20;
  Directory directory;
};

TEST(DirectoryStale, an_owner_whose_log_is_silent_stays_and_is_stale_once_its_lease_is_over) {
  SilentLogs s;
  const LocalTime end = s.now + kLease;
  while (s.now < end + 5s) {
    ASSERT_TRUE(s.hint(0).owner);
    ASSERT_EQ(s.hint(0).stale, s.now >= end);
    ASSERT_GT(s.hint(0).until, s.now) << "readers compare this with the time";
    ASSERT_LE(s.hint(0).until, s.now + kLease) << "who sleeps wakes up knowing nothing";
    s.wait(50ms);
  }
  EXPECT_EQ(s.hint(0).epoch, epoch(10));
}

TEST(DirectoryStale, its_next_renewal_ends_that) {
  SilentLogs s;
  s.wait(5s);
  static_cast<void>(s.directory.take_changed());
  s.read(0, serving(s.kA.leads(10, "0")));
  EXPECT_FALSE(s.hint(0).stale);
  EXPECT_TRUE(s.hint(2).stale);
  EXPECT_EQ(s.directory.take_changed(), std::vector{Partition{0}});
}

TEST(DirectoryStale, it_lasts_as_long_as_reader_and_owner_both_allow_from_the_last_record) {
  for (const milliseconds said : {milliseconds{30s}, milliseconds{5s}}) {
    SilentLogs s;
    s.read(0, serving(s.kA.leads(10, "0"), said));
    const LocalTime end = s.now + std::min(said, milliseconds{20s});
    s.wait(std::min(said, milliseconds{20s}) - 1ms);
    EXPECT_TRUE(s.hint(0).owner);
    s.wait(1ms);
    EXPECT_FALSE(s.hint(0).owner);
    EXPECT_EQ(s.hint(0).unowned_since, end);
  }
}

TEST(DirectoryStale, an_owner_that_does_not_say_for_how_long_it_serves_on_does_not) {
  SilentLogs s;
  s.read(0, s.kA.leads(10, "0"));
  const LocalTime end = s.now + kLease;
  s.wait(kLease);
  EXPECT_FALSE(s.hint(0).owner);
  EXPECT_EQ(s.hint(0).unowned_since, end);
}

TEST(DirectoryStale, a_reader_may_believe_nobody_beyond_a_lease) {
  SilentLogs s(options(0s));
  s.wait(kLease);
  EXPECT_FALSE(s.hint(0).owner);
}

TEST(DirectoryStale, where_a_log_flows_on_past_it_an_owner_is_gone_in_every_log) {
  SilentLogs s;
  for (int i = 0; i < 12; ++i) {
    s.wait(100ms);
    s.read(0, serving(kB.leads(11, "2")));
  }
  EXPECT_FALSE(s.hint(0).owner) << "it wrote to log 0, which went on without it for its lease";
  EXPECT_FALSE(s.hint(1).owner) << "log 1 is silent, but its owner is gone";
  EXPECT_TRUE(s.hint(2).owner);
}

TEST(DirectoryStale, who_is_stale_has_its_lease_again_from_when_the_log_is_back) {
  SilentLogs s;
  s.wait(10s);
  for (int i = 0; i < 10; ++i) {
    s.read(0, serving(kB.leads(11, "2")));
    ASSERT_TRUE(s.hint(0).stale) << i;
    s.wait(100ms);
  }
  s.read(0, serving(kB.leads(11, "2")));
  EXPECT_FALSE(s.hint(0).owner);
  EXPECT_FALSE(s.hint(1).owner);
  EXPECT_EQ(s.hint(0).unowned_since, s.now);
}

TEST(DirectoryStale, who_gave_up_what_it_held_in_a_log_is_not_gone_when_that_flows_on) {
  SilentLogs s;
  s.read(0, s.kA.release(10, "0"));
  for (int i = 0; i < 30; ++i) {
    s.wait(100ms);
    s.read(0, serving(kB.leads(11, "2")));
  }
  EXPECT_TRUE(s.hint(1).stale) << "log 1 is silent, and nothing shows that p1 is gone";
}

TEST(DirectoryStale, records_of_other_lanes_show_nothing) {
  SilentLogs s;
  Writer other{3};
  other.lane = Lane{1};
  for (int i = 0; i < 30; ++i) {
    s.wait(100ms);
    s.read(0, serving(other.leads(12, "0")));
  }
  EXPECT_TRUE(s.hint(0).stale);
}

TEST(DirectoryStale, who_said_that_it_leaves_is_not_believed_beyond_its_lease) {
  SilentLogs s;
  Record leaving = serving(s.kA.drains(10, "0"));
  leaving.member.emplace();
  leaving.member->leaving = true;
  s.read(0, leaving);
  s.wait(kLease);
  EXPECT_FALSE(s.hint(0).owner);
  EXPECT_FALSE(s.hint(1).owner);
}

TEST(DirectoryStale, another_that_leads_replaces_it) {
  SilentLogs s;
  s.wait(5s);
  s.read(0, serving(kB.leads(30, "0")));
  EXPECT_EQ(s.hint(0).owner->id, ProcessId{2});
  EXPECT_FALSE(s.hint(0).stale);
}

TEST(DirectoryStale, a_reader_that_slept_for_longer_than_a_lease_knows_nothing_until_it_reads) {
  for (const milliseconds before : {milliseconds{0}, milliseconds{5s}}) {
    SilentLogs s;
    s.wait(before);
    s.now += kLease + 1ms;
    EXPECT_LE(s.hint(0).until, s.now) << "nobody told it that time went by";
    s.directory.tick(s.now);
    EXPECT_FALSE(s.hint(0).owner);
    // An answer without a record does not show whether the log is silent.
    s.directory.on(LogPosition{Log{0}, s.offset + 1}, s.now);
    EXPECT_FALSE(s.directory.is_known(kZero, s.now));
    s.read(0, serving(s.kA.leads(10, "0")));
    EXPECT_EQ(s.hint(0).owner->id, ProcessId{1});
  }
}

TEST(DirectoryStale, a_gap_makes_owners_stale_and_the_next_epoch_that_leads_replaces_them) {
  SilentLogs s;
  s.directory.on(GapFound{Log{0}, GapReason::replaced}, s.now);
  EXPECT_TRUE(s.hint(0).stale);
  EXPECT_FALSE(s.hint(1).stale) << "another log";
  s.wait(5s);
  EXPECT_TRUE(s.hint(0).owner);
  s.directory.on(tail_at(Log{0}, 0, 0), s.now);
  Record again = serving(kB.leads(3, "0"));
  again.incarnation = kInc + 1;
  s.read(0, again);
  EXPECT_EQ(s.hint(0).owner->id, ProcessId{2});
}

TEST(DirectoryStale, when_no_event_comes_any_more_nobody_is_known) {
  SilentLogs s;
  s.wait(5s);
  s.directory.forget_all(s.now);
  for (std::uint32_t p = 0; p < 4; ++p) EXPECT_FALSE(s.hint(p).owner);
}

TEST(DirectoryStale, who_cannot_be_reached_is_suspected_for_2_s_at_a_time) {
  SilentLogs s;
  s.directory.suspect({"p1:7000"}, s.now);
  s.wait(kLease);
  ASSERT_TRUE(s.hint(0).stale);
  s.wait(2s);
  EXPECT_FALSE(s.hint(0).suspected);
  s.directory.suspect({"p1:7000"}, s.now);
  s.wait(1999ms);
  EXPECT_TRUE(s.hint(0).suspected);
  static_cast<void>(s.directory.take_changed());
  s.wait(1ms);
  EXPECT_FALSE(s.hint(0).suspected);
  EXPECT_FALSE(s.hint(1).suspected);
  EXPECT_EQ(s.directory.take_changed(), (std::vector{Partition{0}, Partition{1}}));
}

TEST(DirectoryStale, who_cannot_be_reached_is_suspected_for_two_seconds_or_until_it_is_reached) {
  SilentLogs s;
  s.wait(5s);
  for (const bool reached : {false, true}) {
    s.directory.suspect({"p1:7000"}, s.now);
    s.wait(1999ms);
    EXPECT_TRUE(s.hint(0).suspected);
    reached ? s.directory.trust("p1:7000") : s.wait(1ms);
    EXPECT_FALSE(s.hint(0).suspected);
    EXPECT_FALSE(s.hint(1).suspected);
    EXPECT_TRUE(s.hint(0).stale);
  }
}

/// Partition 0 is stale, and its owner has redirected a caller to p2.
struct Redirected : SilentLogs {
  Redirected() {
    wait(5s);
    static_cast<void>(directory.take_changed());
    directory.redirect(Partition{0}, "p2:7000", epoch(40));
  }
  [[nodiscard]] std::string owner(std::uint32_t p) const { return hint(p).named()->info.name; }
};

TEST(DirectoryStale, is_moved_by_a_redirect_that_names_a_greater_epoch) {
  Redirected s;
  EXPECT_EQ(s.owner(0), "p2");
  EXPECT_EQ(s.hint(0).told_epoch, epoch(40));
  EXPECT_EQ(s.directory.take_changed(), std::vector{Partition{0}});
  EXPECT_EQ(s.owner(1), "p1") << "it is one slot's, and not the process's";
  s.directory.redirect(Partition{0}, "p1:7000", epoch(40));
  EXPECT_EQ(s.owner(0), "p2") << "the epoch is not greater";
  s.directory.redirect(Partition{0}, "p1:7000", epoch(41));
  EXPECT_EQ(s.owner(0), "p1");
}

TEST(DirectoryStale, is_not_moved_where_the_log_tells_the_owner_or_to_whom_no_record_has_named) {
  SilentLogs s;
  s.directory.redirect(Partition{0}, "p2:7000", epoch(40));
  EXPECT_FALSE(s.hint(0).told) << "its lease holds";
  s.wait(5s);
  for (const char* endpoint : {"", "p9:7000"}) {
    s.directory.redirect(Partition{0}, endpoint, epoch(40));
    EXPECT_FALSE(s.hint(0).told) << endpoint;
  }
  s.directory.redirect(Partition{0}, "p2:7000", epoch(10));
  EXPECT_FALSE(s.hint(0).told) << "no greater epoch than the owner's";
  s.directory.redirect(Partition{3}, "p2:7000", epoch(40));
  EXPECT_FALSE(s.hint(3).named()) << "nobody was known to own it";
}

TEST(DirectoryStale, is_moved_until_a_record_says_who_leads) {
  Redirected s;
  s.read(0, serving(s.kA.leads(10, "0")));
  EXPECT_EQ(s.owner(0), "p1") << "whatever epoch the redirect has named";
  EXPECT_EQ(s.hint(0).told_epoch, kNoEpoch);
}

TEST(DirectoryStale, is_moved_back_when_who_was_named_cannot_be_reached) {
  Redirected s;
  static_cast<void>(s.directory.take_changed());
  s.directory.suspect({"p2:7000"}, s.now);
  EXPECT_EQ(s.owner(0), "p1");
  EXPECT_FALSE(s.hint(0).suspected);
  EXPECT_EQ(s.directory.take_changed(), (std::vector{Partition{0}, Partition{2}}));
}

TEST(DirectoryStale, is_moved_no_longer_than_its_owner_counts_as_living) {
  Redirected s;
  s.wait(20s);
  EXPECT_FALSE(s.hint(0).named());
}

TEST(DirectoryStale, what_is_read_again_after_a_gap_shows_nobody_s_silence) {
  SilentLogs s;
  for (int i = 0; i < 30; ++i) {
    s.wait(100ms);
    s.read(0, serving(s.kA.leads(10, "0")));
    s.read(0, serving(kB.leads(11, "2")));
  }
  const std::int64_t end = s.offset + 1;
  s.directory.on(GapFound{Log{0}, GapReason::truncated}, s.now);
  s.directory.on(tail_at(Log{0}, 21, end), s.now);
  const Decoded value = serving(kB.leads(11, "2"));
  for (std::int64_t o = 21; o < end; ++o) {  // with the stamps that they had
    const BrokerTime stamp{milliseconds{kInc + (o - 21) * 50}};
    s.directory.on(Received{Log{0}, o, stamp, true, &value}, s.now);
  }
  ASSERT_TRUE(s.hint(0).owner);
  EXPECT_TRUE(s.hint(0).stale);
  for (int i = 0; i < 11; ++i) {  // whom the log shows to be silent from here on is gone
    EXPECT_TRUE(s.hint(0).owner) << i;
    s.wait(100ms);
    s.read(0, serving(kB.leads(11, "2")));
  }
  EXPECT_FALSE(s.hint(0).owner);
}

}  // namespace
}  // namespace neliroute
