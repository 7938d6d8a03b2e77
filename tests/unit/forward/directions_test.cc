// Where a request goes next, by what a Watcher or a Router says.
#include "forward/directions.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace neliroute {
namespace {

using forward::Direction;
using forward::Visit;

constexpr Slot kSlot{7};
const Epoch kEpoch{1, 9};

/// Nobody waits there, or reports anything.
struct Unasked {
  void async_route_after(Slot, const Epoch&, milliseconds, forward::Directions::RouteHandler) {}
  void suspect(std::string_view) {}
  void reached(std::string_view) {}
  void redirected(Slot, std::string_view, const Epoch&) {}
};

/// Knows one owner.
struct Known : Unasked {
  [[nodiscard]] Route route(Slot slot) const {
    Route made;
    made.slot = slot;
    made.verdict = verdict;
    if (verdict != Verdict::remote) return made;
    made.owner_info = &owner;
    made.epoch = kEpoch;
    made.suspected = suspected;
    made.stale = stale;
    if (has_next) made.next_info = &next;
    return made;
  }
  [[nodiscard]] std::string owner_beside(Slot, std::string_view but, std::string_view nor) const {
    return beside == but || beside == nor ? "" : beside;
  }
  ProcessInfo owner{"other", "h:2", {}};
  ProcessInfo next{"next", "h:3", {}};
  bool has_next = false;
  std::string beside;
  Verdict verdict = Verdict::remote;
  bool suspected = false;
  bool stale = false;
};

struct Watched : testing::Test {
  [[nodiscard]] Direction direct(std::uint32_t hops, const Epoch& epoch = kNoEpoch) {
    return directions.direct({kSlot, epoch, hops});
  }
  Known known;
  forward::WatchedDirections<Known&> directions{known, 2};
};

TEST_F(Watched, a_request_is_sent_to_the_owner_until_the_hop_limit) {
  for (const std::uint32_t hops : {0U, 1U}) {
    const Direction made = direct(hops);
    EXPECT_EQ(made.answer, Admit::redirect) << hops;
    EXPECT_EQ(made.endpoint, "h:2");
    EXPECT_EQ(made.epoch, kEpoch);
  }
  for (const std::uint32_t hops : {2U, 3U, 1000U}) {
    const Direction made = direct(hops);
    EXPECT_EQ(made.answer, Admit::refuse) << hops;
    EXPECT_FALSE(made.leaving) << "508, not 421";
  }
}

TEST_F(Watched, the_limit_refuses_nothing_that_would_wait) {
  EXPECT_EQ(direct(2, kEpoch).answer, Admit::wait);
  known.verdict = Verdict::unowned;
  EXPECT_EQ(direct(2).answer, Admit::wait);
}

TEST_F(Watched, a_gateways_limit_is_3) {
  forward::WatchedDirections<Known&> usual(known);
  EXPECT_EQ(usual.direct({kSlot, kNoEpoch, 2}).answer, Admit::redirect);
  EXPECT_EQ(usual.direct({kSlot, kNoEpoch, 3}).answer, Admit::refuse);
}

TEST_F(Watched, whether_the_owner_is_suspected_or_stale_is_passed_on) {
  EXPECT_FALSE(direct(0).suspected);
  EXPECT_FALSE(direct(0).stale);
  known.suspected = known.stale = true;
  EXPECT_TRUE(direct(0).suspected);
  EXPECT_TRUE(direct(0).stale);
  EXPECT_TRUE(direct(0, kEpoch).stale) << "also where it waits for another one";
}

TEST_F(Watched, others_to_ask_are_who_claimed_the_slot_and_an_owner_beside) {
  EXPECT_TRUE(directions.detours(kSlot).empty()) << "nobody else is known";
  known.beside = "h:4";
  EXPECT_EQ(directions.detours(kSlot), std::vector<std::string>{"h:4"});
  known.has_next = true;
  EXPECT_EQ(directions.detours(kSlot), (std::vector<std::string>{"h:3", "h:4"}));
  known.next.endpoint = "h:2";
  EXPECT_EQ(directions.detours(kSlot), std::vector<std::string>{"h:4"}) << "the owner itself";
}

/// A router that answers as the test says, and is closed or not.
struct Answering : Unasked {
  [[nodiscard]] Admission admit(Slot slot, const Epoch& epoch, std::uint32_t hops) const {
    if (is_closed) return Admission(Admit::refuse, Route{});  // it reads nothing any more
    return admit_last(slot, epoch, hops);
  }
  [[nodiscard]] Admission admit_last(Slot slot, const Epoch& epoch, std::uint32_t hops) const {
    const Route route = known.route(slot);
    if (route.verdict != Verdict::remote || route.epoch <= epoch) {
      return Admission(Admit::wait, route);
    }
    return Admission(hops >= 2 ? Admit::refuse : Admit::redirect, route);
  }
  [[nodiscard]] bool closed() const { return is_closed; }
  Known known;
  bool is_closed = false;
};

struct Admitted : testing::Test {
  [[nodiscard]] Direction direct(std::uint32_t hops = 0) {
    return directions.direct({kSlot, kNoEpoch, hops});
  }
  Answering router;
  forward::AdmittedDirections<Answering&> directions{router, "127.0.0.1:9"};
};

TEST_F(Admitted, a_request_is_sent_on_until_the_hop_limit) {
  for (const std::uint32_t hops : {0U, 1U}) {
    EXPECT_EQ(direct(hops).answer, Admit::redirect) << hops;
    EXPECT_EQ(direct(hops).endpoint, "h:2");
  }
  const Direction made = direct(2);
  EXPECT_EQ(made.answer, Admit::refuse);
  EXPECT_FALSE(made.leaving);
}

// Its router reads nothing any more.
TEST_F(Admitted, who_has_left_sends_on_to_whom_it_knew_last) {
  router.is_closed = true;
  EXPECT_EQ(direct().answer, Admit::redirect);
  EXPECT_EQ(direct().endpoint, "h:2");
  EXPECT_EQ(direct().epoch, kEpoch);
  EXPECT_FALSE(direct().leaving);
}

TEST_F(Admitted, who_has_left_and_knew_nobody_says_so) {
  router.is_closed = true;
  router.known.verdict = Verdict::unowned;
  EXPECT_EQ(direct().answer, Admit::refuse);
  EXPECT_TRUE(direct().leaving);
  EXPECT_EQ(direct().endpoint, "");
}

TEST_F(Admitted, who_has_left_sends_nobody_in_a_circle) {
  router.is_closed = true;
  for (const Direction& made : {direct(2), directions.direct({kSlot, kEpoch, 0})}) {
    EXPECT_EQ(made.answer, Admit::refuse);
    EXPECT_TRUE(made.leaving);
    EXPECT_EQ(made.endpoint, "h:2") << "which the client is told";
    EXPECT_EQ(made.epoch, kEpoch);
  }
}

TEST_F(Admitted, whether_the_owner_is_suspected_or_stale_is_passed_on) {
  EXPECT_FALSE(direct().suspected);
  EXPECT_FALSE(direct().stale);
  router.known.suspected = router.known.stale = true;
  EXPECT_TRUE(direct().suspected);
  EXPECT_TRUE(direct().stale);
}

// Whoever sent it cannot reach that owner. No member makes detours, so it is sent on once.
TEST_F(Admitted, a_detour_is_sent_on_under_the_epoch_that_it_came_with) {
  EXPECT_EQ(directions.direct({kSlot, kEpoch, 1}).answer, Admit::wait) << "no detour";
  const Direction made = directions.direct({kSlot, kEpoch, 1, /*detour=*/true});
  EXPECT_EQ(made.answer, Admit::redirect);
  EXPECT_EQ(made.endpoint, "h:2");
  EXPECT_EQ(made.epoch, kEpoch);
}

TEST_F(Admitted, a_detour_is_sent_to_nobody_of_a_lesser_epoch_nor_beyond_the_hop_limit) {
  EXPECT_EQ(directions.direct({kSlot, {1, 10}, 1, true}).answer, Admit::wait);
  EXPECT_EQ(directions.direct({kSlot, kEpoch, 2, true}).answer, Admit::wait);
  router.known.verdict = Verdict::unowned;
  EXPECT_EQ(directions.direct({kSlot, kEpoch, 1, true}).answer, Admit::wait);
}

}  // namespace
}  // namespace neliroute
