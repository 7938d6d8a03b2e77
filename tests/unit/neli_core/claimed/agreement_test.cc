// "One configuration" of docs/protocol.md: who differs from the running group refuses.
#include <gtest/gtest.h>

#include "tests/world/rig.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using rig::kLog;
using rig::Rig;
using rig::RigOptions;
using namespace std::chrono_literals;

rig::Process& start_with_other_slots(Rig& rig) {
  CoreOptions other = rig.core_options(2, "b");
  other.settings.slots = 32;
  return rig.start(other);
}

// A newcomer with one setting of its own beside a group that runs.
struct Newcomer {
  explicit Newcomer(const std::function<void(CoreOptions&)>& change) {
    auto& a = rig.start(1, "senior");
    rig.assign(a, "0-1");
    rig.run_for(1s);
    CoreOptions other = rig.core_options(2, "junior");
    change(other);
    b = &rig.start(other);
    rig.run_for(3s);  // a log of which only the newcomer knows is never read
    EXPECT_FALSE(a.refused);
  }
  Rig rig;
  rig::Process* b = nullptr;
};

struct Difference {
  const char* field;
  const char* mine;
  const char* theirs;
  void (*change)(CoreOptions&);
};

class Differences : public testing::TestWithParam<Difference> {};

TEST_P(Differences, one_configuration_is_refused_with_the_field_both_values_and_what_to_do) {
  const Newcomer n(GetParam().change);
  ASSERT_TRUE(n.b->refused);
  EXPECT_EQ(n.b->refused->code(), Errc::settings_conflict);
  const std::string text = n.b->refused->message();
  for (const std::string& part :
       {std::string(GetParam().field) + " is " + GetParam().mine + " here",
        std::string("but ") + GetParam().theirs, "`" + std::string(GetParam().field) + "`",
        std::string("senior")}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
  EXPECT_FALSE(n.b->subscribed) << "compared before subscribing";
  EXPECT_TRUE(n.b->closed);
  EXPECT_TRUE(n.b->written.empty());
}

INSTANTIATE_TEST_SUITE_P(
    , Differences,
    testing::Values(
        Difference{"slots", "32", "16", [](CoreOptions& o) { o.settings.slots = 32; }},
        Difference{"partitions", "8", "4", [](CoreOptions& o) { o.settings.partitions = 8; }},
        Difference{"logs", "2", "1", [](CoreOptions& o) { o.settings.logs = 2; }},
        Difference{"hash", "crc16", "xxh3", [](CoreOptions& o) { o.settings.hash = "crc16"; }},
        Difference{"group", "other", "group", [](CoreOptions& o) { o.settings.group = "other"; }},
        Difference{"mode", "exclusive", "non_exclusive",
                   [](CoreOptions& o) { o.mode = Mode::exclusive; }}),
    [](const auto& instance) { return std::string(instance.param.field); });

TEST(OneConfiguration, the_lease_the_interval_the_name_and_the_tags_may_differ) {
  const Newcomer n([](CoreOptions& o) {
    o.lease = 3000ms;
    o.interval = 77ms;
    o.process = {"other", "elsewhere:1", {{"zone", "b"}}};
  });
  EXPECT_FALSE(n.b->refused);
  EXPECT_TRUE(n.b->subscribed);
}

TEST(OneConfiguration, mode_and_group_are_compared_within_a_lane_only_the_rest_across_lanes) {
  {
    const Newcomer n([](CoreOptions& o) {
      o.lane = Lane{1};
      o.mode = Mode::exclusive;
      o.settings.group = "group.lane-1";
    });
    EXPECT_FALSE(n.b->refused);
  }
  const Newcomer n([](CoreOptions& o) {
    o.lane = Lane{1};
    o.settings.slots = 32;
  });
  EXPECT_TRUE(n.b->refused);
}

TEST(OneConfiguration, of_two_that_start_at_once_exactly_the_later_one_refuses) {
  for (const bool reversed : {false, true}) {
    Rig rig;
    CoreOptions other = rig.core_options(2, "b");
    other.settings.slots = 32;
    auto& a = rig.start(1, "a");
    auto& b = rig.start(other);
    ASSERT_TRUE(a.subscribed && b.subscribed);
    a.hold = b.hold = true;
    rig.assign(reversed ? b : a, reversed ? "1" : "0");
    rig.run_for(5ms);
    rig.assign(reversed ? a : b, reversed ? "0" : "1");
    a.hold = b.hold = false;
    rig.run_for(1s);
    EXPECT_EQ(a.refused.has_value(), reversed);
    EXPECT_EQ(b.refused.has_value(), !reversed);
    EXPECT_EQ(rig.leaders(0) + rig.leaders(1), 1u);
  }
}

TEST(OneConfiguration, two_of_the_same_instant_are_told_apart_by_their_ids) {
  Rig rig;
  auto& b = start_with_other_slots(rig);
  auto& a = rig.start(1, "a");
  a.hold = b.hold = true;
  rig.assign(b, "1");
  rig.assign(a, "0");
  a.hold = b.hold = false;
  rig.run_for(1s);
  EXPECT_FALSE(a.refused);
  EXPECT_TRUE(b.refused);
}

TEST(OneConfiguration, a_restart_with_new_settings_after_a_full_stop_waits_for_the_lease) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-3");
  rig.run_for(1s);
  a.stopped = true;  // killed
  auto& b = start_with_other_slots(rig);
  const LocalTime read = rig.now();
  rig.run_to(read + 1s - 1us);
  EXPECT_FALSE(b.subscribed);
  EXPECT_FALSE(b.refused) << "nobody shows that he lives";
  rig.run_to(read + 1s);
  EXPECT_TRUE(b.subscribed);
  rig.assign(b, "0-3");
  rig.run_for(5s);
  EXPECT_FALSE(b.refused);
  EXPECT_TRUE(b.leads(0, rig.now()));
}

