// A client that librdkafka will not use any more is replaced, and nobody waits for what it owed.
#include <gmock/gmock.h>
#include <librdkafka/rdkafka.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <neliroute/clock.h>
#include <optional>
#include <string>
#include <vector>

#include "embedded_broker/embedded_broker.h"
#include "ledgers/kafka/group/group_member.h"
#include "ledgers/kafka/record_writer.h"
#include "tests/eventually.h"
#include "tests/unit/embedded_broker/io_thread.h"
#include "tests/unit/embedded_broker/threads.h"
#include "tests/unit/ledgers/kafka/librdkafka_calls.h"
#include "tests/unit/ledgers/kafka/serve_until.h"

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

namespace neliroute {
namespace {

using std::chrono::seconds;

/// A broker on a thread of its own, and a loop in which the test serves one client.
class FatalErrorTest : public testing::Test {
 protected:
  void SetUp() override {
    open_broker(0);
    options_.brokers = broker_->address();
    timing_.lease = seconds{20};
    timing_.session = seconds{6};
    timing_.heartbeat = milliseconds{100};
    ASSERT_TRUE(wakeup_->open().has_value());
  }
  void TearDown() override {
    wakeup_->close();
    close_broker();
  }
  void open_broker(std::uint16_t port) {
    broker_io_.run([&] {
      auto opened = EmbeddedBroker::open(broker_io_.executor(), {port, {{"neliroute", 4}}});
      ASSERT_TRUE(opened.has_value()) << opened.error().message();
      broker_ = std::move(*opened);
    });
  }
  void close_broker() {
    broker_io_.run([&] { broker_.reset(); });
  }
  [[nodiscard]] ClientSettings settings() const {
    return {options_, timing_, GroupProtocol::classic, true};
  }
  template <class Client>
  bool serve_until(Client& client, const std::function<bool()>& condition) {
    return neliroute::serve_until(client, io_, condition);
  }

