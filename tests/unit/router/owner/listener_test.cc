// Several listeners of one owner, late ones, and those that go.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/router/reader/reader_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using namespace testing_reader;
using namespace testing_records;

/// Leads partitions 0 to 3, in exclusive mode.
struct ListenedTo : ReaderRig {
  ListenedTo() : ReaderRig({Mode::exclusive}) {
    start();
    lead_all();
  }
};

/// What it was called with, and the tokens that it keeps.
struct Noting : Listener {
  void acquired(const Transition& t) override { note("acquired", t); }
  void draining(const Transition& t) override { note("draining", t); }
  void stopped(const Transition& t, BarrierToken barrier) override {
    note("stopped", t);
    barriers.push_back(std::move(barrier));
  }
  void released(const Transition& t) override { note("released", t); }
  void failed(const Error& error) override { story.push_back(error.message()); }
  void note(const std::string& what, const Transition& t) {
    story.push_back(what + " " + std::to_string(t.partition.value()));
  }
  std::vector<std::string> story;
  std::vector<BarrierToken> barriers;
};

const Writer kSuccessor{2, "other", Mode::exclusive};

TEST(Listeners, that_subscribe_late_are_told_what_is_led_already) {
  ListenedTo rig;
  Noting notes;
  const Subscription subscription(rig.owner->subscribe(notes));
  rig.poll();
  EXPECT_EQ(notes.story, (Story{"acquired 0", "acquired 1", "acquired 2", "acquired 3"}));
}

TEST(Listeners, that_throw_end_the_process) {
  ReaderRig rig;
  rig.start();
  const auto slot = rig.listen([](const Transition&, const BarrierToken&) { throw 1; });
  rig.poll();
  EXPECT_DEATH(rig.lead_all(), "terminate");
}

TEST(Listeners, that_subscribe_late_are_told_what_is_handed_over) {
  ReaderRig rig;
  rig.start();
  rig.assign("0-3");
  rig.revoke("1");
  Noting notes;
  const Subscription subscription(rig.owner->subscribe(notes));
  rig.poll();
  EXPECT_EQ(notes.story, (Story{"acquired 0", "acquired 1", "draining 1", "acquired 2",
                                "acquired 3"}));
}

TEST(Listeners, all_of_them_hold_the_barrier) {
  ListenedTo rig;
  Noting first;
  Noting second;
  const Subscription one(rig.owner->subscribe(first));
  const Subscription two(rig.owner->subscribe(second));
  rig.poll();
  rig.append(0, kSuccessor.claim("0"));
  rig.poll();
  ASSERT_EQ(first.barriers.size(), 1u);
  ASSERT_EQ(second.barriers.size(), 1u);
  first.barriers[0].complete();
  rig.poll();
  EXPECT_EQ(first.story.back(), "stopped 0") << "the other one has not finished";
  second.barriers.clear();  // dropped is as good as completed
  rig.poll();
  EXPECT_EQ(first.story.back(), "released 0");
  EXPECT_EQ(second.story.back(), "released 0");
}

TEST(Listeners, tokens_are_kept_alive_by_their_copies_and_completed_by_any) {
  ListenedTo rig;
  Noting notes;
  const Subscription subscription(rig.owner->subscribe(notes));
  rig.poll();
  rig.append(0, kSuccessor.claim("0,2"));
  rig.poll();
  ASSERT_EQ(notes.barriers.size(), 2u);
  BarrierToken copy = notes.barriers[0];
  std::function<void()> later = [token = notes.barriers[1]] {};
  notes.barriers.clear();
  rig.poll();
  EXPECT_EQ(notes.story.back(), "stopped 2");
  later = nullptr;
  rig.poll();
  EXPECT_EQ(notes.story.back(), "released 2");
  BarrierToken another = copy;
  copy.complete();
  rig.poll();
  EXPECT_EQ(notes.story.back(), "released 0") << "however many copies are left";
}

// Of what a token ends, the strand takes note itself. If the completing thread did, it would touch
// what the strand is at, which ThreadSanitizer sees: both are ordered by relaxed atomics only.
TEST(Listeners, tokens_are_completed_by_another_thread_while_the_strand_is_at_work) {
  ListenedTo rig;
  std::atomic<bool> go = false;
  std::atomic<bool> completed = false;
  const auto await = [](const std::atomic<bool>& flag) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!flag.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
  };
  Noting notes;
  FunctionListener busy([&](const Transition& t, BarrierToken) {
    if (t.kind != TransitionKind::stopped || t.partition != Partition{1}) return;
    go.store(true, std::memory_order_relaxed);
    await(completed);
  });
  const Subscription one(rig.owner->subscribe(notes));
  const Subscription two(rig.owner->subscribe(busy));
  rig.poll();
  rig.append(0, kSuccessor.claim("0"));
  rig.poll();
  ASSERT_EQ(notes.barriers.size(), 1u);
  std::thread other([&, token = std::exchange(notes.barriers, {})]() mutable {
    await(go);
    token[0].complete();
    completed.store(true, std::memory_order_relaxed);
  });
  rig.append(1, kSuccessor.claim("1"));
  rig.poll();
  other.join();
  rig.poll();
  EXPECT_EQ(notes.story.back(), "released 0");
}

