// Threads that nobody waits for.
#include "base/side_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>

#include "tests/unit/base/doors.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

TEST(SideThreadsTest, MayBeGivenTimeToEnd) {
  boost::asio::io_context io;
  const auto doors = std::make_shared<Doors>();
  doors->close("a");
  SideThreads side(io.get_executor(), 1);
  const auto held = std::make_shared<int>();
  bool told = false;
  EXPECT_TRUE(side.run([doors, held, &told]() -> SideThreads::Then {
    doors->wait_at("a");
    return [&told] { told = true; };
  }));
  EXPECT_TRUE(side.run([doors]() -> SideThreads::Then {
    doors->wait_at("never");
    return nullptr;
  }));
  doors->wait_arrived(1);
  side.close(0ms);
  EXPECT_EQ(held.use_count(), 2);
  doors->open("a");
  side.close(30s);
  EXPECT_EQ(held.use_count(), 1) << "nothing of it is left";
  EXPECT_THAT(doors->arrived(), ElementsAre("a"));
  io.poll();
  EXPECT_FALSE(told) << "nobody is there to be told";
}

TEST(SideThreadsTest, TellNobodyWhatWasDoneBeforeTheEnd) {
  boost::asio::io_context io;
  const auto doors = std::make_shared<Doors>();
  SideThreads side(io.get_executor(), 1);
  bool told = false;
  EXPECT_TRUE(side.run([&told]() -> SideThreads::Then { return [&told] { told = true; }; }));
  EXPECT_TRUE(side.run([doors]() -> SideThreads::Then {
    doors->wait_at("second");
    return [] {};
  }));
  doors->wait_arrived(1);
  side.close(30s);
  EXPECT_GE(io.poll(), 1u) << "it was on its way";
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace neliroute
