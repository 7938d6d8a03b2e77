// Rule 11 of docs/protocol.md: a tail that can no longer vouch for what it read. T = 1000 ms.
#include <gtest/gtest.h>

#include "tests/world/rig.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using rig::claim_of;
using rig::exclusive;
using rig::kLog;
using rig::kP0;
using rig::leader_of_0;
using rig::release_of;
using rig::renewal_of;
using rig::Rig;
using rig::RigOptions;
using namespace std::chrono_literals;

TEST(Rule11, a_gap_stops_releases_restarts_the_tail_and_claims_again) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    for (const GapReason reason :
         {GapReason::out_of_range, GapReason::truncated, GapReason::replaced,
          GapReason::missing, GapReason::restarted}) {
      RigOptions options;
      options.mode = mode;
      Rig rig(options);
      auto& a = leader_of_0(rig);
      const Epoch before = *a.core.epoch(kP0);
      rig.step(a, GapFound{kLog, reason});
      EXPECT_FALSE(a.leads(0, rig.now()));
      EXPECT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::gap);
      EXPECT_EQ(a.records().back().type, RecordType::release);
      EXPECT_EQ(a.restarts, std::vector<Log>{kLog});
      EXPECT_EQ(a.claims.counters().gaps, 1u);
      ASSERT_EQ(a.notices.size(), 1u);
      EXPECT_NE(a.notices[0].text.find(to_string(reason)), std::string::npos);
      rig.run_for(500ms);
      EXPECT_EQ(a.records(RecordType::claim).size(), 1u) << "the log is not there yet";
      rig.restart_tail(a, kLog, 0);
      rig.run_for(1500ms);
      EXPECT_TRUE(a.leads(0, rig.now()));
      EXPECT_GT(*a.core.epoch(kP0), before);
    }
  }
}

TEST(Rule11, a_gap_concerns_every_partition_of_that_log_and_no_other) {
  RigOptions options;
  options.logs = 2;
  Rig rig(options);
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-3");
  rig.step(a, GapFound{Log{1}, GapReason::truncated});
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_FALSE(a.leads(1, rig.now()));
  EXPECT_TRUE(a.leads(2, rig.now()));
  EXPECT_FALSE(a.leads(3, rig.now()));
}

TEST(Rule11, an_epoch_dropped_by_a_gap_is_dropped_for_ever) {
  Rig rig;
  auto& a = leader_of_0(rig);
  const Epoch dropped = *a.core.epoch(kP0);
  rig.revoke(a, "0");
  rig.step(a, GapFound{kLog, GapReason::restarted});
  rig.restart_tail(a, kLog, 0);  // it reads its own claim and renewals again
  rig.settle();
  rig.run_for(1s);
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_FALSE(a.core.epoch(kP0));
  for (const Transition& t : a.transitions) {
    if (t.kind != TransitionKind::acquired) continue;
    EXPECT_EQ(t.epoch, dropped);
    EXPECT_LT(t.at, rig.now() - 1s);
  }
}

TEST(Rule11, a_claim_that_is_read_again_is_not_released_before_its_barrier_has_ended) {
  for (const bool assigned : {true, false}) {
    Rig rig(exclusive());
    auto& a = leader_of_0(rig);
    const Epoch epoch = *a.core.epoch(kP0);
    a.keep_barriers = true;
    rig.step(a, tail_at(kLog, 0, a.next[0]));  // elsewhere than at its next offset
    ASSERT_FALSE(a.leads(0, rig.now()));
    if (!assigned) rig.revoke(a, "0");
    rig.restart_tail(a, kLog, 0);
    rig.settle();
    EXPECT_TRUE(a.records(RecordType::release).empty()) << "the application has not finished";
    rig.step(a, BarrierDone{kP0, epoch});
    rig.settle();
    const auto releases = a.records(RecordType::release);
    ASSERT_FALSE(releases.empty());
    EXPECT_EQ(releases.front().epochs.front().claim_offset, epoch.offset);
  }
}

