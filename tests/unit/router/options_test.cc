// What options are refused before a broker is asked.

#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <map>
#include <neliroute/options.h>
#include <neliroute/router.h>
#include <string>
#include <vector>

#include "router/options/option_checks.h"
#include "router/options/option_parts.h"

namespace neliroute {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(EndpointTest, IsANameOrAnAddressAndAPort) {
  for (const std::string& good :
       {std::string("x:1"), std::string("10.0.0.7:8080"), std::string("db-1.pod_2.local:65535"),
        std::string("xn--e1aybc.example.:443"), std::string("1-and-1.example:80"),
        std::string("[::1]:80"), std::string("[2001:db8::7]:8080"),
        std::string("[::ffff:1.2.3.4]:1"),
        std::string(253, 'x') + ":1"}) {
    EXPECT_TRUE(check_endpoint(good).has_value()) << good;
  }
}

TEST(EndpointTest, AnythingElseIsRefusedWithWhatWasExpected) {
  for (const std::string& bad :
       {std::string(), std::string(":"), std::string("x"), std::string("x:"), std::string(":1"),
        std::string("x:0"), std::string("x:65536"), std::string("x:99999999999999999999"),
        std::string("x:+1"), std::string("x: 1"), std::string("x:1 "), std::string("x:1:2"),
        std::string("10.0.0.256:1"), std::string("10.0.0:1"), std::string("1:1"),
        std::string("...:1"), std::string(".x:1"), std::string("x..y:1"), std::string("-x:1"),
        std::string("::1:80"), std::string("[::1]"), std::string("[::1:80"), std::string("[]:80"),
        std::string("[10.0.0.7]:80"), std::string("[::g]:80"), std::string("[::1]x:80"),
        std::string("a b:1"), std::string("a\0b:1", 5), std::string("ключ:1"),
        std::string("http://x:1"), std::string("x/y:1"), std::string(254, 'x') + ":1"}) {
    const auto refused = check_endpoint(bad);
    ASSERT_FALSE(refused.has_value()) << bad;
    EXPECT_EQ(refused.error().code(), Errc::bad_option);
    EXPECT_THAT(refused.error().message(), StartsWith("\"" + bad + "\""));
    EXPECT_THAT(refused.error().message(), HasSubstr("[2001:db8::7]:8080"));
  }
}

TEST(EndpointTest, AnAddressThatNobodyCanConnectToIsRefusedWithWhatToWrite) {
  for (const char* bad :
       {"0.0.0.0:8080", "[::]:8080", "[0:0::0]:1", "[::ffff:0.0.0.0]:1", "224.0.0.1:1",
        "239.255.255.250:1900", "[ff02::1]:1", "[::ffff:224.0.0.1]:1", "255.255.255.255:1"}) {
    const auto refused = check_endpoint(bad);
    ASSERT_FALSE(refused.has_value()) << bad;
    EXPECT_EQ(refused.error().code(), Errc::bad_option);
    EXPECT_THAT(refused.error().message(), StartsWith("\"" + std::string(bad) + "\""));
    EXPECT_THAT(refused.error().message(), HasSubstr("write what callers connect to, as in"));
  }
  for (const char* good : {"127.0.0.1:1", "[::1]:1", "223.255.255.255:1", "240.0.0.1:1",
                           "0.0.0.1:1", "[fe80::1]:1"}) {
    EXPECT_TRUE(check_endpoint(good).has_value()) << good;
  }
}

TEST(EndpointTest, OneOfThisMachineIsWarnedOfWhereABrokerIsElsewhere) {
  for (const char* endpoint : {"127.0.0.1:1", "127.9.9.9:1", "localhost:1", "a.localhost:1",
                               "[::1]:1", "[::ffff:127.0.0.1]:1"}) {
    for (const char* brokers :
         {"kafka:9092", "10.0.0.1", "localhost:9092,SSL://b:9093", "[fd::1]"}) {
      EXPECT_THAT(loopback_warning(endpoint, brokers).value_or(""),
                  StartsWith("`process.endpoint` " + std::string(endpoint)))
          << brokers;
    }
    for (const char* brokers : {"127.0.0.1:9092", "localhost", "[::1]:9092,localhost:1", "[::1]",
                                "PLAINTEXT://127.0.0.1:1", ""}) {
      EXPECT_EQ(loopback_warning(endpoint, brokers), std::nullopt) << brokers;
    }
  }
  for (const char* endpoint : {"", "10.0.0.7:1", "localhost.example:1", "[2001:db8::7]:1"}) {
    EXPECT_EQ(loopback_warning(endpoint, "kafka:9092"), std::nullopt) << endpoint;
  }
}

TEST(EndpointTest, ARouterRefusesABadOneBeforeItAsksAnybody) {
  boost::asio::io_context io;
  RouterOptions options;
  options.kafka.brokers = "127.0.0.1:1";
  options.kafka.timeout = std::chrono::minutes{10};
  options.process.endpoint = "10.0.0.7";
  const auto refused = Router::open(io.get_executor(), options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Errc::bad_option);
  EXPECT_THAT(refused.error().message(),
              StartsWith("`process.endpoint` \"10.0.0.7\" is not HOST:PORT"));
}

TEST(AssignmentTest, IsByAnAssignerUnlessAnOptionIsOfAGroup) {
  EXPECT_EQ(assignment_of({}), Assignment::assigner);
  const auto notices_of = [](RouterOptions options) {
    boost::asio::io_context io;
    std::vector<std::string> notices;
    options.kafka.brokers = "127.0.0.1:1";
    options.kafka.timeout = std::chrono::milliseconds{1};
    options.on_notice = [&](const Notice& notice) { notices.push_back(notice.text); };
    EXPECT_EQ(Router::open(io.get_executor(), options).error().code(), Errc::ledger_unreachable);
    std::erase_if(notices, [](const std::string& one) {
      return one.find("`assignment`") == std::string::npos;
    });
    return notices;
  };
  EXPECT_THAT(notices_of({}), IsEmpty());
  std::map<std::string, RouterOptions> implied;
  implied["`variation` broadcast"].variation = Variation::broadcast;
  implied["`group_protocol`"].group_protocol = GroupProtocol::classic;
  implied["`timing.hang_limit`"].timing.hang_limit = std::chrono::seconds{10};
  for (auto& [option, options] : implied) {
    EXPECT_EQ(assignment_of(options), Assignment::group) << option;
    EXPECT_THAT(notices_of(options), ElementsAre(StartsWith(option + " is of `assignment` group")));
    options.assignment = Assignment::group;
    EXPECT_THAT(notices_of(options), IsEmpty()) << option;
    options.assignment = Assignment::assigner;
    EXPECT_EQ(assignment_of(options), Assignment::assigner) << option;
  }
}

TEST(AssignmentTest, WhatOnlyAGroupHasIsRefusedBesideAnAssigner) {
  boost::asio::io_context io;
  RouterOptions options;
  options.kafka.brokers = "127.0.0.1:1";
  options.kafka.timeout = std::chrono::minutes{10};
  options.assignment = Assignment::assigner;
  options.group_protocol = GroupProtocol::classic;
  auto refused = Router::open(io.get_executor(), options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(), StartsWith("`group_protocol` is of `assignment` group"));
  options.group_protocol.reset();
  options.variation = Variation::broadcast;
  refused = Router::open(io.get_executor(), options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Errc::bad_option);
  EXPECT_THAT(refused.error().message(), StartsWith("`assignment` assigner is of `variation` "));
}

TEST(AssignmentTest, WhatOnlyAnAssignerHasIsRefusedBesideAGroup) {
  boost::asio::io_context io;
  RouterOptions options;
  options.kafka.brokers = "127.0.0.1:1";
  options.kafka.timeout = std::chrono::minutes{10};
  options.weight = 2;
  options.assignment = Assignment::group;
  auto refused = Router::open(io.get_executor(), options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Errc::bad_option);
  EXPECT_THAT(refused.error().message(), StartsWith("`weight` is of `assignment` assigner only"));
  options.assignment = Assignment::assigner;
  options.weight = 1001;
  refused = Router::open(io.get_executor(), options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message(), "`weight` 1001 is more than 1000");
  options.weight = 1;
  options.seat_priority = 101;
  refused = Router::open(io.get_executor(), options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message(), "`seat_priority` 101 is more than 100");
  options.seat_priority = 51;
  options.assignment = Assignment::group;
  refused = Router::open(io.get_executor(), options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Errc::bad_option);
  EXPECT_THAT(refused.error().message(), StartsWith("`seat_priority` is of `assignment` assigner"));
}

TEST(HashTest, SlotsThatNoKeyReachesAreRefused) {
  EXPECT_TRUE(check_hash(SlotCount{65536}, {Hash::crc16}).has_value());
  EXPECT_TRUE(check_hash(SlotCount{65537}, {Hash::xxh3}).has_value());
  const auto refused = check_hash(SlotCount{65537}, {Hash::crc16});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Errc::bad_option);
  EXPECT_THAT(refused.error().message(), HasSubstr("65536 values"));
}

TEST(DefaultNameTest, TellsProcessesOfOneHostNumberAndTimeApart) {
  const std::string one = default_process_name(ProcessId{0x17});
  EXPECT_THAT(one, testing::EndsWith("_0000000000000017"));
  EXPECT_NE(one, default_process_name(ProcessId{0x18}));
}

}  // namespace
}  // namespace neliroute