TEST(OneConfiguration, a_goodbye_in_the_history_proves_nobody_s_life) {
  Rig rig;
  Record goodbye = rig::release_of(9, {1, 0}, "0");
  goodbye.since = 1;
  goodbye.settings = {"group", 99, 4, 1, "xxh3", "non_exclusive"};
  rig.append(kLog, goodbye);
  auto& a = rig.start(1, "a");
  EXPECT_TRUE(a.subscribed) << "at once";
}

TEST(OneConfiguration, who_waits_refuses_when_the_senior_shows_that_it_lives) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-3");
  rig.run_for(1s);
  a.stopped = true;
  auto& b = start_with_other_slots(rig);
  rig.run_for(300ms);
  a.stopped = false;
  rig.run_for(200ms);
  EXPECT_TRUE(b.refused);
  EXPECT_FALSE(b.subscribed);
}

TEST(OneConfiguration, who_differs_stops_runs_its_barrier_releases_and_leaves) {
  Rig rig;
  auto& a = rig.start(1, "a");
  a.keep_barriers = true;
  rig.assign(a, "0");
  rig.run_for(500ms);
  Record senior = rig::renewal_of(9, {1, 0}, "3");
  senior.since = 1;
  senior.settings = {"group", 99, 4, 1, "xxh3", "non_exclusive"};
  rig.append(kLog, senior);
  rig.settle();
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::conflict);
  ASSERT_TRUE(a.refused);
  EXPECT_TRUE(a.left_group);
  EXPECT_EQ(a.records(RecordType::release).size(), 0u);
  rig.step(a, BarrierDone{Partition{0}, a.last(TransitionKind::stopped, 0)->epoch});
  EXPECT_EQ(a.records(RecordType::release).size(), 1u);
  EXPECT_TRUE(a.closed);
}

// It leads on while it hands over, by the rules of its mode, which are not the senior's.
TEST(OneConfiguration, who_differs_and_is_leaving_hands_over_no_longer) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.run_for(500ms);
  rig.step(a, CloseRequested{kNever});
  rig.settle();
  ASSERT_TRUE(a.leads(0, rig.now())) << "it drains";
  Record senior = rig::renewal_of(9, {1, 0}, "3");
  senior.since = 1;
  senior.settings = {"group", 16, 4, 1, "xxh3", "exclusive"};
  rig.append(kLog, senior);
  rig.settle();
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::conflict);
  ASSERT_TRUE(a.refused);
  EXPECT_EQ(a.refused->code(), Errc::settings_conflict);
  const auto notices = a.notices.size();
  rig.append(kLog, senior);
  rig.settle();
  EXPECT_EQ(a.notices.size(), notices) << "told once";
  EXPECT_TRUE(a.closed);
}

