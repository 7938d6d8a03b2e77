// Listeners that prepare before a claim, and warm up before this process leads.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/router/reader/reader_rig.h"

namespace neliroute {
namespace {

using namespace testing_reader;
using namespace testing_records;
using namespace std::chrono_literals;

constexpr milliseconds kTimeout{500};

/// Keeps every token.
struct Warm : Listener {
  void prepare(Partition p, PrepareToken token) override {
    note("prepare", p);
    prepares.push_back(std::move(token));
  }
  void warm_up(const Transition& t, ReadyToken token) override {
    note("warm_up", t.partition);
    previous = t.previous;
    warm_ups.push_back(std::move(token));
  }
  void acquired(const Transition& t) override {
    note("acquired", t.partition);
    previous = t.previous;
    times = {t.prepare, t.warm_up};
  }
  void draining(const Transition& t) override { note("draining", t.partition); }
  void stopped(const Transition& t, BarrierToken) override {
    note("stopped", t.partition);
    successor = t.successor;
  }
  void note(const std::string& what, Partition p) {
    story.push_back(what + " " + std::to_string(p.value()));
  }
  Story story;
  std::vector<PrepareToken> prepares;
  std::vector<ReadyToken> warm_ups;
  std::shared_ptr<const Predecessor> previous;
  RunTimes times;
  std::shared_ptr<const ProcessInfo> successor;
};

struct LetPrepare : testing::Test {
  LetPrepare() : rig({.prepare_timeout = kTimeout}) { rig.start(); }
  void listen() {
    subscription = Subscription(rig.owner->subscribe(warm));
    rig.poll();
  }
  /// Completes, or only lets go.
  void end_prepares() {
    for (PrepareToken& token : std::exchange(warm.prepares, {})) token.complete();
    rig.poll();
  }
  void end_warm_ups() {
    warm.warm_ups.clear();
    rig.poll();
  }
  [[nodiscard]] bool wrote(const std::string& type) const { return rig.told("write " + type); }
  [[nodiscard]] std::uint64_t count(Count of) const { return rig.reader->meter().count(of); }

