// The last paragraph of section 3 of the design ("Hints"), sentence by sentence.
#include "router/view/directory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/world/memory_log.h"
#include "tests/unit/router/view/records.h"

namespace neliroute {
namespace {

using namespace testing_records;
using namespace std::chrono_literals;

// A directory of four partitions on two logs, whose tail started at offset 10 and time 10 s.
class Told {
 public:
  explicit Told(Mode mode = Mode::non_exclusive)
      : directory({4, 2, Lane{0}, mode, kLease}) {
    for (std::uint32_t l = 0; l < 2; ++l) directory.on(tail_at(Log{l}, 0, 10), now);
  }

  // Before kInc, so that it is a claim's own incarnation that counts.
  static BrokerTime stamp_of(std::int64_t offset) {
    return BrokerTime{milliseconds{kInc - 1000 + offset}};
  }
  // Appended at this offset, and read now.
  void read(std::int64_t offset, const Record& record, Log log = kLog) {
    const Decoded value = record;
    directory.tick(now);
    directory.on(Received{log, offset, stamp_of(offset), true, &value}, now);
  }
  void wait(milliseconds time) {
    now += time;
    directory.tick(now);
  }
  // A gap in log 0, whose tail starts again at offset 3.
  void gap(GapReason reason, std::int64_t end) {
    directory.on(GapFound{kLog, reason}, now);
    directory.on(tail_at(kLog, 3, end), now);
  }
  [[nodiscard]] const Hint& hint(Partition partition = kZero) const {
    return directory.hint(partition);
  }
  [[nodiscard]] std::string owner(Partition partition = kZero) const {
    return hint(partition).owner ? hint(partition).owner->info.name : "";
  }
  [[nodiscard]] std::string next(Partition partition = kZero) const {
    return hint(partition).next ? hint(partition).next->info.name : "";
  }