  IoThread broker_io_;
  std::unique_ptr<EmbeddedBroker> broker_;
  KafkaOptions options_;
  Timing timing_;
  boost::asio::io_context io_;
  std::shared_ptr<QueueWakeup> wakeup_ = std::make_shared<QueueWakeup>(io_.get_executor());
};

/// How many clients of librdkafka live in this process, by the thread that each has.
std::size_t clients() { return threads_named("rdk:main").size(); }

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

/// A member, and what was reported to it.
struct NotedMember {
  NotedMember(const ClientSettings& settings, QueueWakeup& wakeup)
      : member(
            settings, wakeup,
            [this](const Event& event) {
              if (const auto* given = std::get_if<GroupAssigned>(&event)) {
                assigned.push_back(given->partitions.to_string());
              }
              if (const auto* taken = std::get_if<GroupRevoked>(&event)) revoked.push_back(*taken);
            },
            [this](const Notice& notice) { notices.push_back(notice); }) {}
  std::vector<std::string> assigned;
  std::vector<GroupRevoked> revoked;
  std::vector<Notice> notices;
  GroupMember member;
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

TEST_F(FatalErrorTest, AMemberLosesWhatItHadAndJoinsAgainAfterAPause) {
  NotedMember noted(settings(), *wakeup_);
  auto& assigned = noted.assigned;
  auto& revoked = noted.revoked;
  GroupMember& member = noted.member;
  ASSERT_TRUE(member.join().has_value());
  ASSERT_TRUE(serve_until(member, [&] { return !assigned.empty(); }));
  EXPECT_EQ(assigned[0], "0-3");
  member.finish();

  ASSERT_EQ(rd_kafka_test_fatal_error(member.handle(), RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID,
                                      "a test"),
            RD_KAFKA_RESP_ERR_NO_ERROR);
  ASSERT_TRUE(serve_until(member, [&] { return !revoked.empty(); }));
  EXPECT_EQ(revoked[0].partitions.to_string(), "0-3");
  EXPECT_TRUE(revoked[0].lost);
  EXPECT_TRUE(member.gone());
  member.finish();

  member.rejoin_if_due(boot_now());
  EXPECT_TRUE(member.gone()) << "not in a loop";
  member.rejoin_if_due(later(boot_now(), seconds{1}));
  ASSERT_TRUE(serve_until(member, [&] { return assigned.size() > 1; }));
  EXPECT_EQ(assigned[1], "0-3");
  EXPECT_EQ(revoked.size(), 1U);
}

// As one whose right was taken away.
TEST_F(FatalErrorTest, AMemberThatIsLostAgainAndAgainJoinsMoreAndMoreRarely) {
  NotedMember noted(settings(), *wakeup_);
  GroupMember& member = noted.member;
  close_broker();  // so that nothing is assigned
  ASSERT_TRUE(member.join().has_value());
  for (const seconds pause : {seconds{1}, seconds{2}, seconds{4}}) {
    ASSERT_EQ(rd_kafka_test_fatal_error(member.handle(), RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID,
                                        "a test"),
              RD_KAFKA_RESP_ERR_NO_ERROR);
    ASSERT_TRUE(serve_until(member, [&] { return member.gone(); }));
    member.finish();
    EXPECT_FALSE(member.rejoin_if_due(later(boot_now(), pause / 2))) << pause.count();
    EXPECT_TRUE(member.rejoin_if_due(later(boot_now(), pause))) << pause.count();
  }
}

TEST_F(FatalErrorTest, AMemberThatLeavesAfterAFatalErrorIsGoneAtOnce) {
  NotedMember noted(settings(), *wakeup_);
  ASSERT_TRUE(noted.member.join().has_value());
  ASSERT_TRUE(serve_until(noted.member, [&] { return !noted.assigned.empty(); }));
  noted.member.finish();
  ASSERT_EQ(rd_kafka_test_fatal_error(noted.member.handle(), RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID,
                                      "a test"),
            RD_KAFKA_RESP_ERR_NO_ERROR);
  noted.member.leave();  // and nobody served the error
  EXPECT_TRUE(noted.member.gone());
}

// librdkafka and the group would wait for the answer for ever.
TEST_F(FatalErrorTest, AMemberWhoseAssignmentTheLibraryRefusesJoinsAnew) {
  int calls = 0;
  librdkafka_calls::Watching watching;
  watching.assign = [&] {
    return ++calls == 1 ? RD_KAFKA_RESP_ERR__STATE : RD_KAFKA_RESP_ERR_NO_ERROR;
  };
  const librdkafka_calls::Watch watch(std::move(watching));
  const std::size_t others = 1;  // the embedded broker's; those of an earlier test may end late
  ASSERT_TRUE(eventually([&] { return clients() == others; }));
  NotedMember noted(settings(), *wakeup_);
  auto& assigned = noted.assigned;
  auto& revoked = noted.revoked;
  GroupMember& member = noted.member;
  ASSERT_TRUE(member.join().has_value());
  ASSERT_TRUE(serve_until(member, [&] { return !assigned.empty(); }));
  member.finish();
  EXPECT_TRUE(revoked.empty()) << "never from inside the call that answers an event";
  member.announce_next();
  ASSERT_EQ(revoked.size(), 1U);
  EXPECT_EQ(revoked[0].partitions.to_string(), "0-3");
  EXPECT_TRUE(revoked[0].lost);
  ASSERT_EQ(noted.notices.size(), 1U);
  EXPECT_THAT(noted.notices[0].text, testing::HasSubstr("_STATE"));
  EXPECT_TRUE(member.gone());
  EXPECT_TRUE(eventually([&] { return clients() == others; }, seconds{10}))
      << "it ends, and keeps no core busy";
  member.finish();

  EXPECT_FALSE(member.rejoin_if_due(boot_now())) << "not in a loop";
  EXPECT_TRUE(member.rejoin_if_due(later(boot_now(), seconds{1})));
  ASSERT_TRUE(serve_until(member, [&] { return assigned.size() > 1; }));
  EXPECT_EQ(assigned[1], "0-3");
  member.finish();
  member.announce_next();
  EXPECT_EQ(revoked.size(), 1U);
  EXPECT_EQ(calls, 3) << "one took the place of that which was refused";
}

// Nor would the client of one that is dropped.
TEST_F(FatalErrorTest, AMemberThatIsDroppedWithARebalanceInItsQueueEnds) {
  const std::size_t others = 1;  // the embedded broker's; those of an earlier test may end late
  ASSERT_TRUE(eventually([&] { return clients() == others; }));
  std::optional<NotedMember> noted;
  noted.emplace(settings(), *wakeup_);
  ASSERT_TRUE(noted->member.join().has_value());
  ASSERT_TRUE(serve_until(noted->member, [&] { return !noted->assigned.empty(); }));
  noted->member.finish();
  NotedMember second(settings(), *wakeup_);
  const auto queued = [&] {
    const rdkafka::QueuePtr queue{rd_kafka_queue_get_consumer(noted->member.handle())};
    return rd_kafka_queue_length(queue.get());
  };
  ASSERT_TRUE(serve_until(noted->member, [&] { return queued() == 0; }));
  ASSERT_TRUE(second.member.join().has_value());
  ASSERT_TRUE(eventually([&] { return queued() > 0; }));
  noted.reset();
  EXPECT_TRUE(eventually([&] { return clients() == others + 1; }));
}

// The reason comes from its other clients: the member is only given when, and for how long.
TEST_F(FatalErrorTest, AMemberThatWithdrawsLeavesAndJoinsAgainAfterThePause) {
  NotedMember noted(settings(), *wakeup_);
  auto& assigned = noted.assigned;
  auto& revoked = noted.revoked;
  GroupMember& member = noted.member;
  ASSERT_TRUE(member.join().has_value());
  ASSERT_TRUE(serve_until(member, [&] { return !assigned.empty(); }));
  member.finish();
  const LocalTime before = boot_now();
  member.withdraw(seconds{30});
  ASSERT_EQ(revoked.size(), 1U);
  EXPECT_EQ(revoked[0].partitions.to_string(), "0-3");
  EXPECT_FALSE(revoked[0].lost) << "it hands over";
  member.finish();
  ASSERT_TRUE(serve_until(member, [&] { return member.gone(); }));
  EXPECT_FALSE(member.rejoin_if_due(later(before, seconds{29})));
  EXPECT_EQ(member.handle(), nullptr) << "nothing of the old one is kept";
  EXPECT_TRUE(member.rejoin_if_due(later(boot_now(), seconds{30})));
  ASSERT_TRUE(serve_until(member, [&] { return assigned.size() > 1; }));
  EXPECT_EQ(assigned[1], "0-3");
  member.finish();

  member.withdraw(seconds{30});
  ASSERT_TRUE(serve_until(member, [&] { return member.gone(); }));
  member.join_soon();  // the group is empty
  EXPECT_TRUE(member.rejoin_if_due(boot_now()));
  ASSERT_TRUE(serve_until(member, [&] { return assigned.size() > 2; }));
  member.finish();

  member.withdraw(seconds{30});
  member.leave();  // for good
  ASSERT_TRUE(serve_until(member, [&] { return member.gone(); }));
  EXPECT_FALSE(member.rejoin_if_due(later(boot_now(), seconds{60})));
}

bool holds_nothing(const GroupMember& member) {
  rd_kafka_topic_partition_list_t* held = nullptr;
  if (rd_kafka_assignment(member.handle(), &held) != RD_KAFKA_RESP_ERR_NO_ERROR) return false;
  return rdkafka::TopicPartitionsPtr{held}->cnt == 0;
}

TEST_F(FatalErrorTest, AMemberThatWithdrawsUnansweredJoinsAgainAsAnotherFiveSecondsAfterThePause) {
  std::atomic<int> left = 0;  // 1: destroyed before it had heard that it left; 2: after
  librdkafka_calls::Watching watching;
  watching.destroy = [&](rd_kafka_t* handle) {
    left = rd_kafka_consumer_closed(handle) == 0 ? 1 : 2;
  };
  const librdkafka_calls::Watch watch(std::move(watching));
  NotedMember noted(settings(), *wakeup_);
  GroupMember& member = noted.member;
  ASSERT_TRUE(member.join().has_value());
  ASSERT_TRUE(serve_until(member, [&] { return !noted.assigned.empty(); }));
  member.finish();
  // The mock names members by their address, which another one may get.
  const std::string client = rd_kafka_name(member.handle());
  {
    const Hang hang(broker_io_);
    const LocalTime before = boot_now();
    member.withdraw(seconds{30});
    const LocalTime after = boot_now();
    member.finish();
    ASSERT_TRUE(serve_until(member, [&] { return holds_nothing(member); }));
    EXPECT_FALSE(member.rejoin_if_due(later(before, seconds{35} - milliseconds{1})));
    ASSERT_NE(member.handle(), nullptr);
    EXPECT_FALSE(member.gone()) << "it has not heard that it left";
    EXPECT_TRUE(member.rejoin_if_due(later(after, seconds{35})));
    EXPECT_TRUE(eventually([&] { return left > 0; }, seconds{10}));
  }
  EXPECT_EQ(left, 2) << "librdkafka might wait for the group's answer for ever, at full speed";
  ASSERT_TRUE(serve_until(member, [&] { return noted.assigned.size() > 1; }));
  EXPECT_EQ(noted.assigned[1], "0-3");
  EXPECT_NE(rd_kafka_name(member.handle()), client);
  EXPECT_EQ(noted.revoked.size(), 1U) << "of another one's end it is told nothing";
}

}  // namespace
}  // namespace neliroute

#endif
