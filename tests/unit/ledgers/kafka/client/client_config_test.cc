#include "ledgers/kafka/client/client_config.h"

#include <gmock/gmock.h>

#include <array>
#include <string>
#include <vector>

namespace neliroute {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSecret = "hunter2-of-the-tests";

KafkaOptions with(const std::string& property, const std::string& value) {
  KafkaOptions options;
  options.properties[property] = value;
  return options;
}

std::string refusal(const Result<void>& checked) {
  if (checked) return "";
  EXPECT_EQ(checked.error().code(), Errc::bad_option);
  return checked.error().message();
}

Timing timing() {
  using std::chrono::seconds;
  Timing timing;
  timing.interval = milliseconds{100};
  timing.lease = seconds{2};
  timing.clock_error = milliseconds{100};
  timing.session = seconds{2};
  timing.heartbeat = milliseconds{200};
  return timing;
}

/// What a client would run with; empty: the property is not there.
std::string in_force(ClientKind kind, const KafkaOptions& options, const std::string& property,
                     GroupProtocol protocol = GroupProtocol::classic) {
  const auto conf = make_conf(kind, {options, timing(), protocol, false});
  if (!conf) {
    ADD_FAILURE() << conf.error().message();
    return "";
  }
  std::array<char, 512> value{};
  std::size_t size = value.size();
  if (rd_kafka_conf_get(conf->get(), property.c_str(), value.data(), &size) != RD_KAFKA_CONF_OK) {
    return "";
  }
  return value.data();
}

// --- What a user may set -------------------------------------------------------------------------

class RefusedPropertyTest : public testing::TestWithParam<const char*> {};

TEST_P(RefusedPropertyTest, IsRefusedByName) {
  const std::string property = GetParam();
  EXPECT_THAT(refusal(check_properties(with(property, "1"))),
              AllOf(HasSubstr("`kafka.properties` " + property), HasSubstr("can't be set: ")));
}

// librdkafka takes "topic." off the name of a property of topics: another way to say the same.
TEST_P(RefusedPropertyTest, IsRefusedUnderTheNameOfATopicsPropertyToo) {
  const std::string property = std::string("topic.") + GetParam();
  EXPECT_THAT(refusal(check_properties(with(property, "1"))),
              HasSubstr("`kafka.properties` " + property));
}

INSTANTIATE_TEST_SUITE_P(
    Fixed, RefusedPropertyTest,
    testing::Values("session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms",
                    "group.id", "group.instance.id",
                    "acks", "request.required.acks", "enable.idempotence",
                    "enable.auto.commit", "auto.commit.enable", "transactional.id",
                    "message.timeout.ms", "delivery.timeout.ms", "linger.ms",
                    "queue.buffering.max.ms", "isolation.level", "auto.offset.reset",
                    "group.protocol", "bootstrap.servers", "metadata.broker.list"),
    [](const auto& tested) {
      std::string name = tested.param;
      for (char& c : name) c = c == '.' ? '_' : c;
      return name;
    });

TEST(ClientConfigTest, AnyOtherPropertyIsAllowed) {
  EXPECT_EQ(refusal(check_properties(with("metadata.max.age.ms", "5000"))), "");
  EXPECT_EQ(refusal(check_properties(with("compression.type", "zstd"))), "");
  EXPECT_EQ(refusal(check_properties(with("fetch.min.bytes", "1"))), "");
  EXPECT_EQ(refusal(check_properties(with("topic.metadata.refresh.interval.ms", "1000"))), "");
  EXPECT_EQ(refusal(check_properties(with("sasl.username", "somebody"))), "");
}

TEST(ClientConfigTest, AnUnknownPropertyIsRefusedByName) {
  EXPECT_THAT(
      refusal(check_properties(with("no.such.thing", "1"))),
      AllOf(HasSubstr("`kafka.properties` no.such.thing"), HasSubstr(rd_kafka_version_str())));
}

TEST(ClientConfigTest, AValueThatLibrdkafkaRefusesIsToldWithTheProperty) {
  EXPECT_THAT(refusal(check_properties(with("metadata.max.age.ms", "soon"))),
              HasSubstr("`kafka.properties` metadata.max.age.ms"));
}

class FilePropertyTest : public testing::TestWithParam<const char*> {};

TEST_P(FilePropertyTest, OneThatCannotBeReadIsToldWithItsNameAndWhy) {
  EXPECT_THAT(
      refusal(check_properties(with(GetParam(), "/nowhere/key.pem"))),
      AllOf(HasSubstr(std::string("`kafka.properties` ") + GetParam()),
            HasSubstr("/nowhere/key.pem"), HasSubstr("No such file"), HasSubstr("may read")));
  EXPECT_EQ(refusal(check_properties(with(GetParam(), "/dev/null"))), "");
}

INSTANTIATE_TEST_SUITE_P(
    Ssl, FilePropertyTest,
    testing::Values("ssl.ca.location", "ssl.certificate.location", "ssl.crl.location",
                    "ssl.key.location", "ssl.keystore.location"),
    [](const auto& tested) {
      std::string name = tested.param;
      for (char& c : name) c = c == '.' ? '_' : c;
      return name;
    });

TEST(ClientConfigTest, ThatTheLibraryLooksForCertificatesIsNoFile) {
  EXPECT_EQ(refusal(check_properties(with("ssl.ca.location", "probe"))), "");
}

TEST(ClientConfigTest, AnAssignorGoesWithTheClassicProtocolOnly) {
  const KafkaOptions options = with("partition.assignment.strategy", "range");
  EXPECT_EQ(refusal(check_properties(options)), "");
  EXPECT_EQ(refusal(check_properties_of(options, GroupProtocol::classic)), "");
  EXPECT_THAT(refusal(check_properties_of(options, GroupProtocol::consumer)),
              AllOf(HasSubstr("`kafka.properties` partition.assignment.strategy"),
                    HasSubstr("`group_protocol` classic")));
}

TEST(ClientConfigTest, CooperativeAndEagerAssignorsDoNotMix) {
  const KafkaOptions mixed = with("partition.assignment.strategy", "range,cooperative-sticky");
  EXPECT_THAT(refusal(check_properties_of(mixed, GroupProtocol::classic)),
              HasSubstr("`kafka.properties` partition.assignment.strategy"));
  EXPECT_TRUE(is_cooperative({}, GroupProtocol::classic));
  EXPECT_TRUE(is_cooperative(with("partition.assignment.strategy", "cooperative-sticky"),
                             GroupProtocol::classic));
  EXPECT_FALSE(is_cooperative(with("partition.assignment.strategy", "range"),
                              GroupProtocol::classic));
}

TEST(ClientConfigTest, ARemoteAssignorGoesWithTheConsumerProtocolOnly) {
  const KafkaOptions options = with("group.remote.assignor", "uniform");
  EXPECT_EQ(refusal(check_properties_of(options, GroupProtocol::consumer)), "");
  EXPECT_THAT(refusal(check_properties_of(options, GroupProtocol::classic)),
              HasSubstr("`kafka.properties` group.remote.assignor"));
}

// --- Secrets -------------------------------------------------------------------------------------

TEST(SecretsTest, NoMessageShowsASecretsValue) {
  for (const std::string property : {"group.id", "sasl.passwort", "security.protocol"}) {
    KafkaOptions options = with("sasl.password", kSecret);
    options.properties[property] = "wrong";
    EXPECT_THAT(refusal(check_properties(options)),
                AllOf(HasSubstr(property), Not(HasSubstr(kSecret))));
  }
}

// The library may quote what it cannot use.
TEST(SecretsTest, ASecretThatIsRefusedIsNamedWithoutItsValue) {
  for (const std::string property : {"ssl.key.pem", "ssl.certificate.pem", "ssl.ca.pem",
                                     "ssl.key.password", "sasl.oauthbearer.config",
                                     "sasl.oauthbearer.client.secret"}) {
    KafkaOptions options = with(property, kSecret);
    options.properties["security.protocol"] = "ssl";
    std::string message = refusal(check_properties(options));
    const auto client =
        make_client(ClientKind::tail, {options, timing(), GroupProtocol::classic, false});
    if (!client) message += client.error().message();
    EXPECT_THAT(message, Not(HasSubstr(kSecret))) << property;
  }
}

TEST(SecretsTest, AreTakenOutOfEveryText) {
  KafkaOptions options = with("sasl.password", kSecret);
  options.properties["ssl.key.password"] = "";  // an empty one is in every text
  options.properties["sasl.username"] = "somebody";
  const Secrets secrets{options};
  EXPECT_EQ(secrets.without(std::string("a ") + kSecret + kSecret + " b somebody"),
            "a ****** b somebody");
  EXPECT_EQ(secrets.without(""), "");
}

TEST(SecretsTest, TheLogIsPassedOnWithoutThemAndOnce) {
  LogFilter filter{with("sasl.password", kSecret)};
  Notice notice;
  ASSERT_TRUE(filter.accept(3, "FAIL", std::string("no ") + kSecret + " at 1", notice));
  EXPECT_EQ(notice.severity, Severity::warning);
  EXPECT_THAT(notice.text, AllOf(HasSubstr("no *** at 1"), Not(HasSubstr(kSecret))));
  EXPECT_FALSE(filter.accept(3, "FAIL", std::string("no ") + kSecret + " at 2", notice));
  EXPECT_FALSE(filter.accept(7, "DEBUG", "something else", notice));
}

TEST(LogFilterTest, RemembersTheLastFewLinesOnly) {
  LogFilter filter{KafkaOptions{}};
  Notice notice;
  ASSERT_TRUE(filter.accept(6, "FAIL", "first", notice));
  EXPECT_EQ(notice.severity, Severity::info);
  for (char c = 'a'; c <= 'z'; ++c) {  // fewer than it remembers
    EXPECT_TRUE(filter.accept(6, "FAIL", std::string("other ") + c, notice));
  }
  EXPECT_FALSE(filter.accept(6, "FAIL", "first", notice));
  for (char c = 'a'; c <= 'z'; ++c) {
    EXPECT_TRUE(filter.accept(6, "FAIL", std::string("another ") + c, notice));
  }
  EXPECT_TRUE(filter.accept(6, "FAIL", "first", notice));
  EXPECT_FALSE(filter.accept(6, "FAIL", "another z", notice));
}

// --- Which client gets what ----------------------------------------------------------------------

#if RD_KAFKA_VERSION >= 0x020c0000  // older ones do not know it

TEST(ClientConfigTest, WithTheConsumerProtocolTheSessionIsTheBrokers) {
  const auto of = [](const char* property, GroupProtocol protocol) {
    return in_force(ClientKind::group, KafkaOptions{}, property, protocol);
  };
  EXPECT_EQ(of("group.protocol", GroupProtocol::consumer), "consumer");
  EXPECT_EQ(of("group.protocol", GroupProtocol::classic), "classic");
  EXPECT_EQ(of("session.timeout.ms", GroupProtocol::classic), "2000");
  EXPECT_NE(of("session.timeout.ms", GroupProtocol::consumer), "2000");
}

#endif

TEST(ClientConfigTest, EachClientGetsThePropertiesThatItKnows) {
  KafkaOptions options = with("compression.type", "gzip");
  options.properties["fetch.min.bytes"] = "3";
  options.properties["metadata.max.age.ms"] = "4321";
  EXPECT_EQ(in_force(ClientKind::producer, options, "compression.type"), "gzip");
  EXPECT_EQ(in_force(ClientKind::tail, options, "compression.type"), "none");
  EXPECT_EQ(in_force(ClientKind::producer, options, "fetch.min.bytes"), "1");
  EXPECT_EQ(in_force(ClientKind::tail, options, "fetch.min.bytes"), "3");
  for (const auto kind : {ClientKind::admin, ClientKind::producer, ClientKind::tail,
                          ClientKind::group}) {
    EXPECT_EQ(in_force(kind, options, "metadata.max.age.ms"), "4321");
    EXPECT_EQ(in_force(kind, options, "allow.auto.create.topics"), "false");
  }
}

TEST(ClientConfigTest, NoClientKeepsMetricsForTheBrokersUnlessToldTo) {
  if (in_force(ClientKind::admin, {}, "enable.metrics.push").empty()) {
    return;  // an older library has none
  }
  for (const auto kind : {ClientKind::admin, ClientKind::producer, ClientKind::tail,
                          ClientKind::group}) {
    EXPECT_EQ(in_force(kind, {}, "enable.metrics.push"), "false");
    EXPECT_EQ(in_force(kind, with("enable.metrics.push", "true"), "enable.metrics.push"), "true");
  }
}

TEST(ClientConfigTest, WhatTheProtocolFixesIsInForce) {
  const KafkaOptions options;
  EXPECT_EQ(in_force(ClientKind::producer, options, "enable.idempotence"), "true");
  EXPECT_EQ(in_force(ClientKind::producer, options, "message.timeout.ms"), "2000");
  EXPECT_EQ(in_force(ClientKind::producer, options, "acks"), "-1");
  EXPECT_EQ(in_force(ClientKind::tail, options, "isolation.level"), "read_uncommitted");
  EXPECT_EQ(in_force(ClientKind::tail, options, "enable.partition.eof"), "true");
  EXPECT_EQ(in_force(ClientKind::group, options, "session.timeout.ms"), "2000");
  EXPECT_EQ(in_force(ClientKind::group, options, "heartbeat.interval.ms"), "200");
  EXPECT_EQ(in_force(ClientKind::group, options, "partition.assignment.strategy"),
            "cooperative-sticky");
}

// At a full queue, which all logs share, the library fetches none of them, an old one for a second.
TEST(TailConfigTest, TheHistoryOfALogDoesNotFillTheQueueOfAll) {
  const std::uint64_t answer =
      std::stoul(in_force(ClientKind::tail, {}, "fetch.message.max.bytes"));
  const std::uint64_t messages = std::stoul(in_force(ClientKind::tail, {}, "queued.min.messages"));
  const std::uint64_t kilobytes =
      std::stoul(in_force(ClientKind::tail, {}, "queued.max.messages.kbytes"));
  EXPECT_GE(answer, 2 * std::stoul(in_force(ClientKind::producer, {}, "batch.size")));
  EXPECT_GE(1024 * kilobytes, 4 * answer) << "as many logs at once as there are by default";
  constexpr std::uint64_t kShortRecordBytes = 250;
  EXPECT_GE(messages * kShortRecordBytes, 4 * answer);
  const std::string pause = in_force(ClientKind::tail, {}, "fetch.queue.backoff.ms");
  EXPECT_TRUE(pause.empty() || pause == "10") << pause;
}

TEST(TailConfigTest, AUserMayReadMoreAtOnce) {
  const KafkaOptions more = with("max.partition.fetch.bytes", "1048576");
  EXPECT_EQ(in_force(ClientKind::tail, more, "fetch.message.max.bytes"), "1048576");
}

TEST(TailConfigTest, TheGroupsClientQueuesNoMoreThanItMust) {
  EXPECT_EQ(in_force(ClientKind::group, {}, "queued.min.messages"), "1");
}

TEST(ClientConfigTest, EachLaneHasItsGroupAndTheReaderNone) {
  KafkaOptions options;
  options.group = "shop";
  EXPECT_EQ(options.group_id(), "shop");
  EXPECT_EQ(in_force(ClientKind::group, options, "group.id"), "shop");
  options.lane = Lane{12};
  EXPECT_EQ(options.group_id(), "shop.lane-12");
  EXPECT_EQ(in_force(ClientKind::group, options, "group.id"), "shop.lane-12");
  EXPECT_EQ(in_force(ClientKind::tail, options, "group.id"), "");
}

TEST(ClientConfigTest, SettingsThatContradictEachOtherAreAnErrorOfTheClient) {
  const KafkaOptions options = with("max.in.flight", "100");  // too many for idempotence
  const auto client =
      make_client(ClientKind::producer, {options, timing(), GroupProtocol::classic, false});
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code(), Errc::bad_option);
  EXPECT_THAT(client.error().message(), HasSubstr("max.in.flight"));
}

TEST(PropertiesTest, WithAnAssignerAGroupsAreRefused) {
  EXPECT_THAT(refusal(check_properties_without_group(with("group.remote.assignor", "uniform"))),
              AllOf(HasSubstr("`kafka.properties` group.remote.assignor"),
                    HasSubstr("`assignment` assigner"), HasSubstr("leave it out")));
  EXPECT_TRUE(check_properties_without_group(with("client.id", "me")));
}

}  // namespace
}  // namespace neliroute