  LocalTime now = at_ms(10'000);
  Directory directory;
};

const Writer kA{1};
const Writer kC{3};
const Writer kExclusiveA{1, "p1", Mode::exclusive};

TEST(Directory, believes_a_hint_until_local_read_time_plus_its_lease) {
  Told told;
  Writer a = kA;
  a.lease = 700ms;
  told.read(10, a.claim("0"));
  EXPECT_EQ(told.owner(), "") << "a claim leads nothing";
  told.wait(5ms);
  told.read(11, a.leads(10, "0"));
  EXPECT_EQ(told.owner(), "p1");
  EXPECT_EQ(told.hint().epoch, epoch(10));
  EXPECT_EQ(told.hint().until, told.now + 700ms);
  EXPECT_EQ(told.directory.next_expiry(), told.now + 700ms);
  told.wait(699ms);
  EXPECT_EQ(told.owner(), "p1");
  told.wait(1ms);
  EXPECT_EQ(told.owner(), "");
  EXPECT_EQ(told.hint().unowned_since, told.now);
  EXPECT_TRUE(told.directory.is_known(Partition{0}, told.now)) << "nobody leads";
  EXPECT_EQ(told.directory.next_expiry(), kNever);
}

TEST(Directory, takes_the_greatest_lease_it_knows_for_one_that_cannot_be_read) {
  Told told;
  Record renewal = kA.leads(10, "0");
  renewal.lease.reset();
  renewal.max_lease = 3s;
  told.read(11, renewal);
  EXPECT_EQ(told.hint().until, told.now + 3s);
}

TEST(Directory, does_not_believe_history_until_a_newer_record_confirms_it) {
  Told told;
  told.read(8, kA.claim("0"));
  told.read(9, kA.leads(8, "0"));
  EXPECT_EQ(told.owner(), "");
  EXPECT_EQ(told.hint().unowned_since, kLongAgo) << "unknown, not unowned";
  EXPECT_EQ(told.directory.history_until(kLog), at_ms(11'000)) << "unowned after T*";
  EXPECT_FALSE(told.directory.is_known(Partition{0}, at_ms(10'999)));
  EXPECT_TRUE(told.directory.is_known(Partition{0}, at_ms(11'000)));
  told.read(10, kA.leads(8, "0"));
  EXPECT_EQ(told.owner(), "p1");
  EXPECT_TRUE(told.directory.is_known(Partition{0}, told.now)) << "whoever leads";
  EXPECT_EQ(told.hint().epoch, epoch(8));
}

TEST(Directory, waits_for_history_as_long_as_the_greatest_lease_read_even_in_history) {
  Told told;
  Writer long_winded{9};
  long_winded.lease = 5s;
  long_winded.lane = Lane{3};
  told.read(9, long_winded.claim("0"));
  EXPECT_EQ(told.directory.history_until(kLog), at_ms(15'000));
}

TEST(Directory, knows_nothing_of_a_log_whose_tail_has_not_started) {
  Directory directory({4, 2, Lane{0}, Mode::non_exclusive, kLease});
  EXPECT_EQ(directory.answering_until(kLog), kLongAgo);
  EXPECT_EQ(directory.history_until(kLog), kNever);
  EXPECT_FALSE(directory.is_known(Partition{0}, at_ms(1'000'000)));
  directory.on(LogPosition{kLog, 5}, at_ms(1));
  EXPECT_EQ(directory.answering_until(kLog), kLongAgo);
  const Decoded value = kA.leads(10, "0");
  directory.on(Received{kLog, 11, BrokerTime{}, true, &value}, at_ms(2));
  EXPECT_EQ(directory.hint(kZero).owner, nullptr);
}

TEST(Directory, counts_every_answer_of_a_logs_leader_as_one) {
  Told told;
  EXPECT_EQ(told.directory.answering_until(kLog), told.now + kLease);
  told.wait(100ms);
  told.directory.on(LogPosition{kLog, 10}, told.now);
  EXPECT_EQ(told.directory.answering_until(kLog), told.now + kLease);
  told.wait(100ms);
  told.directory.on(Reread{kLog, 1, -1, std::nullopt}, told.now);
  EXPECT_EQ(told.directory.answering_until(kLog), told.now + kLease);
  told.wait(100ms);
  told.read(9, kA.claim("0"));
  EXPECT_EQ(told.directory.answering_until(kLog), told.now + kLease);
  EXPECT_EQ(told.directory.answering_until(Log{1}), at_ms(11'000)) << "the other log was silent";
}

TEST(Directory, a_foreign_claim_names_the_next_owner) {
  Told told;
  told.read(10, kA.leads(5, "0,2"));
  told.read(11, kB.claim("0"));
  EXPECT_EQ(told.owner(), "p1");
  EXPECT_EQ(told.next(), "p2");
  EXPECT_EQ(told.hint().next_epoch, epoch(11));
  EXPECT_EQ(told.next(Partition{2}), "");
}

TEST(Directory, a_foreign_claim_makes_it_unowned_in_exclusive_mode) {
  Told told(Mode::exclusive);
  told.read(10, kExclusiveA.leads(5, "0"));
  told.wait(10ms);
  told.read(11, kExclusiveB.claim("0,2"));
  EXPECT_EQ(told.owner(), "");
  EXPECT_EQ(told.next(), "p2");
  EXPECT_EQ(told.hint().unowned_since, told.now);
  EXPECT_EQ(told.hint(Partition{2}).unowned_since, told.now) << "whoever led it unheard stops";
  told.read(12, kExclusiveA.leads(5, "0"));
  EXPECT_EQ(told.owner(), "") << "written before it read the claim";
  told.read(13, kExclusiveB.looks(11, "0"));
  EXPECT_EQ(told.owner(), "") << "in grace";
  told.read(14, kExclusiveB.leads(11, "0"));
  EXPECT_EQ(told.owner(), "p2");
  EXPECT_EQ(told.next(), "");
}

TEST(Directory, a_released_claim_still_keeps_the_older_owner_away_in_exclusive_mode) {
  Told told(Mode::exclusive);
  told.read(10, kExclusiveA.leads(5, "0"));
  told.read(11, kExclusiveB.claim("0"));
  told.read(12, kExclusiveB.release(11, "0"));
  EXPECT_EQ(told.next(), "");
  told.read(13, kExclusiveA.leads(5, "0"));
  EXPECT_EQ(told.owner(), "");
}

TEST(Directory, a_watcher_learns_the_mode_from_who_leads) {
  Told told(Mode::non_exclusive);
  told.read(10, kExclusiveA.leads(5, "0"));
  told.read(11, kExclusiveB.claim("0"));
  EXPECT_EQ(told.owner(), "");
}

TEST(Directory, who_leads_with_records_of_a_later_version_tells_no_settings) {
  Told told(Mode::non_exclusive);
  Record later = kExclusiveA.leads(5, "0");
  later.version = kRecordVersion + 1;
  told.read(10, later);
  told.read(11, kB.claim("0"));
  EXPECT_EQ(told.owner(), "p1");
  EXPECT_EQ(settings_in_force(later), nullptr);
}

TEST(Directory, who_claims_with_another_mode_changes_nothing) {
  Told told(Mode::non_exclusive);
  told.read(10, kA.leads(5, "0"));
  told.read(11, kExclusiveB.claim("0"));
  EXPECT_EQ(told.owner(), "p1") << "it will refuse, as its mode is not the lane's";
  Told exclusive(Mode::exclusive);
  exclusive.read(10, kExclusiveA.leads(5, "0"));
  exclusive.read(11, kB.claim("0"));
  exclusive.read(12, kExclusiveA.leads(5, "0"));
  EXPECT_EQ(exclusive.owner(), "") << "whoever led stopped on reading it";
}

TEST(Directory, a_renewal_behind_the_claim_keeps_the_hint_alive_in_non_exclusive_mode) {
  Told told;
  told.read(10, kA.leads(5, "0"));
  told.read(11, kB.claim("0"));
  told.wait(900ms);
  told.read(12, kA.drains(5, "0"));
  EXPECT_EQ(told.owner(), "p1");
  EXPECT_TRUE(told.hint().draining);
  EXPECT_EQ(told.next(), "p2");
  told.wait(900ms);
  EXPECT_EQ(told.owner(), "p1");
  told.wait(100ms);
  EXPECT_EQ(told.owner(), "");
  EXPECT_EQ(told.next(), "p2") << "still under way";
}

TEST(Directory, the_first_leading_renewal_of_a_greater_epoch_moves_it) {
  Told told;
  told.read(10, kA.leads(5, "0"));
  const std::uint16_t before = told.hint().generation;
  told.read(11, kB.claim("0"));
  told.read(12, kB.looks(11, "0"));
  EXPECT_EQ(told.owner(), "p1") << "it holds, but does not lead";
  told.read(13, kB.leads(11, "0"));
  EXPECT_EQ(told.owner(), "p2");
  EXPECT_EQ(told.hint().epoch, epoch(11));
  EXPECT_EQ(told.next(), "");
  EXPECT_NE(told.hint().generation, before);
}

TEST(Directory, a_draining_renewal_of_a_greater_epoch_moves_it_too) {
  Told told;
  told.read(10, kA.leads(5, "0"));
  told.read(12, kB.drains(11, "0"));
  EXPECT_EQ(told.owner(), "p2");
  EXPECT_TRUE(told.hint().draining);
}

TEST(Directory, a_release_removes_it) {
  Told told;
  told.read(10, kA.leads(5, "0,2"));
  told.wait(10ms);
  told.read(11, kA.release(5, "0"));
  EXPECT_EQ(told.owner(), "");
  EXPECT_EQ(told.hint().unowned_since, told.now);
  EXPECT_EQ(told.owner(Partition{2}), "p1");
}

TEST(Directory, a_release_counts_only_from_the_epochs_own_id) {
  Told told;
  told.read(10, kA.leads(5, "0"));
  told.read(11, kB.release(5, "0"));
  EXPECT_EQ(told.owner(), "p1");
  told.read(12, kA.release(4, "0"));
  EXPECT_EQ(told.owner(), "p1") << "an older epoch of its own";
}

TEST(Directory, a_release_is_final_even_if_an_older_renewal_arrives_behind_it) {
  Told told;
  told.read(10, kA.leads(5, "0"));
  told.read(11, kA.release(5, "0"));
  told.read(12, kA.leads(5, "0"));
  EXPECT_EQ(told.owner(), "");
  told.read(13, kA.claim("0"));
  told.read(14, kA.leads(13, "0"));
  EXPECT_EQ(told.owner(), "p1");
}

TEST(Directory, a_release_of_the_next_owner_ends_its_claim) {
  Told told;
  told.read(10, kA.leads(5, "0"));
  told.read(11, kB.claim("0"));
  told.read(12, kB.release(11, "0"));
  EXPECT_EQ(told.owner(), "p1");
  EXPECT_EQ(told.next(), "");
}

TEST(Directory, a_claim_of_the_hinted_id_itself_does_not_make_it_unowned) {
  for (const Writer& a : {kA, kExclusiveA}) {
    Told told(a.mode);
    told.read(10, a.leads(5, "0"));
    told.read(11, a.claim("0"));
    EXPECT_EQ(told.owner(), "p1");
    EXPECT_EQ(told.next(), "");
    told.read(12, a.leads(5, "0"));
    told.read(13, a.leads(11, "0"));
    EXPECT_EQ(told.owner(), "p1");
    EXPECT_EQ(told.hint().epoch, epoch(11));
  }
}

TEST(Directory, orders_by_epoch_not_by_arrival) {
  Told told;
  told.read(20, kB.leads(15, "0"));
  told.read(21, kA.leads(12, "0"));
  EXPECT_EQ(told.owner(), "p2");
  told.read(22, kA.claim("0"));
  Record old_claim = kC.claim("0");
  old_claim.incarnation = kInc - 1;
  told.read(23, old_claim);
  EXPECT_EQ(told.next(), "p1") << "its inc is older, wherever it stands";
  told.wait(kLease);
  EXPECT_EQ(told.owner(), "");
  told.read(24, kA.leads(12, "0"));
  EXPECT_EQ(told.owner(), "") << "nothing older comes back, though nobody leads";
  told.read(25, kB.leads(15, "0"));
  EXPECT_EQ(told.owner(), "p2") << "the same epoch may";
}

TEST(Directory, reads_an_incarnation_of_zero_as_the_claims_own_broker_time) {
  Told told;
  Record claim = kB.claim("0");
  claim.incarnation = 0;
  told.read(11, claim);
  EXPECT_EQ(told.hint().next_epoch, (Epoch{Told::stamp_of(11).time_since_epoch().count(), 11}));
}

TEST(Directory, an_owner_whose_lease_lapsed_says_looking_and_is_not_hinted_any_more) {
  Told told;
  told.read(10, kA.leads(5, "0,2"));
  told.read(11, kA.renewal(5, "0,2", "2"));
  EXPECT_EQ(told.owner(), "");
  EXPECT_EQ(told.owner(Partition{2}), "p1");
  told.read(12, kA.leads(5, "0,2"));
  EXPECT_EQ(told.owner(), "p1") << "it leads again with the same epoch";
}

TEST(Directory, a_gap_makes_unknown_what_was_believed_and_keeps_older_epochs_out) {
  Told told;
  told.read(10, kA.leads(7, "0"));
  told.read(10, kA.leads(7, "1"), Log{1});
  told.read(11, kB.claim("0"));
  told.directory.on(GapFound{kLog, GapReason::truncated}, told.now);
  EXPECT_EQ(told.owner(), "");
  EXPECT_EQ(told.next(), "");
  EXPECT_EQ(told.hint().unowned_since, kLongAgo);
  EXPECT_EQ(told.directory.answering_until(kLog), kLongAgo);
  EXPECT_EQ(told.owner(Partition{1}), "p1") << "another log";
  told.read(12, kA.leads(7, "0"));
  EXPECT_EQ(told.owner(), "") << "the tail has not started again";
  told.wait(100ms);
  told.directory.on(tail_at(kLog, 3, 20), told.now);
  EXPECT_EQ(told.directory.history_until(kLog), told.now + kLease);
  told.read(19, kA.leads(7, "0"));
  EXPECT_EQ(told.owner(), "") << "history again";
  told.read(20, kC.leads(6, "0"));
  EXPECT_EQ(told.owner(), "p1") << "which this dates; it is itself older than what was known";
}

// A log that lost acknowledged records goes on at offsets that were there before; and with an
// incarnation that was outgrown, if what it lost is all that told of the greater one. It may have
// grown past the end it had by the time it is seen again.
TEST(Directory, what_was_known_before_a_gap_is_forgotten_once_nobody_can_lead_by_it) {
  for (const std::int64_t end : {12, 17, 40}) {
    for (const std::int64_t older : {0, 1}) {
      Told told;
      told.read(17, kA.leads(16, "0"));
      told.gap(GapReason::truncated, end);
      Record leads = kC.leads(12, "0");
      leads.incarnation -= older;
      std::int64_t offset = end;
      for (int quarters = 1; quarters < 6; ++quarters) {
        told.wait(kLease / 4);
        told.read(offset++, leads);
        EXPECT_EQ(told.owner(), "") << "may have been written while the old epoch was led";
      }
      told.wait(kLease / 4);
      told.read(offset++, leads);
      EXPECT_EQ(told.owner(), "p3");
      told.read(offset, kA.leads(11 - older, "0"));
      EXPECT_EQ(told.owner(), older == 0 ? "p3" : "p1") << "the order of epochs holds again";
    }
  }
}

// Found by the simulator (non-exclusive, seed 3558): a process that was stopped reads first what
// was written before.
TEST(Directory, what_is_read_after_a_silence_may_be_old_and_makes_nothing_forgotten) {
  Told told;
  told.read(17, kA.leads(16, "0"));
  told.gap(GapReason::restarted, 18);
  told.wait(10 * kLease);
  told.read(18, kC.leads(12, "0"));
  EXPECT_EQ(told.owner(), "");
  told.read(19, kA.leads(16, "0"));
  EXPECT_EQ(told.owner(), "p1");
}

TEST(Directory, what_is_confirmed_after_a_gap_keeps_older_epochs_out_for_good) {
  Told told;
  told.read(17, kA.leads(16, "0"));
  told.gap(GapReason::changed, 18);
  told.read(18, kA.leads(16, "0"));
  told.wait(3 * kLease);
  EXPECT_EQ(told.owner(), "");
  told.read(19, kC.leads(12, "0"));
  EXPECT_EQ(told.owner(), "");
}

TEST(Directory, a_restarted_owner_is_another_process_of_the_same_name) {
  Told told;
  told.read(10, kA.leads(5, "0"));
  const Writer again{77, kA.name};
  told.read(11, again.claim("0"));
  EXPECT_EQ(told.next(), "p1") << "not the hinted id: a foreign claim";
  EXPECT_EQ(told.hint().owner->id, ProcessId{1});
  told.read(12, again.leads(11, "0"));
  EXPECT_EQ(told.hint().owner->id, ProcessId{77});
  told.read(13, kA.release(5, "0"));
  EXPECT_EQ(told.hint().owner->id, ProcessId{77});
}

TEST(Directory, a_claim_whose_partitions_cannot_be_read_claims_every_partition_of_its_log) {
  Told told(Mode::exclusive);
  for (const char* part : {"0", "2"}) told.read(10, kExclusiveA.leads(5, part));
  told.read(10, kExclusiveA.leads(5, "1"), Log{1});
  Record unreadable;
  unreadable.type = RecordType::claim;
  unreadable.version = 9;
  unreadable.incarnation = kInc;
  told.read(11, unreadable);
  EXPECT_EQ(told.owner(Partition{0}), "");
  EXPECT_EQ(told.owner(Partition{2}), "");
  EXPECT_EQ(told.owner(Partition{1}), "p1");
  EXPECT_EQ(told.hint().next->id, kNobody);
}

TEST(Directory, ignores_other_lanes_other_logs_partitions_and_what_is_no_record) {
  Told told;
  told.read(10, kA.leads(5, "0"));
  Writer stranger = kB;
  stranger.lane = Lane{1};
  told.read(11, stranger.claim("0"));
  told.read(12, stranger.leads(11, "0"));
  told.read(13, kB.leads(11, "0"), Log{1});
  told.read(13, kB.claim("0"), Log{1});
  told.read(13, kA.release(5, "0"), Log{1});
  told.read(14, kB.claim("4-9"));
  told.read(15, kB.leads(14, "4-9"));
  const Decoded rubbish = Ignored::not_json;
  told.directory.on(Received{kLog, 16, BrokerTime{}, true, &rubbish}, told.now);
  EXPECT_EQ(told.owner(), "p1");
  EXPECT_EQ(told.next(), "");
}

TEST(Directory, forgets_the_owner_that_this_process_was) {
  Told told;
  told.read(10, kA.leads(5, "0"));
  told.directory.forget_owner(kZero, ProcessId{2}, told.now);
  EXPECT_EQ(told.owner(), "p1");
  told.directory.forget_owner(kZero, ProcessId{1}, told.now - 3ms);
  EXPECT_EQ(told.owner(), "");
  EXPECT_EQ(told.hint().unowned_since, told.now - 3ms);
}

TEST(Directory, tells_what_changed_once_and_what_was_merely_lengthened) {
  Told told(Mode::exclusive);
  told.read(10, kExclusiveA.leads(5, "0,2"));
  EXPECT_EQ(told.directory.take_changed(), (std::vector{Partition{0}, Partition{2}}));
  EXPECT_EQ(told.directory.take_renewed(), (std::vector{Partition{0}, Partition{2}}));
  told.read(11, kExclusiveA.leads(5, "0,2"));
  EXPECT_TRUE(told.directory.take_changed().empty());
  EXPECT_EQ(told.directory.take_renewed().size(), 2u);
  told.read(12, kExclusiveB.claim("0"));
  EXPECT_EQ(told.directory.take_changed(), std::vector{Partition{0}});
  Writer renamed = kExclusiveA;
  renamed.name = "renamed";
  told.read(13, renamed.leads(5, "2"));
  EXPECT_EQ(told.directory.take_changed(), std::vector{Partition{2}});
  EXPECT_EQ(told.owner(Partition{2}), "renamed");
}

TEST(Directory, forgets_peers_that_no_hint_refers_to) {
  Told told;
  std::vector<std::weak_ptr<const Peer>> known;
  for (std::uint64_t id = 1; id <= 1000; ++id) {
    const Writer writer{id};
    const auto offset = static_cast<std::int64_t>(10 + 2 * id);
    told.read(offset, writer.claim("0"));
    told.read(offset + 1, writer.leads(offset, "0"));
    known.push_back(told.hint().owner);
  }
  const auto alive = std::count_if(known.begin(), known.end(),
                                   [](const auto& peer) { return !peer.expired(); });
  EXPECT_LE(alive, 65);
  EXPECT_EQ(told.owner(), "p1000");
}

}  // namespace
}  // namespace neliroute
