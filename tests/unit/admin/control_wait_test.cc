// Clients that wait at /v1/route for a newer owner.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/unit/admin/control_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using testing_admin::Client;
using testing_admin::ControlRig;
using testing_admin::HttpAnswer;
using testing_admin::request;
using testing_admin::writer;

constexpr const char* kWaits = "/v1/route?slot=0&after=1700000000000:9&wait=60s";

/// A watcher that knows an owner, and a client that waits for the next one.
struct Waiting : ControlRig {
  explicit Waiting(AdminLimits limits = {}) : ControlRig(/*watcher=*/true, limits) {
    append(0, writer(2).leads(9, "0"));
    client.send(request(kWaits));
    EXPECT_TRUE(run_until([this] { return reader->waiters() == 1; }));
  }
  Client client{*this};
};

TEST(RouteWait, ends_at_once_where_the_answer_is_there) {
  ControlRig rig(/*watcher=*/true);
  rig.append(0, writer(2).leads(9, "0"));
  Client client(rig);
  for (const char* query : {"slot=0&wait=60s", "wait=60s&slot=0&after=1700000000000:8",
                            "slot=0&after=1700000000000.8&wait=1m", "slot=0&after=-1:-1&wait=9s"}) {
    const HttpAnswer answer = client.get(std::string("/v1/route?") + query);
    EXPECT_EQ(answer.status, 200u) << query << answer.body;
    EXPECT_EQ(answer.json().at("owner"), "p2");
  }
}

TEST(RouteWait, ends_with_the_record_that_names_a_newer_owner) {
  Waiting rig;
  rig.append(0, writer(2).leads(9, "0"));
  rig.poll();
  EXPECT_EQ(rig.client.received(), "") << "a renewal says nothing new";
  EXPECT_EQ(rig.metric("control_waits"), 1);
  rig.append(0, writer(3).leads(12, "0"));
  const auto row = rig.client.answer().json();
  EXPECT_EQ(row.at("owner"), "p3");
  EXPECT_EQ(row.at("epoch").at("offset"), 12);
  EXPECT_EQ(rig.client.get("/healthz").status, 200u) << "the connection stays";
  EXPECT_TRUE(rig.run_until([&] { return rig.metric("control_waits") == 0; }));
}

TEST(RouteWait, ends_when_this_process_begins_to_lead) {
  ControlRig rig;
  Client client(rig);
  client.send(request("/v1/route?key=a&wait=60s"));
  EXPECT_TRUE(rig.run_until([&] { return rig.reader->waiters() == 1; }));
  rig.lead_all();
  EXPECT_EQ(client.answer().json().at("verdict"), "local");
}

// The rig's clock stands still, as if the router's strand did: the server's own timer ends it.
TEST(RouteWait, ends_with_what_is_known_when_its_time_is_over) {
  ControlRig rig(/*watcher=*/true);
  rig.append(0, writer(2).leads(9, "0"));
  Client client(rig);
  const HttpAnswer answer = client.get("/v1/route?slot=0&after=1700000000000:9&wait=20ms");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.json().at("epoch").at("offset"), 9);
  EXPECT_TRUE(rig.run_until([&] { return rig.reader->waiters() == 0; })) << "nor does the router";
  EXPECT_EQ(client.get("/v1/route?slot=0&after=1700000000000:9&wait=0s").status, 200u);
  client.send(request(kWaits, "HEAD"));
  EXPECT_EQ(client.answer(/*head=*/true).status, 200u) << "without waiting";
}

TEST(RouteWait, is_cancelled_by_a_client_that_goes_away) {
  Waiting rig;
  rig.client.close();
  EXPECT_TRUE(rig.run_until([&] { return rig.reader->waiters() == 0; }));
  EXPECT_TRUE(rig.run_until([&] { return rig.metric("control_waits") == 0; }));
}

TEST(RouteWait, is_not_ended_by_the_next_request) {
  Waiting rig;
  rig.client.send(request("/healthz"));
  rig.poll();
  EXPECT_EQ(rig.client.received(), "");
  EXPECT_EQ(rig.reader->waiters(), 1u);
  rig.append(0, writer(3).leads(12, "0"));
  EXPECT_EQ(rig.client.answer().json().at("owner"), "p3");
  EXPECT_EQ(rig.client.answer().body, R"({"status":"ok"})");
  rig.client.send(request("/v1/route?slot=0&after=1700000000000:12&wait=60s"));
  EXPECT_TRUE(rig.run_until([&] { return rig.reader->waiters() == 1; }));
  rig.client.close();
  EXPECT_TRUE(rig.run_until([&] { return rig.reader->waiters() == 0; })) << "it is watched again";
}

TEST(RouteWait, is_granted_to_so_many_and_no_more) {
  AdminLimits limits;
  limits.waits = 1;
  Waiting rig(limits);
  Client another(rig);
  const HttpAnswer refused = another.get(kWaits);
  EXPECT_EQ(refused.status, 503u);
  EXPECT_EQ(refused.field("Retry-After"), "1");
  EXPECT_EQ(another.get("/v1/route?slot=0").status, 200u);
  rig.client.close();
  EXPECT_TRUE(rig.run_until([&] { return rig.reader->waiters() == 0; }));
  another.send(request(kWaits));
  EXPECT_TRUE(rig.run_until([&] { return rig.reader->waiters() == 1; }));
}

TEST(RouteWait, ends_when_the_server_goes) {
  Waiting rig;
  rig.server.reset();
  EXPECT_TRUE(rig.client.ends());
  EXPECT_TRUE(rig.run_until([&] { return rig.reader->waiters() == 0; }));
}

TEST(RouteWait, says_when_nobody_will_come) {
  ControlRig rig;
  rig.reader->drain(0ms, [] {});
  EXPECT_TRUE(rig.run_until([&] { return rig.reader->closed(); }));
  Client client(rig);
  const HttpAnswer answer = client.get("/v1/route?slot=0&wait=60s");
  EXPECT_EQ(answer.status, 503u);
  EXPECT_EQ(answer.field("Retry-After"), "1");
}

TEST(RouteWait, is_asked_for_in_one_way) {
  ControlRig rig(/*watcher=*/true);
  Client client(rig);
  for (const char* query :
       {"slot=0&wait=61s", "slot=0&wait=2m", "slot=0&wait=1", "slot=0&wait=", "slot=0&wait=-1s",
        "slot=0&after=1:1", "slot=0&after=1&wait=1s", "slot=0&after=1:x&wait=1s", "wait=1s",
        "slot=0&after=&wait=1s", "slot=0&wait=1s&wait=1s", "slot=0&key=a&wait=1s",
        "slot=0&after=1:1&after=1:1&wait=1s", "slot=0&Wait=1s"}) {
    const HttpAnswer answer = client.get(std::string("/v1/route?") + query);
    EXPECT_EQ(answer.status, 400u) << query;
    EXPECT_NE(answer.json().at("error").as_string().find("wait=1s"), std::string::npos);
  }
}

}  // namespace
}  // namespace neliroute
