// "Expedite" of docs/protocol.md: when a process wants an answer of its group before its next
// heartbeat, how often at most, and what a newcomer writes so that others do.
#include <gtest/gtest.h>

#include <vector>

#include "audit/audit.h"
#include "neli_core/record/judgement.h"
#include "tests/world/rig.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using rig::claim_of;
using rig::kLog;
using rig::Process;
using rig::release_of;
using rig::renewal_of;
using rig::Rig;
using rig::RigOptions;
using namespace std::chrono_literals;

constexpr milliseconds kHeartbeat{4500};
constexpr milliseconds kSpread{1};

Process& start(Rig& rig, std::uint64_t id, const std::string& name,
               milliseconds heartbeat = kHeartbeat) {
  CoreOptions options = rig.core_options(id, name);
  options.heartbeat = heartbeat;
  return rig.start(options);
}

// --- The pacing ----------------------------------------------------------------------------------

std::vector<std::int64_t> asked(ExpeditePacing& pacing, std::int64_t from_ms, std::int64_t to_ms) {
  std::vector<std::int64_t> times;
  for (std::int64_t ms = from_ms; ms <= to_ms; ++ms) {
    if (pacing.due() <= rig::at_ms(ms) && pacing.take(rig::at_ms(ms), kSpread)) {
      times.push_back(ms - from_ms);
    }
  }
  return times;
}

TEST(ExpeditePacing, at_once_and_again_after_50_100_and_200_ms) {
  ExpeditePacing pacing(kHeartbeat);
  EXPECT_EQ(pacing.due(), kNever);
  pacing.begin(rig::at_ms(1000));
  EXPECT_EQ(asked(pacing, 1000, 4000), (std::vector<std::int64_t>{0, 51, 152, 353}))
      << "each behind the spread of the last";
}