TEST(Listeners, that_have_gone_hold_no_barrier_and_hear_nothing) {
  ListenedTo rig;
  Noting stays;
  Noting goes;
  const Subscription one(rig.owner->subscribe(stays));
  Subscription two(rig.owner->subscribe(goes));
  rig.poll();
  two.cancel();
  goes.story.clear();
  rig.append(0, kSuccessor.claim("0"));
  stays.barriers.clear();
  rig.poll();
  EXPECT_EQ(goes.story, Story{});
  EXPECT_EQ(stays.story.back(), "released 0");
}

TEST(Listeners, may_cancel_themselves_in_a_call) {
  ListenedTo rig;
  Subscription subscription;
  int calls = 0;
  FunctionListener listener([&](const Transition&, BarrierToken) {
    ++calls;
    subscription.cancel();
  });
  subscription = Subscription(rig.owner->subscribe(listener));
  rig.poll();
  EXPECT_EQ(calls, 1);
}

TEST(Listeners, are_not_destroyed_under_a_call_that_is_under_way) {
  ListenedTo rig;
  std::promise<void> begun;
  std::promise<void> go_on;
  std::atomic<bool> returned = false;
  FunctionListener listener([&, first = true](const Transition&, BarrierToken) mutable {
    if (!std::exchange(first, false)) return;
    begun.set_value();
    EXPECT_EQ(go_on.get_future().wait_for(10s), std::future_status::ready);
    returned = true;
  });
  auto subscription = std::make_unique<Subscription>(rig.owner->subscribe(listener));
  std::thread strand([&] { rig.poll(); });
  EXPECT_EQ(begun.get_future().wait_for(10s), std::future_status::ready);
  auto cancelled = std::async(std::launch::async, [&] {
    subscription.reset();
    return returned.load();
  });
  EXPECT_EQ(cancelled.wait_for(50ms), std::future_status::timeout) << "it waits";
  go_on.set_value();
  EXPECT_TRUE(cancelled.get());
  strand.join();
}

TEST(Listeners, are_told_why_the_process_gave_up_also_when_they_come_late) {
  ReaderRig rig;
  rig.start();
  Noting early;
  const Subscription one(rig.owner->subscribe(early));
  rig.poll();
  Record other = Writer{2}.leads(9, "0");
  other.settings->slots = 4711;
  rig.append(0, other);
  rig.pass(10ms);
  ASSERT_EQ(early.story.size(), 1u);
  EXPECT_NE(early.story[0].find("4711"), std::string::npos);
  Noting late;
  const Subscription two(rig.owner->subscribe(late));
  rig.poll();
  EXPECT_EQ(late.story, early.story);
}

TEST(Listeners, that_come_and_go_while_nothing_moves_are_not_kept) {
  ListenedTo rig;
  Noting stays;
  const Subscription one(rig.owner->subscribe(stays));
  std::vector<std::weak_ptr<ListenerSlot>> gone;
  for (int i = 0; i < 100; ++i) {
    Noting goes;
    auto slot = rig.owner->subscribe(goes);
    gone.push_back(slot);
    Subscription two(std::move(slot));
    rig.poll();
    EXPECT_EQ(goes.story.size(), 4u);
  }
  const auto kept = std::count_if(gone.begin(), gone.end(),
                                  [](const auto& slot) { return !slot.expired(); });
  EXPECT_LE(kept, 1) << "the last, until another one comes or something moves";
  stays.story.clear();
  rig.append(0, kSuccessor.claim("0"));
  rig.poll();
  EXPECT_EQ(stays.story, Story{"stopped 0"});
}

TEST(Listeners, subscription_that_is_replaced_is_cancelled) {
  ListenedTo rig;
  Noting former;
  Noting next;
  Subscription subscription(rig.owner->subscribe(former));
  rig.poll();
  former.story.clear();
  subscription = Subscription(rig.owner->subscribe(next));
  rig.poll();
  rig.append(0, kSuccessor.claim("0"));
  rig.poll();
  EXPECT_EQ(former.story, Story{}) << "it may have been destroyed since";
  EXPECT_EQ(next.story.back(), "stopped 0");
}

TEST(Listeners, subscriptions_may_outlive_the_owner) {
  Noting notes;
  Subscription subscription;
  {
    ListenedTo rig;
    subscription = Subscription(rig.owner->subscribe(notes));
    rig.poll();
  }
  subscription.cancel();
  EXPECT_EQ(notes.story.size(), 4u);
}

}  // namespace
}  // namespace neliroute
