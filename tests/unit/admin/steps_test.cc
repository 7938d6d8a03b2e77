// /v1/steps: what a program that follows it sees, and what is waited for.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>

#include "tests/unit/admin/control_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using testing_admin::AdminRig;
using testing_admin::Client;
using testing_admin::ControlRig;
using testing_admin::HttpAnswer;
using testing_admin::ServerEvent;
using testing_admin::request;
using testing_admin::writer;

constexpr std::uint32_t kPartitions = 4;

struct StepsTest : testing::Test {
  std::unique_ptr<Client> follow(const std::string& query = "") {
    auto client = std::make_unique<Client>(rig);
    client->send(request("/v1/steps" + query));
    const HttpAnswer answer = client->answer();
    EXPECT_EQ(answer.status, 200u);
    EXPECT_EQ(answer.field("Content-Type"), "text/event-stream");
    return client;
  }
  [[nodiscard]] HttpAnswer done(const ServerEvent& event) {
    const auto seq = event.json().at("seq").to_number<std::uint64_t>();
    return rig.post("/v1/done", "{\"step\":" + std::to_string(seq) + "}");
  }
  [[nodiscard]] bool leads_all() {
    return rig.run_until([this] {
      for (std::uint32_t slot = 0; slot < kPartitions; ++slot) {
        if (rig.verdict(slot) != Verdict::local) return false;
      }
      return true;
    });
  }
  static std::uint32_t partition_of(const ServerEvent& event) {
    return event.json().at("partition").to_number<std::uint32_t>();
  }

  ControlRig rig{false, {}, {}, 10s};
};

TEST_F(StepsTest, a_step_that_is_awaited_lasts_until_it_is_done) {
  const auto client = follow("?await=prepare,warm_up");
  rig.assign("0");
  const ServerEvent prepare = client->event("prepare");
  EXPECT_EQ(partition_of(prepare), 0u);
  EXPECT_EQ(prepare.json().at("event"), "prepare");
  EXPECT_EQ(prepare.json().at("process").as_string(),
            to_string(ProcessId{testing_reader::kOwnId}));
  rig.poll();
  EXPECT_EQ(client->received().find("event: warm_up"), std::string::npos) << "it is not claimed";
  EXPECT_EQ(done(prepare).status, 200u);
  const ServerEvent warm_up = client->event("warm_up");
  EXPECT_GT(warm_up.json().at("seq").to_number<int>(), prepare.json().at("seq").to_number<int>());
  EXPECT_TRUE(warm_up.json().at("epoch").is_object());
  EXPECT_NE(rig.verdict(0), Verdict::local);
  EXPECT_EQ(done(warm_up).status, 200u);
  EXPECT_EQ(partition_of(client->event("acquired")), 0u);
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  EXPECT_EQ(done(warm_up).status, 404u);
}

TEST_F(StepsTest, nothing_is_waited_for_once_no_stream_awaits_it) {
  auto first = follow("?await=prepare");
  auto second = follow("?await=prepare,stopped");
  rig.assign("0");
  static_cast<void>(first->event("prepare"));
  const ServerEvent prepare = second->event("prepare");
  first->close();
  EXPECT_EQ(done(prepare).status, 200u) << "the other one still awaits it";
  static_cast<void>(second->event("acquired"));
  rig.assign("1");
  const ServerEvent next = second->event("prepare");
  second->close();
  EXPECT_TRUE(rig.run_until([this] { return rig.verdict(1) == Verdict::local; }));
  EXPECT_EQ(done(next).status, 404u);
}

TEST_F(StepsTest, who_awaits_nothing_learns_of_everything) {
  const auto client = follow();
  rig.assign("0-3");
  ASSERT_TRUE(leads_all());
  std::set<std::uint32_t> led;
  for (std::uint32_t i = 0; i < kPartitions; ++i) {
    led.insert(partition_of(client->event("acquired")));
  }
  EXPECT_EQ(led.size(), kPartitions);
}

TEST_F(StepsTest, a_stream_begins_with_what_holds) {
  rig.assign("0-3");
  ASSERT_TRUE(leads_all());
  rig.lose(2);
  ASSERT_TRUE(rig.run_until([this] { return rig.verdict(2) == Verdict::remote; }));
  const auto client = follow("?await=stopped");
  std::set<std::uint32_t> led;
  std::int64_t last = 0;
  for (std::uint32_t i = 0; i + 1 < kPartitions; ++i) {
    const ServerEvent event = client->event("acquired");
    led.insert(partition_of(event));
    const auto seq = event.json().at("seq").to_number<std::int64_t>();
    EXPECT_GT(seq, last);
    last = seq;
  }
  EXPECT_EQ(led, (std::set<std::uint32_t>{0, 1, 3}));
  EXPECT_EQ(client->received().find("event: released"), std::string::npos) << "it is over";
}

TEST_F(StepsTest, a_release_waits_for_who_finishes) {
  const auto client = follow("?await=stopped");
  rig.assign("0-3");
  ASSERT_TRUE(leads_all());
  rig.lose(0);
  const ServerEvent stopped = client->event("stopped");
  EXPECT_EQ(stopped.json().at("successor").at("name"), "p3");
  EXPECT_EQ(stopped.json().at("reason"), "superseded");
  rig.poll();
  EXPECT_EQ(client->received().find("event: released"), std::string::npos);
  EXPECT_EQ(done(stopped).status, 200u);
  EXPECT_EQ(partition_of(client->event("released")), 0u);
}

