// A ledger is closed, or dropped, in whatever state it is.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <neliroute/clock.h>

#include "tests/unit/ledgers/kafka/ledger/ledger_rig.h"

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

namespace neliroute {
namespace {

using std::chrono::seconds;

enum class State {
  not_started,
  just_started,
  broker_never_there,
  broker_never_there_and_joining,
  subscribed,
  assignment_unanswered,
  steady,
  reading_anew,
  members_being_counted,
  broker_silent,
  broker_gone,
  broker_gone_with_a_write,
};

constexpr State kStates[] = {State::not_started,
                             State::just_started,
                             State::broker_never_there,
                             State::broker_never_there_and_joining,
                             State::subscribed,
                             State::assignment_unanswered,
                             State::steady,
                             State::reading_anew,
                             State::members_being_counted,
                             State::broker_silent,
                             State::broker_gone,
                             State::broker_gone_with_a_write};

std::string name_of(const testing::TestParamInfo<State>& tested) {
  constexpr const char* kNames[] = {
      "NotStarted",   "JustStarted",          "BrokerNeverThere", "BrokerNeverThereAndJoining",
      "Subscribed",   "AssignmentUnanswered", "Steady",           "ReadingAnew",
      "MembersBeingCounted", "BrokerSilent",  "BrokerGone", "BrokerGoneWithAWrite"};
  return kNames[static_cast<int>(tested.param)];
}

bool is_without_broker(State state) {
  return state == State::broker_never_there || state == State::broker_never_there_and_joining;
}

void bring_to_steady(LedgerRig& rig) {
  rig.start_and_read();
  rig.join_group(/*finish=*/true);
  rig.write(Log{0}, 1);
  EXPECT_TRUE(rig.wait([](const Seen& seen) { return seen.received[0].size() == 1; }));
}

void bring_beyond_steady(LedgerRig& rig, State state) {
  bring_to_steady(rig);
  if (state == State::reading_anew) {
    rig.on_ledger([](KafkaLedger& ledger) {
      ledger.restart_tail(Log{0});
      ledger.reread({Log{1}, 1, -1});
    });
  }
  if (state == State::members_being_counted) {
    rig.on_ledger([](KafkaLedger& ledger) {
      ledger.count_others([](std::optional<std::size_t>) {});
    });
  }
  if (state == State::broker_silent) rig.silence_broker();
  if (state == State::broker_gone || state == State::broker_gone_with_a_write) rig.close_broker();
  if (state == State::broker_gone_with_a_write) rig.write(Log{0}, 2);
}

void bring_to(LedgerRig& rig, State state) {
  if (!is_without_broker(state)) rig.open_broker();
  rig.open(rig.parameters());
  const auto subscribe = [](KafkaLedger& ledger) { ledger.subscribe(); };
  switch (state) {
    case State::not_started:
      return;
    case State::just_started:
    case State::broker_never_there:
      return rig.start();
    case State::broker_never_there_and_joining:
      rig.start();
      return rig.on_ledger(subscribe);
    case State::subscribed:
      rig.start_and_read();
      return rig.on_ledger(subscribe);
    case State::assignment_unanswered:
      rig.start_and_read();
      return rig.join_group(/*finish=*/false);
    default:
      return bring_beyond_steady(rig, state);
  }
}

class LedgerCloseTest : public testing::TestWithParam<State> {};

TEST_P(LedgerCloseTest, IsClosedWithinItsDeadline) {
  constexpr milliseconds kWithin{1500};
  constexpr seconds kBusy{5};  // so long a machine may stand still
  constexpr seconds kLate{20};
  LedgerRig rig;
  bring_to(rig, GetParam());
  // What has nothing to wait for is not kept, however late its deadline is.
  const bool nothing_to_wait_for = GetParam() == State::not_started ||
                                   GetParam() == State::just_started ||
                                   GetParam() == State::broker_never_there;
  const LocalTime from = boot_now();
  rig.close(nothing_to_wait_for ? kLate : kWithin);
  EXPECT_TRUE(rig.wait([](const Seen& seen) { return seen.closed; }));
  EXPECT_LT(boot_now() - from, kWithin + kBusy);
  rig.destroy();
  rig.join_thread();
  EXPECT_LT(boot_now() - from, kWithin + 2 * kBusy) << "nor does its end take long";
}

TEST_P(LedgerCloseTest, MayBeDroppedWithoutClosing) {
  LedgerRig rig;
  bring_to(rig, GetParam());
  rig.destroy();
  rig.join_thread();
}

TEST_P(LedgerCloseTest, MayBeDroppedWhileClosing) {
  LedgerRig rig;
  bring_to(rig, GetParam());
  rig.close(seconds{10});
  rig.destroy();
  rig.join_thread();
}

INSTANTIATE_TEST_SUITE_P(Each, LedgerCloseTest, testing::ValuesIn(kStates), name_of);

TEST(LedgerClosingTest, ADeadlineThatHasPassedClosesAtOnceAWriteOnItsWay) {
  LedgerRig rig;
  bring_to(rig, State::broker_gone_with_a_write);
  const LocalTime from = boot_now();
  rig.close(milliseconds{0});
  EXPECT_TRUE(rig.wait([](const Seen& seen) { return seen.closed; }));
  EXPECT_LT(boot_now() - from, seconds{1});
}

// At once; at the deadline, while a record is in flight; and when its last record was stored.
// run() returns when nothing is left.
TEST(LedgerClosingTest, MayBeDestroyedByTheCallThatSaysItIsClosed) {
  enum class Last { nothing, in_flight, stored };
  for (const Last last : {Last::nothing, Last::in_flight, Last::stored}) {
    boost::asio::io_context io;
    LedgerRig rig;
    if (last == Last::stored) rig.open_broker();
    auto opened = KafkaLedger::open(io.get_executor(), rig.parameters());
    ASSERT_TRUE(opened.has_value()) << opened.error().message();
    std::unique_ptr<KafkaLedger> ledger = std::move(*opened);
    ledger->start([](const Event&, LocalTime) {}, {});
    if (last != Last::nothing) ledger->write({Log{0}, 1, "a record"});
    bool closed = false;
    const milliseconds within{last == Last::stored ? 20'000 : 300};
    ledger->close(later(boot_now(), within), [&] {
      ledger.reset();
      closed = true;
    });
    io.run();
    EXPECT_TRUE(closed);
  }
}

TEST(LedgerClosingTest, WhatWasWrittenLastIsStoredBeforeItIsClosed) {
  LedgerRig rig;
  rig.open_broker();
  rig.open(rig.parameters());
  rig.start_and_read();
  constexpr std::size_t kRecords = 50;
  for (std::uint64_t seq = 1; seq <= kRecords; ++seq) rig.write(Log{0}, seq);
  rig.close(seconds{10});
  EXPECT_TRUE(rig.wait([](const Seen& seen) { return seen.closed; }));
  rig.destroy();
  rig.open(rig.parameters());
  rig.start();
  EXPECT_TRUE(rig.wait([](const Seen& seen) { return seen.received[0].size() == kRecords; }));
}

TEST(LedgerClosingTest, MayBeClosedFromWithinAnEvent) {
  bool asked = false;
  LedgerRig rig;
  rig.open_broker();
  rig.open(rig.parameters());
  rig.after_event([&](const Event& event) {
    if (!std::holds_alternative<TailStarted>(event) || asked) return;
    asked = true;
    rig.close_now(seconds{5});
  });
  rig.start();
  EXPECT_TRUE(rig.wait([](const Seen& seen) { return seen.closed; }));
}

}  // namespace
}  // namespace neliroute

#endif