TEST(Rule11, who_holds_nothing_has_gaps_too) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.run_for(5s);
  rig.step(a, GapFound{kLog, GapReason::replaced});
  rig.restart_tail(a, kLog, 0);
  const LocalTime l0 = rig.now();
  rig.assign(a, "0");
  rig.run_to(l0 + 1001000us);
  EXPECT_FALSE(a.leads(0, rig.now())) << "a new L0, a new horizon";
  rig.run_to(l0 + 1001001us);
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule11, a_tail_that_restarted_elsewhere_by_itself_is_a_gap) {
  Rig rig;
  auto& a = leader_of_0(rig);
  const auto next = a.next[0];
  rig.step(a, tail_at(kLog, next, next));
  EXPECT_TRUE(a.leads(0, rig.now())) << "where it was";
  rig.step(a, tail_at(kLog, next - 1, next));
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::gap);
  EXPECT_TRUE(a.restarts.empty()) << "it has restarted already";
}

TEST(Rule11, a_log_that_ends_below_its_end_of_L0_is_a_gap) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.step(a, GapFound{kLog, GapReason::restarted});
  a.restarts.clear();
  rig.step(a, tail_at(kLog, 0, 5));
  rig.step(a, LogPosition{kLog, 3});
  EXPECT_EQ(a.restarts, std::vector<Log>{kLog});
}

TEST(Rule11, a_log_whose_last_records_carry_nothing_is_read_when_its_leader_says_where_it_ends) {
  Rig rig;
  ClaimProtocol core = std::move(*ClaimProtocol::make(rig.core_options(1, "a")));
  core.step(tail_at(kLog, 0, 5), rig.now());
  core.step(GroupAssigned{*PartitionRanges::parse("0-3")}, rig.now());
  EXPECT_TRUE(core.take_ready().writes.empty()) << "up to 5 somebody may have claimed";
  core.step(LogPosition{kLog, 5}, rig.now());
  const Ready ready = core.take_ready();
  EXPECT_TRUE(ready.restart_tails.empty());
  ASSERT_EQ(ready.writes.size(), 1u);
  EXPECT_EQ(std::get<Record>(decode_record(ready.writes[0].value)).parts->to_string(), "0-3");
}

TEST(Rule11, a_foreign_record_that_names_a_newer_epoch_whose_claim_was_not_read_is_a_gap) {
  for (const bool release : {false, true}) {
    Rig rig;
    auto& a = leader_of_0(rig);
    const Epoch unread{a.core.epoch(kP0)->incarnation, a.core.epoch(kP0)->offset + 1};
    rig.append(kLog, release ? release_of(9, unread, "0") : renewal_of(9, unread, "0"));
    rig.settle();
    EXPECT_EQ(a.claims.counters().gaps, 1u);
    EXPECT_FALSE(a.leads(0, rig.now()));
  }
}

TEST(Rule11, a_foreign_record_that_names_an_older_epoch_or_a_claim_that_was_read_is_none) {
  Rig rig;
  auto& a = leader_of_0(rig);
  const Epoch own = *a.core.epoch(kP0);
  rig.append(kLog, renewal_of(9, {own.incarnation - 1, 99}, "0"));
  const Epoch read = rig.append_claim(kLog, claim_of(9, "0", own.incarnation));
  rig.append(kLog, renewal_of(9, read, "0"));
  rig.append(kLog, renewal_of(9, {own.incarnation, 77}, "1"));  // nothing is held there
  rig.settle();
  EXPECT_EQ(a.claims.counters().gaps, 0u);
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule11, after_T_without_an_answer_no_own_record_extends_a_lease_until_the_check_is_done) {
  Rig rig;
  auto& a = leader_of_0(rig);
  a.hold = true;
  rig.run_for(900ms);
  a.stopped = true;
  rig.run_for(300ms);
  a.stopped = false;
  a.answer_rereads = false;
  a.rereads.clear();
  a.hold = false;
  rig.settle();  // its backlog: renewals sent less than T ago
  EXPECT_FALSE(a.leads(0, rig.now()));
  ASSERT_EQ(a.rereads.size(), 1u);
  const RereadRequest request = a.rereads[0];
  rig.run_for(500ms);
  EXPECT_FALSE(a.leads(0, rig.now()));
  rig.step(a, rig.log(0).answer(request));
  rig.run_for(100ms);
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_EQ(a.claims.counters().gaps, 0u);
}

