// Claims that travel beside the records of `broadcast`, where writes fail, logs have gaps, and
// others die or have come before.
#include <gtest/gtest.h>

#include <vector>

#include "neli_core/broadcast/hint_claims.h"
#include "tests/unit/neli_core/broadcast/broadcast_rig.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using broadcast_rig::kP0;
using broadcast_rig::Process;
using broadcast_rig::with_hints;
using broadcast_rig::World;
using namespace std::chrono_literals;

/// Writes at every beat, and hears what the test says.
struct Alone {
  explicit Alone(std::int64_t end = 0) {
    beside.on(tail_at(Log{0}, 0, end), now);
    beside.lead(kP0, now);
  }
  std::vector<Write> write() {
    now = later(now, 500ms);
    Ready ready;
    beside.write(ready, now);
    return ready.writes;
  }
  void read(const Write& write) {
    const Decoded value = decode_record(write.value);
    beside.on(Received{Log{0}, offset++, BrokerTime{milliseconds{1'700'000'000'000}}, true, &value},
              now);
  }
  LocalTime now = LocalTime{} + 100s;
  std::int64_t offset = 0;
  HintClaims beside{with_hints().core, 500ms};
};

// A ledger that is away for long is not met by a flood of stale ones when it is back.
TEST(HintClaims, renewals_are_written_while_three_are_on_their_way_at_most) {
  Alone alone;
  const auto claims = alone.write();
  ASSERT_EQ(claims.size(), 1u);
  alone.beside.on(WriteAcknowledged{claims[0].seq}, alone.now);
  alone.read(claims[0]);
  std::vector<Write> renewals;
  const auto renew = [&] {
    for (int beat = 0; beat < 10; ++beat) {
      for (const Write& one : alone.write()) renewals.push_back(one);
    }
    return renewals.size();
  };
  EXPECT_EQ(renew(), 3u);
  alone.beside.on(WriteAcknowledged{renewals[0].seq}, alone.now);
  EXPECT_EQ(renew(), 4u);
  alone.beside.on(WriteFailed{renewals[1].seq}, alone.now);
  EXPECT_EQ(renew(), 5u) << "one that failed is not on its way any more";
}

TEST(HintClaims, who_could_not_write_for_long_is_found_again) {
  World world;
  Process& a = world.add(with_hints());
  world.assign(a, "0");
  world.pass(1s);
  a.fail_writes = true;
  world.pass(30s);
  a.fail_writes = false;
  const std::size_t before = world.beside(RecordType::renewal).size();
  world.pass(5s);
  EXPECT_EQ(world.beside(RecordType::renewal).size(), before + 10);
}

TEST(HintClaims, a_claim_that_came_back_is_not_written_again) {
  World world;
  Process& a = world.add(with_hints());
  world.assign(a, "0");
  world.pass(60s);
  EXPECT_EQ(world.beside(RecordType::claim).size(), 1u);
}

TEST(HintClaims, after_a_gap_it_claims_anew_once_the_log_is_read) {
  World world;
  Process& a = world.add(with_hints());
  world.assign(a, "0");
  world.pass(1s);
  world.step(a, GapFound{Log{0}, GapReason::truncated});
  const auto end = static_cast<std::int64_t>(world.length());
  world.step(a, tail_at(Log{0}, end, end));
  world.pass(1s);
  ASSERT_EQ(world.beside(RecordType::claim).size(), 2u);
  ASSERT_EQ(world.beside(RecordType::renewal).back().epochs.size(), 1u);
  EXPECT_GE(world.beside(RecordType::renewal).back().epochs[0].claim_offset, end);
}

// The last records of a log may have expired, or be none that a reader is given.
TEST(HintClaims, a_log_may_be_read_to_its_end_without_a_record) {
  Alone alone(7);
  EXPECT_TRUE(alone.write().empty());
  EXPECT_FALSE(alone.beside.history_was_read());
  alone.beside.on(LogPosition{Log{0}, 6}, alone.now);
  EXPECT_FALSE(alone.beside.history_was_read());
  alone.beside.on(LogPosition{Log{0}, 7}, alone.now);
  EXPECT_TRUE(alone.beside.history_was_read());
  EXPECT_EQ(alone.write().size(), 1u);
}

/// What somebody with more slots than this process says.
Record of_other_settings(const Process& process) {
  Record other;
  other.type = RecordType::renewal;
  other.id = ProcessId{77};
  other.lease = 9s;
  other.settings = process.core.options().core.settings;
  other.settings->slots = 128;
  return other;
}

// The running configuration is that of the living process whose first record is the oldest.
TEST(HintClaims, who_came_first_stays_and_who_came_later_refuses) {
  World world;
  Process& a = world.add(with_hints());
  world.assign(a, "0");
  world.pass(1s);
  const auto since = world.beside(RecordType::renewal).back().since;
  ASSERT_TRUE(since);
  Record other = of_other_settings(a);
  other.since = *since + 1;
  world.pass(5s);
  EXPECT_EQ(world.beside(RecordType::renewal).back().since, since);
  world.append(kP0, world.broker_now(), encode_record(other));
  world.pass(1s);
  EXPECT_FALSE(a.refused) << "it came first";
  other.id = ProcessId{78};
  other.since = *since - 1;
  world.append(kP0, world.broker_now(), encode_record(other));
  EXPECT_TRUE(a.refused);
}

