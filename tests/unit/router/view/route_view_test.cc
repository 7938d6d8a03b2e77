#include "router/view/route_view.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "tests/unit/router/view/allocations.h"
#include "tests/unit/router/view/records.h"

namespace neliroute {
namespace {

using namespace testing_records;
using namespace std::chrono_literals;

constexpr ProcessId kSelf{1};
constexpr LocalTime kNow{10s};

PeerPtr peer(std::uint64_t id, const std::string& name) {
  return std::make_shared<const Peer>(Peer{ProcessId{id}, {name, name + ":7000", {}}});
}

// A view of four partitions on two logs, whose leaders answer until 20 s, history until 5 s.
struct Viewed {
  Viewed() {
    for (std::uint32_t l = 0; l < 2; ++l) view.set_log(Log{l}, LocalTime{20s}, LocalTime{5s});
  }
  void lead(std::uint32_t p, std::int64_t claim, LocalTime until, std::uint16_t generation) {
    leases->set(Partition{p}, until, generation);
    view.set_local(Partition{p}, epoch(claim), generation);
    view.publish(kNow);
  }
  Hint& hint(std::uint32_t p, const PeerPtr& owner, std::int64_t claim, LocalTime until) {
    Hint& hint = hints[p];
    hint.owner = owner;
    hint.epoch = epoch(claim);
    hint.until = until;
    ++hint.generation;
    return hint;
  }
  void publish(std::uint32_t p) {
    view.set_hint(Partition{p}, hints[p]);
    view.publish(kNow);
    view.set_hint_until(Partition{p}, hints[p]);
  }
  [[nodiscard]] Route route(std::uint32_t slot, LocalTime now = kNow) const {
    return view.route(Slot{slot}, now);
  }