TEST(ExpeditePacing, each_change_is_asked_about_as_often_as_the_first) {
  ExpeditePacing pacing(kHeartbeat);
  const std::vector<std::int64_t> times{0, 51, 152, 353};
  pacing.begin(rig::at_ms(1000));
  EXPECT_EQ(asked(pacing, 1000, 5999), times);
  pacing.begin(rig::at_ms(6000));  // a heartbeat after the last of these
  EXPECT_EQ(asked(pacing, 6000, 11'000), times);
}

TEST(ExpeditePacing, nothing_more_once_it_had_its_effect) {
  ExpeditePacing pacing(kHeartbeat);
  pacing.begin(rig::at_ms(1000));
  EXPECT_TRUE(pacing.take(rig::at_ms(1000), kSpread));
  pacing.end();
  EXPECT_TRUE(asked(pacing, 1001, 4000).empty());
}

TEST(ExpeditePacing, at_most_eight_within_a_heartbeat_however_often_the_membership_changes) {
  ExpeditePacing pacing(kHeartbeat);
  std::vector<std::int64_t> times;
  for (std::int64_t ms = 1000; ms < 11'000; ++ms) {
    pacing.begin(rig::at_ms(ms));
    if (pacing.take(rig::at_ms(ms), kSpread)) times.push_back(ms);
  }
  ASSERT_GT(times.size(), 12u) << "a change of every window gets its own";
  for (std::size_t i = 8; i < times.size(); ++i) {
    EXPECT_GE(times[i] - times[i - 8], kHeartbeat.count()) << "nine within a heartbeat";
  }
  EXPECT_GT(times[7] - times[0], kHeartbeat.count() / 3)
      << "and they are not gone before the last of many changes";
}

TEST(ExpeditePacing, a_change_for_which_nothing_is_left_waits_until_there_is) {
  ExpeditePacing pacing(kHeartbeat);
  std::int64_t ms = 1000;
  for (std::size_t asked = 0; asked < ExpeditePacing::kMost; ++ms) {
    pacing.begin(rig::at_ms(ms));
    if (pacing.take(rig::at_ms(ms), kSpread)) ++asked;
  }
  pacing.begin(rig::at_ms(ms));
  for (; ms < 1000 + kHeartbeat.count(); ++ms) {
    ASSERT_FALSE(pacing.take(rig::at_ms(ms), kSpread)) << ms;
  }
  EXPECT_TRUE(pacing.take(rig::at_ms(ms), kSpread)) << "the first of the eight is an interval ago";
}

TEST(ExpeditePacing, nothing_is_repeated_once_the_ordinary_heartbeat_has_come) {
  ExpeditePacing pacing(ExpeditePacing::kSoonEnough + 1ms);
  pacing.begin(rig::at_ms(1000));
  EXPECT_EQ(asked(pacing, 1000, 2000), (std::vector<std::int64_t>{0, 51}));
}

TEST(ExpeditePacing, no_request_where_heartbeats_come_soon_or_not_at_all) {
  for (const milliseconds heartbeat : {ExpeditePacing::kSoonEnough, milliseconds{50}, 0ms}) {
    ExpeditePacing pacing(heartbeat);
    pacing.begin(rig::at_ms(1000));
    EXPECT_EQ(pacing.due(), kNever) << heartbeat.count();
  }
}

// --- The members ---------------------------------------------------------------------------------

TEST(LaneMembers, those_whose_leases_are_over_are_forgotten_and_no_others) {
  constexpr std::uint32_t kLiving = 100;
  LaneMembers members;
  const auto note = [&](std::uint64_t id, milliseconds lease, LocalTime read) {
    EXPECT_FALSE(members.note(claim_of(id, "0"), lease, read)) << id;
  };
  for (std::uint64_t id = 1; id <= kLiving; ++id) note(id, 24h, rig::at_ms(0));
  for (std::uint64_t id = 1000; id < 3000; ++id) {
    note(id, 1s, rig::at_ms(static_cast<std::int64_t>(id) * 2000));
    ASSERT_LE(members.staying(kLongAgo), 2 * (kLiving + 1)) << "at most twice as many as live";
  }
  EXPECT_EQ(members.living(rig::at_ms(2999 * 2000)), kLiving + 1);
}

// --- The rule ------------------------------------------------------------------------------------

TEST(Expedite, a_leavers_drain_is_a_reason_for_whoever_may_get_what_it_held) {
  Rig rig;
  Process& a = start(rig, 1, "a");
  Process& b = start(rig, 2, "b");
  rig.assign(a, "0-1");
  rig.assign(b, "2-3");
  a.expedites.clear();
  rig.revoke(b, "2-3");
  ASSERT_EQ(a.expedites.size(), 1u) << "b drains, and a may get it";
  EXPECT_EQ(a.expedites[0].first, rig.now()) << "at once";
  EXPECT_EQ(a.expedites[0].second, 2ms) << "up to a millisecond a member";
  EXPECT_TRUE(b.expedites.empty()) << "it gave them up itself";
  rig.run_for(3000ms);
  EXPECT_EQ(a.expedites.size(), 4u) << "again after 50, 100 and 200 ms, and no more";
  rig.assign(a, "2-3");
  rig.run_for(3000ms);
  EXPECT_EQ(a.expedites.size(), 4u);
}

TEST(Expedite, no_more_once_somebody_has_claimed_it) {
  Rig rig;
  Process& a = start(rig, 1, "a");
  Process& b = start(rig, 2, "b");
  Process& c = start(rig, 3, "c");
  rig.assign(a, "0");
  rig.assign(b, "1");
  rig.assign(c, "2-3");
  for (Process* p : {&a, &b}) p->expedites.clear();
  rig.revoke(c, "2-3");
  rig.assign(b, "2-3");
  rig.run_for(1000ms);
  EXPECT_EQ(a.expedites.size(), 1u) << "all of it has a claim";
  EXPECT_EQ(b.expedites.size(), 1u);
}

TEST(Expedite, who_holds_as_much_as_anybody_will_does_not_ask) {
  Rig rig;
  Process& a = start(rig, 1, "a");
  Process& b = start(rig, 2, "b");
  Process& c = start(rig, 3, "c");
  rig.assign(a, "0-1");
  rig.assign(b, "2");
  rig.assign(c, "3");
  rig.run_for(1000ms);
  a.expedites.clear();
  rig.revoke(c, "3");
  rig.run_for(200ms);
  EXPECT_TRUE(a.expedites.empty()) << "4 partitions for 2 members: it has its 2";
  EXPECT_FALSE(b.expedites.empty());
}

TEST(Expedite, a_release_of_what_nobody_claimed_is_a_reason_too) {
  Rig rig;
  Process& a = start(rig, 1, "a");
  rig.assign(a, "0");
  const Epoch epoch = rig.append_claim(kLog, claim_of(7, "1"));
  rig.settle();
  rig.run_for(5000ms);
  a.expedites.clear();
  rig.append(kLog, release_of(7, epoch, "1"));
  rig.settle();
  EXPECT_EQ(a.expedites.size(), 1u);
}

TEST(Expedite, a_release_behind_the_successors_claim_is_none) {
  Rig rig;
  Process& a = start(rig, 1, "a");
  rig.assign(a, "0");
  const Epoch epoch = rig.append_claim(kLog, claim_of(7, "1"));
  rig.append_claim(kLog, claim_of(8, "1"));
  rig.settle();
  rig.run_for(5000ms);
  a.expedites.clear();
  rig.append(kLog, release_of(7, epoch, "1"));
  rig.settle();
  EXPECT_TRUE(a.expedites.empty());
}

TEST(Expedite, a_newcomer_is_a_reason_for_whoever_has_what_it_may_want) {
  Rig rig;
  Process& a = start(rig, 1, "a");
  Process& b = start(rig, 2, "b");
  rig.assign(a, "0-3");
  a.expedites.clear();
  rig.step(b, GroupJoined{});
  rig.settle();
  ASSERT_EQ(a.expedites.size(), 1u);
  rig.revoke(a, "2-3");
  rig.run_for(1000ms);
  EXPECT_EQ(a.expedites.size(), 1u) << "this is what it was for";
  EXPECT_FALSE(b.expedites.empty()) << "what a gives up, b may get";
}

TEST(Expedite, who_has_no_more_than_a_newcomer_gets_has_no_reason) {
  Rig rig;
  Process& a = start(rig, 1, "a");
  Process& b = start(rig, 2, "b");
  rig.assign(a, "0");
  rig.assign(b, "1-3");
  a.expedites.clear();
  Process& c = start(rig, 3, "c");
  rig.step(c, GroupJoined{});
  rig.settle();
  EXPECT_TRUE(a.expedites.empty()) << "4 for 3: nobody has less than 1";
  EXPECT_FALSE(b.expedites.empty());
}

TEST(Expedite, a_newcomers_first_claim_is_a_reason_and_its_second_is_none) {
  Rig rig;
  Process& a = start(rig, 1, "a");
  rig.assign(a, "0-2");
  a.expedites.clear();
  rig.append_claim(kLog, claim_of(7, "3"));
  rig.settle();
  EXPECT_EQ(a.expedites.size(), 1u);
  rig.run_for(900ms);
  const std::size_t before = a.expedites.size();
  rig.append_claim(kLog, claim_of(7, "3"));
  rig.settle();
  rig.run_for(50ms);
  EXPECT_EQ(a.expedites.size(), before);
}

// It joined after that, and got the state of that time.
TEST(Expedite, what_lay_in_the_log_before_is_no_reason) {
  for (const char* given : {"", "0-3"}) {
    Rig rig;
    Process& a = start(rig, 1, "a");
    rig.step(a, GapFound{kLog, GapReason::restarted});  // so that it joins before it reads
    a.hold = true;
    Epoch epoch = rig.append_claim(kLog, claim_of(7, "2-3"));
    rig.append(kLog, renewal_of(7, epoch, "2-3", "", "2-3"));  // gives it up
    epoch = rig.append_claim(kLog, claim_of(8, "1"));          // a newcomer
    rig.restart_tail(a, kLog, 0);
    rig.step(a, GroupJoined{});
    if (*given) rig.step(a, GroupAssigned{*PartitionRanges::parse(given)});
    rig.release_hold(a);
    rig.run_for(100ms);
    EXPECT_TRUE(a.expedites.empty()) << "given " << given;
    rig.append(kLog, renewal_of(8, epoch, "1", "", "1"));
    rig.append_claim(kLog, claim_of(9, "0"));
    rig.settle();
    EXPECT_EQ(a.expedites.size(), 1u) << "given " << given << ": what comes now is one";
  }
}

TEST(Expedite, not_without_the_consumer_protocol_nor_before_joining_nor_while_leaving) {
  Rig rig;
  Process& classic = start(rig, 1, "classic", 0ms);
  Process& early = start(rig, 2, "early");
  Process& leaving = start(rig, 3, "leaving");
  rig.assign(classic, "0");
  rig.assign(leaving, "1");
  leaving.expedites.clear();
  rig.step(leaving, CloseRequested{rig.now() + 5000ms});
  const Epoch epoch = rig.append_claim(kLog, claim_of(7, "2-3"));
  rig.append(kLog, renewal_of(7, epoch, "2-3", "", "2-3"));
  rig.settle();
  rig.run_for(500ms);
  for (const Process* p : {&classic, &early, &leaving}) {
    EXPECT_TRUE(p->expedites.empty()) << p->name;
  }
}

// --- What a newcomer writes ----------------------------------------------------------------------

TEST(Greeting, who_joined_and_was_given_nothing_says_so_once_in_log_0) {
  RigOptions options;
  options.logs = 2;
  Rig rig(options);
  Process& a = start(rig, 1, "a");
  rig.step(a, GroupJoined{});
  rig.run_for(5000ms);
  const auto records = a.records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_TRUE(is_greeting(records[0]));
  EXPECT_EQ(records[0].type, RecordType::renewal);
  EXPECT_TRUE(records[0].epochs.empty());
  EXPECT_EQ(records[0].since, std::nullopt);
  EXPECT_EQ(a.written[0].log, Log{0});
  EXPECT_FALSE(is_greeting(claim_of(1, "0")));
  EXPECT_FALSE(is_greeting(renewal_of(1, {1, 1}, "0")));
}

TEST(Greeting, a_first_claim_says_it_as_well) {
  Rig rig;
  Process& a = start(rig, 1, "a");
  rig.step(a, GroupAssigned{*PartitionRanges::parse("0")});
  rig.step(a, GroupJoined{});
  rig.settle();
  for (const Record& record : a.records()) EXPECT_FALSE(is_greeting(record));
}

TEST(Greeting, who_joins_anew_says_it_again_whatever_it_holds) {
  Rig rig;
  Process& a = start(rig, 1, "a");
  Process& b = start(rig, 2, "b");
  rig.assign(a, "0-1");
  rig.assign(b, "2-3");
  rig.revoke(a, "0-1", /*lost=*/true);
  rig.run_for(500ms);
  b.expedites.clear();
  rig.step(a, GroupJoined{});
  rig.settle();
  EXPECT_TRUE(is_greeting(a.records().back()));
}

TEST(Greeting, waits_until_the_log_was_read) {
  Rig rig;
  rig.append_claim(kLog, claim_of(7, "0"));
  CoreOptions options = rig.core_options(1, "a");
  options.heartbeat = kHeartbeat;
  auto made = ClaimProtocol::make(options);
  ASSERT_TRUE(made);
  ClaimProtocol& core = *made;
  core.tick(rig.now());
  core.step(tail_at(kLog, 0, 1), rig.now());
  core.step(GroupJoined{}, rig.now());
  EXPECT_TRUE(core.take_ready().writes.empty());
  const Decoded value = claim_of(7, "0");
  core.step(Received{kLog, 0, rig.broker_now(), true, &value}, rig.now());
  EXPECT_EQ(core.take_ready().writes.size(), 1u);
}

TEST(Greeting, makes_nobody_senior) {
  Rig rig;
  CoreOptions other = rig.core_options(1, "idle");
  other.settings.slots = 32;
  other.heartbeat = kHeartbeat;
  Process& idle = rig.start(other);
  rig.step(idle, GroupJoined{});
  rig.run_for(200ms);
  ASSERT_EQ(idle.records().size(), 1u);
  Process& owner = start(rig, 2, "owner");
  rig.assign(owner, "0-3");
  rig.run_for(500ms);
  EXPECT_TRUE(owner.leads(0, rig.now()));
  EXPECT_FALSE(owner.refused);
  ASSERT_TRUE(idle.refused) << "the first that claims is the group";
  EXPECT_NE(idle.refused->message().find("`slots`"), std::string::npos);
}

TEST(Greeting, has_no_finding_in_an_audit_and_is_counted_as_a_record) {
  Rig rig(rig::exclusive());
  Process& a = start(rig, 1, "a");
  Process& b = start(rig, 2, "b");
  rig.assign(a, "0-3");
  rig.run_for(2000ms);
  rig.step(b, GroupJoined{});
  rig.run_for(500ms);
  rig.revoke(a, "2-3");
  rig.assign(b, "2-3");
  rig.run_for(3000ms);
  EXPECT_EQ(rig.leaders(2), 1u);
  std::vector<std::string> findings;
  Auditor auditor(AuditOptions{}, [&](const Finding& f) {
    if (f.certain) findings.emplace_back(to_string(f.kind));
  });
  std::int64_t offset = 0;
  for (const StoredRecord& stored : rig.log(0).records) {
    auditor.on(Received{kLog, offset++, stored.stamped, true, stored.value.get()});
  }
  auditor.finish();
  EXPECT_TRUE(findings.empty()) << findings.front();
}

}  // namespace
}  // namespace neliroute
