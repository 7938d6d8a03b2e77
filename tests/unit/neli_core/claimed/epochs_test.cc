// "Epoch", "Batches" and "Valid" of docs/protocol.md, and when a process may claim at all.
#include <gtest/gtest.h>

#include <algorithm>

#include "neli_core/record/judgement.h"
#include "tests/world/rig.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using rig::kLog;
using rig::kP0;
using rig::claim_of;
using rig::release_of;
using rig::renewal_of;
using rig::Rig;
using rig::RigOptions;
using rig::exclusive;
using namespace std::chrono_literals;

TEST(Epoch, of_the_first_claim_is_the_record_s_broker_time_and_offset) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.append(kLog, "not a record");
  rig.broker_offset += 5s;  // not the stamp of offset 0
  rig.assign(a, "0");
  EXPECT_EQ(a.records(RecordType::claim)[0].incarnation, 0);
  EXPECT_EQ(a.core.epoch(kP0), (Epoch{1'700'000'015'000, 1}));
}

TEST(Epoch, incarnation_0_reads_as_the_claim_s_own_broker_time) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  EXPECT_EQ(a.records(RecordType::claim)[0].incarnation, 0);
  EXPECT_EQ(a.core.epoch(kP0), (Epoch{1'700'000'010'000, 0}));
}

TEST(Epoch, one_made_without_knowing_the_greatest_incarnation_outranks_it_by_its_stamp) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.append(kLog, claim_of(9, "3", 1'500'000'000'000));
  rig.settle();
  // Of this one, which the log lost, nobody alive knows; a store does.
  const Epoch lost{rig.broker_now().time_since_epoch().count(), 4711};
  rig.run_for(1s);
  rig.assign(a, "0");
  EXPECT_GT(a.core.epoch(kP0), lost);
}

TEST(Epoch, a_claimer_writes_the_greatest_incarnation_it_knows) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.append(kLog, claim_of(9, "3", 1'800'000'000'000));
  rig.append(kLog, claim_of(9, "2", 1'750'000'000'000));
  rig.assign(a, "0");
  EXPECT_EQ(a.records(RecordType::claim)[0].incarnation, 1'800'000'000'000);
  EXPECT_EQ(a.core.epoch(kP0), (Epoch{1'800'000'000'000, 2}));
}

TEST(Epoch, the_greatest_incarnation_is_known_per_log_whatever_the_lane) {
  RigOptions options;
  options.logs = 2;
  Rig rig(options);
  auto& a = rig.start(1, "a");
  rig.append(kLog, claim_of(9, "0", 1'800'000'000'000));
  Record other_lane = claim_of(9, "1", 1'900'000'000'000);
  other_lane.max_incarnation = other_lane.incarnation;
  other_lane.lane = Lane{1};
  rig.append(Log{1}, other_lane);
  rig.assign(a, "0-1");
  EXPECT_EQ(a.core.epoch(kP0)->incarnation, 1'800'000'000'000);
  EXPECT_EQ(a.core.epoch(Partition{1})->incarnation, 1'900'000'000'000);
}

// Found by the simulator: everybody of a lane had gone, and the last records were the other lane's.
TEST(Epoch, each_lane_repeats_the_incarnations_of_the_others) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.run_for(50ms);
  Record other_lane = claim_of(9, "3", 0);
  other_lane.lane = Lane{1};
  rig.append(kLog, other_lane);
  const auto stamp = rig.log(0).records.back().stamped.time_since_epoch().count();
  ASSERT_GT(stamp, a.core.epoch(kP0)->incarnation) << "a first claim's inc is its own stamp";
  rig.settle();
  rig.run_for(100ms);
  EXPECT_EQ(a.records(RecordType::renewal).back().max_incarnation, stamp);
}

// Found by the simulator (exclusive, seed 12110): in a log of which nothing else was left.
TEST(Epoch, an_incarnation_in_another_lane_that_its_writer_does_not_repeat_is_a_strangers) {
  Rig rig;
  Record line = claim_of(9, "3", 9);
  line.lane = Lane{1};
  rig.append(kLog, line);
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  EXPECT_EQ(a.records(RecordType::claim)[0].incarnation, 0);
  line.max_incarnation = line.incarnation = 1'800'000'000'000;
  rig.append(kLog, line);
  rig.settle();
  rig.run_for(200ms);
  EXPECT_EQ(a.records(RecordType::renewal).back().max_incarnation, 1'800'000'000'000);
}

