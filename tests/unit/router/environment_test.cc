// Options from the command's variables.
#include <gmock/gmock.h>
#include <neliroute/options.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace neliroute {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

/// Variables, for as long as the test runs.
class Environment : public testing::Test {
 protected:
  ~Environment() override {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }

 private:
  std::vector<std::string> set_;
};

using EnvironmentTest = Environment;

TEST_F(EnvironmentTest, ThatSaysNothingLeavesTheDefaults) {
  const auto options = RouterOptions::from_environment();
  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(options->kafka.brokers, "127.0.0.1:9092");
  EXPECT_EQ(options->slots.value(), 1024u);
  EXPECT_FALSE(options->timing.lease);
  EXPECT_FALSE(options->assignment);
}

TEST_F(EnvironmentTest, SaysWhatTheCommandsFlagsSay) {
  const std::vector<std::pair<std::string, std::string>> all = {
      {"BROKERS", "a:1,b:2"},    {"TOPIC", "ledger"},       {"TIMEOUT", "5s"},
      {"X", "client.id=me\nsecurity.protocol=SSL"},         {"GROUP", "team"},
      {"LANE", "3"},             {"GROUP_PROTOCOL", "classic"}, {"PARTITIONS", "32"},
      {"LOGS", "2"},             {"SLOTS", "4096"},         {"HASH", "crc16"},
      {"HASH_TAGS", "true"},     {"ALLOW_UNEVEN", "yes"},   {"MODE", "exclusive"},
      {"PROFILE", "fast"},       {"SESSION", "600ms"},      {"INTERVAL", "90ms"},
      {"LEASE", "400ms"},        {"CLOCK_ERROR", "20ms"},   {"HANG_LIMIT", "2s"},
      {"NAME", "alpha"},         {"ENDPOINT", "10.0.0.7:80"}, {"ROLES", "7"},
      {"VARIATION", "broadcast"}, {"LOCAL_CLOCK_ERROR", "5ms"}, {"GROUPS", "2"},
      {"NO_HINTS", "1"}};
  for (const auto& [name, value] : all) set("NELIROUTE_" + name, value);
  const auto read = RouterOptions::from_environment();
  ASSERT_TRUE(read) << read.error();
  const RouterOptions& o = *read;
  EXPECT_EQ(o.kafka.brokers, "a:1,b:2");
  EXPECT_EQ(o.kafka.topic, "ledger");
  EXPECT_EQ(o.kafka.timeout, 5s);
  EXPECT_EQ(o.kafka.properties.at("client.id"), "me");
  EXPECT_EQ(o.kafka.properties.at("security.protocol"), "SSL");
  EXPECT_EQ(o.group, "team");
  EXPECT_EQ(o.lane, Lane{3});
  EXPECT_EQ(o.group_protocol, GroupProtocol::classic);
  EXPECT_EQ(o.partitions, 32u);
  EXPECT_EQ(o.logs, 2u);
  EXPECT_EQ(o.slots, SlotCount{4096});
  EXPECT_EQ(o.hash, (HashScheme{Hash::crc16, HashTags::on}));
  EXPECT_TRUE(o.allow_uneven);
  EXPECT_EQ(o.mode, Mode::exclusive);
  EXPECT_EQ(o.timing.profile, Profile::fast);
  EXPECT_EQ(o.timing.session, 600ms);
  EXPECT_EQ(o.timing.interval, 90ms);
  EXPECT_EQ(o.timing.lease, 400ms);
  EXPECT_EQ(o.timing.clock_error, 20ms);
  EXPECT_EQ(o.timing.hang_limit, 2s);
  EXPECT_EQ(o.process.name, "alpha");
  EXPECT_EQ(o.process.endpoint, "10.0.0.7:80");
  EXPECT_EQ(o.roles, 7u);
  EXPECT_EQ(o.variation, Variation::broadcast);
  EXPECT_EQ(o.timing.local_clock_error, 5ms);
  EXPECT_EQ(o.timing.groups, 2u);
  EXPECT_FALSE(o.hints);
}

TEST_F(EnvironmentTest, NamesTheVariableThatIsWrong) {
  set("NELIROUTE_SLOTS", "many");
  const auto options = RouterOptions::from_environment();
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().code(), Errc::bad_option);
  EXPECT_THAT(options.error().message(), StartsWith("NELIROUTE_SLOTS: "));
  EXPECT_THAT(options.error().message(), HasSubstr("many"));
  EXPECT_FALSE(WatcherOptions::from_environment());
}

TEST_F(EnvironmentTest, SaysWhoAssigns) {
  set("NELIROUTE_ASSIGNMENT", "group");
  const auto options = RouterOptions::from_environment();
  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(options->assignment, Assignment::group);
  EXPECT_EQ(options->weight, 1u);
  set("NELIROUTE_WEIGHT", "3");
  EXPECT_EQ(RouterOptions::from_environment()->weight, 3u);
  set("NELIROUTE_WEIGHT", "1001");
  EXPECT_THAT(RouterOptions::from_environment().error().message(),
              StartsWith("NELIROUTE_WEIGHT: \"1001\" is not a whole number from 0 to 1000"));
  set("NELIROUTE_WEIGHT", "0");
  EXPECT_EQ(RouterOptions::from_environment()->seat_priority, kSeatPriorityDefault);
  set("NELIROUTE_SEAT_PRIORITY", "100");
  EXPECT_EQ(RouterOptions::from_environment()->seat_priority, 100u);
  set("NELIROUTE_SEAT_PRIORITY", "101");
  EXPECT_THAT(RouterOptions::from_environment().error().message(),
              StartsWith("NELIROUTE_SEAT_PRIORITY: \"101\" is not a whole number from 0 to 100"));
  set("NELIROUTE_SEAT_PRIORITY", "0");
  set("NELIROUTE_ASSIGNMENT", "kafka");
  const auto refused = RouterOptions::from_environment();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "NELIROUTE_ASSIGNMENT: \"kafka\" is no source of assignments; choose group (Kafka's) "
            "or assigner (one of the processes)");
}

TEST_F(EnvironmentTest, NeverRepeatsASecret) {
  set("NELIROUTE_X", "hunter2");
  const auto options = RouterOptions::from_environment();
  ASSERT_FALSE(options);
  EXPECT_THAT(options.error().message(), Not(HasSubstr("hunter2")));
}

TEST_F(EnvironmentTest, MaySaySomethingThatIsForTheCommandAlone) {
  set("NELIROUTE_HTTP", "127.0.0.1:0");
  set("NELIROUTE_LOG_LEVEL", "debug");
  EXPECT_TRUE(RouterOptions::from_environment());
}

TEST_F(EnvironmentTest, TellsAWatcherWhatItHas) {
  set("NELIROUTE_PROFILE", "fast");
  set("NELIROUTE_SLOTS", "64");
  set("NELIROUTE_LANE", "2");
  const auto options = WatcherOptions::from_environment();
  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(options->slots, SlotCount{64});
  EXPECT_EQ(options->lane, Lane{2});
  EXPECT_EQ(options->lease, 1500ms) << "the profile's";
  EXPECT_EQ(options->missing_topic, MissingTopic::wait_for_timeout);
}

}  // namespace
}  // namespace neliroute
