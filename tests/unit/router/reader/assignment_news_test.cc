// What observers are notified of where a member assigns: of an owner, and of a watcher.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "neli_core/options.h"
#include "router/owner/owning_reader.h"
#include "tests/unit/router/reader/reader_rig.h"

namespace neliroute {
namespace {

using namespace testing_reader;
using namespace testing_records;
using namespace std::chrono_literals;

/// Keeps all that it is notified of.
struct NewsWitness : Observer {
  void on_view(const ViewChange& change) override {
    ++views;
    looked_at = change.routes.size();
    for (const ChangedRoute& one : change.routes) routes[one.partition.value()] = one.route;
  }
  void on_assignment(const AssignmentNews& news) override {
    ++told;
    last = news.members.size();
    assigner = news.assigner ? news.assigner->info.name : "";
    seat = news.seat;
    assigning = news.assigning;
    overrides = news.overrides;
    for (const ObservedMember& member : news.members) members[member.peer->info.name] = member;
    for (const ProcessId id : news.gone) {
      std::erase_if(members, [id](const auto& one) { return one.second.peer->id == id; });
    }
  }
  [[nodiscard]] std::string designee(std::uint32_t partition) const {
    const PeerPtr& peer = routes[partition].designee;
    return peer ? peer->info.name : "";
  }