TEST(Epoch, every_record_repeats_the_greatest_incarnation_its_writer_knows) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.append(kLog, claim_of(9, "3", 1'800'000'000'000));
  rig.settle();
  rig.run_for(100ms);
  EXPECT_EQ(a.records(RecordType::renewal).back().incarnation, 1'700'000'010'000);
  EXPECT_EQ(a.records(RecordType::renewal).back().max_incarnation, 1'800'000'000'000);
  // A newcomer that reads nothing but this renewal claims with it.
  auto& b = rig.start(2, "b", rig.log(0).end() - 1);
  rig.assign(b, "0");
  EXPECT_EQ(b.records(RecordType::claim)[0].incarnation, 1'800'000'000'000);
}

TEST(Epoch, one_not_greater_than_every_epoch_known_is_released_and_claimed_anew) {
  Rig rig;
  auto& a = rig.start(1, "a");
  a.hold = true;
  rig.append(kLog, claim_of(9, "0", 1'800'000'000'000));
  rig.assign(a, "0");  // does not know of it yet
  ASSERT_EQ(a.records(RecordType::claim)[0].incarnation, 0);
  a.hold = false;
  rig.settle();
  const auto releases = a.records(RecordType::release);
  ASSERT_EQ(releases.size(), 1u);
  EXPECT_EQ(releases[0].incarnation, 1'700'000'010'000);
  EXPECT_EQ(releases[0].epochs[0].claim_offset, 1);
  // At once: only a broker that refuses claims is spared the next one for an interval.
  ASSERT_EQ(a.records(RecordType::claim).size(), 2u);
  EXPECT_EQ(a.records(RecordType::claim)[1].incarnation, 1'800'000'000'001)
      << "the greatest known, + 1";
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_EQ(a.core.epoch(kP0)->incarnation, 1'800'000'000'001);
  EXPECT_EQ(a.count(TransitionKind::acquired), 1u) << "never the one that was released";
}

// Found by the simulator (exclusive, seed 11446): the epoch with the greatest incarnation lay below
// what a process reads that was cut off, and only others' records told of its incarnation.
TEST(Epoch, one_whose_incarnation_others_had_outgrown_is_released_and_claimed_anew) {
  for (const bool renewed : {false, true}) {
    Rig rig;
    auto& a = rig.start(1, "a");
    a.hold = true;
    Record other = renewed ? renewal_of(9, {1'750'000'000'000, 0}, "3", "3")
                           : claim_of(9, "3", 1'750'000'000'000);
    if (renewed) other.max_incarnation = 1'800'000'000'000;
    rig.append(kLog, other);
    rig.assign(a, "0");  // does not know of it yet
    a.hold = false;
    rig.settle();
    EXPECT_TRUE(a.leads(0, rig.now()));
    EXPECT_EQ(a.core.epoch(kP0)->incarnation, renewed ? 1'800'000'000'000 : 1'750'000'000'000);
    EXPECT_EQ(a.count(TransitionKind::acquired), 1u);
    EXPECT_EQ(a.records(RecordType::release).size(), 1u);
  }
}

TEST(Epoch, a_claim_that_lands_in_a_topic_made_again_is_of_its_time_there) {
  Rig rig;
  rig.append(kLog, claim_of(9, "3"));
  auto& a = rig.start(1, "a", 1);
  a.hold = true;
  rig.assign(a, "0");
  const auto said = a.records(RecordType::claim)[0].incarnation;
  rig.log(0).records.clear();
  rig.broker_offset += 60s;
  rig.append(kLog, "the first");
  rig.append(kLog, a.written[0].value);
  a.hold = false;
  rig.step(a, GapFound{kLog, GapReason::replaced});
  rig.restart_tail(a, kLog, 0);
  rig.settle();
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_GE(a.core.epoch(kP0)->incarnation, said + 60'000);
  EXPECT_EQ(a.count(TransitionKind::acquired), 1u);
}

TEST(Epoch, what_is_claimed_after_a_gap_outranks_what_was_known_before) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  const Epoch before = *a.core.epoch(kP0);
  rig.run_for(500ms);
  rig.log(0).records.clear();  // the topic is made again, with a broker whose clock is behind
  rig.broker_offset -= 10s;
  rig.step(a, GapFound{kLog, GapReason::replaced});
  rig.restart_tail(a, kLog, 0);
  rig.run_for(200ms);
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_GT(*a.core.epoch(kP0), before);
  EXPECT_EQ(a.core.epoch(kP0)->incarnation, before.incarnation + 1);
}

