// Waiting for an application that starts.
#include "tool/upstream/health_watch.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tool/print/log.h"

namespace neliroute::tool {
namespace {

using namespace std::chrono_literals;

struct HealthWatchTest : testing::Test {
  void watch(const std::string& at, milliseconds starts_within) {
    HealthWatch::Handlers handlers;
    handlers.healthy = [this] { ++healthy; };
    handlers.unhealthy = [this](const std::string& why) { unhealthy.push_back(why); };
    handlers.never = [this](const std::string& why) { never.push_back(why); };
    watched = std::make_unique<HealthWatch>(
        io.get_executor(), HealthWatch::Options{at, std::nullopt, 300ms, starts_within},
        std::move(handlers));
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!condition() && std::chrono::steady_clock::now() < end) io.run_one_for(100ms);
    return condition();
  }

  boost::asio::io_context io{1};
  /// A port that refuses connections for as long as this lives.
  boost::asio::ip::tcp::socket taken{io, {boost::asio::ip::address_v4::loopback(), 0}};
  std::string address = "127.0.0.1:" + std::to_string(taken.local_endpoint().port());
  int healthy = 0;
  std::vector<std::string> unhealthy;
  std::vector<std::string> never;
  std::unique_ptr<HealthWatch> watched;
};

TEST_F(HealthWatchTest, one_that_does_not_start_in_time_is_given_up) {
  watch(address, 250ms);
  ASSERT_TRUE(run_until([this] { return !never.empty(); }));
  EXPECT_EQ(never[0].find(address + " accepts no connection ("), 0u) << never[0];
  EXPECT_FALSE(watched->has_started());
  io.run_for(300ms);
  EXPECT_EQ(never.size(), 1u) << "it is asked no more";
  EXPECT_EQ(healthy, 0);
  EXPECT_TRUE(unhealthy.empty());
}

TEST_F(HealthWatchTest, says_after_a_second_what_it_waits_for_and_for_how_long) {
  std::vector<std::string> said;
  divert_log([&](std::string_view line) { said.emplace_back(line); });
  watch(address, 20s);
  EXPECT_TRUE(run_until([&] { return !said.empty(); }));
  divert_log({});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("--upstream " + address + " accepts no connection ("),
            std::string::npos) << said[0];
  EXPECT_NE(said[0].find("20000 ms (--timeout)"), std::string::npos) << said[0];
}

TEST_F(HealthWatchTest, its_first_answer_is_enough_and_its_last_is_not) {
  using boost::asio::ip::tcp;
  tcp::acceptor server(io, {boost::asio::ip::address_v4::loopback(), 0});
  watch("127.0.0.1:" + std::to_string(server.local_endpoint().port()), 20s);
  ASSERT_TRUE(run_until([this] { return healthy == 1; }));
  EXPECT_TRUE(watched->has_started());
  server.close();
  ASSERT_TRUE(run_until([this] { return !unhealthy.empty(); }));
  EXPECT_NE(unhealthy[0].find("accepts no connection"), std::string::npos) << unhealthy[0];
}

}  // namespace
}  // namespace neliroute::tool
