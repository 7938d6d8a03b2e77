// One of the servers is sick, or somebody holds what appends need.
#include <gtest/gtest.h>

#include <neliroute/clock.h>
#include <string>

#include "tests/unit/ledgers/postgres/postgres_topic.h"
#include "tests/unit/ledgers/sick_server.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;

class PostgresSickServer : public testing::TestWithParam<Sickness> {
 protected:
  PostgresTopic topic_;
};

TEST_P(PostgresSickServer, is_left_for_the_next_one) {
  SickServer sick(GetParam());
  PostgresConnection connection = topic_.connection();
  const auto at = connection.uri.find("127.0.0.1:");
  connection.uri.insert(at, "127.0.0.1:" + sick.port() + ",");
  LedgerDriver driver;
  driver.open(1, [&](boost::asio::any_io_executor strand) {
    return make_postgres_ledger(std::move(strand), connection, PostgresTopic::options()).ledger;
  });
  driver.start_and_read();
  PostgresTopic::write_until_read(driver, 1);
  EXPECT_GT(sick.asked(), 0);
  EXPECT_LT(sick.asked(), 20) << "or it is asked again and again";
}

INSTANTIATE_TEST_SUITE_P(
    All, PostgresSickServer,
    testing::Values(Sickness{"silent", ""}, Sickness{"closes", "", false},
                    Sickness{"is_a_web_server", "HTTP/1.1 400 Bad Request\r\n\r\n"},
                    Sickness{"refuses", std::string("E\0\0\0\x1cSFATAL\0C53300\0Mtoo many\0\0", 29),
                             false},
                    Sickness{"is_slow", std::string(1000, 'E'), true, 50ms}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(PostgresSick, WhoHoldsALogsRowHoldsUpAppendsAndNothingElse) {
  PostgresTopic topic;
  LedgerDriver driver;
  topic.open_and_read(driver, PostgresTopic::options());
  PostgresTopic::write_and_read(driver, 1);
  {
    const OpenTransaction holder(topic.connection(),
                        "SELECT 1 FROM neliroute.log" + topic.where() + " FOR UPDATE");
    const LocalTime from = boot_now();
    driver.write(Log{0}, 2);
    ASSERT_TRUE(driver.wait([](const Seen& seen) { return seen.failed.size() == 1; }));
    EXPECT_LT(boot_now() - from, 5s);
    driver.run([](Ledger& ledger) { ledger.reread({Log{0}, 5, 0}); });
    ASSERT_TRUE(driver.wait([](const Seen& seen) { return !seen.rereads.empty(); }));
    EXPECT_TRUE(driver.seen().rereads[0].found);
    ASSERT_TRUE(driver.wait([](const Seen& seen) { return !seen.notices.empty(); })) << "it says";
  }
  driver.write(Log{0}, 3);
  ASSERT_TRUE(driver.wait([](const Seen& seen) { return seen.offsets.contains(3); }));
  EXPECT_TRUE(driver.seen().gaps.empty());
}

// It may be a commit that waits for standbys, which follow another server by now.
TEST(PostgresSick, WhoHoldsALogsRowForLongMakesWritersTryTheNextServer) {
  PostgresTopic topic;
  SickServer next(Sickness{"closes", "", false});
  PostgresConnection connection = topic.connection();
  const auto first = connection.uri.find("127.0.0.1:");
  connection.uri.insert(connection.uri.find('/', first), ",127.0.0.1:" + next.port());
  LedgerDriver driver;
  driver.open(1, [&](boost::asio::any_io_executor strand) {
    return make_postgres_ledger(std::move(strand), connection, PostgresTopic::options()).ledger;
  });
  driver.start_and_read();
  PostgresTopic::write_and_read(driver, 1);
  std::uint64_t seq = 1;
  {
    const OpenTransaction holder(topic.connection(),
                        "SELECT 1 FROM neliroute.log" + topic.where() + " FOR UPDATE");
    while (next.asked() == 0 && seq < 30) {
      driver.write(Log{0}, ++seq);
      ASSERT_TRUE(driver.wait([&](const Seen& seen) {
        return !seen.failed.empty() && seen.failed.back() == seq;
      }));
      EXPECT_TRUE(seq > 2 || next.asked() == 0) << "one that is held up for a moment stays";
    }
    EXPECT_GT(next.asked(), 0);
  }
  PostgresTopic::write_until_read(driver, seq + 1);
  EXPECT_TRUE(driver.seen().gaps.empty());
}

TEST(PostgresSick, WhoseConnectionsAreEndedConnectsAgain) {
  PostgresTopic topic;
  LedgerDriver driver;
  topic.open_and_read(driver, PostgresTopic::options());
  for (std::uint64_t seq = 1; seq <= 3; ++seq) {
    PostgresTopic::write_and_read(driver, 10 * seq);
    topic.server().query("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE "
                         "application_name = 'neliroute'");
  }
  EXPECT_EQ(driver.seen().received[0].size(), 3U);
  EXPECT_TRUE(driver.seen().failed.empty()) << "an idle one is known to be at its end";
  EXPECT_TRUE(driver.seen().gaps.empty());
}

}  // namespace
}  // namespace neliroute