TEST(Rule11, no_claim_is_written_until_the_check_is_done) {
  Rig rig;
  rig.append(kLog, "a record to see again");
  auto& a = rig.start(1, "a");
  a.answer_rereads = false;
  rig.run_for(1100ms);
  rig.assign(a, "0");
  EXPECT_EQ(a.records(RecordType::claim).size(), 0u);
  a.answer_rereads = true;
  rig.run_for(1s);
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u);
}

TEST(Rule11, a_position_in_the_log_is_an_answer_but_does_not_make_the_check_good) {
  Rig rig;
  auto& a = leader_of_0(rig);
  a.answer_rereads = false;
  a.stopped = true;
  rig.run_for(5s);
  a.stopped = false;
  a.rereads.clear();
  rig.run_for(1ms);
  rig.step(a, LogPosition{kLog, a.next[0]});
  rig.run_for(300ms);
  EXPECT_FALSE(a.leads(0, rig.now()));
  const RereadRequest request = a.rereads.at(0);
  rig.step(a, rig.log(0).answer(request));
  rig.run_for(100ms);
  EXPECT_TRUE(a.leads(0, rig.now())) << "nor does it make the answer an old one";
}

TEST(Rule11, an_own_claim_read_before_the_check_is_done_brings_no_lease) {
  Rig rig;
  auto& a = rig.start(1, "a");
  a.answer_rereads = false;
  a.drop_writes = true;  // but for the claim, which lands late
  rig.run_for(800ms);
  rig.assign(a, "0");
  rig.run_for(300ms);
  ASSERT_EQ(a.records(RecordType::claim).size(), 1u);
  rig.append(kLog, a.written[0].value);
  rig.settle();
  EXPECT_TRUE(a.core.epoch(kP0));
  EXPECT_FALSE(a.leads(0, rig.now()));
}

TEST(Rule11, a_claim_under_way_is_written_again_after_a_gap) {
  Rig rig;
  auto& a = rig.start(1, "a");
  a.drop_writes = true;
  rig.assign(a, "0");
  a.drop_writes = false;
  rig.run_for(100ms);
  rig.step(a, GapFound{kLog, GapReason::replaced});
  rig.restart_tail(a, kLog, 0);
  rig.settle();
  EXPECT_TRUE(a.leads(0, rig.now())) << "it need not wait for 2 T";
}

// A stopped process wakes up with a record that was read last before it was stopped.
struct Woken {
  Woken() {
    a = &leader_of_0(rig);
    a->answer_rereads = false;
    a->stopped = true;
    rig.run_for(5s);
    a->stopped = false;
    a->rereads.clear();
    rig.run_for(1ms);
  }
  Rig rig;
  rig::Process* a = nullptr;
};

TEST(Rule11, a_last_record_that_changed_or_is_gone_is_a_gap) {
  for (int what = 0; what < 4; ++what) {
    Woken w;
    ASSERT_EQ(w.a->rereads.size(), 1u);
    const RereadRequest request = w.a->rereads[0];
    auto found = w.rig.log(0).answer(request).found;
    if (what == 0) found.reset();
    if (what == 1) found->id = ProcessId{9};
    if (what == 2) found->seq += 1;
    if (what == 3) found->stamped += 1ms;
    w.rig.step(*w.a, Reread{kLog, request.question, request.offset, found});
    EXPECT_EQ(w.a->claims.counters().gaps, 1u) << what;
    EXPECT_FALSE(w.a->core.epoch(kP0));
  }
}

TEST(Rule11, an_answer_to_an_older_question_proves_nothing) {
  Woken w;
  const RereadRequest request = w.a->rereads[0];
  w.a->stopped = true;
  w.rig.run_for(5s);
  w.a->stopped = false;
  w.rig.run_for(1ms);
  ASSERT_EQ(w.a->rereads.size(), 2u);
  EXPECT_NE(w.a->rereads[1].question, request.question);
  w.rig.step(*w.a, Reread{kLog, request.question, request.offset, std::nullopt});
  EXPECT_EQ(w.a->claims.counters().gaps, 0u) << "ignored, though it says gone";
}

