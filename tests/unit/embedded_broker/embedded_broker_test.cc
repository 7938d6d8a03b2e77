#include "embedded_broker/embedded_broker.h"

#include <gmock/gmock.h>
#include <librdkafka/rdkafka.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/embedded_broker/clients.h"
#include "tests/unit/embedded_broker/io_thread.h"
#include "tests/unit/embedded_broker/threads.h"

namespace neliroute {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

/// Of the Kafka protocol.
enum Api : std::int16_t {
  find_coordinator = 10,
  join_group = 11,
  sync_group = 14,
  api_versions = 18,
  consumer_group_heartbeat = 68,
};

class EmbeddedBrokerTest : public testing::Test {
 protected:
  void TearDown() override { close(); }

  Result<std::unique_ptr<EmbeddedBroker>> try_open(const EmbeddedBrokerOptions& options) {
    return io_.run([&] { return EmbeddedBroker::open(io_.executor(), options); });
  }
  void open(const EmbeddedBrokerOptions& options) {
    auto broker = try_open(options);
    ASSERT_TRUE(broker.has_value()) << broker.error().message();
    broker_ = std::move(*broker);
  }
  void close() {
    if (broker_) io_.run([&] { broker_.reset(); });
  }
  std::string refusal(const EmbeddedBrokerOptions& options, Errc code = Errc::bad_option) {
    auto broker = try_open(options);
    if (broker) {
      ADD_FAILURE() << "not refused";
      io_.run([&] { broker->reset(); });
      return "";
    }
    EXPECT_EQ(broker.error().code(), code);
    return broker.error().message();
  }

  IoThread io_;
  std::unique_ptr<EmbeddedBroker> broker_;
};

#if RD_KAFKA_VERSION < 0x020c0000

TEST_F(EmbeddedBrokerTest, AnOlderLibrdkafkaIsRefusedWithWhatToDo) {
  const std::string why = refusal({0, {{"neliroute", 64}}}, Errc::ledger_refused);
  EXPECT_THAT(why, HasSubstr(">= 2.12"));
  EXPECT_THAT(why, HasSubstr(rd_kafka_version_str()));
  EXPECT_THAT(why, HasSubstr("scripts/setup"));
}

#else

std::vector<std::string> numbers(int from, int to) {
  std::vector<std::string> values;
  for (int i = from; i < to; ++i) values.push_back("value " + std::to_string(i));
  return values;
}

bool poll_until(const std::vector<GroupClient*>& members, const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(40);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    for (GroupClient* member : members) member->poll(10);
  }
  return true;
}

// --- Addresses and topics ------------------------------------------------------------------------

TEST_F(EmbeddedBrokerTest, MetadataNamesTheRelaysPortAndEachTopicsPartitions) {
  open({0, {{"neliroute", 64}, {"other.topic", 7}}});
  EXPECT_EQ(broker_->address(), "127.0.0.1:" + std::to_string(broker_->port()));
  const Client client = make_client(RD_KAFKA_PRODUCER, broker_->address());
  const Metadata metadata = metadata_of(client.get());
  EXPECT_THAT(metadata.brokers, ElementsAre(broker_->address()));
  EXPECT_THAT(metadata.topics, UnorderedElementsAre(Pair("neliroute", 64), Pair("other.topic", 7)));
}

TEST_F(EmbeddedBrokerTest, TheCoordinatorIsAtTheRelaysPort) {
  open({0, {}});
  RawClient client(broker_->port());
  client.send(Api::find_coordinator, 0, RawClient::text("any group"));
  std::string answer = client.receive();
  EXPECT_EQ(RawClient::take_i16(answer), 0);
  EXPECT_EQ(RawClient::take_i32(answer), 1);
  EXPECT_EQ(RawClient::take_text(answer), "127.0.0.1");
  EXPECT_EQ(RawClient::take_i32(answer), broker_->port());
}

TEST_F(EmbeddedBrokerTest, ItSaysThatItHasNoConsumerProtocol) {
  open({0, {}});
  RawClient client(broker_->port());
  client.send(Api::api_versions, 0, "");
  std::string answer = client.receive();
  EXPECT_EQ(RawClient::take_i16(answer), 0);
  std::vector<std::int16_t> apis;
  for (auto count = RawClient::take_i32(answer); count > 0; --count) {
    apis.push_back(RawClient::take_i16(answer));
    (void)RawClient::take_i32(answer);  // its versions
  }
  EXPECT_THAT(apis, testing::Contains(std::int16_t{Api::join_group}));
  EXPECT_THAT(apis, testing::Not(testing::Contains(std::int16_t{Api::consumer_group_heartbeat})));
}

