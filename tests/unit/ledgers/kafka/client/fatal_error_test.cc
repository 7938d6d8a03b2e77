// A producer that librdkafka will not use any more is replaced, and nobody waits for what it owed.
#include <gmock/gmock.h>
#include <librdkafka/rdkafka.h>

#include <chrono>
#include <map>
#include <neliroute/clock.h>
#include <string>
#include <vector>

#include "ledgers/kafka/record_writer.h"
#include "tests/unit/ledgers/kafka/client/client_on_broker.h"

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

namespace neliroute {
namespace {

using std::chrono::seconds;

using FatalErrorTest = ClientOnBroker;

/// Every log answered then.
RecordWriter::LastAnswer heard_at(LocalTime at) {
  return [at](Log) { return at; };
}

/// A writer, what it answered for each record, and how often its client was replaced.
struct NotedWriter {
  NotedWriter(const ClientSettings& settings, QueueWakeup& wakeup)
      : writer(settings, wakeup,
               [this](std::uint64_t seq, rd_kafka_resp_err_t error, std::int64_t) {
                 answers[seq].push_back(error);
               }) {
    writer.before_replacement([this] { ++replaced; });
  }
  std::map<std::uint64_t, std::vector<rd_kafka_resp_err_t>> answers;
  int replaced = 0;
  RecordWriter writer;
};

TEST_F(FatalErrorTest, AWriterGoesOnWithANewClientAndAnswersForTheOldOne) {
  NotedWriter noted(settings(), *wakeup_);
  auto& answers = noted.answers;
  RecordWriter& writer = noted.writer;
  ASSERT_TRUE(writer.open().has_value());
  writer.warm_up();
  writer.write({Log{0}, 1, "one"});
  ASSERT_TRUE(serve_until(writer, [&] { return answers.contains(1); }));
  EXPECT_EQ(answers[1], std::vector{RD_KAFKA_RESP_ERR_NO_ERROR});

  const std::uint16_t port = broker_->port();
  close_broker();  // so that the next one stays on its way
  writer.write({Log{1}, 2, "two"});
  ASSERT_EQ(rd_kafka_test_fatal_error(writer.handle(),
                                      RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "a test"),
            RD_KAFKA_RESP_ERR_NO_ERROR);
  ASSERT_TRUE(serve_until(writer, [&] { return answers.contains(2); }));
  ASSERT_TRUE(serve_until(writer, [&] { return noted.replaced > 0; }));
  EXPECT_EQ(noted.replaced, 1);
  ASSERT_EQ(answers[2].size(), 1U) << "each record is answered once";
  EXPECT_NE(answers[2][0], RD_KAFKA_RESP_ERR_NO_ERROR);
  EXPECT_EQ(writer.outstanding_count(), 0U);

  open_broker(port);
  writer.write({Log{0}, 3, "three"});
  ASSERT_TRUE(serve_until(writer, [&] { return answers.contains(3); }));
  EXPECT_EQ(answers[3], std::vector{RD_KAFKA_RESP_ERR_NO_ERROR});
}

// A producer that only times out, as one does that waits for ever for what it has lost count of.
TEST_F(FatalErrorTest, AWriterThatStoresNothingForLongGoesOnWithANewClient) {
  timing_.lease = milliseconds{300};
  NotedWriter noted(settings(), *wakeup_);
  auto& answers = noted.answers;
  RecordWriter& writer = noted.writer;
  ASSERT_TRUE(writer.open().has_value());
  writer.warm_up();
  const auto in_long = [] { return later(boot_now(), seconds{10}); };
  EXPECT_FALSE(writer.rescue_if_due(in_long(), heard_at(in_long()))) << "it tried nothing";

  const std::uint16_t port = broker_->port();
  close_broker();
  writer.write({Log{0}, 1, "one"});
  ASSERT_TRUE(serve_until(writer, [&] { return answers.contains(1); }));
  EXPECT_EQ(answers[1], std::vector{RD_KAFKA_RESP_ERR__MSG_TIMED_OUT});
  writer.write({Log{0}, 2, "two"});
  EXPECT_FALSE(writer.rescue_if_due(boot_now(), heard_at(boot_now())))
      << "not at the first failure";
  EXPECT_TRUE(writer.rescue_if_due(in_long(), heard_at(in_long())));
  EXPECT_EQ(noted.replaced, 1);
  EXPECT_EQ(answers[2], std::vector{RD_KAFKA_RESP_ERR__PURGE_INFLIGHT});
  EXPECT_FALSE(writer.rescue_if_due(in_long(), heard_at(in_long())))
      << "the next one has time, and more";

  open_broker(port);
  std::uint64_t seq = 2;
  ASSERT_TRUE(serve_until(writer, [&] {
    if (seq == 2 || answers.contains(seq)) writer.write({Log{0}, ++seq, "on"});
    return answers.contains(seq - 1) &&
           answers[seq - 1] == std::vector{RD_KAFKA_RESP_ERR_NO_ERROR};
  }));
  EXPECT_FALSE(writer.rescue_if_due(in_long(), heard_at(in_long()))) << "it stores again";
}

// As when no thread can be had: librdkafka makes no client then.
TEST_F(FatalErrorTest, AWriterThatGetsNoNewClientStoresNothingAndTriesAgainMoreAndMoreRarely) {
  NotedWriter noted(settings(), *wakeup_);
  auto& answers = noted.answers;
  RecordWriter& writer = noted.writer;
  ASSERT_TRUE(writer.open().has_value());
  writer.warm_up();
  writer.write({Log{0}, 1, "one"});
  ASSERT_TRUE(serve_until(writer, [&] { return answers.contains(1); }));
  options_.properties["no.such.property"] = "1";  // the settings that the writer refers to
  ASSERT_EQ(rd_kafka_test_fatal_error(writer.handle(),
                                      RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "a test"),
            RD_KAFKA_RESP_ERR_NO_ERROR);
  ASSERT_TRUE(serve_until(writer, [&] { return noted.replaced > 0; }));
  EXPECT_EQ(writer.handle(), nullptr);
  EXPECT_FALSE(writer.write({Log{0}, 2, "two"}));
  ASSERT_TRUE(serve_until(writer, [&] { return answers.contains(2); }));
  ASSERT_EQ(answers[2].size(), 1U);
  EXPECT_NE(answers[2][0], RD_KAFKA_RESP_ERR_NO_ERROR) << "nobody can have stored it";

  LocalTime now = boot_now();
  EXPECT_FALSE(writer.rescue_if_due(now, heard_at(now))) << "not at once";
  const LocalTime end = later(now, seconds{60});
  std::vector<std::string> told;
  for (; now < end; now = later(now, RecordWriter::kOpenAgain / 2)) {
    if (const auto notice = writer.rescue_if_due(now, heard_at(now))) told.push_back(notice->text);
  }
  ASSERT_EQ(told.size(), 1U) << "once";
  EXPECT_NE(told[0].find("nothing can be written"), std::string::npos) << told[0];
  EXPECT_EQ(writer.handle(), nullptr);

  options_.properties.clear();
  const LocalTime mended = now;
  while (writer.handle() == nullptr && now < later(mended, seconds{120})) {
    now = later(now, RecordWriter::kOpenAgain);
    if (const auto notice = writer.rescue_if_due(now, heard_at(now))) told.push_back(notice->text);
  }
  EXPECT_GT(now - mended, seconds{1}) << "the more often it failed, the rarer it is tried";
  ASSERT_NE(writer.handle(), nullptr);
  EXPECT_EQ(told.size(), 2U) << "and that it goes on";
  writer.write({Log{0}, 3, "three"});
  ASSERT_TRUE(serve_until(writer, [&] { return answers.contains(3); }));
  EXPECT_EQ(answers[3], std::vector{RD_KAFKA_RESP_ERR_NO_ERROR});
}

// As where a right is missing: one that is made at once fails at once, twice a second, for ever.
TEST_F(FatalErrorTest, AWriterWhoseClientsStoreNothingMakesThemMoreAndMoreRarely) {
  NotedWriter noted(settings(), *wakeup_);
  RecordWriter& writer = noted.writer;
  ASSERT_TRUE(writer.open().has_value());
  const auto fail = [&] {
    const int before = noted.replaced;
    rd_kafka_test_fatal_error(writer.handle(), RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
                              "a test");
    return serve_until(writer, [&] { return noted.replaced > before; });
  };
  std::vector<microseconds> without;
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(writer.is_refused()) << "not before the broker has said so";
    ASSERT_TRUE(fail());
    ASSERT_EQ(writer.handle(), nullptr);
    EXPECT_TRUE(writer.is_refused());
    const LocalTime failed = boot_now();
    LocalTime now = failed;
    while (writer.handle() == nullptr && now < later(failed, seconds{60})) {
      now = later(now, RecordWriter::kOpenAgain / 2);
      EXPECT_FALSE(writer.rescue_if_due(now, heard_at(now))) << "its failure was reported";
    }
    ASSERT_NE(writer.handle(), nullptr);
    without.push_back(now - failed);
  }
  EXPECT_GE(without[3], 4 * without[0]);
  ASSERT_TRUE(fail());
  writer.retry();
  const LocalTime soon = later(boot_now(), 2 * RecordWriter::kOpenAgain);
  EXPECT_FALSE(writer.rescue_if_due(soon, heard_at(soon)));
  ASSERT_NE(writer.handle(), nullptr) << "who joins again does not wait for long";
  writer.write({Log{0}, 1, "one"});
  ASSERT_TRUE(serve_until(writer, [&] { return noted.answers.contains(1); }));
  ASSERT_EQ(noted.answers[1], std::vector{RD_KAFKA_RESP_ERR_NO_ERROR});
  ASSERT_TRUE(fail());
  EXPECT_NE(writer.handle(), nullptr) << "what has stored was no lost cause";
  EXPECT_FALSE(writer.is_refused());
  ASSERT_TRUE(fail());
  EXPECT_EQ(writer.handle(), nullptr) << "the next one has stored nothing";
}

TEST_F(FatalErrorTest, AWriterThatLostItsClientForAnotherReasonIsNotRefused) {
  NotedWriter noted(settings(), *wakeup_);
  ASSERT_TRUE(noted.writer.open().has_value());
  rd_kafka_test_fatal_error(noted.writer.handle(), RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
                            "a test");
  ASSERT_TRUE(serve_until(noted.writer, [&] { return noted.replaced > 0; }));
  ASSERT_EQ(noted.writer.handle(), nullptr) << "it had stored nothing";
  EXPECT_FALSE(noted.writer.is_refused());
}

TEST_F(FatalErrorTest, AWriterThatGetsNoNewClientCanBeEnded) {
  {
    NotedWriter noted(settings(), *wakeup_);
    ASSERT_TRUE(noted.writer.open().has_value());
    options_.properties["no.such.property"] = "1";
    rd_kafka_test_fatal_error(noted.writer.handle(),
                              RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "a test");
    ASSERT_TRUE(serve_until(noted.writer, [&] { return noted.replaced > 0; }));
    EXPECT_TRUE(noted.writer.idle());
    noted.writer.broadcast(4);
  }
  options_.properties.clear();
}

// Its last write failed, and then it had nothing more to say: it leads nothing.
TEST_F(FatalErrorTest, AnIdleWriterIsReplacedOnceAtMost) {
  timing_.lease = milliseconds{300};
  NotedWriter noted(settings(), *wakeup_);
  ASSERT_TRUE(noted.writer.open().has_value());
  close_broker();
  noted.writer.write({Log{0}, 1, "one"});
  ASSERT_TRUE(serve_until(noted.writer, [&] { return noted.answers.contains(1); }));
  LocalTime now = boot_now();
  for (int minute = 0; minute < 30; ++minute) {
    now = later(now, seconds{61});
    static_cast<void>(noted.writer.rescue_if_due(now, heard_at(now)));
  }
  EXPECT_LE(noted.replaced, 1);
}

TEST_F(FatalErrorTest, AWriterIsNotReplacedWhileTheBrokersAreAway) {
  timing_.lease = milliseconds{300};
  bool failed = false;
  const auto note = [&](std::uint64_t, rd_kafka_resp_err_t error, std::int64_t) {
    failed = error != RD_KAFKA_RESP_ERR_NO_ERROR;
  };
  RecordWriter writer(settings(), *wakeup_, note);
  ASSERT_TRUE(writer.open().has_value());
  close_broker();
  writer.write({Log{0}, 1, "one"});
  ASSERT_TRUE(serve_until(writer, [&] { return failed; }));
  const LocalTime begin = boot_now();
  const LocalTime back = later(begin, seconds{60});
  writer.write({Log{0}, 2, "two"});
  EXPECT_FALSE(writer.rescue_if_due(back, heard_at(begin))) << "nothing was heard for a minute";
  EXPECT_FALSE(writer.rescue_if_due(later(back, seconds{4}), heard_at(later(back, seconds{4}))));
  EXPECT_TRUE(writer.rescue_if_due(later(back, seconds{6}), heard_at(later(back, seconds{6}))));
}

}  // namespace
}  // namespace neliroute

#endif