TEST(HintClaims, settings_of_who_is_gone_make_nobody_refuse) {
  for (const bool lives : {false, true}) {
    World world;
    Process& a = world.add();  // the topic is there
    Record other = of_other_settings(a);
    other.since = world.broker_now().time_since_epoch().count();
    world.append(kP0, world.broker_now(), encode_record(other));
    Process& b = world.add(with_hints());
    world.pass(8999ms);
    EXPECT_FALSE(b.refused) << "it lay in the log";
    EXPECT_FALSE(b.subscribed) << "nobody knows whether it lives";
    if (lives) world.append(kP0, world.broker_now(), encode_record(other));
    world.pass(1ms);
    EXPECT_EQ(b.refused.has_value(), lives);
    EXPECT_EQ(b.subscribed, !lives);
  }
}

/// a hands over to b, which leads; both live in one world.
struct HandedOver {
  HandedOver() {
    world.assign(a, "0");
    world.pass(1s);
    world.revoke(a, "0");
    world.assign(b, "0");
    world.pass(1s);
    EXPECT_TRUE(world.leads(a));
    EXPECT_TRUE(world.leads(b));
  }
  World world;
  Process& a = world.add(with_hints());
  Process& b = world.add(with_hints());
};

TEST(HintClaims, one_that_has_released_is_no_successor) {
  HandedOver story;
  story.world.step(story.b, CloseRequested{story.world.now()});
  ASSERT_TRUE(story.b.closed);
  story.world.step(story.a, CloseRequested{story.world.now() + 20s});
  EXPECT_TRUE(story.world.leads(story.a)) << "nobody else does";
}

TEST(HintClaims, one_that_drains_is_no_successor) {
  HandedOver story;
  story.world.revoke(story.b, "0");
  EXPECT_EQ(story.world.beside(RecordType::renewal).back().draining.to_string(), "0") << "at once";
  story.world.step(story.a, CloseRequested{story.world.now() + 20s});
  EXPECT_TRUE(story.world.leads(story.a)) << "the other one does not go on";
}

TEST(HintClaims, who_gets_a_partition_back_from_one_that_died_claims_anew_after_three_beats) {
  HandedOver story;
  story.b.stopped = true;
  story.world.assign(story.a, "0");
  story.world.pass(500ms);
  EXPECT_EQ(story.world.beside(RecordType::claim).size(), 2u);
  story.world.pass(1500ms);
  EXPECT_EQ(story.world.beside(RecordType::claim).size(), 3u);
}

// Callers take it for a claim of every partition, and in exclusive mode believe no older epoch.
TEST(HintClaims, who_leads_beside_a_claim_that_cannot_be_read_claims_anew_after_three_beats) {
  World world;
  Process& a = world.add(with_hints());
  world.assign(a, "0");
  world.pass(1s);
  ASSERT_EQ(world.beside(RecordType::claim).size(), 1u);
  world.append(kP0, world.broker_now(), R"({"t":"claim","lane":0})");
  world.pass(1s);
  EXPECT_EQ(world.beside(RecordType::claim).size(), 2u) << "the stranger's, and no other yet";
  world.pass(2s);
  const auto claims = world.beside(RecordType::claim);
  ASSERT_EQ(claims.size(), 3u);
  EXPECT_GE(claims.back().incarnation, claims.front().incarnation);
  EXPECT_TRUE(world.leads(a)) << "and never stopped";
}

// A newcomer's tail starts so far before it: docs/protocol.md, T*.
TEST(HintClaims, records_say_how_far_their_writer_has_read) {
  World world;
  Process& a = world.add(with_hints());
  world.assign(a, "0");
  world.pass(10s);
  const auto read_until = world.beside(RecordType::renewal).back().read_until;
  ASSERT_TRUE(read_until);
  EXPECT_LE(*read_until, world.broker_now());
  EXPECT_GE(*read_until, world.broker_now() - 1s);
  EXPECT_TRUE(world.beside(RecordType::claim).back().read_until);
}

TEST(HintClaims, an_incarnation_a_lifetime_ahead_is_not_believed) {
  World world;
  Process& a = world.add(with_hints());
  Record absurd;
  absurd.type = RecordType::renewal;
  absurd.id = ProcessId{77};
  absurd.incarnation = kIncarnationMax;
  absurd.epochs = {{5000, *LogParts::parse("0")}};
  absurd.lease = 9s;
  world.append(kP0, world.broker_now(), encode_record(absurd));
  world.assign(a, "0");
  world.pass(10s);
  EXPECT_EQ(world.beside(RecordType::claim).size(), 1u);
  EXPECT_EQ(world.beside(RecordType::renewal).back().leading.to_string(), "0");
}

}  // namespace
}  // namespace neliroute
