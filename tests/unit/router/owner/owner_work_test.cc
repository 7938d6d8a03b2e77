// Guards of work as the owner's barriers wait for them; who waits until slots are known; handlers
// that hold the strand.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "router/owner/owning_reader.h"
#include "tests/unit/router/reader/reader_rig.h"

namespace neliroute {
namespace {

using namespace testing_reader;
using namespace testing_records;
using namespace std::chrono_literals;

struct Working : ReaderRig {
  explicit Working(ReaderRigOptions rig_options = {Mode::exclusive}) : ReaderRig(rig_options) {
    start();
    assign("0-3");
    for (int step = 0; step < 40 && verdict(0) != Verdict::local; ++step) {
      pass(50ms, 0);
      pass(0ms, 1);
    }
    for (std::uint32_t p = 0; p < 4; ++p) EXPECT_EQ(verdict(p), Verdict::local);
  }
  [[nodiscard]] Work begin(std::uint32_t p) { return owner->work()->begin(Partition{p}, now); }
  [[nodiscard]] std::uint64_t abandoned() const {
    return reader->meter().count(Count::work_abandoned);
  }
  [[nodiscard]] bool warned(const std::string& text) const {
    return std::any_of(notices.begin(), notices.end(), [&](const Notice& notice) {
      return notice.severity == Severity::warning && notice.text.find(text) != std::string::npos;
    });
  }
};

TEST(OwnerWork, work_begins_with_the_epoch_that_the_application_hears) {
  Working rig;
  const Work work = rig.begin(0);
  ASSERT_TRUE(work);
  EXPECT_EQ(work.epoch(), rig.route(0).epoch);
  rig.append(0, kExclusiveB.claim("0"));
  EXPECT_FALSE(rig.begin(0));
  EXPECT_TRUE(rig.begin(2));
}

/// Keeps its tokens, and writes down what it is told.
struct Keeper : Listener {
  void stopped(const Transition& t, BarrierToken token) override {
    told.push_back("stopped " + std::to_string(t.partition.value()));
    tokens.push_back(std::move(token));
  }
  void work_ended(Partition partition, const Epoch& epoch) override {
    told.push_back("work_ended " + std::to_string(partition.value()));
    last = epoch;
  }
  void released(const Transition& t) override {
    told.push_back("released " + std::to_string(t.partition.value()));
  }
  std::vector<std::string> told;
  std::vector<BarrierToken> tokens;
  Epoch last = kNoEpoch;
};

TEST(OwnerWork, an_application_hears_when_no_work_goes_on_while_it_keeps_its_token) {
  Working rig;
  Keeper keeper;
  const auto slot = rig.owner->subscribe(keeper);
  rig.poll();
  std::optional<Work> first = rig.begin(0);
  std::optional<Work> second = rig.begin(0);
  const Epoch epoch = first->epoch();
  rig.append(0, kExclusiveB.claim("0,2"));
  EXPECT_EQ(keeper.told, (std::vector<std::string>{"stopped 0", "stopped 2", "work_ended 2"}))
      << "where there was none, at once";
  first.reset();
  rig.poll();
  EXPECT_EQ(keeper.told.size(), 3u);
  second.reset();
  rig.poll();
  ASSERT_EQ(keeper.told.size(), 4u);
  EXPECT_EQ(keeper.told.back(), "work_ended 0");
  EXPECT_EQ(keeper.last, epoch);
  EXPECT_FALSE(rig.told("write release")) << "it may save what it has now";
  keeper.tokens.clear();
  rig.poll();
  EXPECT_TRUE(rig.told("write release"));
  slot->cancel();
}

TEST(OwnerWork, abandoned_work_has_ended_too) {
  Working rig;
  Keeper keeper;
  const auto slot = rig.owner->subscribe(keeper);
  rig.poll();
  const Work work = rig.begin(0);
  rig.append(0, kExclusiveB.claim("0"));
  EXPECT_EQ(keeper.told, std::vector<std::string>{"stopped 0"});
  rig.pass(2 * kLease, 0);
  EXPECT_EQ(std::count(keeper.told.begin(), keeper.told.end(), "work_ended 0"), 1);
  EXPECT_EQ(rig.abandoned(), 1u);
  slot->cancel();
}

TEST(OwnerWork, the_barrier_ends_by_itself_when_the_last_guard_is_gone) {
  for (const bool listens : {false, true}) {
    Working rig;
    if (listens) rig.listen();
    Work first = rig.begin(0);
    Work second = rig.begin(0);
    rig.append(0, kExclusiveB.claim("0"));
    EXPECT_EQ(rig.verdict(0), Verdict::unowned);
    first.end();
    rig.poll();
    EXPECT_FALSE(rig.told("write release")) << listens;
    std::thread([&] { second.end(); }).join();
    EXPECT_FALSE(rig.told("write release")) << "not on that thread";
    rig.poll();
    EXPECT_TRUE(rig.told("write release")) << listens;
    EXPECT_EQ(rig.abandoned(), 0u);
  }
}

TEST(OwnerWork, how_long_the_barrier_took_is_told_with_the_release) {
  Working rig;
  std::optional<microseconds> told;
  rig.listen([&](const Transition& t, BarrierToken) {
    if (t.kind == TransitionKind::released) told = t.barrier;
  });
  rig.poll();
  Work work = rig.begin(0);
  rig.append(0, kExclusiveB.claim("0"));
  rig.now += 40ms;
  EXPECT_FALSE(told);
  work.end();
  rig.poll();
  EXPECT_EQ(told, 40ms);
  EXPECT_EQ(rig.reader->meter().barriers().read().sum, 40ms);
}

// Of a guard that ends, the strand takes note itself: as of a token, see listener_test.cc. Two
// partitions stop together, so that the strand goes on with its barriers after the guard's end.
TEST(OwnerWork, a_guard_ends_on_another_thread_while_the_strand_is_at_work) {
  Working rig;
  std::atomic<bool> go = false;
  std::atomic<bool> ended = false;
  const auto await = [](const std::atomic<bool>& flag) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!flag.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
  };
  Work work = rig.begin(0);
  rig.append(0, kExclusiveB.claim("0"));
  rig.listen([&](const Transition& t, BarrierToken token) {
    if (t.kind != TransitionKind::stopped) return;
    rig.tokens.push_back(std::move(token));  // ending, it would order the two
    go.store(true, std::memory_order_relaxed);
    await(ended);
  });
  rig.poll();
  std::thread other([&] {
    await(go);
    work.end();
    ended.store(true, std::memory_order_relaxed);
  });
  EXPECT_FALSE(rig.told("write release"));
  rig.append(1, kExclusiveB.claim("1,3"));
  other.join();
  rig.poll();
  EXPECT_TRUE(rig.told("write release"));
  EXPECT_EQ(rig.abandoned(), 0u);
}

TEST(OwnerWork, the_token_and_the_guards_are_both_waited_for) {
  for (const bool token_first : {false, true}) {
    Working rig;
    rig.keep_tokens = true;
    rig.listen();
    Work work = rig.begin(0);
    rig.append(0, kExclusiveB.claim("0"));
    if (token_first) rig.tokens.clear();
    if (!token_first) work.end();
    rig.poll();
    EXPECT_FALSE(rig.told("write release")) << token_first;
    work.end();
    rig.tokens.clear();
    rig.poll();
    EXPECT_TRUE(rig.told("write release")) << token_first;
  }
}

TEST(OwnerWork, a_guard_is_abandoned_at_the_end_of_the_lease_and_nobody_gives_up) {
  Working rig;
  const LocalTime lease_end = rig.reader->view().leases().get(Partition{0}).until;
  const Work work = rig.begin(0);
  const std::stop_token token = work.stop_token();
  rig.append(0, kExclusiveB.claim("0"));
  EXPECT_TRUE(token.stop_requested());
  rig.pass(std::chrono::duration_cast<milliseconds>(lease_end - rig.now) - 1ms);
  EXPECT_FALSE(rig.told("write release"));
  rig.pass(2ms);
  EXPECT_TRUE(rig.told("write release"));
  EXPECT_EQ(rig.abandoned(), 1u);
  EXPECT_TRUE(rig.warned("abandoned 1 pieces of work"));
  for (int i = 0; i < 40; ++i) rig.pass(100ms, static_cast<std::uint32_t>(i % 2));
  EXPECT_FALSE(rig.reader->closed()) << "a token that is kept for so long ends the process";
}

// Of the rig: a timer that is always due again must not hold it for ever.
TEST(OwnerWork, polling_ends_though_a_handler_is_always_ready) {
  Working rig;
  bool goes_on = true;
  std::function<void()> again = [&] {
    if (goes_on) boost::asio::post(*rig.io, again);
  };
  again();
  rig.poll();
  goes_on = false;
  rig.poll();
}

// As after an outage: a connection's guard lives on, and the process leads again.
TEST(OwnerWork, a_lapse_abandons_at_once_and_the_partition_is_led_again_beside_the_old_guard) {
  Working rig({Mode::non_exclusive});
  const Work kept = rig.begin(0);
  rig.ledger->hold_writes = true;
  for (int i = 0; i < 12; ++i) rig.pass(100ms, static_cast<std::uint32_t>(i % 2));
  EXPECT_FALSE(rig.begin(0));
  EXPECT_TRUE(kept.stop_requested());
  EXPECT_EQ(rig.abandoned(), 1u);
  rig.ledger->hold_writes = false;
  for (std::uint64_t seq = 1; seq < 100; ++seq) rig.event(WriteFailed{seq});
  for (int i = 0; i < 60 && !rig.begin(0); ++i) rig.pass(100ms, static_cast<std::uint32_t>(i % 2));
  const Work again = rig.begin(0);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again.stop_requested());
  EXPECT_FALSE(rig.reader->closed());
  EXPECT_EQ(rig.abandoned(), 1u);
}

