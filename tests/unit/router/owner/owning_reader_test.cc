#include "router/owner/owning_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/unit/router/reader/reader_rig.h"
#include "tests/unit/router/view/allocations.h"

namespace neliroute {
namespace {

using namespace testing_reader;
using namespace testing_records;
using namespace std::chrono_literals;

// An owner that leads all four partitions.
struct Leading : ReaderRig {
  explicit Leading(ReaderRigOptions rig_options = {}) : ReaderRig(rig_options) {
    start();
    lead_all();
    for (std::uint32_t p = 0; p < 4; ++p) EXPECT_EQ(verdict(p), Verdict::local);
  }
};

TEST(OwningReader, joins_the_group_when_the_history_was_read) {
  ReaderRig rig;
  rig.reader->start();
  rig.poll();
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
  rig.event(TailStarted{Log{0}, 10, 10, Below::expired});
  EXPECT_FALSE(rig.told("subscribe"));
  rig.event(TailStarted{Log{1}, 10, 10, Below::expired});
  EXPECT_TRUE(rig.told("subscribe"));
}

TEST(OwningReader, is_late_if_its_executor_never_runs) {
  ReaderRig rig;
  rig.reader->start();
  EXPECT_EQ(rig.reader->due(), rig.now);
}

TEST(OwningReader, is_not_late_for_long_after_the_machine_slept) {
  Leading rig({Mode::non_exclusive, false, 10min});
  rig.now += 1h;  // the clock of timers stood still
  EXPECT_TRUE(rig.run_until([&] { return rig.reader->meter().count(Count::stopped_lapsed) > 0; }));
}

TEST(OwningReader, once_abandoned_leads_nothing_for_who_still_looks) {
  Leading rig;
  const std::shared_ptr<Reader> kept = rig.reader;
  rig.let_go();
  rig.poll();
  EXPECT_EQ(kept->view().look(Slot{0}, rig.now).verdict, Verdict::unknown);
}

TEST(OwningReader, readers_see_local_before_the_application_hears_that_it_leads) {
  ReaderRig rig;
  rig.listen();
  rig.start();
  rig.assign("0-3");
  for (const char* line : {"acquired 0 local", "acquired 1 local", "acquired 2 local",
                           "acquired 3 local"}) {
    EXPECT_TRUE(rig.told(line)) << line;
  }
  EXPECT_LT(rig.place("finish_rebalances 1"), rig.place("write claim"));
  EXPECT_EQ(rig.route(5).epoch, (Epoch{kInc, 10}));
  EXPECT_EQ(rig.route(5).owner(), "self");
}

TEST(OwningReader, readers_see_no_before_the_application_hears_that_it_stopped) {
  Leading rig({Mode::exclusive});
  rig.listen();
  rig.append(0, kExclusiveB.claim("0"));
  EXPECT_TRUE(rig.told("stopped 0 unowned"));
  EXPECT_EQ(rig.route(0).next_owner(), "p2");
  EXPECT_EQ(rig.verdict(2), Verdict::local);
}

TEST(OwningReader, an_epoch_that_a_store_refused_is_claimed_over_and_led_on_meanwhile) {
  Leading rig;
  const Epoch held = rig.route(1).epoch;
  rig.story.clear();
  rig.owner->refused(Partition{1}, {held.incarnation + 5, 0});
  rig.poll();
  // A claim is written at most once an interval.
  for (int step = 0; step < 40 && rig.route(1).epoch == held; ++step) {
    rig.pass(50ms, 0);
    rig.pass(0ms, 1);
    EXPECT_EQ(rig.verdict(1), Verdict::local);
  }
  EXPECT_TRUE(rig.told("write claim"));
  EXPECT_GT(rig.route(1).epoch.incarnation, held.incarnation + 5);
  rig.story.clear();
  rig.owner->refused(Partition{1}, {held.incarnation, 0});  // one that is outranked already
  rig.poll();
  EXPECT_FALSE(rig.told("write claim"));
}

// Every call to a store may be refused, on many threads, while the executor is busy.
TEST(OwningReader, of_many_refusals_by_a_store_few_wait_for_the_executor) {
  Leading rig;
  const Epoch held = rig.route(1).epoch;
  const auto waiting = [&] {
    std::size_t handlers = 0;
    while (rig.io->poll_one() > 0) ++handlers;
    return handlers;
  };
  rig.poll();
  for (int i = 0; i < 100'000; ++i) rig.owner->refused(Partition{1}, {held.incarnation + 5, 0});
  EXPECT_LE(waiting(), 5u);
  for (int i = 0; i < 1000; ++i) rig.owner->refused(Partition{1}, {held.incarnation + 4, 0});
  EXPECT_LE(waiting(), 5u) << "known already";
  rig.owner->refused(Partition{1}, {std::int64_t{1} << 60, 0});  // by a store that is broken
  EXPECT_GE(waiting(), 1u);
  rig.now += 100ms;
  rig.owner->refused(Partition{1}, {held.incarnation + 5, 0});
  EXPECT_GE(waiting(), 1u) << "by another one, which is not";
  rig.owner->refused(Partition{1}, {held.incarnation + 6, 0});
  rig.owner->refused(Partition{0}, {held.incarnation + 1, 0});
  EXPECT_GE(waiting(), 2u) << "greater, and another partition";
  for (int beat = 0; beat < 10; ++beat) {
    rig.now += 100ms;  // an interval: it may have been lost on who did not lead then
    rig.owner->refused(Partition{1}, {held.incarnation + 6, 0});
    EXPECT_GE(waiting(), 1u);
  }
}

// One run of the strand takes whatever waits for it, so it is what is posted that is looked at.
TEST(OwningReader, of_refusals_by_a_store_only_news_is_posted) {
  Leading rig;
  const std::int64_t incarnation = rig.route(1).epoch.incarnation;
  const auto posted = [&](std::uint32_t partition, std::int64_t stored) {
    const std::uint64_t before = testing_allocations::count();
    rig.owner->refused(Partition{partition}, {stored, 0});
    return testing_allocations::count() > before;
  };
  EXPECT_TRUE(posted(1, incarnation + 5));
  EXPECT_FALSE(posted(1, incarnation + 5));
  EXPECT_FALSE(posted(1, incarnation + 4));
  EXPECT_TRUE(posted(1, incarnation + 6)) << "greater";
  EXPECT_TRUE(posted(0, incarnation + 1)) << "another partition";
  EXPECT_FALSE(posted(1, incarnation + 6));
  EXPECT_TRUE(posted(1, std::int64_t{1} << 60)) << "by a store that is broken";
  rig.now += 99ms;
  EXPECT_FALSE(posted(1, incarnation + 6));
  rig.now += 1ms;
  EXPECT_TRUE(posted(1, incarnation + 6)) << "an interval later, by one that is not";
  EXPECT_TRUE(posted(1, incarnation + 7)) << "and greater than that";
  EXPECT_FALSE(posted(1, incarnation + 7));
  rig.poll();
}

TEST(OwningReader, the_application_hears_draining_before_the_group_goes_on) {
  Leading rig;
  rig.listen();
  rig.story.clear();
  rig.revoke("0,1");
  EXPECT_EQ(rig.story.at(0), "draining 0 local");
  EXPECT_EQ(rig.story.at(1), "draining 1 local");
  EXPECT_EQ(rig.story.at(2), "finish_rebalances 1");
  EXPECT_EQ(rig.story.at(3), "write renewal");
}

TEST(OwningReader, a_planned_move_goes_from_local_to_remote_at_once) {
  Leading rig;
  rig.listen();
  rig.revoke("0");
  const std::int64_t claim = rig.append(0, kB.claim("0"));
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  EXPECT_EQ(rig.route(0).next_owner(), "p2");
  rig.append(0, kB.leads(claim, "0"));
  EXPECT_TRUE(rig.told("stopped 0 remote"));
  EXPECT_EQ(rig.route(0).owner(), "p2");
  EXPECT_EQ(rig.route(0).endpoint(), "p2:7000");
}

// What is only waited for is no news for readers: they go on with what they read last.
TEST(OwningReader, a_claim_superseded_within_its_grace_leaves_lookups_fast) {
  ReaderRig rig({Mode::exclusive});
  rig.start();
  // T*: nothing below the tail's start is led any more.
  for (int i = 0; i < 3; ++i) rig.pass(400ms, 0);
  const std::int64_t claim = rig.append(0, kExclusiveB.claim("0"));
  rig.append(0, kExclusiveB.leads(claim, "0"));
  const auto anew = [&] {
    EXPECT_EQ(rig.verdict(0), rig.reader->view().look(Slot{0}, rig.now).verdict);
    const std::uint64_t before = rig.reader->view().lookups_anew();
    for (int i = 0; i < 10; ++i) static_cast<void>(rig.route(0));
    return rig.reader->view().lookups_anew() - before;
  };
  EXPECT_EQ(anew(), 0u);
  const std::size_t written = rig.ledger->written[0].size();
  rig.assign("0");
  ASSERT_GT(rig.ledger->written[0].size(), written) << "its claim is there, and its grace runs";
  EXPECT_EQ(anew(), 0u) << "within the grace";
  rig.append(0, Writer{3, "p3", Mode::exclusive}.claim("0"));
  EXPECT_EQ(anew(), 0u) << "after it was superseded";
}

TEST(OwningReader, a_barrier_may_be_completed_on_another_thread) {
  Leading rig({Mode::exclusive});
  rig.keep_tokens = true;
  rig.listen();
  rig.append(0, kExclusiveB.claim("0"));
  ASSERT_TRUE(rig.told("stopped 0 unowned"));
  EXPECT_FALSE(rig.told("write release"));
  std::thread([&] { rig.tokens.back().complete(); }).join();
  EXPECT_FALSE(rig.told("write release")) << "not on that thread";
  rig.poll();
  EXPECT_TRUE(rig.told("write release"));
  EXPECT_TRUE(rig.told("released 0 unowned"));
  rig.tokens.back().complete();
  rig.poll();
  EXPECT_EQ(std::count(rig.story.begin(), rig.story.end(), "write release"), 1);
}

TEST(OwningReader, a_dropped_token_is_a_completed_one_and_nobody_listening_is_one_too) {
  for (const bool listens : {false, true}) {
    Leading rig({Mode::exclusive});
    if (listens) rig.listen();
    rig.append(0, kExclusiveB.claim("0"));
    EXPECT_TRUE(rig.told("write release")) << listens;
  }
}

// Then a successor may lead, whatever the application still does.
TEST(OwningReader, a_barrier_that_outlasts_the_lease_is_told_of_once_and_counted) {
  Leading rig({Mode::exclusive});
  rig.keep_tokens = true;
  rig.listen();
  const LocalTime end = rig.reader->view().leases().get(Partition{0}).until;
  rig.append(0, kExclusiveB.claim("0"));
  const auto told = [&] {
    return std::count(rig.story.begin(), rig.story.end(), "barrier_overdue 0 unowned");
  };
  rig.pass(std::chrono::duration_cast<milliseconds>(end - rig.now) - 1ms, 0);
  EXPECT_EQ(told(), 0);
  rig.pass(2ms, 0);
  EXPECT_EQ(told(), 1);
  EXPECT_EQ(rig.reader->meter().count(Count::barriers_overdue), 1u);
  EXPECT_FALSE(rig.told("write release"));
}

// Each record wakes every reader of the log.
TEST(OwningReader, barriers_that_end_together_share_a_release) {
  Leading rig({Mode::exclusive});
  rig.listen();
  const std::size_t before = rig.ledger->written[0].size();
  rig.append(0, kExclusiveB.claim("0,2"));
  EXPECT_TRUE(rig.told("released 0 unowned"));
  EXPECT_TRUE(rig.told("released 2 unowned"));
  EXPECT_EQ(rig.ledger->written[0].size(), before + 2) << "the claim, and one record more";
}

TEST(OwningReader, a_token_that_is_completed_inside_of_the_handler_does_not_re_enter) {
  Leading rig({Mode::exclusive});
  bool inside = false;
  std::shared_ptr<ListenerSlot> slot;
  slot = rig.listen([&](const Transition& t, BarrierToken token) {
    EXPECT_FALSE(inside);
    inside = true;
    if (t.kind == TransitionKind::stopped) token.complete();
    EXPECT_FALSE(rig.told("write release"));
    inside = false;
    slot->cancel();
  });
  rig.poll();
  rig.append(0, kExclusiveB.claim("0"));
  EXPECT_TRUE(rig.told("write release"));
}

TEST(OwningReader, a_token_may_outlive_the_member_and_its_executor) {
  BarrierToken token;
  {
    Leading rig({Mode::exclusive});
    rig.keep_tokens = true;
    rig.listen();
    rig.append(0, kExclusiveB.claim("0"));
    token = std::move(rig.tokens.back());
    rig.tokens.clear();
  }
  token.complete();
}

TEST(OwningReader, a_handler_that_is_set_late_hears_of_what_is_led_and_what_drains) {
  Leading rig;
  rig.revoke("2");
  rig.story.clear();
  rig.listen();
  EXPECT_EQ(rig.story, (Story{"acquired 0 local", "acquired 1 local", "acquired 2 local",
                              "draining 2 local", "acquired 3 local"}));
}

TEST(OwningReader, renews_by_its_timer_and_reads_its_own_renewals_back) {
  Leading rig;
  const auto before = std::count(rig.story.begin(), rig.story.end(), "write renewal");
  rig.now += 100ms;
  EXPECT_TRUE(rig.run_until([&] {
    return std::count(rig.story.begin(), rig.story.end(), "write renewal") > before;
  }));
  rig.poll();
  EXPECT_EQ(rig.route(0).valid_for, 1000ms);
}

TEST(OwningReader, a_process_that_was_stopped_wakes_up_fenced_then_hears_so_then_leads_again) {
  Leading rig;
  rig.listen();
  rig.story.clear();
  const Epoch epoch = rig.route(0).epoch;
  rig.now += 1100ms;
  EXPECT_FALSE(rig.reader->view().owns(Slot{0}, rig.now)) << "before anything has run";
  EXPECT_TRUE(rig.run_until([&] { return rig.told("stopped 0 unknown"); }));
  ASSERT_FALSE(rig.ledger->rereads.empty());
  for (const RereadRequest& asked : std::exchange(rig.ledger->rereads, {})) {
    const auto& log = rig.ledger->written[asked.log.value()];
    const Decoded value = decode_record(log[static_cast<std::size_t>(asked.offset)]);
    rig.event(Reread{asked.log, asked.question, asked.offset,
                     identity_of(value, BrokerTime{milliseconds{kInc}})});
  }
  rig.pass(100ms);
  EXPECT_TRUE(rig.told("acquired 0 local"));
  EXPECT_EQ(rig.route(0).epoch, epoch);
}

TEST(OwningReader, a_gap_that_the_state_machine_finds_makes_hints_unknown_too) {
  ReaderRig rig;
  rig.start();
  rig.assign("0");
  rig.append(0, kB.leads(9, "2"));
  rig.append(1, kB.leads(9, "1"));
  EXPECT_EQ(rig.verdict(2), Verdict::remote);
  rig.append(0, kB.leads(40, "0"));  // a claim that was never read
  EXPECT_TRUE(rig.told("restart_tail 0"));
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
  EXPECT_EQ(rig.verdict(2), Verdict::unknown);
  EXPECT_EQ(rig.verdict(1), Verdict::remote) << "the other log";
}

TEST(OwningReader, an_event_may_have_been_timed_before_a_timer_that_ran_first) {
  Leading rig;
  rig.pass(50ms);
  rig.now -= 20ms;
  rig.pass(0ms, 0);
  rig.now += 40ms;
  rig.pass(0ms, 0);
  EXPECT_EQ(rig.verdict(0), Verdict::local);
}

TEST(OwningReader, says_that_the_ledger_refuses_it_and_closes) {
  Leading rig;
  std::vector<Errc> heard;
  FunctionListener listener([](const Transition&, const BarrierToken&) {},
                            [&](const Error& error) { heard.push_back(error.code()); });
  const auto slot = rig.owner->subscribe(listener);
  rig.poll();
  boost::asio::post(*rig.io, [&] { rig.ledger->refused(Error{Errc::ledger_refused, "no"}); });
  EXPECT_TRUE(rig.run_until([&] { return rig.ledger->closed; }));
  EXPECT_EQ(heard, std::vector{Errc::ledger_refused});
}

TEST(OwningReader, hears_settings_that_differ_as_a_failure_once_and_leaves) {
  for (const bool late : {false, true}) {
    Leading rig;
    std::vector<Errc> heard;
    FunctionListener listener([](const Transition&, const BarrierToken&) {},
                              [&](const Error& error) {
                                heard.push_back(error.code());
                                EXPECT_NE(error.message().find("`slots`"), std::string::npos)
                                    << error.message();
                              });
    const auto ask = [&] {
      static_cast<void>(rig.owner->subscribe(listener));
      rig.poll();
    };
    rig.listen();
    if (!late) ask();
    Record senior = kB.leads(9, "1");
    senior.since = kInc - 1;
    senior.settings->slots = 4096;
    rig.append(1, senior);
    rig.append(1, senior);
    if (late) ask();
    EXPECT_EQ(heard, std::vector{Errc::settings_conflict});
    EXPECT_TRUE(rig.told("stopped 0 unowned"));
    EXPECT_TRUE(rig.told("leave_group"));
    EXPECT_TRUE(rig.ledger->closed);
    EXPECT_EQ(rig.verdict(0), Verdict::unknown);
  }
}

}  // namespace
}  // namespace neliroute