  ObservedRoute routes[4];
  std::map<std::string, ObservedMember> members;
  std::string assigner;
  Epoch seat = kNoEpoch;
  bool assigning = false;
  std::shared_ptr<const ObservedOverrides> overrides;
  int told = 0;
  int views = 0;
  std::size_t last = 0;       ///< members of the last call
  std::size_t looked_at = 0;  ///< partitions of the last view
};

struct WatchedLane : ReaderRig {
  explicit WatchedLane(ReaderRigOptions of) : ReaderRig(of) {
    flows = true;
    start();
  }
  std::shared_ptr<NewsWitness> join() {
    auto witness = std::make_shared<NewsWitness>();
    reader->observe(witness);
    poll();
    return witness;
  }
  [[nodiscard]] static Record member(std::uint64_t id) {
    Record record = Writer{id}.header(RecordType::renewal);
    record.settings->variation = kAssignedVariation;
    record.since = static_cast<std::int64_t>(id);
    record.member = MemberFields{};
    record.member->session = 500ms;
    return record;
  }
  /// It claims the seat, and says that it assigns. Returns its seat.
  Epoch claim_seat(std::uint64_t id) {
    AssignmentRecord claim;
    claim.id = ProcessId{id};
    const Epoch seat{kInc, write(claim)};
    Record record = member(id);
    record.member->seat = seat;
    record.member->seat_by = ProcessId{id};
    record.member->upto = seat.offset + 1;
    record.member->assigning = true;
    append(0, record);
    return seat;
  }
  void assign(std::uint64_t by, const Epoch& seat, std::uint64_t to, const std::string& which) {
    AssignmentRecord record;
    record.type = AssignmentType::assign;
    record.id = ProcessId{by};
    record.seat = seat;
    record.designations = {{ProcessId{to}, *PartitionRanges::parse(which)}};
    write(record);
  }
  std::int64_t write(const AssignmentRecord& record) {
    const auto offset = static_cast<std::int64_t>(ledger->written[0].size());
    ledger->written[0].push_back(encode_record(record));
    const Decoded value = record;
    event(Received{Log{0}, offset, stamp(), true, &value});
    return offset;
  }
};

const ReaderRigOptions kWatcher{Mode::non_exclusive, /*watcher=*/true};

TEST(AssignmentNews, a_watcher_tells_of_members_and_then_of_what_changes) {
  WatchedLane rig(kWatcher);
  const auto witness = rig.join();
  EXPECT_EQ(witness->told, 0) << "as far as it knows, a group assigns";
  Record heavy = WatchedLane::member(2);
  heavy.member->weight = 3;
  heavy.member->zone = "a";
  heavy.member->seat_priority = 90;
  rig.append(0, heavy);
  const Epoch seat = rig.claim_seat(3);
  EXPECT_EQ(witness->members.at("p2").weight, 3u);
  EXPECT_EQ(witness->members.at("p2").zone, "a");
  EXPECT_EQ(witness->members.at("p2").seat_priority, 90u);
  EXPECT_EQ(witness->members.at("p2").session, 500ms);
  EXPECT_EQ(witness->assigner, "p3");
  EXPECT_EQ(witness->seat, seat);
  EXPECT_TRUE(witness->assigning);
  const int before = witness->told;
  rig.append(0, heavy);
  EXPECT_EQ(witness->told, before) << "a renewal changes nothing";
  heavy.member->cordoned = true;
  rig.append(0, heavy);
  EXPECT_EQ(witness->told, before + 1);
  EXPECT_EQ(witness->last, 1u) << "only the one that changed";
  EXPECT_TRUE(witness->members.at("p2").cordoned);
  const auto late = rig.join();
  EXPECT_EQ(late->told, 1);
  EXPECT_EQ(late->last, 2u) << "all of them";
  EXPECT_EQ(late->assigner, "p3");
}

TEST(AssignmentNews, a_partition_names_its_designee_until_that_one_owns_it) {
  WatchedLane rig(kWatcher);
  rig.append(0, kB.leads(9, "0,2"));
  const auto witness = rig.join();
  rig.append(0, WatchedLane::member(2));
  const Epoch seat = rig.claim_seat(3);
  rig.assign(3, seat, 3, "2");
  EXPECT_EQ(witness->looked_at, 1u) << "an assignment says which partitions to look at";
  EXPECT_EQ(witness->designee(0), "");
  EXPECT_EQ(witness->designee(2), "p3");
  const std::int64_t claim = rig.append(0, Writer{3}.claim("2"));
  EXPECT_EQ(witness->designee(2), "p3") << "it does not lead yet";
  rig.append(0, Writer{3}.leads(claim, "2"));
  EXPECT_EQ(witness->routes[2].owner->info.name, "p3");
  EXPECT_EQ(witness->designee(2), "");
  rig.assign(2, {kInc, 1}, 2, "0-3");
  EXPECT_EQ(witness->designee(2), "") << "it does not hold the seat";
  rig.assign(3, seat, 9, "2");
  EXPECT_EQ(witness->designee(2), "") << "of whom nothing is known, nothing is said";
}

TEST(AssignmentNews, who_falls_silent_is_told_and_an_assigner_that_does_assigns_no_more) {
  WatchedLane rig(kWatcher);
  rig.append(0, WatchedLane::member(2));
  rig.claim_seat(3);
  const auto witness = rig.join();
  for (int step = 0; step < 20; ++step) {
    rig.now += 50ms;
    rig.append(0, WatchedLane::member(2));
  }
  EXPECT_EQ(witness->members.at("p3").state, MemberState::silent);
  EXPECT_EQ(witness->members.at("p2").state, MemberState::living);
  EXPECT_EQ(witness->assigner, "");
  AssignmentRecord leave;
  leave.type = AssignmentType::leave;
  leave.id = ProcessId{2};
  rig.write(leave);
  EXPECT_EQ(witness->members.at("p2").state, MemberState::leaving);
  for (int step = 0; step < 20; ++step) {
    rig.now += 50ms;
    rig.append(0, WatchedLane::member(4));
  }
  EXPECT_FALSE(witness->members.contains("p2")) << "it has left";
  EXPECT_TRUE(witness->members.contains("p3"));
  rig.append(0, WatchedLane::member(3));
  EXPECT_EQ(witness->members.at("p3").state, MemberState::living);
  EXPECT_FALSE(witness->members.at("p3").on_probation) << "the first time";
  for (int step = 0; step < 20; ++step) {
    rig.now += 50ms;
    rig.append(0, WatchedLane::member(4));
  }
  EXPECT_EQ(witness->members.at("p3").state, MemberState::silent);
  rig.append(0, WatchedLane::member(3));
  EXPECT_TRUE(witness->members.at("p3").on_probation);
}

TEST(AssignmentNews, who_prepares_is_told_and_also_that_it_does_not_any_more) {
  WatchedLane rig(kWatcher);
  rig.append(0, WatchedLane::member(2));
  const auto witness = rig.join();
  EXPECT_FALSE(witness->members.at("p2").preparing);
  Record prepares = WatchedLane::member(2);
  prepares.member->preparing = 5s;
  rig.append(0, prepares);
  EXPECT_TRUE(witness->members.at("p2").preparing);
  rig.append(0, WatchedLane::member(2));
  EXPECT_FALSE(witness->members.at("p2").preparing);
  rig.append(0, prepares);
  for (int step = 0; step < 20; ++step) {
    rig.now += 50ms;
    rig.append(0, WatchedLane::member(4));
  }
  EXPECT_EQ(witness->members.at("p2").state, MemberState::silent);
  EXPECT_FALSE(witness->members.at("p2").preparing) << "it is dead";
}

TEST(AssignmentNews, an_assigner_that_is_cut_off_does_not_say_that_it_assigns) {
  WatchedLane rig(kWatcher);
  rig.claim_seat(3);
  const auto witness = rig.join();
  EXPECT_TRUE(witness->assigning);
  Record cut = WatchedLane::member(3);
  rig.append(0, cut);
  EXPECT_EQ(witness->assigner, "p3");
  EXPECT_FALSE(witness->assigning);
}

TEST(AssignmentNews, an_override_is_reported_and_counts_for_members_of_that_name) {
  WatchedLane rig(kWatcher);
  Record own = WatchedLane::member(2);
  own.member->weight = 3;
  rig.append(0, own);
  rig.claim_seat(3);
  const auto witness = rig.join();
  EXPECT_EQ(witness->overrides, nullptr);
  const auto order = [&](Override wanted) {
    AssignmentRecord record;
    record.type = AssignmentType::override;
    record.id = ProcessId{99};
    record.override = std::move(wanted);
    rig.write(record);
  };
  order({OverrideVerb::weight, "p2", {}, 7});
  EXPECT_EQ(witness->members.at("p2").weight, 7u);
  EXPECT_EQ(witness->last, 1u);
  order({OverrideVerb::cordon, "p2", {}, 0});
  EXPECT_TRUE(witness->members.at("p2").cordoned);
  EXPECT_EQ(witness->members.at("p2").weight, 7u) << "what it will have again";
  order({OverrideVerb::pin, "p3", *PartitionRanges::parse("0-1"), 0});
  order({OverrideVerb::pause_moves, "", {}, 0});
  ASSERT_TRUE(witness->overrides);
  EXPECT_EQ(witness->overrides->pins.at("p3"), "0-1");
  EXPECT_TRUE(witness->overrides->moves_paused);
  const auto late = rig.join();
  EXPECT_EQ(*late->overrides, *witness->overrides);
  order({OverrideVerb::uncordon, "p2", {}, 0});
  order({OverrideVerb::unweight, "p2", {}, 0});
  order({OverrideVerb::unpin, "", *PartitionRanges::parse("0-3"), 0});
  order({OverrideVerb::resume_moves, "", {}, 0});
  EXPECT_EQ(witness->overrides, nullptr) << "nothing stands";
  EXPECT_EQ(witness->members.at("p2").weight, 3u);
}

TEST(AssignmentNews, a_member_tells_what_its_own_state_machine_knows) {
  WatchedLane rig({Mode::non_exclusive, false, kLease, Variation::claimed, Assignment::assigner});
  const auto witness = rig.join();
  for (int step = 0; step < 600 && rig.verdict(0) != Verdict::local; ++step) {
    rig.pass(50ms, 0);
    rig.pass(0ms, 1);
  }
  EXPECT_EQ(witness->assigner, "self");
  EXPECT_TRUE(witness->assigning);
  EXPECT_EQ(witness->members.at("self").state, MemberState::living);
  EXPECT_EQ(witness->designee(0), "") << "it owns what it is named for";
}

TEST(AssignmentNews, a_group_is_never_told_of) {
  WatchedLane owner{ReaderRigOptions{}};
  const auto first = owner.join();
  owner.lead_all();
  EXPECT_EQ(first->told, 0);
  WatchedLane watcher(kWatcher);
  const auto second = watcher.join();
  watcher.append(0, kB.leads(9, "0,2"));
  watcher.now += 10s;
  watcher.pass(0ms, 0);
  EXPECT_EQ(second->told, 0);
  EXPECT_GT(second->views, 0);
}

}  // namespace
}  // namespace neliroute