TEST(Rule11, what_is_received_after_a_silence_does_not_vouch_for_itself) {
  Woken w;
  const std::int64_t before = w.a->rereads[0].offset;
  // The topic was made again and is longer by now: the tail reads on as if nothing had been.
  for (auto& record : w.rig.log(0).records) record.value = read_value("of another topic");
  w.rig.append(kLog, "of another topic");
  w.rig.settle();
  w.rig.run_for(1100ms);  // the first question was never answered: it is asked again
  ASSERT_GE(w.a->rereads.size(), 2u);
  EXPECT_EQ(w.a->rereads.back().offset, before);
  w.a->answer_rereads = true;
  w.rig.run_for(1100ms);
  EXPECT_EQ(w.a->claims.counters().gaps, 1u);
}

TEST(Rule11, a_tail_that_read_nothing_starts_anew_after_a_silence) {
  for (const std::int64_t start : {0, 7}) {  // a whole topic may have come and gone
    Rig rig;
    ClaimProtocol core = std::move(*ClaimProtocol::make(rig.core_options(1, "a")));
    core.step(tail_at(kLog, start, start), rig.now());
    rig.skip(1100ms);
    core.tick(rig.now());
    const Ready ready = core.take_ready();
    ASSERT_EQ(ready.rereads.size(), 1u);
    EXPECT_EQ(ready.rereads[0].offset, -1);
    core.step(Reread{kLog, ready.rereads[0].question, -1, std::nullopt}, rig.now());
    EXPECT_EQ(core.counters().gaps, 1u);
    const Ready told = core.take_ready();
    ASSERT_EQ(told.notices.size(), 1u);
    EXPECT_NE(told.notices[0].text.find("before anything of it was read"), std::string::npos)
        << told.notices[0].text;
  }
}

TEST(Rule11, an_idle_log_that_answers_is_not_asked_again_and_again) {
  Rig rig;
  auto& a = rig.start(1, "a");
  for (int i = 0; i < 40; ++i) {
    rig.run_for(100ms);
    rig.step(a, LogPosition{kLog, 0});
  }
  EXPECT_TRUE(a.rereads.empty());
  rig.run_for(501ms);
  EXPECT_EQ(a.rereads.size(), 1u) << "after T/2 without one";
}

TEST(Rule11, records_of_the_old_tail_that_come_late_are_ignored) {
  Rig rig;
  auto& a = leader_of_0(rig);
  rig.step(a, GapFound{kLog, GapReason::restarted});
  const auto ignored = a.claims.counters();
  rig.append(kLog, claim_of(9, "0"));
  rig.settle();
  EXPECT_EQ(a.claims.counters().records_foreign, ignored.records_foreign);
}

TEST(Rule11, a_record_received_twice_counts_once) {
  Rig rig;
  auto& a = leader_of_0(rig);
  rig.append(kLog, claim_of(9, "1"));
  rig.settle();
  const auto foreign = a.claims.counters().records_foreign;
  a.next[0] -= 1;
  rig.settle();
  EXPECT_EQ(a.claims.counters().records_foreign, foreign);
}

TEST(Rule11, two_logs_away_for_long_make_no_busy_loop) {
  RigOptions options;
  options.logs = 2;
  Rig rig(options);
  auto& a = rig.start(1, "a");
  a.answer_rereads = false;
  a.drop_writes = true;
  rig.assign(a, "0-3");
  LocalTime last = rig.now();
  int wakes = 0;
  while (last < rig.now() + 60s) {
    const LocalTime next = a.core.next_deadline();
    ASSERT_GT(next, last);
    last = next;
    a.core.tick(next);
    static_cast<void>(a.core.take_ready());
    ++wakes;
  }
  EXPECT_LT(wakes, 60 * 10);
}

}  // namespace
}  // namespace neliroute