TEST(OneConfiguration, a_greeting_or_a_record_without_settings_is_compared_with_nobody) {
  Rig rig;
  auto& a = rig.start(1, "a");
  Record odd = rig::renewal_of(9, {1, 0}, "");
  odd.epochs.clear();
  odd.settings = {"group", 99, 4, 1, "xxh3", "non_exclusive"};
  rig.append(kLog, odd);
  odd = rig::claim_of(9, "3");
  odd.since = 1;
  rig.append(kLog, odd);
  rig.assign(a, "0");
  EXPECT_FALSE(a.refused);
  EXPECT_TRUE(a.leads(0, rig.now()));
}

// Its writer may lead before it can say since when.
TEST(OneConfiguration, a_claim_without_since_comes_before_who_has_claimed_nothing) {
  Record other = rig::claim_of(9, "3");
  other.settings = {"group", 99, 4, 1, "xxh3", "non_exclusive"};
  for (const bool leads : {false, true}) {
    Rig rig;
    auto& a = rig.start(1, "a");
    if (leads) rig.assign(a, "0");
    rig.append(kLog, other);
    rig.settle();
    EXPECT_EQ(a.refused.has_value(), !leads);
    EXPECT_EQ(a.leads(0, rig.now()), leads) << "who leads came first";
  }
}

TEST(OneConfiguration, nobody_refuses_before_it_knows_its_own_since) {
  Rig rig;
  auto& a = rig.start(1, "a");
  a.drop_writes = true;
  rig.assign(a, "0");
  Record other = rig::renewal_of(9, {1, 0}, "3");
  other.since = 1'700'000'020'000;
  other.settings = {"group", 99, 4, 1, "xxh3", "non_exclusive"};
  rig.append(kLog, other);
  rig.settle();
  EXPECT_FALSE(a.refused) << "somebody must be first, and it is not known who";
  rig.append(kLog, a.written[0].value);
  rig.settle();
  EXPECT_FALSE(a.refused) << "now it is: this one";
}

TEST(OneConfiguration, since_is_the_broker_time_of_the_first_own_record_and_then_fixed) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.broker_offset += 7s;
  rig.run_for(1s);
  rig.step(a, GapFound{kLog, GapReason::replaced});
  rig.log(0).records.clear();
  rig.restart_tail(a, kLog, 0);
  rig.run_for(1s);
  const auto records = a.records();
  EXPECT_FALSE(records[0].since);
  for (std::size_t i = 1; i < records.size(); ++i) EXPECT_EQ(records[i].since, 1'700'000'010'000);
}

TEST(OneConfiguration, one_log_s_news_are_not_judged_before_the_others_history) {
  RigOptions options;
  options.logs = 2;
  Rig rig(options);
  ClaimProtocol core = std::move(*ClaimProtocol::make(rig.core_options(3, "c")));
  const auto record_of = [](std::int64_t since, std::uint64_t id, std::uint32_t slots) {
    Record record = rig::renewal_of(id, {1, 0}, "0");
    record.since = since;
    record.settings = {"group", slots, 4, 2, "xxh3", "non_exclusive"};
    return Decoded(record);
  };
  const Decoded senior = record_of(1, 1, 16);
  const Decoded stray = record_of(2, 2, 32);  // another newcomer, who will refuse
  core.step(tail_at(Log{0}, 0, 0), rig.now());
  core.step(tail_at(Log{1}, 0, 1), rig.now());
  core.step(Received{Log{0}, 0, rig.broker_now(), true, &stray}, rig.now());
  EXPECT_FALSE(core.take_ready().refused);
  core.step(Received{Log{1}, 0, rig.broker_now(), true, &senior}, rig.now());
  const Ready ready = core.take_ready();
  EXPECT_FALSE(ready.refused) << "it is the senior's settings that count";
  EXPECT_FALSE(ready.subscribe) << "if it still lives";
  core.step(Received{Log{1}, 1, rig.broker_now(), true, &senior}, rig.now());
  EXPECT_TRUE(core.take_ready().subscribe);
}