TEST_F(EmbeddedBrokerTest, ThePortThatWasAskedForIsTaken) {
  open({0, {}});
  const std::uint16_t port = broker_->port();
  close();
  open({port, {{"neliroute", 3}}});
  EXPECT_EQ(broker_->port(), port);
  const Client client = make_client(RD_KAFKA_PRODUCER, broker_->address());
  EXPECT_THAT(metadata_of(client.get()).topics, ElementsAre(Pair("neliroute", 3)));
}

TEST_F(EmbeddedBrokerTest, APortInUseIsRefusedWithWhatToDo) {
  open({0, {}});
  const std::string why = refusal({broker_->port(), {}});
  const std::string port = std::to_string(broker_->port());
  EXPECT_THAT(why, HasSubstr("port " + port + " of 127.0.0.1 is in use"));
  EXPECT_THAT(why, HasSubstr("choose another port"));
}

TEST_F(EmbeddedBrokerTest, TopicsThatKafkaWouldNotMakeAreRefused) {
  EXPECT_THAT(refusal({0, {{"", 1}}}), HasSubstr("is no name of a topic"));
  EXPECT_THAT(refusal({0, {{"..", 1}}}), HasSubstr("\"..\""));
  EXPECT_THAT(refusal({0, {{"a b", 1}}}), HasSubstr("\"a b\""));
  EXPECT_THAT(refusal({0, {{std::string(250, 'a'), 1}}}), HasSubstr("249"));
  EXPECT_THAT(refusal({0, {{"t", 0}}}), HasSubstr("t: 0 partitions"));
  EXPECT_THAT(refusal({0, {{"t", 65'537}}}), HasSubstr("65536"));
  EXPECT_THAT(refusal({0, {{"t", 1}, {"u", 1}, {"t", 2}}}), HasSubstr("t is named twice"));
}

// --- Records -------------------------------------------------------------------------------------

TEST_F(EmbeddedBrokerTest, RecordsComeBackInTheirOrder) {
  open({0, {{"neliroute", 4}}});
  produce(broker_->address(), "neliroute", 2, numbers(0, 100));
  EXPECT_EQ(consume(broker_->address(), "neliroute", 2, 100), numbers(0, 100));
}

TEST_F(EmbeddedBrokerTest, RecordsOutliveTheClientsThatWroteThem) {
  open({0, {{"neliroute", 1}}});
  for (int round = 0; round < 3; ++round) {
    produce(broker_->address(), "neliroute", 0, numbers(10 * round, 10 * round + 10));
  }
  EXPECT_EQ(consume(broker_->address(), "neliroute", 0, 30), numbers(0, 30));
}

TEST_F(EmbeddedBrokerTest, AClientFindsANewBrokerOnTheSamePort) {
  open({0, {{"neliroute", 1}}});
  const std::uint16_t port = broker_->port();
  const Client client = make_client(RD_KAFKA_PRODUCER, broker_->address(), {{"log_level", "0"}});
  EXPECT_THAT(metadata_of(client.get()).topics, ElementsAre(Pair("neliroute", 1)));
  close();
  open({port, {{"neliroute", 5}}});
  EXPECT_THAT(metadata_of(client.get()).topics, ElementsAre(Pair("neliroute", 5)));
}

TEST_F(EmbeddedBrokerTest, GarbageHarmsNobody) {
  open({0, {{"neliroute", 1}}});
  namespace asio = boost::asio;
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), std::string(100, '\0'),
        std::string(100, '\xff'), std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
        RawClient::i32(14) + RawClient::i16(32) + std::string(12, '\0')}) {
    RawClient client(broker_->port());
    asio::write(client.socket(), asio::buffer(garbage));
    client.socket().shutdown(asio::ip::tcp::socket::shutdown_send);
    std::string answer;
    boost::system::error_code end;
    asio::read(client.socket(), asio::dynamic_buffer(answer), end);
    EXPECT_TRUE(end);
  }
  produce(broker_->address(), "neliroute", 0, numbers(0, 1));
  EXPECT_THAT(consume(broker_->address(), "neliroute", 0, 1), SizeIs(1));
}

TEST_F(EmbeddedBrokerTest, ASignalDoesNotEndIt) {
  std::signal(SIGUSR1, [](int) {});
  open({0, {{"neliroute", 1}}});
  const Client client = make_client(RD_KAFKA_PRODUCER, broker_->address());
  EXPECT_THAT(metadata_of(client.get()).topics, SizeIs(1));  // so its thread runs
  const auto threads = threads_named("rdk:mock");
  ASSERT_THAT(threads, SizeIs(1));
  ASSERT_EQ(::syscall(SYS_tgkill, ::getpid(), threads[0], SIGUSR1), 0);
  EXPECT_THAT(metadata_of(client.get()).topics, SizeIs(1));
  EXPECT_EQ(threads_named("rdk:mock"), threads);
}

// --- Groups --------------------------------------------------------------------------------------

TEST_F(EmbeddedBrokerTest, TwoMembersShareThePartitionsAndOneThatLeavesGivesItsOwnBack) {
  open({0, {{"neliroute", 8}}});
  GroupClient first(broker_->address(), "g", "neliroute");
  ASSERT_TRUE(poll_until({&first}, [&] { return first.partitions().size() == 8; }));
  GroupClient second(broker_->address(), "g", "neliroute");
  ASSERT_TRUE(poll_until({&first, &second}, [&] {
    return first.partitions().size() == 4 && second.partitions().size() == 4;
  }));
  std::set<std::int32_t> all = first.partitions();
  all.insert(second.partitions().begin(), second.partitions().end());
  EXPECT_THAT(all, SizeIs(8));
  second.close();
  EXPECT_THAT(second.partitions(), IsEmpty());
  EXPECT_TRUE(poll_until({&first}, [&] { return first.partitions().size() == 8; }));
  first.close();
}

/// JoinGroup, version 0: group, session, member, protocol type, protocols.
std::string join_request(std::string_view member) {
  return RawClient::text("g") + RawClient::i32(3000) + RawClient::text(member) +
         RawClient::text("consumer") + RawClient::i32(1) + RawClient::text("range") +
         RawClient::i32(0);
}

// The mock aborts the process if a member asks again while it holds back an earlier answer, which
// it does until its old connection ends; and as it reads nothing from that one meanwhile, an end
// that is no reset goes unnoticed.
TEST_F(EmbeddedBrokerTest, AMemberThatLostItsConnectionWhileJoiningMayJoinAgain) {
  open({0, {{"neliroute", 1}}});
  RawClient first(broker_->port());
  first.send(Api::join_group, 0, join_request("first"));
  std::string joined = first.receive();
  EXPECT_EQ(RawClient::take_i16(joined), 0);
  for (int round = 0; round < 10; ++round) {
    RawClient second(broker_->port());
    second.send(Api::join_group, 0, join_request("second"));
    // Once this is answered, the broker has most likely read the request before it.
    RawClient other(broker_->port());
    other.send(Api::api_versions, 0, "");
    (void)other.receive();
    second.close();
  }
  RawClient second(broker_->port());
  second.send(Api::join_group, 0, join_request("second"));
  joined = second.receive();
  EXPECT_EQ(RawClient::take_i16(joined), 0);
  EXPECT_GT(RawClient::take_i32(joined), 1) << "generation";
}

// --- What it cannot do ---------------------------------------------------------------------------

TEST_F(EmbeddedBrokerTest, ItsLimitsFitATerminal) {
  std::istringstream limits{std::string(EmbeddedBroker::limits())};
  for (std::string line; std::getline(limits, line);) EXPECT_THAT(line, SizeIs(testing::Le(80U)));
  for (const char* word : {"memory", "CreateTime", "classic", "session"}) {
    EXPECT_THAT(EmbeddedBroker::limits(), HasSubstr(word));
  }
}

TEST_F(EmbeddedBrokerTest, ItIsDestroyedWhileClientsTalkToIt) {
  open({0, {{"neliroute", 8}}});
  const Properties quiet{{"log_level", "0"}};
  GroupClient first(broker_->address(), "g", "neliroute", quiet);
  GroupClient second(broker_->address(), "g", "neliroute", quiet);
  ASSERT_TRUE(poll_until({&first, &second}, [&] { return !first.partitions().empty(); }));
  close();
  io_.join();  // hangs if the broker left anything behind
}

#endif

}  // namespace
}  // namespace neliroute