TEST_F(StepsTest, who_led_before_and_how_that_ended_is_told_twice) {
  rig.append(0, writer(3).leads(5, "0"));
  rig.append(0, writer(3).release(5, "0"));
  const auto client = follow("?await=prepare,warm_up");
  rig.assign("0");
  for (const char* step : {"prepare", "warm_up"}) {
    const ServerEvent event = client->event(step);
    const auto row = event.json();
    const auto& before = row.at("predecessor");
    EXPECT_EQ(before.at("name"), "p3") << step;
    EXPECT_EQ(before.at("ending"), "released") << step;
    EXPECT_EQ(before.at("epoch").at("offset"), 5) << step;
    EXPECT_EQ(done(event).status, 200u);
  }
  static_cast<void>(client->event("acquired"));
  rig.revoke("0");
  EXPECT_EQ(partition_of(client->event("draining")), 0u);
}

TEST_F(StepsTest, a_prepare_in_vain_is_cancelled) {
  const auto client = follow("?await=prepare");
  rig.assign("0");
  const ServerEvent prepare = client->event("prepare");
  rig.revoke("0");
  EXPECT_EQ(partition_of(client->event("cancelled")), 0u);
  EXPECT_EQ(done(prepare).status, 404u);
}

TEST_F(StepsTest, each_prepare_in_vain_is_cancelled) {
  const auto client = follow("?await=prepare");
  for (int turn = 0; turn < 2; ++turn) {
    rig.assign("0");
    const ServerEvent prepare = client->event("prepare");
    rig.revoke("0");
    EXPECT_EQ(partition_of(client->event("cancelled")), 0u) << turn;
    EXPECT_EQ(done(prepare).status, 404u);
  }
}

TEST_F(StepsTest, a_step_of_the_process_before_is_none_here) {
  const auto client = follow("?await=prepare");
  rig.assign("0");
  static_cast<void>(client->event("prepare"));
  EXPECT_EQ(rig.post("/v1/done", R"({"step":1})").status, 404u);
}

Transition of_partition(std::uint32_t partition, TransitionKind kind) {
  Transition made;
  made.kind = kind;
  made.partition = Partition{partition};
  return made;
}

TEST_F(StepsTest, who_does_not_finish_in_time_is_not_waited_for) {
  const auto client = follow("?await=stopped");
  rig.assign("0-3");
  ASSERT_TRUE(leads_all());
  rig.lose(0);
  const ServerEvent stopped = client->event("stopped");
  rig.steps->barrier_overdue(of_partition(0, TransitionKind::barrier_overdue));
  static_cast<void>(client->event("released"));
  EXPECT_EQ(done(stopped).status, 404u);
  // Nor is there any time after a lapse.
  bool ended = false;
  Transition lapsed = of_partition(1, TransitionKind::stopped);
  lapsed.barrier_deadline = kLongAgo;
  rig.steps->stopped(lapsed, BarrierToken([&ended] { ended = true; }));
  EXPECT_TRUE(ended);
}

// It is told once it is stored.
TEST_F(StepsTest, a_late_release_ends_nothing_that_came_after_it) {
  const auto first = follow("?await=prepare");
  rig.assign("0");
  const ServerEvent prepare = first->event("prepare");
  rig.steps->released(of_partition(0, TransitionKind::released));
  static_cast<void>(first->event("released"));
  EXPECT_NE(rig.verdict(0), Verdict::local);
  EXPECT_EQ(done(prepare).status, 200u);
  static_cast<void>(first->event("acquired"));
  rig.steps->released(of_partition(0, TransitionKind::released));
  static_cast<void>(first->event("released"));
  EXPECT_EQ(partition_of(follow()->event("acquired")), 0u) << "it is led";
}

TEST_F(StepsTest, the_servers_end_ends_what_it_awaits) {
  const auto client = follow("?await=prepare");
  rig.assign("0");
  static_cast<void>(client->event("prepare"));
  rig.server.reset();
  EXPECT_TRUE(rig.run_until([this] { return rig.verdict(0) == Verdict::local; }));
  EXPECT_TRUE(client->ends());
}

TEST_F(StepsTest, wrong_questions_are_refused) {
  for (const char* query : {"?await=", "?await=acquired", "?await=prepare,", "?other=1",
                            "?await=%zz"}) {
    Client client(rig);
    const HttpAnswer answer = client.get(std::string("/v1/steps") + query);
    EXPECT_EQ(answer.status, 400u) << query;
    EXPECT_NE(answer.body.find("prepare,warm_up,stopped"), std::string::npos) << answer.body;
  }
  for (const char* body : {R"({"step":"7"})", R"({"step":-1})", R"({"step":1,"work":"1"})", "{}"}) {
    EXPECT_EQ(rig.post("/v1/done", body).status, 400u) << body;
  }
  EXPECT_EQ(rig.post("/v1/done", R"({"step":7})").status, 404u);
}

TEST(Steps, are_of_owners_that_take_control_calls) {
  ControlRig watcher(true);
  EXPECT_EQ(Client(watcher).get("/v1/steps").status, 404u);
  AdminRig without(false);
  EXPECT_EQ(Client(without).get("/v1/steps").status, 403u);
  ControlRig secret(false, {}, "s3cret");
  EXPECT_EQ(Client(secret).get("/v1/steps").status, 401u);
}

}  // namespace
}  // namespace neliroute
