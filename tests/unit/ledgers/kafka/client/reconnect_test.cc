// While its broker is away a process connects a few times a second, not hundreds of times.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <neliroute/clock.h>
#include <optional>

#include "ledgers/kafka/client/client_config.h"
#include "ledgers/kafka/client/kafka_statistics.h"
#include "ledgers/kafka/topic/broker_probe.h"
#include "tests/unit/ledgers/kafka/ledger/ledger_rig.h"

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

namespace neliroute {
namespace {

using std::chrono::seconds;

constexpr milliseconds kReportEvery{50};
constexpr ClientKind kOfOwner[] = {ClientKind::producer, ClientKind::tail, ClientKind::group};
[[maybe_unused]] constexpr int kAnswerMs = 20'000;

/// Of all clients of an owner; none before each has reported.
std::optional<std::uint64_t> connects(const KafkaStatistics& statistics) {
  std::uint64_t sum = 0;
  for (const ClientKind kind : kOfOwner) {
    const auto client = statistics.read(kind);
    if (!client) return std::nullopt;
    sum += client->connects;
  }
  return sum;
}

TEST(ReconnectTest, AnOwnerWhoseBrokerIsAwayConnectsRarely) {
  constexpr std::uint64_t kMost = 80;  // it is about 40, and was 150
  LedgerRig rig;
  rig.open_broker();
  auto parameters = rig.parameters();
  parameters.self = LedgerRig::id();
  parameters.statistics = std::make_shared<KafkaStatistics>();
  parameters.kafka.properties["statistics.interval.ms"] = std::to_string(kReportEvery.count());
  rig.open(parameters);
  rig.start_and_read();
  rig.join_group(/*finish=*/true);
  while (!connects(*parameters.statistics)) {
    ASSERT_TRUE(rig.never([](const Seen& seen) { return seen.closed; }, kReportEvery));
  }
  rig.close_broker();
  EXPECT_TRUE(rig.wait([](const Seen& seen) {
    for (const Notice& notice : seen.notices) {
      if (notice.text.starts_with("no broker can be reached")) return true;
    }
    return false;
  }));
  const std::uint64_t before = *connects(*parameters.statistics);
  const auto made = [&] { return *connects(*parameters.statistics) - before; };
  EXPECT_TRUE(rig.never([&](const Seen&) { return made() > kMost; }, seconds{2})) << made();
  RecordProperty("connects", static_cast<int>(made()));
  EXPECT_GT(made(), 2U) << "it must find the broker again";
}

/// A client that knew its broker, which is away now.
class AbandonedClient {
 public:
  AbandonedClient() {
    rig_.open_broker();
    options_.brokers = rig_.address();
    ClientSettings settings{options_, Timing{}, GroupProtocol::classic, true, kReportEvery};
    auto made = make_client(ClientKind::producer, settings);
    EXPECT_TRUE(made.has_value());
    handle_ = std::move(*made);
    main_.reset(rd_kafka_queue_get_main(handle_.get()));
    EXPECT_GE(rd_kafka_controllerid(handle_.get(), kAnswerMs), 0);
    rig_.close_broker();
    while (!away_) serve();
  }
  void serve() {
    const auto event = rdkafka::poll(main_.get(), static_cast<int>(kReportEvery.count()));
    if (!event) return;
    away_ = away_ || rd_kafka_event_error(event.get()) == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
    if (rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_STATS) return;
    statistics_.note(ClientKind::producer, rd_kafka_event_stats(event.get()), kLongAgo);
  }
  [[nodiscard]] std::uint64_t connects() const {
    const auto client = statistics_.read(ClientKind::producer);
    return client ? client->connects : 0;
  }
  [[nodiscard]] rd_kafka_t* handle() const { return handle_.get(); }

 private:
  LedgerRig rig_;
  KafkaOptions options_;
  KafkaStatistics statistics_;
  rdkafka::HandlePtr handle_;
  rdkafka::QueuePtr main_;
  bool away_ = false;
};

// After an hour librdkafka would give it up, and abort once the coordinator is back.
TEST(ReconnectTest, AQuestionToACoordinatorThatIsAwayIsOverdueBeforeAnHour) {
  AbandonedClient client;
  boost::asio::io_context io;
  const auto wakeup = std::make_shared<QueueWakeup>(io.get_executor());
  ASSERT_TRUE(wakeup->open().has_value());
  BrokerProbe probe(client.handle(), wakeup.get());
  const LocalTime hour = later(boot_now(), std::chrono::minutes{59});
  EXPECT_FALSE(probe.is_overdue(hour));
  int answers = 0;
  for (int i = 0; i < 2; ++i) {
    probe.members("group", [&](const Answer<MemberIds>& answer) {
      EXPECT_FALSE(answer.value);
      ++answers;
    });
  }
  EXPECT_FALSE(probe.is_overdue(boot_now()));
  EXPECT_TRUE(probe.is_overdue(hour));
  probe.give_up();
  EXPECT_EQ(answers, 2);
  EXPECT_FALSE(probe.is_overdue(hour));
  wakeup->close();
}

TEST(ReconnectTest, ARequestThatWaitsForItsBrokerDoesNotMakeTheClientSpin) {
  constexpr std::uint64_t kMost = 60;  // it is about 5, and was thousands
  AbandonedClient client;
  boost::asio::io_context io;
  const auto wakeup = std::make_shared<QueueWakeup>(io.get_executor());
  ASSERT_TRUE(wakeup->open().has_value());
  std::optional<BrokerProbe> probe{std::in_place, client.handle(), wakeup.get()};
  const std::uint64_t before = client.connects();
  int answers = 0;
  const auto refused = [&](const auto& answer) {
    ++answers;
    EXPECT_FALSE(answer.value);  // in time, or by another test's broker on the port that was left
  };
  probe->topic("neliroute", seconds{1}, refused);
  probe->configs(RD_KAFKA_RESOURCE_BROKER, "1", seconds{1}, refused);
  while (answers < 2) {
    client.serve();
    while (probe->serve()) {
    }
  }
  EXPECT_LT(client.connects() - before, kMost);
  probe.reset();
  wakeup->close();
}

}  // namespace
}  // namespace neliroute

#endif