TEST(OwnerWork, guards_may_outlive_the_member_and_its_executor) {
  Work work;
  {
    Working rig;
    work = rig.begin(0);
    ASSERT_TRUE(work);
  }
  EXPECT_TRUE(work.stop_requested());
}

TEST(OwnerWork, a_closed_owner_begins_no_work) {
  Working rig;
  const Work work = rig.begin(1);
  const auto gate = rig.owner->work();
  rig.reader->abandon();
  rig.poll();
  EXPECT_TRUE(work.stop_requested());
  EXPECT_FALSE(gate->begin(Partition{0}, rig.now));
}

// The result that a waiter got; none: it waits.
using Told = std::optional<boost::system::error_code>;

TEST(Ready, a_watcher_is_ready_when_the_last_slot_is_known) {
  ReaderRig rig({Mode::non_exclusive, /*watcher=*/true});
  rig.start();
  Told told;
  rig.reader->when_ready(1, [&](auto error) { told = error; });
  rig.append(0, kB.leads(9, "0,2"));
  rig.append(1, kB.leads(9, "1"));
  EXPECT_FALSE(told) << "of 3 nobody spoke yet";
  rig.append(1, kB.leads(9, "3"));
  ASSERT_TRUE(told);
  EXPECT_FALSE(*told);
  Told again;
  rig.reader->when_ready(2, [&](auto error) { again = error; });
  rig.poll();
  EXPECT_TRUE(again) << "it is ready already";
}

