// Callers that could not reach an owner, and lookups after they said so.
#include "router/engine/suspects.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/router/engine/engine_rig.h"

namespace neliroute {
namespace {

using namespace testing_engine;
using namespace testing_records;
using namespace std::chrono_literals;

TEST(Suspects, an_endpoint_is_passed_on_now_and_then) {
  Suspects suspects;
  EXPECT_TRUE(suspects.is_news("a:1", at_ms(1000)));
  EXPECT_FALSE(suspects.is_news("a:1", at_ms(1099)));
  EXPECT_TRUE(suspects.is_news("b:1", at_ms(1099))) << "another one";
  EXPECT_TRUE(suspects.is_news("a:1", at_ms(1100)));
  EXPECT_FALSE(suspects.is_news("a:1", at_ms(1199)));
}

TEST(Suspects, no_more_endpoints_are_kept_than_there_may_be) {
  Suspects suspects;
  for (std::size_t i = 0; i < Suspects::kMost; ++i) {
    ASSERT_TRUE(suspects.is_news(std::to_string(i), at_ms(1000)));
  }
  EXPECT_FALSE(suspects.is_news("one more", at_ms(1050)));
  EXPECT_TRUE(suspects.is_news("one more", at_ms(1100))) << "the others are over";
  EXPECT_TRUE(suspects.is_news("0", at_ms(1100)));
}

TEST(SuspectedOwners, are_marked_in_lookups_until_a_record_of_theirs_is_read) {
  EngineRig rig({.watcher = true});
  rig.start();
  rig.append(0, kB.leads(9, "0"));
  EXPECT_FALSE(rig.route(0).suspected);
  rig.engine->suspect("p2:7000");
  rig.poll();
  EXPECT_EQ(rig.verdict(0), Verdict::remote) << "it may own the slot all the same";
  EXPECT_TRUE(rig.route(0).suspected);
  EXPECT_TRUE(rig.route(0).copy().suspected);
  rig.append(0, kB.leads(9, "0"));
  EXPECT_FALSE(rig.route(0).suspected);
}

TEST(SuspectedOwners, wake_nobody_who_waits_for_another_one) {
  EngineRig rig({.watcher = true});
  rig.start();
  rig.append(0, kB.leads(9, "0"));
  int told = 0;
  rig.engine->wait_for_route(rig.engine->next_wait_id(), Slot{0}, epoch(9), 10s,
                             [&](boost::system::error_code, const Route&) { ++told; });
  rig.poll();
  rig.engine->suspect("p2:7000");
  rig.poll();
  EXPECT_EQ(told, 0);
  rig.append(0, Writer{3}.leads(30, "0"));
  EXPECT_EQ(told, 1);
}

TEST(SuspectedOwners, are_never_this_process) {
  EngineRig rig;
  rig.start();
  rig.lead_all();
  rig.engine->suspect("self:7000");
  rig.poll();
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  EXPECT_FALSE(rig.route(0).suspected);
}

TEST(SuspectedOwners, may_be_reported_after_the_engine_closed) {
  EngineRig rig;
  rig.start();
  rig.engine->drain(0ms, [] {});
  rig.poll();
  rig.engine->suspect("p2:7000");
  rig.poll();
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
}

}  // namespace
}  // namespace neliroute
