// OwningReader drives a state machine that assigns as it drives one of a group, but asks no group
// for anything.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "router/owner/owning_reader.h"
#include "tests/unit/router/reader/reader_rig.h"

namespace neliroute {
namespace {

using namespace testing_reader;
using namespace testing_records;
using namespace std::chrono_literals;

struct AssignedEngine : ReaderRig {
  AssignedEngine()
      : ReaderRig({Mode::non_exclusive, false, kLease, Variation::claimed, Assignment::assigner}) {
    flows = true;
    start();
  }
  /// Until it leads all, or half a minute has passed.
  void lead() {
    for (int step = 0; step < 600 && verdict(0) != Verdict::local; ++step) beat();
  }
  void beat() {
    pass(50ms, 0);
    pass(0ms, 1);
  }
  void drain(milliseconds bound) {
    reader->drain(bound, [this] { ++drained; });
    poll();
  }
  /// Another member says in log 0 that it lives.
  void joins(std::uint64_t id) {
    Record record = Writer{id}.header(RecordType::renewal);
    record.settings->variation = kAssignedVariation;
    record.member = MemberFields{};
    record.member->session = kLease / 2;
    append(0, record);
  }
  /// Another one claims that now, and leads.
  void lead_elsewhere(std::uint32_t log, const std::string& parts) {
    Record claim = kB.claim(parts);
    claim.settings->variation = kAssignedVariation;
    Record leads = kB.leads(append(log, claim), parts);
    leads.settings->variation = kAssignedVariation;
    leads.incarnation = stamp().time_since_epoch() / 1ms;
    append(log, leads);
  }
  void order(Override wanted) {
    AssignmentRecord record;
    record.type = AssignmentType::override;
    record.id = ProcessId{99};
    record.override = std::move(wanted);
    const auto offset = static_cast<std::int64_t>(ledger->written[0].size());
    ledger->written[0].push_back(encode_record(record));
    const Decoded value = record;
    event(Received{Log{0}, offset, stamp(), true, &value});
    beat();
  }
  [[nodiscard]] bool asks_a_group() const {
    return told("subscribe") || told("count_others") || told("leave_group") ||
           told("finish_rebalances 1");
  }
  int drained = 0;
};

TEST(OwnerAssigner, assigns_to_itself_and_asks_no_group) {
  AssignedEngine rig;
  rig.lead();
  for (std::uint32_t slot = 0; slot < 4; ++slot) EXPECT_EQ(rig.verdict(slot), Verdict::local);
  EXPECT_LT(rig.place("write seat_claim"), rig.place("write assign"));
  EXPECT_LT(rig.place("write assign"), rig.place("write claim"));
  EXPECT_FALSE(rig.asks_a_group());
}

TEST(OwnerAssigner, counts_what_it_was_assigned_as_if_a_group_had) {
  AssignedEngine rig;
  EXPECT_EQ(rig.reader->meter().assigned_partitions(), 0u);
  bool ready = false;
  rig.reader->when_ready(1, [&](boost::system::error_code error) { ready = !error; });
  rig.lead();
  const Meter& meter = rig.reader->meter();
  EXPECT_EQ(meter.assigned_partitions(), 4u);
  EXPECT_EQ(meter.count(Count::rebalances_assigned), 1u);
  EXPECT_EQ(meter.count(Count::rebalances_revoked), 0u);
  const auto durations = meter.rebalance_durations().read().counts;
  EXPECT_EQ(std::accumulate(durations.begin(), durations.end(), std::uint64_t{0}), 1u);
  EXPECT_TRUE(meter.leads_all_assigned());
  EXPECT_TRUE(ready);
  EXPECT_EQ(meter.count(Count::ignored_not_json), 0u);
  EXPECT_GT(meter.count(Count::records_own), 0u);
  EXPECT_EQ(meter.count(Count::members_living), 1u);
  EXPECT_EQ(meter.count(Count::assigns), 1u);
  EXPECT_EQ(meter.count(Count::seats_claimed), 1u);
  EXPECT_EQ(meter.count(Count::assignments_written), 1u);
  rig.joins(2);
  EXPECT_EQ(meter.count(Count::members_living), 2u);
}

TEST(OwnerAssigner, counts_overrides) {
  AssignedEngine rig;
  rig.lead();
  const Meter& meter = rig.reader->meter();
  EXPECT_EQ(meter.count(Count::overrides), 0u);
  EXPECT_EQ(meter.count(Count::moves_paused), 0u);
  rig.order({OverrideVerb::cordon, "b", {}, 0});
  rig.order({OverrideVerb::weight, "c", {}, 7});
  rig.order({OverrideVerb::pin, "d", *PartitionRanges::parse("0-1"), 0});
  rig.order({OverrideVerb::pause_moves, "", {}, 0});
  EXPECT_EQ(meter.count(Count::overrides), 3u);
  EXPECT_EQ(meter.count(Count::moves_paused), 1u);
  rig.order({OverrideVerb::uncordon, "b", {}, 0});
  rig.order({OverrideVerb::resume_moves, "", {}, 0});
  EXPECT_EQ(meter.count(Count::overrides), 2u);
  EXPECT_EQ(meter.count(Count::moves_paused), 0u);
  EXPECT_EQ(meter.count(Count::overrides_ignored), 0u);
}

TEST(OwnerAssigner, alone_it_leaves_at_once) {
  AssignedEngine rig;
  rig.lead();
  rig.drain(10s);
  EXPECT_TRUE(rig.run_until([&] { return rig.drained > 0; })) << "its clock stands still";
  EXPECT_FALSE(rig.asks_a_group());
  EXPECT_LT(rig.place("write leave"), rig.place("write release"));
  EXPECT_LT(rig.place("write release"), rig.place("close"));
}

TEST(OwnerAssigner, with_another_member_it_leads_until_that_one_does) {
  AssignedEngine rig;
  rig.lead();
  rig.joins(2);
  rig.drain(10s);
  EXPECT_TRUE(rig.told("write leave"));
  rig.beat();
  EXPECT_EQ(rig.drained, 0);
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  rig.lead_elsewhere(0, "0,2");
  EXPECT_EQ(rig.verdict(0), Verdict::remote);
  rig.lead_elsewhere(1, "1,3");
  EXPECT_TRUE(rig.run_until([&] { return rig.drained > 0; }));
  EXPECT_FALSE(rig.asks_a_group());
}

TEST(OwnerAssigner, of_an_unhealthy_application_it_is_cordoned) {
  AssignedEngine rig;
  rig.owner->set_health("it is ill");
  rig.beat();
  EXPECT_EQ(rig.owner->unhealthy(), "it is ill");
  EXPECT_EQ(rig.reader->meter().count(Count::unhealthy), 1u);
  for (int step = 0; step < 100; ++step) rig.beat();
  EXPECT_EQ(rig.verdict(0), Verdict::unowned);
  rig.owner->set_health("it is ill");
  EXPECT_EQ(rig.io->poll(), 0u) << "nothing is new";
  rig.owner->set_health("it is worse");
  rig.beat();
  EXPECT_EQ(rig.owner->unhealthy(), "it is worse");
  rig.owner->set_health(std::nullopt);
  rig.lead();
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  EXPECT_EQ(rig.owner->unhealthy(), std::nullopt);
  EXPECT_EQ(rig.reader->meter().count(Count::unhealthy), 0u);
  EXPECT_FALSE(rig.told("stay_away")) << "it is still a member";
  const auto said = [&](const std::string& text) {
    return std::count_if(rig.notices.begin(), rig.notices.end(), [&](const Notice& notice) {
      return notice.text.find(text) != std::string::npos;
    });
  };
  EXPECT_EQ(said("the application is unhealthy (it is ill)"), 1);
  EXPECT_EQ(said("the application is healthy: takes its share"), 1);
  EXPECT_EQ(said("unhealthy"), 1);
}

TEST(OwnerAssigner, one_that_lives_at_the_same_endpoint_is_told_of_once) {
  ReaderRig rig;
  rig.start();
  Record twin = kB.header(RecordType::renewal);
  twin.process.endpoint = "self:7000";
  for (int round = 0; round < 6; ++round) {
    rig.append(0, twin);
    rig.pass(kLease / 2, 0);
  }
  EXPECT_EQ(std::count_if(rig.notices.begin(), rig.notices.end(),
                          [](const Notice& notice) {
                            return notice.text.find("states this process's endpoint self:7000") !=
                                   std::string::npos;
                          }),
            1);
}

TEST(OwnerAssigner, of_an_unhealthy_application_a_group_is_left) {
  ReaderRig rig;
  rig.start();
  rig.owner->set_health("it is ill");
  rig.owner->set_health("it is worse");
  rig.poll();
  EXPECT_TRUE(rig.told("stay_away"));
  EXPECT_FALSE(rig.told("stay_away no more"));
  rig.owner->set_health(std::nullopt);
  rig.poll();
  EXPECT_EQ(std::count(rig.story.begin(), rig.story.end(), "stay_away"), 1);
  EXPECT_EQ(std::count(rig.story.begin(), rig.story.end(), "stay_away no more"), 1);
}

// A group's member and a watcher read what an assigner writes, and count it.
TEST(OwnerAssigner, its_records_harm_no_other_process) {
  for (const bool watcher : {false, true}) {
    ReaderRig rig({Mode::non_exclusive, watcher});
    rig.start();
    AssignmentRecord record;
    record.id = ProcessId{7};
    record.lane = Lane{1};
    record.type = AssignmentType::assign;
    const std::uint64_t before = rig.reader->meter().count(Count::records_other);
    const Decoded value = record;
    rig.event(Received{Log{0}, 10, rig.stamp(), true, &value});
    EXPECT_EQ(rig.reader->meter().count(Count::records_other), before + 1);
    EXPECT_EQ(rig.reader->meter().count(Count::ignored_other_lane), 1u);
  }
}

}  // namespace
}  // namespace neliroute