TEST(Ready, time_alone_makes_ready) {
  ReaderRig rig({Mode::non_exclusive, /*watcher=*/true, 300ms});
  rig.start();
  Told told;
  rig.reader->when_ready(1, [&](auto error) { told = error; });
  rig.pass(200ms, 0);
  rig.pass(0ms, 1);
  EXPECT_FALSE(told);
  rig.now += 101ms;  // nobody spoke for a lease: nobody owns anything
  EXPECT_TRUE(rig.run_until([&] { return told.has_value(); }));
}

TEST(Ready, an_owner_is_ready_when_it_leads_what_it_was_given) {
  ReaderRig rig;
  Told told;
  rig.reader->when_ready(1, [&](auto error) { told = error; });
  rig.start();
  EXPECT_FALSE(told);
  rig.assign("0");
  ASSERT_EQ(rig.verdict(1), Verdict::unknown);
  ASSERT_TRUE(told);
  EXPECT_FALSE(*told);
}

TEST(Ready, what_is_revoked_before_it_was_led_is_not_waited_for) {
  ReaderRig rig;
  Told told;
  rig.reader->when_ready(1, [&](auto error) { told = error; });
  rig.start();
  rig.ledger->hold_writes = true;
  rig.assign("0,1");
  rig.revoke("1");
  EXPECT_FALSE(told);
  rig.ledger->hold_writes = false;
  for (std::size_t at = 10; at < rig.ledger->written[0].size(); ++at) {
    rig.read_back(0, static_cast<std::int64_t>(at));
  }
  rig.poll();
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  ASSERT_TRUE(told);
  EXPECT_FALSE(*told);
}

