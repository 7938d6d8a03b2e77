// The engine of a process that owns nothing.
#include <gtest/gtest.h>

#include <set>

#include <algorithm>
#include <deque>

#include "router/engine.h"
#include "tests/unit/router/engine_rig.h"

namespace neliroute {
namespace {

using namespace testing_engine;
using namespace testing_records;
using namespace std::chrono_literals;

struct Watching : EngineRig {
  Watching() : EngineRig({Mode::non_exclusive, /*watcher=*/true}) { start(); }
  std::int64_t next(std::uint32_t log) const {
    return static_cast<std::int64_t>(ledger->written[log].size());
  }
};

TEST(WatcherEngine, sees_owners_and_writes_nothing) {
  Watching rig;
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
  const std::int64_t claim = rig.append(0, kB.claim("0"));
  rig.append(0, kB.leads(claim, "0"));
  EXPECT_EQ(rig.route(0).owner(), "p2");
  EXPECT_EQ(rig.route(0).epoch, epoch(claim));
  rig.pass(999ms);
  EXPECT_EQ(rig.verdict(0), Verdict::remote);
  rig.pass(1ms, 0);
  EXPECT_EQ(rig.verdict(0), Verdict::unowned);
  EXPECT_EQ(rig.route(0).unowned_since, rig.now);
  EXPECT_EQ(rig.verdict(2), Verdict::unowned) << "T* has passed, and the log answers";
  EXPECT_EQ(rig.story, Story{});
}

TEST(WatcherEngine, says_which_partitions_changed_after_readers_can_see_it) {
  Watching rig;
  Story changes;
  rig.engine->set_change_handler([&](Partition p) {
    changes.push_back(std::to_string(p.value()) + " " + std::string(rig.route(p.value()).owner()));
  });
  rig.poll();
  rig.append(0, kB.leads(9, "0,2"));
  rig.append(0, kB.leads(9, "0,2"));
  rig.append(0, kB.release(9, "2"));
  EXPECT_EQ(changes, (Story{"0 p2", "2 p2", "2 "}));
}

TEST(WatcherEngine, says_so_when_time_alone_changes_the_answer) {
  Watching rig;
  std::set<std::uint32_t> changes;
  rig.append(0, kB.leads(9, "0"));
  rig.engine->set_change_handler([&](Partition p) { changes.insert(p.value()); });
  rig.poll();
  EXPECT_EQ(rig.verdict(2), Verdict::unknown);
  rig.pass(900ms);
  rig.append(0, kB.leads(9, "0"));
  changes.clear();
  rig.pass(100ms, 0);
  EXPECT_EQ(rig.verdict(2), Verdict::unowned) << "T has passed, and nobody spoke of it";
  EXPECT_EQ(changes, (std::set<std::uint32_t>{1, 2, 3})) << "0 has an owner";
  changes.clear();
  rig.now += 1001ms;
  EXPECT_TRUE(rig.run_until([&] { return changes.size() == 4; }));
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
  EXPECT_EQ(rig.verdict(2), Verdict::unknown);
}

TEST(WatcherEngine, restarts_the_tail_after_a_gap) {
  Watching rig;
  rig.append(0, kB.leads(9, "0"));
  rig.append(1, kB.leads(9, "1"));
  rig.event(GapFound{Log{0}, GapReason::topic_replaced});
  EXPECT_TRUE(rig.told("restart_tail 0"));
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
  EXPECT_EQ(rig.verdict(1), Verdict::remote);
  ASSERT_EQ(rig.notices.size(), 1u);
  EXPECT_EQ(rig.notices[0].severity, Severity::error);
  EXPECT_EQ(rig.notices[0].text.find("log 0: the topic was made again"), 0u);
  rig.event(TailStarted{Log{0}, 11, 11});
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
  rig.append(0, kB.leads(9, "0"));
  EXPECT_EQ(rig.verdict(0), Verdict::remote);
}

TEST(WatcherEngine, asks_a_silent_log_early_enough_for_the_answer_to_come_in_time) {
  Watching rig;
  rig.pass(1s, 0);
  rig.pass(0ms, 1);
  rig.ledger->rereads.clear();
  // Log 1 chatters, log 0 is idle; every question is answered 200 ms later.
  std::deque<std::pair<LocalTime, RereadRequest>> asked;
  int questions = 0;
  for (int step = 0; step < 1000; ++step) {
    rig.pass(7ms, 1);
    for (const RereadRequest& request : std::exchange(rig.ledger->rereads, {})) {
      EXPECT_EQ(request.log, Log{0});
      EXPECT_EQ(request.offset, -1);
      asked.emplace_back(rig.now + 200ms, request);
      ++questions;
    }
    while (!asked.empty() && asked.front().first <= rig.now) {
      const RereadRequest request = asked.front().second;
      asked.pop_front();
      rig.event(Reread{request.log, request.question, -1, std::nullopt});
    }
    ASSERT_EQ(rig.verdict(0), Verdict::unowned) << "step " << step;
  }
  EXPECT_LE(questions, 15) << "about two in T";
}

TEST(WatcherEngine, asks_by_its_timer_too_and_a_log_that_does_not_answer_becomes_unknown) {
  Watching rig;
  rig.pass(1s, 0);
  EXPECT_EQ(rig.verdict(0), Verdict::unowned);
  rig.now += 600ms;
  EXPECT_TRUE(rig.run_until([&] { return !rig.ledger->rereads.empty(); }));
  EXPECT_EQ(rig.verdict(0), Verdict::unowned);
  rig.now += 400ms;
  EXPECT_EQ(rig.verdict(0), Verdict::unknown) << "T without an answer";
  rig.event(Reread{Log{0}, rig.ledger->rereads.back().question, -1, std::nullopt});
  EXPECT_EQ(rig.verdict(0), Verdict::unowned);
}

TEST(WatcherEngine, does_not_ask_a_log_whose_tail_has_not_started) {
  Watching rig;
  rig.event(GapFound{Log{0}, GapReason::topic_missing});
  rig.ledger->rereads.clear();
  for (int step = 0; step < 20; ++step) rig.pass(100ms, 1);
  EXPECT_TRUE(std::none_of(rig.ledger->rereads.begin(), rig.ledger->rereads.end(),
                           [](const RereadRequest& r) { return r.log == Log{0}; }));
}

TEST(WatcherEngine, hears_of_settings_that_would_send_keys_to_the_wrong_process_once) {
  Watching rig;
  std::vector<std::string> heard;
  rig.engine->set_failure_handler([&](const Error& error) { heard.push_back(error.message()); });
  rig.poll();
  Record other = kB.leads(9, "0");
  other.settings->group = "another";
  other.settings->mode = "exclusive";
  rig.append(0, other);
  EXPECT_TRUE(heard.empty()) << "a watcher may stand by with any group and mode";
  other.settings->hash = "murmur2";
  rig.append(0, other);
  rig.append(0, other);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_NE(heard[0].find("--hash"), std::string::npos) << heard[0];
}

TEST(WatcherEngine, closes_and_is_let_go) {
  Watching rig;
  rig.append(0, kB.leads(9, "0"));
  bool closed = false;
  rig.engine->drain(0ms, [&] { closed = true; });
  EXPECT_TRUE(rig.run_until([&] { return closed; }));
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
  EXPECT_EQ(rig.story, Story{"close"});
  rig.let_go();
  rig.poll();
  EXPECT_TRUE(rig.watched.expired());
  EXPECT_TRUE(rig.ledger->destroyed);
}

}  // namespace
}  // namespace neliroute