// A duplicate of an early claim, or one that was long on its way; the broker's clock is behind.
TEST(Epoch, an_own_claim_that_would_fall_is_claimed_over_and_costs_no_gap) {
  for (const Mode mode : {Mode::non_exclusive, Mode::exclusive}) {
    RigOptions options;
    options.mode = mode;
    Rig rig(options);
    auto& a = rig.start(1, "a");
    rig.assign(a, "0");
    ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 3s));
    rig.run_for(500ms);
    const Epoch before = *a.core.epoch(kP0);
    rig.broker_offset -= 10s;
    rig.append(kLog, claim_of(1, "0", before.incarnation - 1));
    rig.settle();
    EXPECT_TRUE(a.leads(0, rig.now()));
    rig.run_for(200ms);
    EXPECT_TRUE(a.leads(0, rig.now()));
    EXPECT_EQ(a.core.epoch(kP0)->incarnation, before.incarnation + 1);
    EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
  }
}

// Behind it a renewal of the epoch that is held means nothing to others.
TEST(Epoch, behind_an_own_claim_that_would_fall_nothing_extends_the_lease) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 3s));
  rig.run_for(500ms);
  a.drop_writes = true;
  const LocalTime dropped = rig.now();
  rig.broker_offset -= 10s;
  rig.append(kLog, claim_of(1, "0", a.core.epoch(kP0)->incarnation - 1));
  rig.run_for(300ms);
  const auto stale = a.claims.counters().renewals_stale;
  const auto late = std::find_if(a.written.rbegin(), a.written.rend(), [](const Write& write) {
    return std::get<Record>(decode_record(write.value)).type == RecordType::renewal;
  });
  ASSERT_NE(late, a.written.rend());
  rig.append(kLog, std::string(late->value));
  rig.settle();
  EXPECT_EQ(a.claims.counters().renewals_stale, stale + 1);
  EXPECT_TRUE(a.leads(0, rig.now())) << "what was left of the lease stands";
  EXPECT_FALSE(a.leads(0, later(dropped, rig.options.lease)));
}

