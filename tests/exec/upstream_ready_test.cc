// Waiting for an application that starts.
#include "tool/upstream/ready.h"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/exec/little_server.h"
#include "tool/print/log.h"

namespace neliroute::tool {
namespace {

using namespace std::chrono_literals;

struct UpstreamReady : testing::Test {
  /// A port that refuses connections for as long as this lives.
  boost::asio::io_context io{1};
  boost::asio::ip::tcp::socket taken{io, {boost::asio::ip::address_v4::loopback(), 0}};
  std::string address = "127.0.0.1:" + std::to_string(taken.local_endpoint().port());
  HealthProbe probe{io.get_executor(), address, std::nullopt};
};

TEST_F(UpstreamReady, rests_between_two_tries) {
  int tries = 0;
  const auto ready = await_upstream(io, "--upstream", probe, 350ms, [&tries] {
    ++tries;
    return false;
  });
  ASSERT_FALSE(ready);
  EXPECT_NE(ready.error().message().find("--upstream " + address + " accepts no connection"),
            std::string::npos);
  EXPECT_GE(tries, 1);
  EXPECT_LE(tries, 4) << "once in 100 ms";
}

TEST_F(UpstreamReady, says_after_a_second_what_it_waits_for_and_for_how_long) {
  std::vector<std::string> said;
  divert_log([&](std::string_view line) { said.emplace_back(line); });
  EXPECT_FALSE(await_upstream(io, "--upstream", probe, 20s, [&] { return !said.empty(); }));
  divert_log({});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("--upstream " + address + " accepts no connection ("),
            std::string::npos) << said[0];
  EXPECT_NE(said[0].find("20000 ms (--timeout)"), std::string::npos) << said[0];
}

TEST_F(UpstreamReady, ends_when_somebody_accepts) {
  const LittleServer server([](const std::string&) { return ""; });
  HealthProbe asked(io.get_executor(), server.address(), std::nullopt);
  const auto ready = await_upstream(io, "--upstream", asked, 20s, [] { return false; });
  EXPECT_TRUE(ready);
}

TEST_F(UpstreamReady, ends_when_nobody_ever_will) {
  int tries = 0;
  EXPECT_FALSE(await_upstream(io, "--upstream", probe, 1h, [&tries] { return ++tries > 2; }));
}

}  // namespace
}  // namespace neliroute::tool
