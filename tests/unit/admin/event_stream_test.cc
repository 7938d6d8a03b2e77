// /v1/events as its clients see it.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/admin/admin_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using testing_admin::AdminRig;
using testing_admin::Client;
using testing_admin::request;
using testing_admin::writer;

/// A client that has received the whole view.
std::unique_ptr<Client> listener(AdminRig& rig) {
  auto client = std::make_unique<Client>(rig);
  client->send(request("/v1/events"));
  EXPECT_EQ(client->answer().field("Content-Type"), "text/event-stream");
  return client;
}

AdminLimits merging(milliseconds merge, milliseconds age = 1h) {
  AdminLimits limits;
  limits.merge = merge;
  limits.age = age;
  return limits;
}

TEST(EventStream, tells_the_whole_view_and_then_what_changes) {
  AdminRig rig;
  rig.append(0, writer(2).leads(9, "0"));
  const auto client = listener(rig);
  const auto view = client->event("view").json();
  EXPECT_EQ(view.at("processes").as_array().size(), 1u);
  EXPECT_EQ(view.at("view").as_array().size(), 4u);
  rig.append(0, writer(4).claim("0"));
  const auto claimed = client->event("changed").json();
  EXPECT_EQ(boost::json::serialize(claimed.at("view")), "[[0,3,0,1,0,1700000000000,9,null]]");
  EXPECT_EQ(boost::json::serialize(claimed.at("processes")),
            R"([{"index":1,"name":"p4","id":"0000000000000004","endpoint":"p4:7000","tags":{}}])");
  EXPECT_GT(claimed.at("version").to_number<int>(), view.at("version").to_number<int>());
  rig.append(0, writer(4).leads(11, "0"));
  const auto moved = client->event("changed").json();
  EXPECT_EQ(moved.at("processes").as_array().size(), 0u) << "only who is new";
  const auto& row = moved.at("view").as_array()[0].as_array();
  EXPECT_EQ(row[2], 1) << "p4 leads";
  EXPECT_TRUE(row[7].is_int64()) << "and since when is known";
  EXPECT_NE(moved.at("digest"), view.at("digest"));
}

// A client that connects late, after an alert for instance, receives what happened.
TEST(EventStream, tells_who_comes_later_what_moved_before) {
  AdminRig rig;
  rig.append(0, writer(2).leads(9, "0,2"));
  rig.append(0, writer(4).leads(11, "0,2"));
  const auto client = listener(rig);
  EXPECT_EQ(client->event("view").json().at("view").as_array().size(), 4u);
  const auto told = client->event("moves").json();
  EXPECT_EQ(told.at("processes").as_array().size(), 2u);
  ASSERT_EQ(told.at("moves").as_array().size(), 1u);
  const auto& move = told.at("moves").as_array()[0].as_array();
  EXPECT_EQ(move[1], 0) << "from p2";
  EXPECT_EQ(move[2], 1) << "to p4";
  EXPECT_EQ(move[3], "0,2");
}

TEST(EventStream, merges_what_changes_in_a_while) {
  AdminRig rig(true, merging(300ms));
  const auto client = listener(rig);
  rig.append(0, writer(2).leads(9, "0"));
  EXPECT_EQ(client->event("changed").json().at("view").as_array().size(), 1u)
      << "the first is told at once";
  rig.append(0, writer(3).leads(10, "0"));
  rig.append(1, writer(3).leads(10, "1"));
  rig.append(0, writer(4).leads(11, "0"));
  const auto merged = client->event("changed").json();
  ASSERT_EQ(merged.at("view").as_array().size(), 2u);
  EXPECT_EQ(merged.at("processes").as_array().size(), 2u);
  const auto& row = merged.at("view").as_array()[0].as_array();
  EXPECT_EQ(row[0], 0);
  EXPECT_EQ(row[6], 11) << "the newest of both";
}

TEST(EventStream, tells_the_transitions_of_its_process) {
  AdminRig rig(/*watcher=*/false);
  const auto client = listener(rig);
  rig.assign("0");
  const auto line = client->event("transition").json();
  EXPECT_EQ(line.at("event"), "acquired");
  EXPECT_EQ(line.at("process"), "self");
  EXPECT_EQ(line.at("partition"), 0);
  const auto changed = client->event("changed").json();
  EXPECT_EQ(changed.at("view").as_array()[0].as_array()[1], 2) << "local";
}