// Otherwise one process that was frozen for an hour ends a group that began with other settings.
TEST(OneConfiguration, who_was_away_for_a_lease_is_junior_to_who_began_meanwhile) {
  for (const bool has_read_its_first_record : {true, false}) {
    Rig rig;
    rig.append(kLog, rig::claim_of(9, "3"));  // of one that is gone
    rig.run_for(2s);
    auto& a = rig.start(1, "a");
    a.hold = !has_read_its_first_record;
    rig.assign(a, "0-3");
    if (!a.hold) rig.run_for(1s);
    ASSERT_EQ(a.records(RecordType::claim).size(), 1u);
    a.stopped = true;
    auto& b = start_with_other_slots(rig);
    rig.run_for(1500ms);
    ASSERT_TRUE(b.subscribed);
    rig.assign(b, "0-3");
    rig.run_for(1s);
    a.hold = false;
    rig.wake(a);
    rig.run_for(2s);
    EXPECT_FALSE(b.refused) << has_read_its_first_record;
    EXPECT_TRUE(a.refused) << has_read_its_first_record;
    EXPECT_EQ(rig.leaders(0), 1u);
  }
}

// Nor by what it had written before, and read back only now.
TEST(OneConfiguration, who_was_away_for_a_lease_learns_no_since_from_its_old_records) {
  for (const auto away : {1500ms, 3000ms}) {
    Rig rig;
    auto& a = rig.start(1, "a");
    rig.assign(a, "0");
    rig.run_for(1s);
    a.hold = true;  // it writes on, and reads nothing
    rig.run_for(away);
    Record began = rig::renewal_of(9, {1, 1}, "1", "1");
    began.since = rig.broker_now().time_since_epoch().count() - 1000;
    began.settings = a.claims.options().settings;
    began.settings->slots = 32;
    rig.append(kLog, began);
    a.hold = false;
    rig.run_for(100ms);
    EXPECT_TRUE(a.refused) << away.count();
  }
}

// Whether a process refuses that reads late: of a senior that is dead meanwhile, and of one with
// other settings that has begun since.
bool refuses_who_reads_late(const RigOptions& options) {
  Rig rig(options);
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-3");
  auto& c = rig.start(3, "c");
  rig.run_for(100ms);
  c.hold = true;
  rig.run_for(1s);
  a.stopped = true;
  auto& b = start_with_other_slots(rig);
  rig.run_for(1500ms);
  rig.assign(b, "0-3");
  rig.run_for(300ms);
  EXPECT_EQ(rig.leaders(0), 1u);
  c.hold = false;
  rig.run_for(100ms);
  EXPECT_FALSE(b.refused);
  return c.refused.has_value();
}

// Found by the simulator: a process that had been cut off took a dead senior, of which it read last
// words, for alive, and led beside one of the other mode that had begun after that one's lease.
TEST(OneConfiguration, a_senior_that_is_dead_in_the_logs_time_is_dead_however_late_it_is_read) {
  RigOptions options;
  EXPECT_TRUE(refuses_who_reads_late(options));
  options.store_stamped = false;
  EXPECT_FALSE(refuses_who_reads_late(options)) << "writers stamped them: the time is not known";
  options.store_stamped = true;
  options.believe_broker_time = false;
  EXPECT_FALSE(refuses_who_reads_late(options));
}

// Found by the simulator: the ghost of a process hid one of the other mode that had come after it,
// and an exclusive newcomer led beside that one before it refused.
TEST(OneConfiguration, a_senior_that_agrees_but_is_gone_does_not_hide_who_is_in_force) {
  Rig rig;
  Record ghost = rig::renewal_of(8, {1, 0}, "0");
  ghost.since = 1;
  ghost.settings = rig.core_options(1, "a").settings;
  ghost.settings->mode = "non_exclusive";
  Record in_force = rig::renewal_of(9, {1, 1}, "0");
  in_force.since = 2;
  in_force.settings = ghost.settings;
  in_force.settings->slots = 32;
  rig.append(kLog, ghost);
  rig.append(kLog, in_force);
  auto& a = rig.start(1, "a");
  rig.run_for(300ms);
  EXPECT_FALSE(a.subscribed);
  const milliseconds lease = a.claims.options().lease;
  for (milliseconds waited{0}; waited < lease; waited += 300ms) {
    rig.append(kLog, in_force);
    rig.run_for(300ms);
  }
  EXPECT_TRUE(a.refused);
  EXPECT_FALSE(a.subscribed);
}

