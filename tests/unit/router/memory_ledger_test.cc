// Routers and Watchers on a ledger in this program's memory, as a user's tests have them.
#include <gtest/gtest.h>
#include <neliroute/clock.h>
#include <neliroute/router.h>
#include <neliroute/watcher.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace neliroute {
namespace {

using namespace std::chrono_literals;

constexpr LocalTime::duration kPatience = 30s;  // for a busy machine
constexpr std::uint32_t kSlots = 16;

/// Each test has a store of its own.
struct MemoryLedgerTest : testing::Test {
  RouterOptions options(const std::string& name) const {
    RouterOptions made;
    made.ledger = ledger;
    made.slots = 16;
    made.partitions = kSlots;
    made.mode = mode;
    made.timing.profile = Profile::fast;
    made.process = {name, name + ":1", {}};
    return made;
  }
  WatcherOptions watching() const {
    WatcherOptions made;
    made.ledger = ledger;
    made.slots = 16;
    return made;
  }
  std::unique_ptr<Router> open(const std::string& name) {
    auto router = Router::open(io.get_executor(), options(name));
    EXPECT_TRUE(router) << (router ? "" : router.error().message());
    return router ? std::move(*router) : nullptr;
  }
  std::string why_not(const RouterOptions& how) {
    const auto router = Router::open(io.get_executor(), how);
    return router ? "" : router.error().message();
  }
  std::uint32_t owned_by(const Router& router) const {
    std::uint32_t count = 0;
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      if (router.owns(Slot{slot})) ++count;
    }
    return count;
  }
  bool run_until(const std::function<bool()>& done) {
    const LocalTime deadline = boot_now() + kPatience;
    while (!done() && boot_now() < deadline) {
      io.restart();
      io.run_one_for(20ms);
    }
    return done();
  }

  Mode mode = Mode::non_exclusive;
  boost::asio::io_context io;
  const std::string ledger =
      std::string("memory:") + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(MemoryLedgerTest, TwoRoutersDivideTheSlotsAndAWatcherSeesIt) {
  auto a = open("a");
  auto b = open("b");
  ASSERT_TRUE(a && b);
  ASSERT_TRUE(run_until([&] { return owned_by(*a) == kSlots / 2 && owned_by(*b) == kSlots / 2; }));

  auto watcher = Watcher::open(io.get_executor(), watching());
  ASSERT_TRUE(watcher) << watcher.error().message();
  const auto endpoint_of = [&](const std::string& key) {
    return std::string((*watcher)->route(key).endpoint());
  };
  ASSERT_TRUE(run_until([&] { return !endpoint_of("k").empty(); }));
  EXPECT_EQ(endpoint_of("k"), a->owns("k") ? "a:1" : "b:1");

  // What one leaves the other takes.
  a.reset();
  EXPECT_TRUE(run_until([&] { return owned_by(*b) == kSlots; }));
}

TEST_F(MemoryLedgerTest, ExclusiveOwnersShareToo) {
  mode = Mode::exclusive;
  auto a = open("a");
  ASSERT_TRUE(run_until([&] { return owned_by(*a) == kSlots; }));
  auto b = open("b");
  EXPECT_TRUE(run_until([&] { return owned_by(*a) == kSlots / 2 && owned_by(*b) == kSlots / 2; }));
}

TEST_F(MemoryLedgerTest, OneThatDrainsHandsOverAtOnce) {
  auto a = open("a");
  auto b = open("b");
  ASSERT_TRUE(run_until([&] { return owned_by(*a) == kSlots / 2 && owned_by(*b) == kSlots / 2; }));
  bool left = false;
  a->async_drain(a->timing().drain, [&](boost::system::error_code error) {
    EXPECT_FALSE(error) << error.message();
    left = true;
  });
  EXPECT_TRUE(run_until([&] { return left && owned_by(*b) == kSlots; }));
}

TEST_F(MemoryLedgerTest, AStoreEndsWithItsLastUser) {
  auto a = open("a");
  ASSERT_TRUE(run_until([&] { return owned_by(*a) == kSlots; }));
  const RouterOptions other = [&] {
    RouterOptions how = options("b");
    how.logs = 2;
    return how;
  }();
  EXPECT_NE(why_not(other).find("has 4; leave `logs` out"), std::string::npos) << why_not(other);
  a.reset();
  io.poll();
  EXPECT_EQ(why_not(other), "");
}

TEST_F(MemoryLedgerTest, WhatItCannotDoIsRefused) {
  RouterOptions how = options("a");
  how.assignment = Assignment::group;
  EXPECT_NE(why_not(how).find("has no group; leave `assignment`"), std::string::npos);
  how = options("a");
  how.timing.lease = 361'000ms;
  EXPECT_NE(why_not(how).find("less than 10 x the lease of 361000 ms"), std::string::npos)
      << why_not(how);

  const auto early = Watcher::open(io.get_executor(), watching());
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code(), Errc::ledger_unfit);
  EXPECT_NE(early.error().message().find("open a Router on it first"), std::string::npos);
}

}  // namespace
}  // namespace neliroute