TEST(EventStream, names_who_led_before_as_the_event_log_does) {
  AdminRig rig(/*watcher=*/false);
  rig.append(0, writer(3).leads(5, "0"));
  const auto client = listener(rig);
  rig.assign("0");
  const auto line = client->event("transition").json();
  EXPECT_EQ(line.at("event"), "acquired");
  EXPECT_EQ(line.at("previous"), "p3");
  EXPECT_EQ(line.at("ending"), "none");
}

TEST(EventStream, tells_its_age_where_nothing_changes) {
  AdminRig rig(true, merging(0ms, 30ms));
  rig.let_others_own();
  const auto client = listener(rig);
  const auto age = client->event("age").json();
  EXPECT_EQ(age.at("ledger"), "answering");
  EXPECT_EQ(age.at("ready"), true);
  EXPECT_TRUE(age.contains("at"));
  EXPECT_TRUE(age.at("age_ms").is_int64());
  static_cast<void>(client->event("age"));
}

TEST(EventStream, is_told_alike_to_all_who_listen) {
  AdminRig rig(true, merging(0ms));
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(listener(rig));
  for (const auto& client : clients) static_cast<void>(client->event("view"));
  clients[3]->close();
  rig.append(0, writer(2).leads(9, "0"));
  const std::string data = clients[0]->event("changed").data;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (i == 0 || i == 3) continue;
    EXPECT_EQ(clients[i]->event("changed").data, data);
  }
}

TEST(EventStream, is_closed_when_its_client_reads_too_slowly_and_others_are_not) {
  AdminLimits limits = merging(0ms);
  limits.send_buffer = 4096;
  limits.stream_bytes = 8192;
  AdminRig rig(true, limits);
  const auto quick = listener(rig);
  Client slow(rig, /*reads=*/false);
  slow.send(request("/v1/events"));
  rig.poll();
  for (std::int64_t claim = 20; claim < 420; ++claim) {
    const std::uint64_t id = 2 + static_cast<std::uint64_t>(claim % 2);
    rig.append(0, writer(id).leads(claim, "0,2"));
    static_cast<void>(quick->event("changed"));
  }
  slow.start_reading();
  EXPECT_TRUE(slow.ends());
  EXPECT_LT(slow.received().size(), 64u * 1024) << "what was on its way";
  EXPECT_FALSE(quick->ended());
  rig.append(0, writer(2).leads(1000, "0"));
  static_cast<void>(quick->event("changed"));
}

TEST(EventStream, is_closed_when_its_client_takes_nothing_for_long) {
  AdminLimits limits = merging(0ms, 30ms);
  limits.send_buffer = 4096;
  limits.connections = 1;
  limits.write = 100ms;
  AdminRig rig(true, limits);
  Client slow(rig, /*reads=*/false);
  slow.send(request("/v1/events"));
  rig.poll();
  for (std::int64_t claim = 20; claim < 420; ++claim) {
    rig.append(0, writer(2 + static_cast<std::uint64_t>(claim % 2)).leads(claim, "0,2"));
  }
  EXPECT_TRUE(rig.run_until([&] {
    Client next(rig);
    return next.get("/v1/slots").status == 200;
  })) << "its place is free";
}

TEST(EventStream, is_closed_when_its_client_talks_without_end) {
  AdminRig rig;
  const auto client = listener(rig);
  static_cast<void>(client->event("view"));
  client->send(std::string(200'000, 'x'));
  EXPECT_TRUE(client->ends());
}

TEST(EventStream, begins_anew_when_processes_are_numbered_anew) {
  AdminRig rig(true, merging(0ms));
  const auto client = listener(rig);
  static_cast<void>(client->event("view"));
  for (std::int64_t id = 2; id < 70; ++id) {
    rig.append(0, writer(static_cast<std::uint64_t>(id)).leads(20 + id, "0"));
  }
  const auto view = client->event("view").json();
  EXPECT_EQ(view.at("processes").as_array().size(), 1u) << "who has left is not listed";
  EXPECT_EQ(view.at("view").as_array()[0].as_array()[1], 0);
}

}  // namespace
}  // namespace neliroute