// Found by the simulator (exclusive, seed 15244): a newcomer of the other mode whose log was out of
// reach joined after three seconds, and then claimed while it read who was there.
TEST(OneConfiguration, who_joined_without_the_history_waits_until_it_is_known_who_lives) {
  for (const bool lives : {true, false}) {
    Rig rig;
    const CoreOptions options = rig.core_options(1, "a");
    Record record = rig::renewal_of(9, {1, 0}, "0", "0");
    record.since = 2;
    record.settings = options.settings;
    record.settings->mode = "exclusive";
    const Decoded in_force = record;
    ClaimProtocol core = std::move(*ClaimProtocol::make(options));
    core.tick(rig.now());
    const LocalTime joined = later(rig.now(), std::chrono::seconds{3});
    core.tick(joined);
    ASSERT_TRUE(core.take_ready().subscribe);
    core.step(GroupAssigned{*PartitionRanges::parse("0")}, joined);
    core.step(tail_at(kLog, 0, 1), joined);
    core.step(Received{kLog, 0, rig.broker_now(), true, &in_force}, joined);
    EXPECT_TRUE(core.take_ready().writes.empty());
    if (lives) {
      core.step(Received{kLog, 1, rig.broker_now(), true, &in_force}, joined);
      EXPECT_TRUE(core.take_ready().refused);
    } else {
      EXPECT_LE(core.next_deadline(), later(joined, *record.lease));
      core.tick(later(joined, *record.lease));
      EXPECT_EQ(core.take_ready().writes.size(), 1u) << "a claim";
    }
  }
}

TEST(OneConfiguration, who_waits_claims_as_soon_as_the_doubt_ends) {
  Rig rig;
  const CoreOptions options = rig.core_options(1, "a");
  Record senior = rig::renewal_of(8, {1, 0}, "0", "0");
  senior.since = 1;
  senior.settings = options.settings;
  senior.settings->mode = "non_exclusive";
  Record junior = rig::renewal_of(9, {1, 1}, "1", "1");
  junior.since = 2;
  junior.settings = senior.settings;
  junior.settings->slots = 32;
  const Decoded agrees = senior;
  const Decoded differs = junior;
  ClaimProtocol core = std::move(*ClaimProtocol::make(options));
  core.tick(rig.now());
  const LocalTime joined = later(rig.now(), std::chrono::seconds{3});
  core.tick(joined);
  ASSERT_TRUE(core.take_ready().subscribe);
  core.step(GroupAssigned{*PartitionRanges::parse("0-3")}, joined);
  core.step(tail_at(kLog, 0, 2), joined);
  core.step(Received{kLog, 0, rig.broker_now(), true, &agrees}, joined);
  core.step(Received{kLog, 1, rig.broker_now(), true, &differs}, joined);
  EXPECT_TRUE(core.take_ready().writes.empty()) << "who is in force, if the senior is gone?";
  core.step(Received{kLog, 2, rig.broker_now(), true, &agrees}, later(joined, 50ms));
  const Ready ready = core.take_ready();
  ASSERT_EQ(ready.writes.size(), 1u) << "it lives";
  EXPECT_EQ(std::get<Record>(decode_record(ready.writes[0].value)).parts->to_string(), "0-3");
}

TEST(OneConfiguration, thousands_of_processes_that_come_and_go_are_forgotten) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  for (std::uint64_t id = 100; id < 5100; ++id) {
    Record record = rig::renewal_of(id, {1, 0}, "3");
    record.since = static_cast<std::int64_t>(1'800'000'000'000 + id);
    record.settings = {"group", 99, 4, 1, "xxh3", "non_exclusive"};  // juniors, who will refuse
    rig.append(kLog, record);
    if (id % 50 == 0) rig.run_for(20ms);
  }
  rig.settle();
  EXPECT_FALSE(a.refused);
  EXPECT_TRUE(a.leads(0, rig.now()));
}

}  // namespace
}  // namespace neliroute
