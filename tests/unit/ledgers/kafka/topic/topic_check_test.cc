// What a topic that was away is said to be: there, not there, or nobody says anything.
#include "ledgers/kafka/topic/topic_check.h"

#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <neliroute/clock.h>

#include "embedded_broker/embedded_broker.h"
#include "ledgers/kafka/client/client_config.h"
#include "tests/unit/embedded_broker/io_thread.h"

namespace neliroute {
namespace {

using Outcome = TopicVerdict::Kind;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr std::uint32_t kPartitions = 4;

/// Asks from a thread that does nothing else.
class Asking {
 public:
  Asking(const std::string& brokers, bool embedded_broker, milliseconds answer_within) {
    options_.brokers = brokers;
    auto made = make_client(ClientKind::admin,
                            {options_, Timing{}, GroupProtocol::classic, embedded_broker});
    EXPECT_TRUE(made.has_value()) << made.error().message();
    handle_ = std::move(*made);
    EXPECT_TRUE(wakeup_->open().has_value());
    needs_ = {options_.topic, Mode::non_exclusive, kPartitions, embedded_broker};
    answer_within_ = answer_within;
    probe_.emplace(handle_.get(), wakeup_.get());
    wakeup_->start([this] {
      while (probe_->serve()) {
      }
    });
  }
  ~Asking() {
    probe_.reset();
    wakeup_->close();
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  std::optional<Outcome> ask() {
    outcome_.reset();
    check_topic(*probe_, needs_, answer_within_, [this](const TopicVerdict& verdict) {
      EXPECT_FALSE(outcome_) << "one answer";
      outcome_ = verdict.kind;
      why_ = verdict.why;
    });
    EXPECT_FALSE(outcome_) << "the answer comes from serve()";
    const LocalTime deadline = later(boot_now(), seconds{30});
    while (!outcome_ && boot_now() < deadline) {
      io_.restart();
      io_.run_for(milliseconds{20});
      while (probe_->serve()) {  // nothing wakes who waits for a connection
      }
    }
    return outcome_;
  }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  boost::asio::io_context io_;
  KafkaOptions options_;
  rdkafka::HandlePtr handle_;
  std::shared_ptr<QueueWakeup> wakeup_ = std::make_shared<QueueWakeup>(io_.get_executor());
  TopicNeeds needs_;
  milliseconds answer_within_{0};
  std::optional<BrokerProbe> probe_;
  std::optional<Outcome> outcome_;
  std::string why_;
};

TEST(TopicCheckTest, WhoGetsNoAnswerDoesNotSayThatTheTopicIsNotThere) {
  boost::asio::io_context io;  // listens, and says nothing
  boost::asio::ip::tcp::acceptor silent(io, {boost::asio::ip::address_v4::loopback(), 0});
  const std::string address = "127.0.0.1:" + std::to_string(silent.local_endpoint().port());
  for (const bool embedded : {false, true}) {
    Asking asking(address, embedded, milliseconds{200});
    EXPECT_EQ(asking.ask(), Outcome::unknown);
    EXPECT_THAT(asking.why(), HasSubstr("Timed out"));
  }
}

const TopicNeeds kExclusive{"neliroute", Mode::exclusive, kPartitions, false};

TEST(TopicCheckTest, ATopicThatIsBackWithFewerPartitionsIsUnfitAndOneWithMoreFits) {
  TopicDescription topic;
  topic.partitions = kPartitions - 1;
  const TopicVerdict fewer = judge(Answer<TopicDescription>{topic, {}, {}}, kExclusive);
  EXPECT_EQ(fewer.kind, Outcome::unfit);
  EXPECT_THAT(fewer.why, HasSubstr("back with 3 partitions, this process runs with 4"));
  topic.partitions = kPartitions + 1;
  EXPECT_EQ(judge(Answer<TopicDescription>{topic, {}, {}}, kExclusive).kind, Outcome::fits);
  topic.error = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
  EXPECT_EQ(judge(Answer<TopicDescription>{topic, {}, {}}, kExclusive).kind, Outcome::missing);
}

TEST(TopicCheckTest, ATopicThatIsBackWithOtherSettingsIsUnfitAsItWouldBeAtTheStart) {
  const auto verdict = [](const Configs& configs, Mode mode) {
    TopicNeeds needs = kExclusive;
    needs.mode = mode;
    return judge(Answer<ResourceConfigs>{ResourceConfigs{configs, {}}, {}, {}}, needs).kind;
  };
  const Configs fit{{"cleanup.policy", "delete"}, {"message.timestamp.type", "LogAppendTime"}};
  EXPECT_EQ(verdict(fit, Mode::exclusive), Outcome::fits);
  Configs changed = fit;
  changed["cleanup.policy"] = "compact,delete";
  EXPECT_EQ(verdict(changed, Mode::non_exclusive), Outcome::unfit);
  changed = fit;
  changed["message.timestamp.type"] = "CreateTime";
  EXPECT_EQ(verdict(changed, Mode::exclusive), Outcome::unfit);
  EXPECT_EQ(verdict(changed, Mode::non_exclusive), Outcome::fits);
}

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

TEST(TopicCheckTest, TheEmbeddedBrokerSaysThatItIsThere) {
  IoThread io;
  std::unique_ptr<EmbeddedBroker> broker;
  io.run([&] {
    auto opened = EmbeddedBroker::open(io.executor(), {0, {{"neliroute", kPartitions}}});
    ASSERT_TRUE(opened.has_value()) << opened.error().message();
    broker = std::move(*opened);
  });
  ASSERT_NE(broker, nullptr);
  {
    Asking asking(broker->address(), true, seconds{20});
    EXPECT_EQ(asking.ask(), Outcome::fits);
    EXPECT_EQ(asking.why(), "");
  }
  io.run([&] { broker.reset(); });
}

#endif

}  // namespace
}  // namespace neliroute
