// Leaving: in an orderly way, at once, and with everything in the way.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "router/owner/owning_reader.h"
#include "tests/unit/router/reader/reader_rig.h"

namespace neliroute {
namespace {

using namespace testing_reader;
using namespace testing_records;
using namespace std::chrono_literals;

struct ClosingRig : ReaderRig {
  explicit ClosingRig(ReaderRigOptions rig_options = {}) : ReaderRig(rig_options) {
    start();
    assign("0-3");
    EXPECT_EQ(verdict(0), Verdict::local);
  }
  void drain(milliseconds bound) {
    reader->drain(bound, [this] { ++drained; });
    poll();
  }
  [[nodiscard]] bool closes() {
    return run_until([this] { return drained > 0; });
  }
  int drained = 0;
};

TEST(OwnerLeaving, who_is_alone_leaves_at_once) {
  ClosingRig rig;
  rig.listen();
  rig.ledger->others = 0;
  rig.drain(10s);
  EXPECT_TRUE(rig.closes());
  EXPECT_EQ(rig.drained, 1);
  EXPECT_LT(rig.place("count_others"), rig.place("leave_group")) << "before it is left";
  EXPECT_LT(rig.place("stopped 0 unowned"), rig.place("write release"));
  EXPECT_LT(rig.place("write release"), rig.place("close"));
  EXPECT_TRUE(rig.told("released 0 unowned"));
  EXPECT_TRUE(rig.ledger->destroyed);
}

TEST(OwnerLeaving, who_is_not_alone_leads_until_successors_do) {
  ClosingRig rig;
  rig.drain(10s);
  EXPECT_TRUE(rig.told("leave_group"));
  const std::int64_t even = rig.append(0, kB.claim("0,2"));
  const std::int64_t odd = rig.append(1, kB.claim("1,3"));
  rig.append(0, kB.leads(even, "0,2"));
  EXPECT_EQ(rig.verdict(0), Verdict::remote);
  EXPECT_EQ(rig.verdict(1), Verdict::local);
  EXPECT_EQ(rig.drained, 0);
  rig.append(1, kB.leads(odd, "1,3"));
  EXPECT_TRUE(rig.closes());
}

TEST(OwnerLeaving, who_is_not_alone_waits_no_longer_than_the_bound) {
  ClosingRig rig;
  rig.drain(300ms);
  rig.pass(299ms);
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  rig.pass(1ms);
  EXPECT_NE(rig.verdict(0), Verdict::local);
  EXPECT_TRUE(rig.closes());
}

TEST(OwnerLeaving, who_is_answered_hands_over_for_all_of_the_bound) {
  ClosingRig rig;
  rig.drain(6s);
  for (int i = 0; i < 59; ++i) rig.pass(100ms);
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  rig.pass(100ms);
  EXPECT_NE(rig.verdict(0), Verdict::local);
  EXPECT_TRUE(rig.closes());
}

// Its brokers are gone: nothing is handed over, no release is stored, and closing takes its time.
TEST(OwnerLeaving, a_silent_ledger_is_closed_within_the_bound) {
  ClosingRig rig({Mode::non_exclusive, false, 10s});
  rig.ledger->hold_writes = true;
  const LocalTime from = rig.now;
  rig.drain(6s);
  const auto at = [&](milliseconds time) {
    rig.now = from + time;
    rig.event(WriteFailed{9999});  // time is noticed
  };
  at(3400ms);
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  at(3500ms);
  EXPECT_NE(rig.verdict(0), Verdict::local);
  EXPECT_FALSE(rig.ledger->closed) << "the releases may be stored yet";
  at(4000ms);
  EXPECT_TRUE(rig.ledger->closed);
  EXPECT_EQ(rig.ledger->close_deadline, from + 5s) << "and a second to end its clients";
  EXPECT_TRUE(rig.closes());
}

TEST(OwnerLeaving, a_ledger_that_answered_within_three_intervals_is_not_silent) {
  ClosingRig rig({Mode::non_exclusive, false, 10s});
  rig.drain(6s);
  rig.pass(2900ms);
  rig.now += 650ms;
  rig.event(WriteFailed{9999});
  EXPECT_EQ(rig.verdict(0), Verdict::local);
}

TEST(OwnerLeaving, a_router_that_is_destroyed_gives_its_ledger_three_seconds) {
  ClosingRig rig;
  rig.ledger->answers_close = false;
  rig.let_go();
  rig.poll();
  ASSERT_TRUE(rig.ledger->closed);
  EXPECT_EQ(rig.ledger->close_deadline, rig.now + 3s);
}

TEST(OwnerLeaving, who_gets_no_answer_leaves_within_a_short_bound) {
  ClosingRig rig;
  rig.ledger->answers_count = false;
  rig.drain(0ms);
  rig.io->run_for(500ms);
  EXPECT_TRUE(rig.told("leave_group"));
}

struct InVain : ClosingRig {
  [[nodiscard]] auto asked() const {
    return std::count(story.begin(), story.end(), "count_others");
  }
  bool asks(std::ptrdiff_t times) {
    const auto until = asked() + times;
    return run_until([&] { return asked() >= until; });
  }
};

TEST(OwnerLeaving, who_waits_in_vain_since_all_leave_closes_when_the_group_is_empty) {
  InVain rig;
  rig.drain(10s);  // by a clock that stands still
  ASSERT_TRUE(rig.told("leave_group"));
  EXPECT_TRUE(rig.asks(3));
  EXPECT_EQ(rig.verdict(0), Verdict::local) << "somebody may take over";
  rig.ledger->others = 0;
  EXPECT_TRUE(rig.closes());
  EXPECT_TRUE(rig.told("write release"));
}

// As a coordinator that has just taken over may report.
TEST(OwnerLeaving, a_group_that_looked_empty_for_a_moment_is_waited_for) {
  InVain rig;
  rig.drain(10s);
  for (const std::optional<std::size_t> in_between : {std::optional<std::size_t>{1}, {}}) {
    rig.ledger->others = 0;
    EXPECT_TRUE(rig.asks(4));
    rig.ledger->others = in_between;
    EXPECT_TRUE(rig.asks(2));
  }
  rig.ledger->others = 0;
  EXPECT_TRUE(rig.asks(4));
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  EXPECT_TRUE(rig.closes());
}

TEST(OwnerLeaving, a_group_is_not_empty_whose_slots_somebody_leads) {
  InVain rig;
  rig.ledger->others = 0;
  rig.revoke("1");
  const std::int64_t claim = rig.append(1, kB.claim("1"));
  rig.append(1, kB.leads(claim, "1"));
  ASSERT_EQ(rig.verdict(1), Verdict::remote);
  rig.drain(10s);
  EXPECT_TRUE(rig.told("leave_group")) << "it is not alone";
  EXPECT_TRUE(rig.asks(9));
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  rig.append(1, kB.drains(claim, "1"));  // as it leaves, too
  EXPECT_TRUE(rig.closes());
}

// What its ledger reported meanwhile has yet to be served.
TEST(OwnerLeaving, a_silent_ledger_is_noticed_without_any_event) {
  ClosingRig rig({Mode::non_exclusive, false, 10s});
  rig.ledger->hold_writes = true;
  rig.drain(6s);
  rig.now += 3500ms;
  EXPECT_TRUE(rig.run_until([&] { return rig.verdict(0) != Verdict::local; }));
}

TEST(OwnerLeaving, an_executor_that_stood_still_does_not_take_its_ledger_for_a_silent_one) {
  ClosingRig rig;
  rig.drain(6s);
  const LocalTime from = rig.now;
  rig.now = from + 5s;
  rig.event(WriteFailed{9999});  // the first that it notices
  EXPECT_FALSE(rig.ledger->closed);
  for (std::uint32_t l = 0; l < 2; ++l) rig.event(LogPosition{Log{l}, 100});
  rig.now += 150ms;
  rig.event(WriteFailed{9999});
  EXPECT_FALSE(rig.ledger->closed) << "it answers";
  rig.now = from + 6s;
  rig.event(WriteFailed{9999});
  EXPECT_TRUE(rig.closes());
}

TEST(OwnerLeaving, when_nobody_can_count_it_takes_it_that_there_are_others) {
  ClosingRig rig;
  rig.ledger->answers_count = false;
  rig.drain(10s);
  rig.ledger->count_answer(std::nullopt);
  rig.poll();
  EXPECT_TRUE(rig.told("leave_group"));
  EXPECT_EQ(rig.verdict(0), Verdict::local);
}

TEST(OwnerLeaving, when_nobody_answers_it_goes_on_after_a_second) {
  ClosingRig rig;
  rig.ledger->answers_count = false;
  const auto start = std::chrono::steady_clock::now();
  rig.drain(10s);
  EXPECT_FALSE(rig.told("leave_group"));
  EXPECT_TRUE(rig.run_until([&] { return rig.told("leave_group"); }));
  EXPECT_GE(std::chrono::steady_clock::now() - start, 1s);
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  rig.ledger->count_answer(1);  // too late to matter
  rig.poll();
  EXPECT_EQ(rig.verdict(0), Verdict::local);
}

TEST(OwnerLeaving, without_a_bound_nobody_is_counted) {
  ClosingRig rig;
  rig.drain(0ms);
  EXPECT_TRUE(rig.closes());
  EXPECT_FALSE(rig.told("count_others"));
}

TEST(OwnerLeaving, a_second_drain_may_shorten_the_first_and_both_hear_of_the_end) {
  ClosingRig rig;
  rig.drain(10s);
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  rig.drain(0ms);
  EXPECT_TRUE(rig.closes());
  EXPECT_EQ(rig.drained, 2);
  rig.drain(5s);
  EXPECT_EQ(rig.drained, 3) << "closed already";
}

TEST(OwnerLeaving, a_barrier_is_waited_for) {
  ClosingRig rig;
  rig.keep_tokens = true;
  rig.listen();
  rig.drain(0ms);
  EXPECT_EQ(rig.tokens.size(), 4u);
  EXPECT_FALSE(rig.ledger->closed);
  rig.tokens.clear();
  EXPECT_TRUE(rig.closes());
  EXPECT_TRUE(rig.told("write release"));
}

TEST(OwnerLeaving, afterwards_every_answer_is_unknown) {
  ReaderRig rig;
  rig.start();
  rig.assign("0");
  rig.append(1, kB.leads(9, "1"));
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  EXPECT_EQ(rig.verdict(1), Verdict::remote);
  EXPECT_EQ(rig.verdict(2), Verdict::unknown);
  rig.reader->drain(0ms, [] {});
  EXPECT_TRUE(rig.run_until([&] { return rig.ledger->destroyed; }));
  for (std::uint32_t p = 0; p < 4; ++p) {
    EXPECT_EQ(rig.verdict(p), Verdict::unknown);
    rig.now += 10s;
    EXPECT_EQ(rig.verdict(p), Verdict::unknown);
  }
}

TEST(OwnerLeaving, a_ledger_that_never_says_that_it_closed_is_dropped) {
  ClosingRig rig;
  rig.ledger->answers_close = false;
  const auto start = std::chrono::steady_clock::now();
  rig.drain(0ms);
  EXPECT_TRUE(rig.ledger->closed);
  EXPECT_EQ(rig.ledger->close_deadline, rig.now + 500ms);
  EXPECT_TRUE(rig.closes());
  EXPECT_GE(std::chrono::steady_clock::now() - start, 1s);
  EXPECT_TRUE(rig.ledger->destroyed);
  rig.ledger->close_done();
  rig.poll();
  EXPECT_EQ(rig.drained, 1);
}

TEST(OwnerLeaving, an_executor_that_goes_first_takes_a_closing_owner_with_it) {
  ClosingRig rig;
  rig.ledger->answers_close = false;
  rig.let_go();
  rig.poll();
  EXPECT_TRUE(rig.ledger->closed);
  EXPECT_FALSE(rig.watched.expired()) << "it waits for its ledger";
  rig.destroy_executor();
  EXPECT_TRUE(rig.watched.expired());
  EXPECT_TRUE(rig.ledger->destroyed);
  rig.ledger->close_done();
}

TEST(OwnerLeaving, once_abandoned_no_handler_is_called) {
  ClosingRig rig;
  int heard = 0;
  FunctionListener listener([&](const Transition&, const BarrierToken&) { ++heard; },
                            [&](const Error&) { ++heard; });
  const auto slot = rig.owner->subscribe(listener);
  rig.poll();
  const int before = heard;
  std::weak_ptr<Reader> weak = rig.reader;
  const Event revoked = GroupRevoked{PartitionRanges::parse("0-3").value(), true};
  // It waits in the executor when the Router is destroyed, and runs before the end does.
  rig.ledger->hold_writes = true;
  boost::asio::post(*rig.io, [&] { rig.ledger->events(revoked, rig.now); });
  rig.let_go();
  EXPECT_TRUE(rig.run_until([&] { return weak.expired(); }));
  EXPECT_EQ(heard, before);
  EXPECT_TRUE(rig.ledger->closed);
}

// Every state in which an owner may be let go: whatever runs afterwards, nothing is left.
struct State {
  const char* name;
  std::function<void(ReaderRig&)> reach;
};

const std::vector<State>& states() {
  static const std::vector<State> all = {
      {"never started", [](ReaderRig&) {}},
      {"start not run", [](ReaderRig& rig) { rig.reader->start(); }},
      {"no tail", [](ReaderRig& rig) { rig.reader->start(), rig.poll(); }},
      {"following", [](ReaderRig& rig) { rig.start(); }},
      {"leading", [](ReaderRig& rig) { rig.start(), rig.assign("0-3"); }},
      {"claiming",
       [](ReaderRig& rig) {
         rig.start();
         rig.ledger->hold_writes = true;
         rig.assign("0-3");
       }},
      {"in a barrier",
       [](ReaderRig& rig) {
         rig.keep_tokens = true;
         rig.listen();
         rig.start();
         rig.assign("0-3");
         rig.reader->drain(0ms, [] {});
         rig.poll();
       }},
      {"counting",
       [](ReaderRig& rig) {
         rig.start();
         rig.assign("0-3");
         rig.ledger->answers_count = false;
         rig.reader->drain(5s, [] {});
         rig.poll();
       }},
      {"draining",
       [](ReaderRig& rig) {
         rig.start();
         rig.assign("0-3");
         rig.reader->drain(5s, [] {});
         rig.poll();
       }},
      {"closing",
       [](ReaderRig& rig) {
         rig.ledger->answers_close = false;
         rig.start();
         rig.reader->drain(0ms, [] {});
         rig.poll();
       }},
      {"closed",
       [](ReaderRig& rig) {
         rig.start();
         rig.reader->drain(0ms, [] {});
         rig.poll();
       }},
  };
  return all;
}

TEST(OwnerLeaving, can_be_let_go_in_every_state_while_the_executor_runs_on) {
  for (const State& state : states()) {
    ReaderRig rig;
    state.reach(rig);
    rig.let_go();
    rig.poll();
    if (rig.ledger->close_done) std::exchange(rig.ledger->close_done, nullptr)();
    EXPECT_TRUE(rig.run_until([&] { return rig.watched.expired(); })) << state.name;
    EXPECT_TRUE(rig.ledger->destroyed) << state.name;
    EXPECT_TRUE(rig.ledger->closed) << state.name;
    rig.tokens.clear();
    rig.poll();
  }
}

TEST(OwnerLeaving, can_be_let_go_in_every_state_with_an_executor_that_never_runs_again) {
  for (const State& state : states()) {
    ReaderRig rig;
    state.reach(rig);
    rig.let_go();
    rig.destroy_executor();
    EXPECT_TRUE(rig.watched.expired()) << state.name;
    EXPECT_TRUE(rig.ledger->destroyed) << state.name;
    rig.tokens.clear();  // and an answer that the ledger has kept comes to nothing
    if (rig.ledger->count_answer) rig.ledger->count_answer(1);
  }
}

}  // namespace
}  // namespace neliroute
