// Who assigns, as the admin port tells it: the JSON of AssignmentView, and the port on a reader.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <neliroute/clock.h>
#include <string>
#include <vector>

#include "admin/assignment_view.h"
#include "admin/pending_view.h"
#include "neli_core/options.h"
#include "tests/unit/admin/admin_rig.h"

namespace neliroute::admin {
namespace {

using namespace std::chrono_literals;
using testing_admin::AdminRig;
using testing_admin::Client;
using testing_admin::request;
using testing_admin::writer;
using testing_records::kInc;

PeerPtr peer(std::uint64_t id) {
  const std::string name = "p" + std::to_string(id);
  return std::make_shared<const Peer>(Peer{ProcessId{id}, {name, name + ":1", {}}});
}

ObservedMember member(std::uint64_t id) {
  ObservedMember one;
  one.peer = peer(id);
  one.session = 3s;
  return one;
}

ObservedRoute led(const PeerPtr& owner, const PeerPtr& designee = nullptr) {
  ObservedRoute route;
  route.verdict = owner ? Verdict::remote : Verdict::unowned;
  route.owner = owner;
  route.designee = designee;
  return route;
}

KeptAssignment news_of(const std::vector<ObservedMember>& members,
                       const std::vector<ProcessId>& gone = {}) {
  KeptAssignment kept;
  kept.add({peer(1), {kInc, 7}, true, members, gone});
  return kept;
}

boost::json::object parsed(const std::string& text) { return boost::json::parse(text).as_object(); }

TEST(AssignmentView, of_a_group_is_its_source_only) {
  const AssignmentView view(false);
  const auto json = parsed(view.text({}, 0, boot_now()));
  EXPECT_EQ(json.at("source"), "group");
  EXPECT_EQ(json.size(), 2u) << "with the time";
}

TEST(AssignmentView, tells_who_assigns_since_when_and_each_members_share) {
  AssignmentView view(false);
  ObservedMember heavy = member(2);
  heavy.weight = 4;
  heavy.cordoned = true;
  heavy.preparing = true;
  heavy.host = "rack-7";
  heavy.zone = "\xff";
  heavy.seat_priority = 90;
  ObservedMember silent = member(3);
  silent.state = MemberState::silent;
  silent.on_probation = true;
  view.take(news_of({member(1), heavy, silent}));
  const std::vector<ObservedRoute> routes{led(peer(1)), led(peer(1), peer(2)),
                                          led(peer(1), peer(2)), led(nullptr, peer(2)),
                                          led(nullptr)};
  const std::string text = view.text(routes, 0, boot_now());
  const auto json = parsed(text);
  EXPECT_EQ(json.at("source"), "assigner");
  const auto& assigner = json.at("assigner").as_object();
  EXPECT_EQ(assigner.at("name"), "p1");
  EXPECT_NE(text.find("\"since\":1700000000.000000,"), std::string::npos) << text;
  EXPECT_EQ(boost::json::serialize(assigner.at("seat")), R"({"inc":1700000000000,"offset":7})");
  EXPECT_EQ(assigner.at("assigning"), true);
  const auto& members = json.at("members").as_array();
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(boost::json::serialize(members[0]),
            R"({"name":"p1","id":"0000000000000001","endpoint":"p1:1","tags":{},"state":"living",)"
            R"("session_ms":3000,"weight":1,"cordoned":false,"seat_priority":50,)"
            R"("partitions":3,"designated":1})");
  EXPECT_EQ(members[1].at("weight"), 4);
  EXPECT_EQ(members[1].at("cordoned"), true);
  EXPECT_EQ(members[1].at("preparing"), true);
  EXPECT_EQ(members[1].at("seat_priority"), 90);
  EXPECT_EQ(members[1].at("host"), "rack-7");
  EXPECT_EQ(members[1].at("zone_base64"), "/w==");
  EXPECT_EQ(members[1].at("partitions"), 0);
  EXPECT_EQ(members[1].at("designated"), 3);
  EXPECT_EQ(members[2].at("state"), "silent");
  EXPECT_EQ(members[2].at("on_probation"), true);
  EXPECT_EQ(boost::json::serialize(json.at("moves")),
            R"([{"from":null,"to":"0000000000000002","partitions":"3"},)"
            R"({"from":"0000000000000001","to":"0000000000000002","partitions":"1-2"}])");
}

TEST(AssignmentView, tells_which_members_share_an_endpoint) {
  AssignmentView view(false);
  const auto at = [](std::uint64_t id, MemberState state) {
    ObservedMember one = member(id);
    one.peer = std::make_shared<const Peer>(Peer{ProcessId{id}, {"x", "10.0.0.7:1", {}}});
    one.state = state;
    return one;
  };
  view.take(news_of({member(1), at(2, MemberState::living), at(3, MemberState::silent)}));
  EXPECT_EQ(view.text({}, 0, boot_now()).find("endpoint_shared"), std::string::npos)
      << "the silent one may have been replaced";
  view.take(news_of({at(4, MemberState::living)}));
  const auto json = parsed(view.text({}, 0, boot_now()));
  const auto& members = json.at("members").as_array();
  ASSERT_EQ(members.size(), 4u);
  EXPECT_FALSE(members[0].as_object().contains("endpoint_shared"));
  EXPECT_EQ(members[1].at("endpoint_shared"), true);
  EXPECT_FALSE(members[2].as_object().contains("endpoint_shared"));
  EXPECT_EQ(members[3].at("endpoint_shared"), true);
}

TEST(AssignmentView, tells_why_the_assigner_does_not_plan) {
  AssignmentView view(true);
  EXPECT_FALSE(parsed(view.text({}, 0, boot_now())).contains("waits"));
  EXPECT_EQ(parsed(view.text({}, 2, boot_now())).at("waits"), "owners");
  EXPECT_EQ(parsed(view.text({}, 4, boot_now())).at("waits"), "dead");
}

TEST(AssignmentView, tells_a_stream_only_what_changed) {
  AssignmentView view(true);
  EXPECT_TRUE(view.known()) << "by its settings, before anything is read";
  EXPECT_TRUE(parsed(view.whole(boot_now())).at("assigner").is_null());
  std::vector<ObservedMember> many;
  for (std::uint64_t id = 1; id <= 5000; ++id) many.push_back(member(id));
  view.take(news_of(many));
  EXPECT_EQ(parsed(view.changes(boot_now())).at("members").as_array().size(), 5000u);
  view.settle();
  EXPECT_FALSE(view.has_changed());
  many[7].cordoned = true;
  view.take(news_of({many[7]}, {ProcessId{9}}));
  const std::string changes = view.changes(boot_now());
  EXPECT_LT(changes.size(), 1000u) << "however many members there are";
  const auto json = parsed(changes);
  EXPECT_EQ(json.at("whole"), false);
  ASSERT_EQ(json.at("members").as_array().size(), 1u);
  EXPECT_EQ(json.at("members").as_array()[0].at("cordoned"), true);
  EXPECT_EQ(boost::json::serialize(json.at("gone")), R"(["0000000000000009"])");
  view.settle();
  const auto whole = parsed(view.whole(boot_now()));
  EXPECT_EQ(whole.at("whole"), true);
  EXPECT_EQ(whole.at("members").as_array().size(), 4999u);
}

TEST(AssignmentView, forgets_who_came_and_went_between_two_events) {
  AssignmentView view(true);
  view.take(news_of({member(1), member(2)}));
  view.take(news_of({}, {ProcessId{2}}));
  EXPECT_EQ(parsed(view.changes(boot_now())).at("members").as_array().size(), 1u);
  view.take(news_of({member(2)}));
  const auto json = parsed(view.changes(boot_now()));
  EXPECT_EQ(json.at("members").as_array().size(), 2u);
  EXPECT_EQ(json.at("gone").as_array().size(), 0u) << "it is back";
}

TEST(AssignmentView, reports_overrides_at_first_and_when_they_change) {
  AssignmentView view(true);
  ObservedOverrides overrides;
  overrides.cordoned = {"p2"};
  overrides.weights = {{"p1", 3}};
  overrides.pins = {{"p1", "0-3"}};
  overrides.moves_paused = true;
  KeptAssignment kept = news_of({member(1)});
  kept.overrides = std::make_shared<const ObservedOverrides>(overrides);
  view.take(kept);
  const std::string expected =
      R"({"cordoned":["p2"],"weights":{"p1":3},"pins":{"p1":"0-3"},"moves_paused":true})";
  EXPECT_EQ(boost::json::serialize(parsed(view.changes(boot_now())).at("overrides")), expected);
  view.settle();
  kept.members.clear();
  kept.assigning = false;
  view.take(kept);
  EXPECT_FALSE(parsed(view.changes(boot_now())).contains("overrides")) << "they are the same";
  EXPECT_EQ(boost::json::serialize(parsed(view.whole(boot_now())).at("overrides")), expected);
  EXPECT_EQ(boost::json::serialize(parsed(view.text({}, 0, boot_now())).at("overrides")), expected);
  view.settle();
  kept.overrides = nullptr;
  view.take(kept);
  EXPECT_EQ(boost::json::serialize(parsed(view.changes(boot_now())).at("overrides")),
            R"({"cordoned":[],"weights":{},"pins":{},"moves_paused":false})");
}

// Names are bytes, and JSON is UTF-8.
TEST(AssignmentView, reports_overrides_of_names_that_are_no_utf8_apart) {
  AssignmentView view(true);
  ObservedOverrides overrides;
  overrides.cordoned = {"p2", "caf\xe9"};
  overrides.weights = {{"caf\xe9", 3}};
  overrides.pins = {{"caf\xe9", "0-3"}};
  KeptAssignment kept = news_of({member(1)});
  kept.overrides = std::make_shared<const ObservedOverrides>(overrides);
  view.take(kept);
  EXPECT_EQ(boost::json::serialize(parsed(view.text({}, 0, boot_now())).at("overrides")),
            R"({"cordoned":["p2"],"cordoned_base64":["Y2Fm6Q=="],"weights":{},)"
            R"("weights_base64":{"Y2Fm6Q==":3},"pins":{},"pins_base64":{"Y2Fm6Q==":"0-3"},)"
            R"("moves_paused":false})");
}

TEST(PendingView, merges_what_is_told_of_members) {
  PendingView pending;
  const auto add = [&](const std::vector<ObservedMember>& members,
                       const std::vector<ProcessId>& gone) {
    return pending.add(AssignmentNews{peer(1), {kInc, 7}, true, members, gone});
  };
  EXPECT_TRUE(add({member(1), member(2), member(3)}, {}));
  ObservedMember later = member(2);
  later.weight = 9;
  EXPECT_FALSE(add({later}, {ProcessId{3}})) << "it asks once to be taken";
  const KeptChange taken = pending.take();
  ASSERT_TRUE(taken.assignment);
  EXPECT_EQ(taken.assignment->members.size(), 2u);
  EXPECT_EQ(taken.assignment->members.at(ProcessId{2}).weight, 9u);
  EXPECT_TRUE(taken.assignment->gone.contains(ProcessId{3}));
  EXPECT_TRUE(add({member(3)}, {}));
}

// --- The port, before a watcher's reader ---------------------------------------------------------

struct AssignedAdmin : AdminRig {
  static Record renewal(std::uint64_t id) {
    Record record = writer(id).header(RecordType::renewal);
    record.settings->variation = kAssignedVariation;
    record.since = static_cast<std::int64_t>(id);
    record.member = MemberFields{};
    record.member->session = 60s;
    return record;
  }
  std::int64_t write(const AssignmentRecord& record) {
    const auto offset = static_cast<std::int64_t>(ledger->written[0].size());
    ledger->written[0].push_back(encode_record(record));
    const Decoded value = record;
    event(Received{Log{0}, offset, BrokerTime{milliseconds{kInc}}, true, &value});
    return offset;
  }
  /// p3 assigns.
  void begin() {
    append(0, renewal(2));
    append(0, renewal(3));
    AssignmentRecord claim;
    claim.id = ProcessId{3};
    seat = {kInc, write(claim)};
  }
  void assign(std::uint64_t to, const std::string& which) {
    AssignmentRecord record;
    record.type = AssignmentType::assign;
    record.id = ProcessId{3};
    record.seat = seat;
    record.designations = {{ProcessId{to}, *PartitionRanges::parse(which)}};
    write(record);
  }
  Epoch seat;
};

TEST(AdminAssignment, a_stream_begins_with_all_members_and_goes_on_with_changes) {
  AssignedAdmin rig;
  rig.append(0, writer(2).leads(9, "0,2"));
  rig.begin();
  Client client(rig);
  client.send(request("/v1/events"));
  EXPECT_EQ(client.answer().status, 200u);
  const auto first = client.event("assignment").json();
  EXPECT_EQ(first.at("whole"), true);
  EXPECT_EQ(first.at("members").as_array().size(), 2u);
  EXPECT_EQ(first.at("assigner").at("name"), "p3");
  rig.assign(3, "2");
  const auto changed = client.event("changed").json();
  ASSERT_EQ(changed.at("view").as_array().size(), 1u);
  const auto& row = changed.at("view").as_array()[0].as_array();
  ASSERT_EQ(row.size(), 9u);
  EXPECT_EQ(row[0], 2);
  EXPECT_EQ(row[8], 1) << "the designee, which is listed now";
  EXPECT_EQ(changed.at("processes").as_array()[0].at("name"), "p3");
  Record heavy = AssignedAdmin::renewal(2);
  heavy.member->weight = 7;
  rig.append(0, heavy);
  const auto later = client.event("assignment").json();
  EXPECT_EQ(later.at("whole"), false);
  ASSERT_EQ(later.at("members").as_array().size(), 1u);
  EXPECT_EQ(later.at("members").as_array()[0].at("weight"), 7);
}

TEST(AdminAssignment, answers_who_assigns_and_what_is_on_the_way) {
  AssignedAdmin rig;
  rig.append(0, writer(2).leads(9, "0,2"));
  rig.begin();
  rig.assign(3, "2");
  Client client(rig);
  const auto json = client.get("/v1/assignment").json();
  EXPECT_EQ(json.at("source"), "assigner");
  EXPECT_EQ(boost::json::serialize(json.at("moves")),
            R"([{"from":"0000000000000002","to":"0000000000000003","partitions":"2"}])");
  const auto route = client.get("/v1/route?slot=2").json();
  EXPECT_EQ(route.at("owner"), "p2");
  EXPECT_EQ(route.at("designee"), "p3");
  EXPECT_EQ(route.at("designee_id"), "0000000000000003");
  EXPECT_EQ(route.at("designee_endpoint"), "p3:7000");
  EXPECT_EQ(route.at("assigner"), "p3");
  EXPECT_FALSE(client.get("/v1/route?slot=0").json().contains("designee"));
}

TEST(AdminAssignment, with_a_group_nothing_is_said_of_it) {
  AdminRig rig;
  rig.let_others_own();
  Client client(rig);
  EXPECT_EQ(client.get("/v1/assignment").json().at("source"), "group");
  EXPECT_FALSE(client.get("/v1/route?slot=0").json().contains("assigner"));
  Client stream(rig);
  stream.send(request("/v1/events"));
  EXPECT_EQ(stream.answer().status, 200u);
  const auto view = stream.event("view").json();
  for (const auto& row : view.at("view").as_array()) EXPECT_EQ(row.as_array().size(), 7u);
  EXPECT_EQ(stream.received().find("event: assignment"), std::string::npos);
}

}  // namespace
}  // namespace neliroute::admin