  std::shared_ptr<LeaseVector> leases = std::make_shared<LeaseVector>(4);
  RouteView view{Peer{kSelf, {"self", "self:7000", {}}}, leases, 2, SlotSpace{64}};
  std::array<Hint, 4> hints;
};

TEST(RouteView, a_stale_owner_is_told_apart_whether_it_is_this_process_or_another) {
  Viewed v;
  v.lead(0, 7, kNow + 1s, 1);
  v.hint(1, peer(2, "other"), 9, kNow + 1s);
  v.publish(1);
  EXPECT_FALSE(v.route(0).stale);
  EXPECT_FALSE(v.route(1).stale);
  v.leases->set(Partition{0}, kNow + 1s, 1, /*stale=*/true);
  v.hints[1].stale = true;
  v.view.set_hint_until(Partition{1}, v.hints[1]);
  EXPECT_TRUE(v.route(0).stale);
  EXPECT_EQ(v.route(0).verdict, Verdict::local);
  EXPECT_TRUE(v.route(1).stale);
  EXPECT_EQ(v.route(1).verdict, Verdict::remote);
  EXPECT_TRUE(v.route(1).copy().stale);
}

// Destroyed after what the view knows of its thread, if that came later.
struct LooksAtTheEnd {
  ~LooksAtTheEnd() {
    if (view == nullptr) return;
    *verdict = view->route(Slot{0}, kNow).verdict;
    view->count(Admit::serve);
  }
  const RouteView* view = nullptr;
  Verdict* verdict = nullptr;
};

TEST(RouteView, a_thread_may_look_up_to_its_very_end) {
  Viewed v;
  Verdict verdict{};
  std::thread([&] {
    static thread_local LooksAtTheEnd last;
    last.verdict = &verdict;
    last.view = &v.view;
    EXPECT_EQ(v.route(0).verdict, Verdict::unowned);
    v.lead(0, 7, kNow + 1s, 1);
  }).join();
  EXPECT_EQ(verdict, Verdict::local);
  EXPECT_EQ(v.view.admissions()[static_cast<std::size_t>(Admit::serve)], 0u) << "it counts no more";
}

TEST(RouteView, answers_local_with_epoch_and_time_left) {
  Viewed v;
  v.lead(2, 7, kNow + 160ms, 1);
  const Route route = v.route(6);
  EXPECT_EQ(route.slot, Slot{6});
  EXPECT_EQ(route.partition, Partition{2});
  EXPECT_EQ(route.verdict, Verdict::local);
  EXPECT_EQ(route.owner(), "self");
  EXPECT_EQ(route.endpoint(), "self:7000");
  EXPECT_EQ(route.epoch, epoch(7));
  EXPECT_EQ(route.valid_for, 160ms);
  EXPECT_TRUE(v.view.owns(Slot{6}, kNow));
  EXPECT_FALSE(v.view.owns(Slot{7}, kNow));
}

// The work of publishing is that of what changed, whatever M is.
TEST(RouteView, publishing_one_change_copies_no_other_entry) {
  auto leases = std::make_shared<LeaseVector>(65'536);
  RouteView view(Peer{kSelf, {"self", "self:7000", {}}}, leases, 1, SlotSpace{64});
  view.set_log(Log{0}, LocalTime{20s}, LocalTime{5s});
  for (std::uint32_t p = 0; p < 10'000; ++p) {
    leases->set(Partition{p}, kNow + 1s, 1);
    view.set_local(Partition{p}, epoch(p), 1);
    view.publish(kNow);
    if (p % 10 == 0) {
      ASSERT_EQ(view.route(Slot{p}, kNow).epoch, epoch(p));  // this thread keeps what it read
    }
  }
  for (std::uint32_t p = 0; p < 10'000; ++p) {
    ASSERT_EQ(view.route(Slot{p}, kNow).epoch, epoch(p)) << p;
  }
  EXPECT_EQ(view.route(Slot{10'000}, kNow).verdict, Verdict::unowned);
  // As many as there are snapshots at once: the newest, what this thread reads, and two to fill.
  EXPECT_LE(view.whole_copies(), 4u);
}

// What a thread keeps for long is overtaken by more changes than are remembered.
TEST(RouteView, a_snapshot_that_lags_far_behind_is_filled_anew) {
  Viewed v;
  v.lead(0, 1, kNow + 1s, 1);
  ASSERT_EQ(v.route(0).epoch, epoch(1));  // holds this one
  for (std::int64_t claim = 2; claim < 100; ++claim) {
    v.lead(static_cast<std::uint32_t>(claim % 4), claim, kNow + 1s,
           static_cast<std::uint16_t>(claim));
  }
  ASSERT_EQ(v.route(0).epoch, epoch(96));  // and gives it up
  for (std::int64_t claim = 100; claim < 103; ++claim) {
    v.lead(static_cast<std::uint32_t>(claim % 4), claim, kNow + 1s,
           static_cast<std::uint16_t>(claim));
    for (std::uint32_t p = 0; p < 4; ++p) {
      const std::int64_t newest = claim - (claim - p) % 4;
      EXPECT_EQ(v.route(p).epoch, epoch(newest)) << claim << ' ' << p;
    }
  }
}

TEST(RouteView, compares_the_lease_with_now_at_the_time_of_asking) {
  Viewed v;
  v.lead(0, 7, kNow + 160ms, 1);
  EXPECT_EQ(v.route(0, kNow + 160ms - 1us).valid_for, 1us);
  EXPECT_EQ(v.route(0, kNow + 160ms).verdict, Verdict::unowned);
  EXPECT_FALSE(v.view.owns(Slot{0}, kNow + 160ms));
}

TEST(RouteView, answers_remote_with_owner_endpoint_epoch_and_time_left) {
  Viewed v;
  v.hint(1, peer(2, "b"), 9, kNow + 320ms);
  v.publish(1);
  const Route route = v.route(5);
  EXPECT_EQ(route.verdict, Verdict::remote);
  EXPECT_EQ(route.owner(), "b");
  EXPECT_EQ(route.endpoint(), "b:7000");
  EXPECT_EQ(route.next_owner(), "");
  EXPECT_EQ(route.epoch, epoch(9));
  EXPECT_EQ(route.valid_for, 320ms);
}

TEST(RouteView, marks_an_owner_that_a_caller_could_not_reach) {
  Viewed v;
  v.hint(1, peer(2, "other"), 9, kNow + 700ms).suspected = true;
  v.publish(1);
  EXPECT_EQ(v.route(1).verdict, Verdict::remote);
  EXPECT_TRUE(v.route(1).suspected);
  EXPECT_FALSE(v.route(1, kNow + 700ms).suspected) << "it owns nothing any more";
  v.hints[1].suspected = false;
  v.publish(1);
  EXPECT_FALSE(v.route(1).suspected);
}

TEST(RouteView, sees_a_renewal_without_a_new_snapshot) {
  Viewed v;
  v.hint(1, peer(2, "b"), 9, kNow + 320ms);
  v.publish(1);
  v.hints[1].until = kNow + 640ms;
  v.view.set_hint_until(Partition{1}, v.hints[1]);
  EXPECT_EQ(v.route(1).valid_for, 640ms);
}

TEST(RouteView, answers_unowned_since_the_hint_was_over) {
  Viewed v;
  v.hint(1, peer(2, "b"), 9, kNow - 160ms);
  v.publish(1);
  const Route route = v.route(1);
  EXPECT_EQ(route.verdict, Verdict::unowned);
  EXPECT_EQ(route.unowned_since, kNow - 160ms);
  EXPECT_EQ(route.owner(), "");
  EXPECT_EQ(route.epoch, kNoEpoch);
  EXPECT_EQ(route.valid_for, 0us);
}

TEST(RouteView, answers_unowned_since_the_time_that_the_hint_says_and_names_who_claimed) {
  Viewed v;
  Hint& hint = v.hint(1, nullptr, 9, kLongAgo);
  hint.unowned_since = kNow - 3s;
  hint.next = peer(3, "c");
  v.publish(1);
  const Route route = v.route(1);
  EXPECT_EQ(route.verdict, Verdict::unowned);
  EXPECT_EQ(route.unowned_since, kNow - 3s);
  EXPECT_EQ(route.next_owner(), "c");
  EXPECT_EQ(route.next_endpoint(), "c:7000");
}

TEST(RouteView, answers_unknown_until_history_is_over_then_unowned_since_then) {
  Viewed v;
  EXPECT_EQ(v.route(0, LocalTime{5s} - 1us).verdict, Verdict::unknown);
  EXPECT_EQ(v.route(0, LocalTime{5s}).verdict, Verdict::unowned);
  EXPECT_EQ(v.route(0, LocalTime{6s}).unowned_since, LocalTime{5s});
}

TEST(RouteView, answers_unknown_when_the_log_is_silent_but_keeps_live_hints) {
  Viewed v;
  v.hint(0, peer(2, "b"), 9, kNow + 160ms);
  v.publish(0);
  v.view.set_log(Log{0}, kNow, LocalTime{5s});
  EXPECT_EQ(v.route(0).verdict, Verdict::remote);
  EXPECT_EQ(v.route(0, kNow + 160ms).verdict, Verdict::unknown);
  EXPECT_EQ(v.route(2).verdict, Verdict::unknown);
  EXPECT_EQ(v.route(1).verdict, Verdict::unowned) << "the other log answers";
}

TEST(RouteView, names_the_next_owner_beside_a_draining_one) {
  Viewed v;
  Hint& hint = v.hint(1, peer(2, "b"), 9, kNow + 160ms);
  hint.draining = true;
  hint.next = peer(3, "c");
  v.publish(1);
  const Route remote = v.route(1);
  EXPECT_EQ(remote.verdict, Verdict::remote);
  EXPECT_EQ(remote.owner(), "b");
  EXPECT_EQ(remote.next_owner(), "c");
  v.lead(1, 7, kNow + 160ms, 1);
  EXPECT_EQ(v.route(1).verdict, Verdict::local);
  EXPECT_EQ(v.route(1).next_owner(), "c") << "this process drains";
}

TEST(RouteView, is_never_remote_to_itself) {
  Viewed v;
  v.hint(0, peer(kSelf.value(), "self"), 9, kNow + 1s);
  v.publish(0);
  EXPECT_EQ(v.route(0).verdict, Verdict::unowned);
  EXPECT_EQ(v.route(0).unowned_since, kNow);
}

TEST(RouteView, a_lease_won_but_not_published_is_not_local_yet) {
  Viewed v;
  v.hint(0, peer(2, "b"), 9, kNow + 160ms);
  v.publish(0);
  v.leases->set(Partition{0}, kNow + 1s, 1);
  EXPECT_EQ(v.route(0).verdict, Verdict::remote);
  v.view.set_local(Partition{0}, epoch(11), 1);
  EXPECT_EQ(v.route(0).verdict, Verdict::remote) << "not before publish()";
  v.view.publish(kNow);
  EXPECT_EQ(v.route(0).verdict, Verdict::local);
  EXPECT_EQ(v.route(0).epoch, epoch(11));
}

TEST(RouteView, who_leads_on_with_a_newer_epoch_has_no_unowned_moment) {
  Viewed v;
  v.hint(0, peer(kSelf.value(), "self"), 9, kNow + 1s);
  v.publish(0);
  v.lead(0, 9, kNow + 160ms, 1);
  v.leases->set(Partition{0}, kNow + 320ms, 2);
  EXPECT_EQ(v.route(0).verdict, Verdict::local);
  EXPECT_EQ(v.route(0).epoch, epoch(9)) << "what the application was told last";
  v.view.set_local(Partition{0}, epoch(12), 2);
  v.view.publish(kNow);
  EXPECT_EQ(v.route(0).epoch, epoch(12));
}

TEST(RouteView, who_was_told_that_it_stopped_is_not_local_before_it_is_told_again) {
  Viewed v;
  v.lead(0, 9, kNow + 160ms, 1);
  v.leases->set(Partition{0}, kLongAgo, 1);
  EXPECT_EQ(v.route(0).verdict, Verdict::unowned) << "at once, published or not";
  v.view.set_local(Partition{0}, kNoEpoch, 1);
  v.view.publish(kNow);
  v.leases->set(Partition{0}, kNow + 320ms, 2);
  EXPECT_EQ(v.route(0).verdict, Verdict::unowned);
}

TEST(RouteView, a_deadline_of_another_owner_is_not_taken_for_this_ones) {
  Viewed v;
  v.hint(0, peer(2, "b"), 9, kNow + 160ms);
  v.publish(0);
  v.hint(0, peer(3, "c"), 12, kNow + 5s);
  v.view.set_hint_until(Partition{0}, v.hints[0]);  // the strand never does that first
  EXPECT_EQ(v.route(0).owner(), "b");
  EXPECT_EQ(v.route(0).valid_for, 160ms);
  v.view.set_hint(Partition{0}, v.hints[0]);
  v.view.publish(kNow);
  EXPECT_EQ(v.route(0).owner(), "c");
  EXPECT_EQ(v.route(0).valid_for, 5s);
}

TEST(RouteView, strings_live_until_this_threads_next_call) {
  Viewed v;
  v.hint(0, peer(2, "an owner whose name does not fit into a short string"), 9, kNow + 1s);
  v.publish(0);
  const Route route = v.route(0);
  v.hint(0, nullptr, 9, kLongAgo);
  v.publish(0);
  std::thread([&] { EXPECT_NE(v.route(0).verdict, Verdict::remote); }).join();
  EXPECT_EQ(route.owner(), "an owner whose name does not fit into a short string");
  const RouteCopy copy = route.copy();
  EXPECT_EQ(v.route(0).verdict, Verdict::unowned);
  EXPECT_EQ(copy.owner, "an owner whose name does not fit into a short string");
  EXPECT_EQ(copy.endpoint, copy.owner + ":7000");
  EXPECT_EQ(copy.verdict, Verdict::remote);
  EXPECT_EQ(copy.epoch, epoch(9));
  EXPECT_EQ(copy.valid_for, 1s);
}

TEST(RouteView, strings_of_the_next_owner_live_as_long) {
  Viewed v;
  Hint& hint = v.hint(0, peer(2, "b"), 9, kNow + 1s);
  hint.next = peer(3, "one that claimed, whose name does not fit into a short string");
  const std::weak_ptr<const Peer> next = hint.next;
  v.publish(0);
  const Route route = v.route(0);
  hint.next.reset();
  for (int i = 0; i < 4; ++i) {  // as often as there are snapshots
    v.publish(0);
    EXPECT_EQ(v.route(0).next_owner(), "");
  }
  ASSERT_FALSE(next.expired()) << "for an hour, as an owner";
  EXPECT_EQ(route.next_endpoint(),
            "one that claimed, whose name does not fit into a short string:7000");
  v.view.publish(kNow + 1h);
  EXPECT_TRUE(next.expired());
}

TEST(RouteView, calls_on_any_number_of_other_views_leave_the_strings_alone) {
  std::vector<std::unique_ptr<Viewed>> views;
  std::vector<Route> routes;
  const auto name = [](std::size_t i) {
    return "an owner whose name does not fit into a short string " + std::to_string(i);
  };
  for (std::size_t i = 0; i < 12; ++i) {
    Viewed& v = *views.emplace_back(std::make_unique<Viewed>());
    v.hint(0, peer(2, name(i)), 9, kNow + 1s);
    v.publish(0);
    routes.push_back(v.route(0));
    v.hint(0, nullptr, 9, kLongAgo);
    v.publish(0);
  }
  for (std::size_t i = 0; i < views.size(); ++i) EXPECT_EQ(routes[i].owner(), name(i));
  for (const auto& v : views) EXPECT_EQ(v->route(0).verdict, Verdict::unowned);
}

TEST(RouteView, a_thread_does_not_keep_what_a_destroyed_view_showed) {
  std::weak_ptr<const Peer> shown;
  {
    Viewed gone;
    const PeerPtr b = peer(2, "b");
    shown = b;
    gone.hint(0, b, 9, kNow + 1s);
    gone.publish(0);
    EXPECT_EQ(gone.route(0).owner(), "b");
  }
  Viewed other;
  EXPECT_EQ(other.route(0).verdict, Verdict::unowned);
  EXPECT_TRUE(shown.expired()) << "dropped when the thread asks a view that is new to it";
}

TEST(RouteView, of_several_that_a_thread_asked_any_may_go_first) {
  auto gone = std::make_unique<Viewed>();
  std::weak_ptr<const Peer> shown;
  {
    const PeerPtr b = peer(2, "b");
    shown = b;
    gone->hint(0, b, 9, kNow + 1s);
    gone->publish(0);
  }
  EXPECT_EQ(gone->route(0).owner(), "b");
  Viewed stays;
  stays.hint(0, peer(3, "an owner whose name does not fit into a short string"), 9, kNow + 1s);
  stays.publish(0);
  const Route held = stays.route(0);
  gone.reset();
  Viewed other;
  EXPECT_EQ(other.route(0).verdict, Verdict::unowned);
  EXPECT_TRUE(shown.expired());
  EXPECT_EQ(held.owner(), "an owner whose name does not fit into a short string");
}

TEST(RouteView, keeps_nothing_of_a_hundred_thousand_changes) {
  Viewed v;
  const auto change = [&](int times) {
    for (int i = 1; i <= times; ++i) v.lead(0, i, kNow + 160ms, static_cast<std::uint16_t>(i));
  };
  change(100);
  const std::uint64_t before = testing_allocations::live_bytes();
  change(100'000);
  EXPECT_LT(testing_allocations::live_bytes(), before + 4096) << "4 bytes a change";
}

TEST(RouteView, routes_without_allocating) {
  Viewed v;
  v.lead(0, 7, kNow + 160ms, 1);
  v.hint(1, peer(2, "b"), 9, kNow + 320ms);
  v.publish(1);
  EXPECT_EQ(v.route(0).verdict, Verdict::local);  // a thread's first call may
  std::uint64_t before = testing_allocations::count();
  std::size_t locals = 0;
  std::size_t remotes = 0;
  for (std::uint32_t slot = 0; slot < 1000; ++slot) {
    const Verdict verdict = v.route(slot).verdict;
    locals += verdict == Verdict::local;
    remotes += verdict == Verdict::remote;
  }
  EXPECT_EQ(testing_allocations::count(), before);
  EXPECT_EQ(locals, 250u);
  EXPECT_EQ(remotes, 250u);
  v.hint(1, peer(3, "c"), 12, kNow + 320ms);
  v.publish(1);
  EXPECT_GT(testing_allocations::count(), before) << "the writer does, so the counter counts";
  before = testing_allocations::count();
  EXPECT_EQ(v.route(1).owner(), "c");
  EXPECT_EQ(testing_allocations::count(), before) << "a new snapshot is taken over as it is";
}

}  // namespace
}  // namespace neliroute
