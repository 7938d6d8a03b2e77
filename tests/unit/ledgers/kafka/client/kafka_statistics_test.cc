// What is kept of librdkafka's statistics: of invented ones, and of the embedded broker's.
#include "ledgers/kafka/client/kafka_statistics.h"

#include <gmock/gmock.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <string>
#include <thread>

#include "ledgers/kafka/client/client_config.h"
#include "ledgers/kafka/kafka_store.h"
#include "tests/unit/ledgers/kafka/ledger/ledger_rig.h"

namespace neliroute {
namespace {

using testing::Eq;
using testing::Optional;

std::string broker(int id, int requests, int timeouts, const std::string& more = "") {
  return R"("b:9092/)" + std::to_string(id) + R"(":{"nodeid":)" + std::to_string(id) +
         R"(,"state":"UP","tx":)" + std::to_string(requests) + R"(,"req_timeouts":)" +
         std::to_string(timeouts) + more + "}";
}

std::string client(const std::string& name, const std::string& brokers,
                   const std::string& more = "") {
  return R"({"name":")" + name + R"(","type":"producer","brokers":{)" + brokers + "}" + more + "}";
}

constexpr LocalTime kNow{milliseconds{1000}};

/// The producer reports.
void note(KafkaStatistics& statistics, const std::string& json) {
  statistics.note(ClientKind::producer, json, kNow);
}

ClientStatistics told(const KafkaStatistics& statistics) {
  const auto read = statistics.read(ClientKind::producer);
  EXPECT_TRUE(read.has_value());
  return read.value_or(ClientStatistics{});
}

TEST(KafkaStatisticsTest, NothingIsToldBeforeAClientTells) {
  const KafkaStatistics statistics;
  for (const auto kind : {ClientKind::producer, ClientKind::tail, ClientKind::group}) {
    EXPECT_FALSE(statistics.read(kind).has_value());
  }
}

TEST(KafkaStatisticsTest, CountsAreSummedOverBrokersAndNeverFall) {
  KafkaStatistics statistics;
  note(statistics, client("p-1", broker(1, 10, 1) + "," + broker(2, 5, 0)));
  EXPECT_EQ(told(statistics).requests, 15u);
  note(statistics, client("p-1", broker(1, 12, 1)));  // the other is forgotten
  EXPECT_EQ(told(statistics).requests, 17u);
  note(statistics, client("p-1", broker(1, 13, 2) + "," + broker(2, 1, 0)));  // and known anew
  EXPECT_EQ(told(statistics).requests, 19u);
  note(statistics, client("p-2", broker(1, 3, 4)));  // a new client took its place
  EXPECT_EQ(told(statistics).requests, 22u);
  EXPECT_EQ(told(statistics).timeouts, 6u);
  EXPECT_FALSE(statistics.read(ClientKind::tail).has_value()) << "each client has its own";
}

TEST(KafkaStatisticsTest, ACoordinatorThatIsNotFoundIsNotConnectedTo) {
  KafkaStatistics statistics;
  const auto connects = [&](const std::string& nodename, int count) {
    note(statistics,
                    client("p", R"("GroupCoordinator":{"nodeid":-1,"nodename":")" + nodename +
                                    R"(","connects":)" + std::to_string(count) + "}"));
    return told(statistics).connects;
  };
  EXPECT_EQ(connects("", 80), 0u);
  EXPECT_EQ(connects("b:9092", 81), 1u);
  EXPECT_EQ(connects("", 200), 1u);
  EXPECT_EQ(connects("b:9092", 202), 3u);
}

TEST(KafkaStatisticsTest, ABrokerKeepsItsCountsUnderAnotherName) {
  KafkaStatistics statistics;
  const auto requests = [&](const std::string& name, int id, int count) {
    note(statistics, client("p", "\"" + name + R"(":{"nodename":"b:9092","nodeid":)" +
                                     std::to_string(id) + R"(,"tx":)" + std::to_string(count) +
                                     "}"));
    return told(statistics).requests;
  };
  EXPECT_EQ(requests("b:9092/bootstrap", -1, 5), 5u);
  EXPECT_EQ(requests("b:9092/1", 1, 7), 7u) << "librdkafka 2.0.2 learned its number";
  EXPECT_EQ(requests("c:9092/1", 1, 9), 9u) << "its address changed";
}

TEST(KafkaStatisticsTest, WhatIsToldOfPartitionsIsNotRead) {
  KafkaStatistics statistics;
  const std::string topics = R"(, "topics":{ not even JSON })";
  note(statistics, client("p", broker(1, 3, 0), topics));
  EXPECT_EQ(told(statistics).requests, 3u);
  note(statistics, client("p", broker(1, 4, 0),
                          topics + R"(, "cgrp": {"state": "up", "join_state": "steady"}, "tx":9)"));
  EXPECT_EQ(told(statistics).requests, 4u);
  EXPECT_THAT(told(statistics).joined, Optional(true));
  EXPECT_EQ(told(statistics).told_at, kNow);
}

TEST(KafkaStatisticsTest, OfManyPartitionsTheyAreToldLessOften) {
  EXPECT_EQ(statistics_interval(64), milliseconds{10'000});
  EXPECT_EQ(statistics_interval(1000), milliseconds{10'000});
  EXPECT_EQ(statistics_interval(5000), milliseconds{50'000});
  EXPECT_EQ(statistics_interval(10'001), milliseconds{0}) << "never";
}

TEST(KafkaStatisticsTest, TheSlowestBrokerCounts) {
  KafkaStatistics statistics;
  const std::string fast = R"(,"rtt":{"cnt":5,"p50":200,"p99":900},"throttle":{"max":0})";
  const std::string slow = R"(,"rtt":{"cnt":2,"p50":700,"p99":800},"throttle":{"max":30})";
  const std::string idle = R"(,"rtt":{"cnt":0,"p50":9999,"p99":9999})";
  note(statistics, client("p", broker(1, 0, 0, fast) + "," +
                                                        broker(2, 0, 0, slow) + "," +
                                                        broker(3, 0, 0, idle)));
  EXPECT_THAT(told(statistics).round_trip_median, Optional(microseconds{700}));
  EXPECT_THAT(told(statistics).round_trip_p99, Optional(microseconds{900}));
  EXPECT_EQ(told(statistics).throttle, milliseconds{30});
  note(statistics, client("p", broker(3, 0, 0, idle)));
  EXPECT_THAT(told(statistics).round_trip_p99, Eq(std::nullopt)) << "nothing was asked";
}

TEST(KafkaStatisticsTest, OnlyNumberedBrokersThatAreUpAreUp) {
  KafkaStatistics statistics;
  note(statistics,
                  client("p", broker(-1, 0, 0) + "," + broker(1, 0, 0) +
                                  R"(,"x":{"nodeid":2,"state":"TRY_CONNECT"})"));
  EXPECT_EQ(told(statistics).brokers_up, 1u);
}

TEST(KafkaStatisticsTest, AMemberHasJoinedWhenItRests) {
  KafkaStatistics statistics;
  const auto joined = [&](const std::string& state, const std::string& join_state) {
    note(statistics,
                    client("p", "", R"(,"cgrp":{"state":")" + state + R"(","join_state":")" +
                                        join_state + R"("})"));
    return told(statistics).joined;
  };
  EXPECT_THAT(joined("up", "steady"), Optional(true));
  EXPECT_THAT(joined("up", "wait-sync"), Optional(false));
  EXPECT_THAT(joined("wait-coord", "steady"), Optional(false));
}

TEST(KafkaStatisticsTest, WhatIsNotAsDocumentedIsPassedOver) {
  KafkaStatistics statistics;
  for (const char* text : {"", "{", "[]", "7", "\"\"", "null"}) {
    note(statistics, text);
    EXPECT_FALSE(statistics.read(ClientKind::producer).has_value()) << text;
  }
  for (const char* text :
       {"{}", R"({"brokers":[]})", R"({"brokers":{"a":1}})", R"({"name":7,"msg_cnt":"x"})",
        R"({"brokers":{"a":{"tx":-5,"txbytes":1.5,"rtt":[],"nodeid":"1","throttle":null}}})"}) {
    note(statistics, text);
    EXPECT_EQ(told(statistics).requests, 0u) << text;
  }
}

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

/// Of a ledger on the rig's broker whose clients report every 50 ms.
KafkaLedgerParameters telling_often(LedgerRig& rig) {
  rig.open_broker();
  KafkaLedgerParameters parameters = rig.parameters();
  parameters.kafka.properties["statistics.interval.ms"] = "50";
  parameters.statistics = std::make_shared<KafkaStatistics>();
  return parameters;
}

TEST(KafkaStatisticsTest, EveryClientOfALedgerTells) {
  LedgerRig rig;
  const KafkaLedgerParameters parameters = telling_often(rig);
  const auto read = [&](ClientKind kind) {
    return parameters.statistics->read(kind).value_or(ClientStatistics{});
  };
  rig.open(parameters);
  rig.answer_rebalances();
  rig.start_and_read();
  rig.join_group(/*finish=*/true);
  const auto everyone_told = [&] {
    for (const auto kind : {ClientKind::producer, ClientKind::tail, ClientKind::group}) {
      const ClientStatistics one = read(kind);
      if (one.requests == 0 || one.sent_bytes == 0 || one.received_bytes == 0) return false;
      if (one.brokers_up == 0 || !one.round_trip_p99) return false;
    }
    return read(ClientKind::group).joined == true;
  };
  // While records come and go; a million of them is some minutes.
  for (std::uint64_t seq = 1; seq < 1'000'000 && !everyone_told(); ++seq) {
    rig.write(Log{0}, seq);
    ASSERT_TRUE(rig.wait([&](const Seen& seen) { return seen.acknowledged.size() >= seq; }));
  }
  EXPECT_TRUE(everyone_told());
  EXPECT_TRUE(read(ClientKind::producer).unsent_records.has_value());
  EXPECT_FALSE(read(ClientKind::tail).unsent_records.has_value());
  EXPECT_FALSE(read(ClientKind::tail).joined.has_value()) << "it is in no group";
  EXPECT_TRUE(read(ClientKind::tail).unread_records.has_value());
  EXPECT_FALSE(read(ClientKind::producer).unread_records.has_value()) << "it reads nothing";
  rig.close(milliseconds{2000});
  ASSERT_TRUE(rig.wait([](const Seen& seen) { return seen.closed; }));
}

TEST(KafkaStatisticsTest, ACommandHasNone) {
  LedgerRig rig;
  rig.open_broker();
  const KafkaLedgerParameters parameters = rig.parameters(/*watcher=*/true);
  boost::asio::io_context io;
  for (const ProcessId self : {ProcessId{7}, kNobody}) {
    const auto store = prepare_kafka(parameters.kafka, {}, {});
    ASSERT_TRUE(store) << store.error().message();
    const auto opened = (*store)->open(io.get_executor(), parameters.timing, self);
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_EQ(opened->statistics != nullptr, self != kNobody);
  }
}

TEST(KafkaStatisticsTest, AReaderThatFallsBehindSaysSo) {
  std::atomic<std::uint64_t> most{0};
  std::atomic<std::uint64_t> last{0};
  LedgerRig rig;  // its thread uses both
  const KafkaLedgerParameters parameters = telling_often(rig);
  rig.open(parameters);
  rig.after_event([&](const Event& event) {
    if (!std::holds_alternative<Received>(event)) return;
    std::this_thread::sleep_for(milliseconds{10});  // an application that is slow
    const auto told = parameters.statistics->read(ClientKind::tail);
    if (!told) return;
    last = told->unread_records.value_or(0);
    most = std::max<std::uint64_t>(most, last);
  });
  rig.start_and_read();
  constexpr std::uint64_t kBurst = 50;
  std::uint64_t seq = 0;
  // A burst lasts for ten intervals; another follows where the machine was slower than that.
  for (int round = 0; round < 20 && most == 0; ++round) {
    for (std::uint64_t i = 0; i < kBurst; ++i) rig.write(Log{0}, ++seq);
    ASSERT_TRUE(rig.wait([&](const Seen& seen) { return seen.received[0].size() >= seq; }));
  }
  EXPECT_GT(most, 0u);
  const auto unread = [&] {
    rig.write(Log{0}, ++seq);
    EXPECT_TRUE(rig.wait([&](const Seen& seen) { return seen.received[0].size() >= seq; }));
    return last.load();
  };
  for (int more = 0; more < 10'000 && unread() != 0; ++more) {
  }
  EXPECT_EQ(last, 0u) << "it has caught up";
  rig.close(milliseconds{2000});
  ASSERT_TRUE(rig.wait([](const Seen& seen) { return seen.closed; }));
}

#endif

}  // namespace
}  // namespace neliroute
