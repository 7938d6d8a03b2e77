// What a directory makes of records that existed before its tail started.
#include <gtest/gtest.h>

#include <variant>

#include "router/view/directory.h"
#include "tests/world/memory_log.h"
#include "tests/unit/router/view/records.h"

namespace neliroute {
namespace {

using namespace testing_records;
using namespace std::chrono_literals;

constexpr Partition kTwo{2};
const Writer kOwner{1};
const Writer kExclusiveOwner{1, "p1", Mode::exclusive};

DirectoryOptions options(Mode mode = Mode::non_exclusive) {
  DirectoryOptions made{4, 2, Lane{0}, mode, kLease};
  made.clock_error = 10ms;
  return made;
}

// A directory whose tails start at offset 10, at 10 s. Stamps are of a clock of their own, before
// kInc: `ago` is a time before the tails started.
struct Newcomer {
  explicit Newcomer(const DirectoryOptions& options = neliroute::options()) : directory(options) {
    start();
  }
  void start() {
    for (std::uint32_t l = 0; l < 2; ++l) directory.on(tail_at(Log{l}, 0, 10), now);
  }
  void read(std::int64_t offset, milliseconds ago, const Decoded& value, Log log = kLog,
            bool store_stamped = true) {
    const BrokerTime stamped{milliseconds{kInc - 100'000} - ago};
    directory.on(Received{log, offset, stamped, store_stamped, &value}, now);
  }
  // It claimed partition 0 and led it, `ago`.
  void owned(milliseconds ago, const Writer& owner = kOwner) {
    read(0, ago + 1ms, owner.claim("0"));
    read(1, ago, owner.leads(0, "0"));
  }
  // The next record of the log, at least: it says nothing of partitions 0 to 3.
  void read_now(milliseconds later = 0ms, Log log = kLog) {
    now += later;
    directory.tick(now);
    read(10 + next++, -later, Ignored{}, log);
  }
  [[nodiscard]] const Hint& hint(Partition partition = kZero) const {
    return directory.hint(partition);
  }
  [[nodiscard]] std::string owner(Partition partition = kZero) const {
    return hint(partition).owner ? hint(partition).owner->info.name : "";
  }

  LocalTime now = at_ms(10'000);
  std::int64_t next = 0;
  Directory directory;
};

TEST(DirectoryPast, is_believed_for_the_rest_of_the_lease_once_a_newer_record_shows_its_age) {
  Newcomer newcomer;
  newcomer.owned(300ms);
  EXPECT_EQ(newcomer.owner(), "") << "the log may have been silent since";
  newcomer.read_now(20ms);
  EXPECT_EQ(newcomer.owner(), "p1");
  EXPECT_EQ(newcomer.hint().epoch, epoch(0));
  EXPECT_EQ(newcomer.hint().until, newcomer.now + kLease - 320ms - 10ms);
  EXPECT_EQ(newcomer.directory.next_expiry(), newcomer.hint().until);
  EXPECT_TRUE(newcomer.directory.is_known(kZero, newcomer.now));
  EXPECT_FALSE(newcomer.directory.is_known(Partition{2}, newcomer.now)) << "of which nobody wrote";
  newcomer.now = newcomer.hint().until;
  newcomer.directory.tick(newcomer.now);
  EXPECT_EQ(newcomer.owner(), "");
  EXPECT_FALSE(newcomer.directory.is_known(kZero, newcomer.now)) << "a renewal may be late";
  newcomer.read(11, 0ms, kOwner.leads(0, "0"));
  EXPECT_TRUE(newcomer.directory.take_gaps().empty());
}

TEST(DirectoryPast, is_not_believed_if_the_lease_was_over_by_then) {
  for (const bool over : {false, true}) {
    Newcomer newcomer;
    newcomer.owned(over ? 990ms : 989ms);
    newcomer.read_now();
    EXPECT_EQ(newcomer.owner(), over ? "" : "p1");
    EXPECT_EQ(newcomer.directory.is_known(kZero, newcomer.now), !over) << "unknown, not unowned";
  }
}

TEST(DirectoryPast, ends_as_it_ended_then) {
  Newcomer released;
  released.owned(300ms);
  released.read(2, 200ms, kOwner.release(0, "0"));
  released.read_now();
  EXPECT_EQ(released.owner(), "");

  Newcomer lapsed;
  lapsed.owned(300ms);
  lapsed.read(2, 200ms, kOwner.looks(0, "0"));
  lapsed.read_now();
  EXPECT_EQ(lapsed.owner(), "");

  Newcomer moved;
  moved.owned(300ms);
  moved.read(2, 200ms, kB.claim("0"));
  moved.read(3, 100ms, kB.leads(2, "0"));
  moved.read_now();
  EXPECT_EQ(moved.owner(), "p2");
  EXPECT_EQ(moved.hint().epoch, epoch(2));
  EXPECT_EQ(moved.hint().former.who->info.name, "p1");
}

TEST(DirectoryPast, ends_at_a_claim_in_exclusive_mode_and_in_the_other_waits_for_the_claimant) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    Newcomer newcomer(options(mode));
    newcomer.owned(300ms, Writer{1, "p1", mode});
    newcomer.read(2, 200ms, Writer{2, "p2", mode}.claim("0"));
    newcomer.read_now();
    EXPECT_EQ(newcomer.owner(), mode == Mode::exclusive ? "" : "p1");
    if (mode == Mode::exclusive) continue;
    EXPECT_EQ(newcomer.hint().next->info.name, "p2");
  }
}

TEST(DirectoryPast, is_read_by_the_rules_of_whoever_leads) {
  DirectoryOptions watching = options();
  watching.watcher = true;
  Newcomer newcomer(watching);
  newcomer.owned(300ms, kExclusiveOwner);
  newcomer.read_now();
  ASSERT_EQ(newcomer.owner(), "p1");
  newcomer.read(11, 0ms, kExclusiveB.claim("0"));
  EXPECT_EQ(newcomer.owner(), "") << "exclusive: a claim ends it";
}

TEST(DirectoryPast, is_what_newer_records_continue) {
  Newcomer newcomer;
  newcomer.owned(300ms);
  newcomer.read_now();
  newcomer.now += 100ms;
  newcomer.read(11, -100ms, kOwner.leads(0, "0"));
  EXPECT_EQ(newcomer.hint().until, newcomer.now + kLease);
  newcomer.directory.tick(newcomer.hint().until);
  EXPECT_TRUE(newcomer.directory.is_known(kZero, newcomer.now)) << "it was silent for its lease";
  newcomer.read(12, -101ms, kOwner.leads(0, "0"));
  newcomer.read(13, -101ms, kOwner.release(0, "0"));
  EXPECT_EQ(newcomer.owner(), "");
}

TEST(DirectoryPast, is_dated_in_each_log_by_a_record_of_that_log) {
  Newcomer newcomer;
  newcomer.read(0, 300ms, kOwner.leads(0, "0,2"));
  newcomer.read(0, 300ms, kOwner.leads(0, "1"), Log{1});
  newcomer.read_now(0ms, Log{1});
  EXPECT_EQ(newcomer.owner(Partition{1}), "p1");
  EXPECT_EQ(newcomer.owner(), "");
  newcomer.read_now();
  EXPECT_EQ(newcomer.owner(), "p1");
  EXPECT_EQ(newcomer.owner(kTwo), "p1");
}

TEST(DirectoryPast, needs_the_brokers_stamps) {
  DirectoryOptions mistrusting = options();
  mistrusting.believe_broker_time = false;
  Newcomer unbelieved(mistrusting);
  unbelieved.owned(300ms);
  unbelieved.read_now();
  EXPECT_EQ(unbelieved.owner(), "");

  for (const bool history : {false, true}) {
    Newcomer newcomer;
    newcomer.read(1, 300ms, kOwner.leads(0, "0"), kLog, history);
    newcomer.read(10, 0ms, Ignored{}, kLog, !history);
    EXPECT_EQ(newcomer.owner(), "") << "a writer stamped it";
    newcomer.read_now();
    EXPECT_EQ(newcomer.owner(), "") << "others may have come between";
  }
}

TEST(DirectoryPast, of_who_has_other_slots_is_not_believed) {
  for (const bool other : {false, true}) {
    DirectoryOptions own = options();
    own.settings = settings();
    if (other) own.settings->hash = "crc16";
    Newcomer newcomer(own);
    newcomer.owned(300ms);
    newcomer.read_now();
    EXPECT_EQ(newcomer.owner(), other ? "" : "p1");
  }
}

TEST(DirectoryPast, is_compared_with_what_this_process_is) {
  CoreOptions core;
  core.process.endpoint = "here:1";
  core.settings = settings();
  EXPECT_EQ(directory_options(core).endpoint, "here:1");
  EXPECT_EQ(directory_options(core).settings, core.settings);
  EXPECT_EQ(directory_options(core, /*watcher=*/true).endpoint, "") << "it is nobody";
}

TEST(DirectoryPast, is_never_believed_for_longer_than_what_is_written_now) {
  Newcomer newcomer;
  newcomer.owned(-60s);
  newcomer.read_now();
  EXPECT_EQ(newcomer.owner(), "p1") << "the broker's clock was put back";
  EXPECT_EQ(newcomer.hint().until, newcomer.now + kLease);
}

TEST(DirectoryPast, of_a_process_in_this_ones_place_is_over) {
  for (const bool own : {false, true}) {
    DirectoryOptions restarted = options();
    restarted.endpoint = own ? kOwner.header(RecordType::claim).process.endpoint : "elsewhere:1";
    ASSERT_NE(restarted.endpoint, "");
    Newcomer newcomer(restarted);
    newcomer.owned(300ms);
    newcomer.read(2, 250ms, kB.leads(1, "2"));
    newcomer.read(3, 200ms, kOwner.claim("2"));
    newcomer.read_now();
    EXPECT_EQ(newcomer.owner(), own ? "" : "p1");
    EXPECT_EQ(newcomer.owner(kTwo), "p2");
    EXPECT_EQ(newcomer.hint(kTwo).next == nullptr, own);
  }
}

TEST(DirectoryPast, behind_a_gap_brings_no_older_epoch_back) {
  for (const bool older : {false, true}) {
    Newcomer newcomer;
    newcomer.read(10, 0ms, kB.leads(older ? 5 : 0, "0"));
    ASSERT_EQ(newcomer.owner(), "p2");
    newcomer.directory.on(GapFound{kLog, GapReason::restarted}, newcomer.now);
    newcomer.directory.on(tail_at(kLog, 0, 11), newcomer.now);
    newcomer.read(2, 0ms, kOwner.leads(3, "0"));
    newcomer.read(11, 0ms, Ignored{});
    EXPECT_EQ(newcomer.owner(), older ? "" : "p1");
  }
}

TEST(DirectoryPast, that_was_released_is_not_renewed_behind_a_gap) {
  Newcomer newcomer;
  newcomer.read(10, 0ms, kB.leads(5, "0"));
  newcomer.read(11, 0ms, kB.release(5, "0"));
  newcomer.directory.on(GapFound{kLog, GapReason::restarted}, newcomer.now);
  newcomer.directory.on(tail_at(kLog, 10, 11), newcomer.now);
  newcomer.read(10, 0ms, kB.leads(5, "0"));
  newcomer.read(11, 0ms, Ignored{});
  EXPECT_EQ(newcomer.owner(), "");
}

TEST(DirectoryPast, that_was_not_dated_before_a_gap_counts_no_more) {
  Newcomer newcomer;
  newcomer.owned(300ms);
  newcomer.directory.on(GapFound{kLog, GapReason::replaced}, newcomer.now);
  newcomer.directory.on(tail_at(kLog, 0, 1), newcomer.now);
  newcomer.read(0, 100ms, kB.leads(0, "2"));
  newcomer.read(1, 0ms, Ignored{});
  EXPECT_EQ(newcomer.owner(), "") << "it was of another topic";
  EXPECT_EQ(newcomer.owner(kTwo), "p2");
}

TEST(DirectoryPast, is_a_change_and_no_move) {
  Newcomer newcomer;
  newcomer.owned(500ms);
  newcomer.read(2, 400ms, kOwner.release(0, "0"));
  newcomer.read(3, 300ms, kB.claim("0"));
  newcomer.read(4, 200ms, kB.leads(3, "0"));
  EXPECT_TRUE(newcomer.directory.take_changed().empty());
  EXPECT_TRUE(newcomer.directory.take_renewed().empty());
  const std::uint16_t generation = newcomer.hint().generation;
  newcomer.read_now();
  EXPECT_EQ(newcomer.directory.take_changed(), std::vector<Partition>{kZero});
  EXPECT_EQ(newcomer.directory.take_renewed(), std::vector<Partition>{kZero});
  EXPECT_NE(newcomer.hint().generation, generation) << "readers may hold the former `until`";
  EXPECT_TRUE(newcomer.directory.take_gaps().empty());
  EXPECT_TRUE(newcomer.directory.take_overlaps().empty());
  newcomer.read(11, 0ms, kB.leads(3, "0"));
  EXPECT_TRUE(newcomer.directory.take_changed().empty()) << "nothing but a renewal";
}

TEST(DirectoryPast, measures_no_overlap_across_two_clocks) {
  Newcomer newcomer;
  newcomer.owned(300ms);
  newcomer.read(2, 200ms, kB.claim("0"));
  newcomer.read(3, 100ms, kB.leads(2, "0"));
  newcomer.read_now();
  newcomer.read(11, 0ms, kOwner.release(0, "0"));
  EXPECT_EQ(newcomer.owner(), "p2");
  EXPECT_TRUE(newcomer.directory.take_overlaps().empty());
}

TEST(DirectoryPast, that_nothing_dates_is_given_up_when_its_leases_are_over) {
  Newcomer newcomer;
  newcomer.owned(0ms);
  newcomer.now += kLease;
  newcomer.directory.on(LogPosition{kLog, 10}, newcomer.now);
  newcomer.read(10, 0ms, Ignored{});
  EXPECT_EQ(newcomer.owner(), "");
}

TEST(DirectoryPast, has_stamps_of_any_size) {
  Newcomer newcomer;
  for (const std::int64_t ms : {INT64_MIN, INT64_MAX}) {
    const Decoded value = kOwner.leads(0, "0");
    newcomer.directory.on(Received{kLog, 1, BrokerTime{milliseconds{ms}}, true, &value},
                          newcomer.now);
  }
  newcomer.read_now();
  EXPECT_LE(newcomer.hint().until, newcomer.now + kLease);
}

}  // namespace
}  // namespace neliroute