TEST(Ready, who_waits_hears_of_the_end_and_of_being_cancelled) {
  ReaderRig rig;
  rig.start();
  Told closed;
  Told cancelled;
  Told late;
  rig.reader->when_ready(1, [&](auto error) { closed = error; });
  rig.reader->when_ready(2, [&](auto error) { cancelled = error; });
  rig.poll();
  rig.reader->cancel_ready(2);
  rig.poll();
  EXPECT_FALSE(closed);
  EXPECT_EQ(cancelled, Told(boost::asio::error::operation_aborted));
  rig.reader->abandon();
  rig.reader->when_ready(3, [&](auto error) { late = error; });
  rig.poll();
  EXPECT_EQ(closed, Told(Errc::closed));
  EXPECT_EQ(late, Told(Errc::closed));
  EXPECT_EQ(cancelled, Told(boost::asio::error::operation_aborted)) << "told once";
}

TEST(Handlers, those_that_hold_the_strand_for_longer_than_an_interval_are_named) {
  Working rig;
  const auto first = rig.listen([&](const Transition&, BarrierToken) { rig.now += 60ms; });
  rig.poll();  // hears of four partitions, 60 ms each: none alone is longer than 100 ms
  EXPECT_TRUE(rig.warned("held the strand for 240 ms, longer than the interval of 100 ms: 4 calls, "
                         "the longest 60 ms in Listener::acquired() of partition 0"));
  const std::size_t before = rig.notices.size();
  const auto second = rig.listen([&](const Transition&, BarrierToken) { rig.now += 60ms; });
  rig.poll();
  EXPECT_EQ(rig.notices.size(), before) << "at most every 10 s";
}

// As where an owner loads state so slowly that its leases end meanwhile, again and again.
TEST(Handlers, one_that_listens_already_is_named_when_it_is_slow_later) {
  Working rig;
  bool slow = false;
  const auto slot = rig.listen([&](const Transition&, BarrierToken) {
    if (slow) rig.now += 150ms;
  });
  rig.poll();
  EXPECT_FALSE(rig.warned("held the strand"));
  slow = true;
  rig.append(0, kExclusiveB.claim("0"));
  EXPECT_TRUE(rig.warned("held the strand for 150 ms, longer than the interval of 100 ms: 3 calls, "
                         "the longest 150 ms in Listener::stopped() of partition 0"))
      << "and Listener::work_ended() and released()";
}

TEST(Handlers, quick_ones_are_not_warned_of) {
  Working rig;
  const auto slot = rig.listen([&](const Transition&, BarrierToken) { rig.now += 25ms; });
  rig.poll();
  EXPECT_FALSE(rig.warned("held the strand"));
}

}  // namespace
}  // namespace neliroute
