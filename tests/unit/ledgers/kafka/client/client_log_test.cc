// The lines of a client's log come in portions: others want their turn, too.
#include "ledgers/kafka/client/client_log.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace neliroute {
namespace {

constexpr int kLines = 300;

/// A client that writes a line for each topic that it is asked for.
rdkafka::HandlePtr talkative_client() {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  std::array<char, 256> text{};
  for (const auto& [name, value] :
       {std::pair{"log.queue", "true"}, std::pair{"debug", "topic"}}) {
    EXPECT_EQ(rd_kafka_conf_set(conf, name, value, text.data(), text.size()), RD_KAFKA_CONF_OK);
  }
  rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_LOG);
  return rdkafka::HandlePtr{rd_kafka_new(RD_KAFKA_CONSUMER, conf, text.data(), text.size())};
}

TEST(ClientLog, HandsOnAFewLinesAtOnceAndLosesNone) {
  const auto handle = talkative_client();
  ASSERT_TRUE(handle);
  ClientLog log(handle.get(), nullptr);
  std::vector<rdkafka::TopicPtr> topics;
  for (int i = 0; i < kLines; ++i) {
    topics.emplace_back(rd_kafka_topic_new(handle.get(), ("t" + std::to_string(i)).c_str(),
                                           nullptr));
  }
  std::size_t lines = 0;
  const auto count = [&](const rd_kafka_event_t*) { ++lines; };
  std::size_t portions = 0;
  ClientLog::Served served = ClientLog::Served::some;
  while (served == ClientLog::Served::some) {
    const std::size_t before = lines;
    served = log.serve(count);
    ++portions;
    ASSERT_LE(lines - before, ClientLog::kLinesAtOnce);
  }
  EXPECT_EQ(served, ClientLog::Served::all);
  EXPECT_GE(lines, static_cast<std::size_t>(kLines));
  EXPECT_GE(portions, kLines / ClientLog::kLinesAtOnce);
}

// Else whoever waits for the last line would wait for as long as lines are written.
TEST(ClientLog, WhatComesMeanwhileIsNotWaitedFor) {
  const auto handle = talkative_client();
  ASSERT_TRUE(handle);
  ClientLog log(handle.get(), nullptr);
  while (log.serve([](const rd_kafka_event_t*) {}) == ClientLog::Served::some) {
  }
  std::vector<rdkafka::TopicPtr> topics;
  const auto make_topic = [&] {
    const std::string name = "t" + std::to_string(topics.size());
    topics.emplace_back(rd_kafka_topic_new(handle.get(), name.c_str(), nullptr));
  };
  make_topic();
  std::size_t lines = 0;
  const auto and_another = [&](const rd_kafka_event_t*) {
    ++lines;
    if (lines < kLines) make_topic();
  };
  EXPECT_NE(log.serve_waiting(and_another), ClientLog::Served::gone);
  EXPECT_GE(lines, 1u);
  EXPECT_LT(lines, static_cast<std::size_t>(kLines) / 2);
}

}  // namespace
}  // namespace neliroute