  Warm warm;
  ReaderRig rig;
  Subscription subscription;
};

TEST_F(LetPrepare, costs_nothing_where_nobody_listens) {
  rig.assign("0-3");
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  EXPECT_EQ(count(Count::prepares_late), 0u);
}

TEST_F(LetPrepare, costs_nothing_where_listeners_do_not_prepare) {
  rig.listen();
  rig.assign("0-3");
  EXPECT_EQ(rig.verdict(3), Verdict::local);
  EXPECT_TRUE(rig.told("acquired 3 local"));
  EXPECT_EQ(rig.reader->meter().prepares().read().sum, 0us);
}

TEST_F(LetPrepare, is_asked_of_nobody_once_abandoned) {
  listen();
  const Event assigned = GroupAssigned{PartitionRanges::parse("0").value()};
  // It waits in the executor when the Router is destroyed, and runs before the end does.
  boost::asio::post(*rig.io, [&] { rig.ledger->events(assigned, rig.now); });
  rig.let_go();
  rig.poll();
  EXPECT_EQ(warm.story, Story{});
}

TEST_F(LetPrepare, is_in_vain_when_the_router_is_destroyed) {
  listen();
  rig.assign("0,1");
  const std::stop_token cancelled = warm.prepares.at(0).cancelled();
  rig.let_go();
  rig.poll();
  EXPECT_TRUE(cancelled.stop_requested());
}

TEST_F(LetPrepare, goes_step_by_step_as_the_tokens_end) {
  listen();
  rig.assign("0,1");
  EXPECT_EQ(warm.story, (Story{"prepare 0", "prepare 1"}));
  EXPECT_FALSE(wrote("claim"));
  warm.prepares[1].complete();
  rig.poll();
  EXPECT_TRUE(wrote("claim"));
  EXPECT_EQ(warm.story.back(), "warm_up 1") << "the other one still prepares";
  EXPECT_EQ(rig.verdict(1), Verdict::unknown);
  EXPECT_FALSE(rig.owner->work()->begin(Partition{1}, rig.now));
  end_warm_ups();
  EXPECT_EQ(warm.story.back(), "acquired 1");
  EXPECT_EQ(rig.verdict(1), Verdict::local);
  EXPECT_TRUE(rig.owner->work()->begin(Partition{1}, rig.now));
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
}

TEST_F(LetPrepare, that_ends_together_is_claimed_by_one_record) {
  listen();
  rig.assign("0,2");
  rig.story.clear();
  end_prepares();
  EXPECT_EQ(std::count(rig.story.begin(), rig.story.end(), "write claim"), 1);
}

TEST_F(LetPrepare, may_end_on_any_thread) {
  listen();
  rig.assign("0");
  std::jthread([token = std::exchange(warm.prepares, {})[0]]() mutable { token.complete(); });
  ASSERT_TRUE(rig.run_until([&] { return !warm.warm_ups.empty(); }));
  std::jthread([tokens = std::exchange(warm.warm_ups, {})]() mutable { tokens.clear(); });
  EXPECT_TRUE(rig.run_until([&] { return rig.verdict(0) == Verdict::local; }));
}

TEST_F(LetPrepare, waits_for_every_listener) {
  Warm other;
  const Subscription second(rig.owner->subscribe(other));
  listen();
  rig.assign("0");
  end_prepares();
  EXPECT_FALSE(wrote("claim"));
  other.prepares.clear();
  rig.poll();
  EXPECT_TRUE(wrote("claim"));
}

TEST_F(LetPrepare, that_takes_too_long_is_counted_and_gone_on_without) {
  listen();
  rig.assign("0");
  rig.pass(kTimeout, 0);
  EXPECT_EQ(warm.story.back(), "warm_up 0");
  EXPECT_EQ(count(Count::prepares_late), 1u);
  rig.append(1, kB.leads(9, "1"));  // so that the lease goes on beside
  rig.pass(kTimeout, 0);
  EXPECT_EQ(warm.story.back(), "acquired 0");
  EXPECT_EQ(count(Count::warm_ups_late), 1u);
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  end_prepares();
  end_warm_ups();
  EXPECT_EQ(warm.story, (Story{"prepare 0", "warm_up 0", "acquired 0"}));
  EXPECT_EQ(rig.reader->meter().prepares().read().sum, 0us) << "it was void";
  EXPECT_EQ(warm.times.prepare, kTimeout) << "so long it was waited for";
  EXPECT_EQ(warm.times.warm_up, kTimeout);
}

TEST_F(LetPrepare, is_followed_by_how_long_each_step_took) {
  listen();
  rig.assign("0,2");
  rig.now += 30ms;
  end_prepares();
  rig.now += 20ms;
  end_warm_ups();
  ASSERT_EQ(warm.story.back(), "acquired 2");
  EXPECT_EQ(warm.times.prepare, 30ms);
  EXPECT_EQ(warm.times.warm_up, 20ms);
}

TEST_F(LetPrepare, of_last_time_does_not_count) {
  listen();
  rig.assign("0");
  rig.now += 30ms;
  end_prepares();
  rig.now += 20ms;
  rig.revoke("0");  // while it warms up
  EXPECT_EQ(warm.story.back(), "stopped 0");
  warm.warm_ups.clear();
  rig.assign("0");
  end_prepares();
  for (int step = 0; step < 40 && warm.warm_ups.empty(); ++step) {
    rig.pass(50ms, 0);  // it may claim again once its own epoch is over
    rig.pass(0ms, 1);
  }
  end_warm_ups();
  ASSERT_EQ(warm.story.back(), "acquired 0") << testing::PrintToString(warm.story);
  EXPECT_EQ(warm.times.prepare, 0us);
  EXPECT_EQ(warm.times.warm_up, 0us);
}

// A listener that fails drops its tokens. Nothing says that it failed, so the process goes on.
TEST_F(LetPrepare, that_fails_is_gone_on_without_at_once) {
  listen();
  rig.assign("0");
  try {
    const std::vector<PrepareToken> lost = std::exchange(warm.prepares, {});
    throw std::runtime_error("no snapshot");
  } catch (const std::runtime_error&) {
    rig.poll();
  }
  EXPECT_EQ(warm.story.back(), "warm_up 0");
  EXPECT_TRUE(wrote("claim"));
  warm.warm_ups.clear();
  rig.poll();
  EXPECT_EQ(warm.story.back(), "acquired 0");
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  EXPECT_EQ(count(Count::prepares_late) + count(Count::warm_ups_late), 0u);
}

TEST_F(LetPrepare, in_vain_cancels_the_token_and_nothing_is_stopped) {
  listen();
  rig.assign("0");
  ASSERT_EQ(warm.prepares.size(), 1u);
  bool told = false;
  const std::stop_callback callback(warm.prepares[0].cancelled(), [&] { told = true; });
  EXPECT_FALSE(warm.prepares[0].cancelled().stop_requested());
  rig.revoke("0");
  EXPECT_TRUE(told);
  end_prepares();
  EXPECT_EQ(warm.story, Story{"prepare 0"});
  EXPECT_FALSE(wrote("claim"));
}

TEST_F(LetPrepare, in_vain_ends_late_and_says_nothing_of_the_next_time) {
  listen();
  rig.assign("0");
  rig.revoke("0");
  rig.assign("0");
  ASSERT_EQ(warm.prepares.size(), 2u);
  warm.prepares[0].complete();
  rig.poll();
  EXPECT_FALSE(wrote("claim")) << "it is not prepared yet";
  warm.prepares[1].complete();
  rig.poll();
  EXPECT_TRUE(wrote("claim"));
}

TEST_F(LetPrepare, that_came_to_something_is_never_cancelled) {
  listen();
  rig.assign("0");
  const std::stop_token cancelled = warm.prepares[0].cancelled();
  end_prepares();
  end_warm_ups();
  rig.revoke("0");
  EXPECT_FALSE(cancelled.stop_requested());
}

TEST_F(LetPrepare, who_stops_while_it_warms_up_is_told_so_and_its_other_guards_live) {
  listen();
  rig.assign("0,2");
  end_prepares();
  warm.warm_ups[0].complete();
  rig.poll();
  ASSERT_EQ(rig.verdict(0), Verdict::local);
  const Work work = rig.owner->work()->begin(Partition{0}, rig.now);
  rig.revoke("2");
  EXPECT_EQ(warm.story.back(), "stopped 2");
  EXPECT_FALSE(work.stop_requested()) << "of another partition";
  end_warm_ups();
  EXPECT_EQ(warm.story.back(), "stopped 2");
}

TEST_F(LetPrepare, names_who_leads_and_who_led) {
  listen();
  rig.append(0, kB.leads(5, "0"));
  rig.assign("0");
  ASSERT_NE(warm.prepares[0].predecessor(), nullptr);
  EXPECT_EQ(warm.prepares[0].predecessor()->process.endpoint, "p2:7000");
  EXPECT_EQ(warm.prepares[0].predecessor()->epoch, epoch(5));
  EXPECT_EQ(warm.prepares[0].predecessor()->ending, Ending::none) << "it leads still";
  rig.append(0, kB.release(5, "0"));
  end_prepares();
  ASSERT_NE(warm.previous, nullptr);
  EXPECT_EQ(warm.previous->process.name, "p2");
  EXPECT_EQ(warm.previous->ending, Ending::released);
}

TEST_F(LetPrepare, names_nobody_where_nobody_is_known) {
  listen();
  rig.assign("0");
  EXPECT_EQ(warm.prepares[0].predecessor(), nullptr);
  end_prepares();
  EXPECT_EQ(warm.previous, nullptr);
}

TEST_F(LetPrepare, who_stops_is_told_its_successor) {
  listen();
  rig.assign("0");
  end_prepares();
  end_warm_ups();
  const std::int64_t claim = rig.append(0, Writer{3}.claim("0"));
  rig.append(0, Writer{3}.leads(claim, "0"));
  EXPECT_EQ(warm.story.back(), "stopped 0");
  ASSERT_NE(warm.successor, nullptr);
  EXPECT_EQ(warm.successor->endpoint, "p3:7000");
}

TEST_F(LetPrepare, ends_with_the_owner) {
  listen();
  rig.assign("0");
  rig.reader->drain(0ms, [] {});
  rig.poll();
  end_prepares();
  EXPECT_TRUE(rig.ledger->closed);
  EXPECT_FALSE(wrote("claim"));
}

}  // namespace
}  // namespace neliroute