// A writer that stamps in microseconds, where writers stamp.
TEST(Epoch, a_claim_stamped_in_the_far_future_makes_nobody_claim_for_ever) {
  RigOptions options;
  options.believe_broker_time = options.store_stamped = false;
  Rig rig(options);
  auto& a = rig.start(1, "a");
  rig.log(0).append(read_value(R"({"t":"claim","lane":7})"),
                    BrokerTime{std::chrono::milliseconds{1'763'690'000'000'000}}, false);
  rig.settle();
  rig.assign(a, "0");
  rig.run_for(1s);
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u);
}

TEST(Epoch, absurd_incarnations_are_unreadable_and_overflow_nothing) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.append(kLog, R"({"t":"claim","lane":0,"lparts":"0","id":"0000000000000009",)"
                   R"("inc":9223372036854775807})");
  rig.settle();
  rig.assign(a, "0");
  EXPECT_EQ(a.core.epoch(kP0), (Epoch{1'700'000'010'000, 1}));
}

TEST(Epoch, an_incarnation_a_lifetime_ahead_is_not_believed) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-3");
  const Epoch first = *a.core.epoch(kP0);
  const std::int64_t limit = incarnation_limit(rig.broker_now());
  for (const std::int64_t incarnation : {limit + 1, kIncarnationMax}) {
    rig.append(kLog, renewal_of(0xff, {incarnation, 999'999}, "0-3", "0-3"));
    rig.append(kLog, release_of(0xff, {incarnation, 999'999}, "0-3"));
    rig.settle();
    EXPECT_TRUE(a.leads(0, rig.now()));
    EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
  }
  rig.append(kLog, claim_of(0xff, "0", kIncarnationMax));
  rig.settle();
  EXPECT_TRUE(a.core.epoch(kP0)) << "a claim it is all the same: it drains";
  EXPECT_EQ(a.last(TransitionKind::draining, 0)->partition, kP0);
  ASSERT_TRUE(rig.run_until([&] { return a.core.epoch(kP0)->offset > first.offset; }, 10s));
  EXPECT_LT(a.core.epoch(kP0)->incarnation, limit);
  rig.run_for(3s);
  EXPECT_TRUE(a.leads(0, rig.now())) << "its own renewals are believed";
}

TEST(Epoch, an_incarnation_that_is_not_believed_leaves_the_claims_own_time) {
  const BrokerTime stamped{std::chrono::milliseconds{1'700'000'000'000}};
  EXPECT_EQ(claim_epoch(claim_of(9, "0", incarnation_limit(stamped)), stamped, 3).incarnation,
            incarnation_limit(stamped));
  EXPECT_EQ(claim_epoch(claim_of(9, "0", incarnation_limit(stamped) + 1), stamped, 3).incarnation,
            1'700'000'000'000);
}

TEST(Epoch, the_greatest_incarnation_that_is_believed_leaves_room_above_it) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-3");
  const Epoch poison{incarnation_limit(rig.broker_now()), 999'999};
  rig.append(kLog, renewal_of(0xff, poison, "0-3", "0-3"));
  rig.settle();
  EXPECT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::gap);
  ASSERT_EQ(a.restarts.size(), 1u);
  rig.restart_tail(a, kLog, 0);
  ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 10s));
  EXPECT_GT(*a.core.epoch(kP0), poison);
  a.written.clear();
  rig.run_for(2s);
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_EQ(a.records(RecordType::claim).size(), 0u) << "one claim was enough";
}

TEST(Epoch, the_limits_of_incarnations_overflow_nothing) {
  using std::chrono::milliseconds;
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  const Record claim = claim_of(9, "0");
  for (const std::int64_t stamp : {kMin, std::int64_t{-1}, std::int64_t{0}, kMax}) {
    const BrokerTime stamped{milliseconds{stamp}};
    EXPECT_GE(incarnation_limit(stamped), std::int64_t{1} << 42);
    EXPECT_LE(incarnation_limit(stamped), kIncarnationMax);
    EXPECT_GE(claim_epoch(claim, stamped, 3).incarnation, 0);
    EXPECT_LT(claim_epoch(claim, stamped, 3).incarnation, kIncarnationMax);
  }
  EXPECT_EQ(next_incarnation(7), 8);
  EXPECT_EQ(next_incarnation(kIncarnationMax), kIncarnationMax);
}

TEST(Batches, a_process_writes_one_renewal_an_interval_and_log) {
  RigOptions options;
  options.slots = 256;
  options.partitions = 64;
  options.logs = 4;
  Rig rig(options);
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-63");
  EXPECT_EQ(a.records(RecordType::claim).size(), 4u);
  rig.run_for(50ms);
  a.written.clear();
  rig.run_for(1s);
  EXPECT_EQ(a.written.size(), 4u * 10u);
  for (const Write& write : a.written) {
    const auto record = std::get<Record>(decode_record(write.value));
    ASSERT_EQ(record.epochs.size(), 1u);
    EXPECT_EQ(record.epochs[0].parts.to_string(), "0-15") << "neighbours in the log";
    EXPECT_EQ(record.leading.to_string(), "0-15");
  }
}

TEST(Batches, one_record_of_many_partitions_means_the_same_as_one_for_each) {
  RigOptions options = exclusive();
  for (const bool together : {true, false}) {
    Rig rig(options);
    auto& a = rig.start(1, "a");
    Epoch epoch;
    if (together) {
      epoch = rig.append_claim(kLog, claim_of(9, "0,2-3"));
      rig.append(kLog, release_of(9, epoch, "0,2-3"));
    } else {
      for (const char* p : {"0", "2", "3"}) {
        rig.append(kLog, release_of(9, rig.append_claim(kLog, claim_of(9, p)), p));
      }
    }
    rig.run_for(1002ms);  // the horizon
    rig.assign(a, "0-3");
    for (std::uint32_t p = 0; p < 4; ++p) EXPECT_TRUE(a.leads(p, rig.now()));
  }
}

TEST(Batches, lists_that_do_not_fit_64_KiB_are_split) {
  RigOptions options;
  options.slots = 65536;
  options.partitions = 65536;
  Rig rig(options);
  auto& a = rig.start(1, "a");
  PartitionRanges even;
  for (std::uint32_t p = 0; p < 65536; p += 2) even.insert(Partition{p});
  rig.step(a, GroupAssigned{even});
  rig.settle();
  rig.run_for(150ms);
  PartitionRanges claimed, leading;
  for (const Write& write : a.written) {
    EXPECT_LE(write.value.size(), kRecordBytesMax);
    const auto record = std::get<Record>(decode_record(write.value));
    if (record.type == RecordType::claim) {
      record.parts->for_each({}, [&](Partition p) { claimed.insert(p); });
    }
  }
  EXPECT_EQ(claimed, even);
  EXPECT_GE(a.records(RecordType::claim).size(), 3u);
  for (std::uint32_t p = 0; p < 65536; ++p) ASSERT_EQ(a.leads(p, rig.now()), p % 2 == 0) << p;
  const auto written = a.written.size();
  rig.run_for(1s);
  EXPECT_GT(a.written.size(), written) << "the answers to all parts of a batch were counted";
  EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
  rig.revoke(a, even.to_string());
  rig.step(a, CloseRequested{rig.now()});
  rig.settle();
  std::size_t released = 0;
  for (const Record& record : a.records(RecordType::release)) {
    for (const EpochParts& parts : record.epochs) released += parts.parts.size();
  }
  EXPECT_EQ(released, even.size());
}

TEST(Start, subscribes_when_every_log_was_read_up_to_its_end) {
  RigOptions options;
  options.logs = 2;
  Rig rig(options);
  for (std::uint32_t l = 0; l < 2; ++l) rig.append(Log{l}, "anything");
  auto made = ClaimProtocol::make(rig.core_options(1, "a"));
  ClaimProtocol core = std::move(*made);
  const auto record = decode_record("anything");
  const auto received = [&](std::uint32_t l) {
    core.step(Received{Log{l}, 0, rig.broker_now(), true, &record}, rig.now());
    return core.take_ready().subscribe;
  };
  core.step(tail_at(Log{0}, 0, 1), rig.now());
  core.step(tail_at(Log{1}, 0, 1), rig.now());
  EXPECT_FALSE(core.take_ready().subscribe);
  EXPECT_FALSE(received(0));
  EXPECT_TRUE(received(1));
}

TEST(Start, subscribes_after_3_s_whatever_is_missing_and_claims_only_where_logs_were_read) {
  RigOptions options;
  options.logs = 2;
  Rig rig(options);
  ClaimProtocol core = std::move(*ClaimProtocol::make(rig.core_options(1, "a")));
  core.tick(rig.now());
  core.step(tail_at(Log{0}, 0, 0), rig.now());
  EXPECT_EQ(core.next_deadline(), rig.now() + 500ms) << "the last record is to be seen again";
  // The one log that is there answers all the while; the other one never does.
  for (milliseconds passed = 400ms; passed < 3s; passed += 400ms) {
    core.step(LogPosition{Log{0}, 0}, rig.now() + passed);
  }
  core.tick(rig.now() + 3s - 1us);
  EXPECT_FALSE(core.take_ready().subscribe);
  core.tick(rig.now() + 3s);
  EXPECT_TRUE(core.take_ready().subscribe);
  core.step(GroupAssigned{*PartitionRanges::parse("0-3")}, rig.now() + 3s);
  const Ready ready = core.take_ready();
  ASSERT_EQ(ready.writes.size(), 1u);
  EXPECT_EQ(ready.writes[0].log, Log{0});
  EXPECT_EQ(std::get<Record>(decode_record(ready.writes[0].value)).parts->to_string(), "0-1");
  core.step(tail_at(Log{1}, 0, 0), rig.now() + 3s);
  const Ready later = core.take_ready();
  ASSERT_EQ(later.writes.size(), 1u) << "its log is there now";
  EXPECT_EQ(later.writes[0].log, Log{1});
}

TEST(Start, partitions_beyond_M_are_reported_once_and_never_claimed) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "2-5");
  rig.assign(a, "6");
  EXPECT_EQ(a.records(RecordType::claim)[0].parts->to_string(), "2-3");
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u);
  ASSERT_EQ(a.notices.size(), 1u);
  EXPECT_NE(a.notices[0].text.find("partition 4"), std::string::npos) << a.notices[0].text;
  EXPECT_NE(a.notices[0].text.find("4 partitions"), std::string::npos) << a.notices[0].text;
}

}  // namespace
}  // namespace neliroute
