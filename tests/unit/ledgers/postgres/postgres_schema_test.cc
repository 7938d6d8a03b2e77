// The SQL functions of the logs, asked by a client that knows nothing of ledgers.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <thread>

#include "tests/unit/ledgers/postgres/postgres_topic.h"

namespace neliroute {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

class PostgresSchemaTest : public testing::Test {
 protected:
  [[nodiscard]] std::string of_log(const std::string& columns) {
    return "SELECT " + columns + " FROM neliroute.log" + topic_.where(Log{0});
  }
  [[nodiscard]] std::int64_t number(const std::string& sql) {
    return std::stoll(topic_.server().query(sql).at(0).at(0));
  }
  [[nodiscard]] std::int64_t kept_records() {
    return number("SELECT count(*) FROM neliroute.record" + topic_.where());
  }

  PostgresTopic topic_;
};

TEST_F(PostgresSchemaTest, MayBeMadeAgainAndKeepsWhatIsThere) {
  topic_.append("ARRAY['a'::bytea]");
  topic_.server().query(postgres_schema("neliroute"));
  topic_.make_logs();
  EXPECT_EQ(topic_.append("ARRAY['b'::bytea]"), 1);
}

TEST_F(PostgresSchemaTest, ManyMayMakeItAtOnce) {
  std::vector<std::thread> makers;
  for (int i = 0; i < 6; ++i) {
    makers.emplace_back([this] { topic_.server().query(postgres_schema("at_once")); });
  }
  for (std::thread& one : makers) one.join();
  EXPECT_EQ(number("SELECT count(*) FROM at_once.log"), 0);
}

TEST_F(PostgresSchemaTest, PositionsAreDenseAndStampsDoNotFallWhereClocksDifferALittle) {
  EXPECT_EQ(topic_.append("ARRAY['a'::bytea, 'b'::bytea]"), 0);
  const std::string set_ahead = "UPDATE neliroute.log SET stamped = stamped + ";
  topic_.server().query(set_ahead + "900" + topic_.where(Log{0}));
  const std::int64_t ahead = number(of_log("stamped"));
  EXPECT_EQ(topic_.append("ARRAY['c'::bytea]"), 2);
  EXPECT_EQ(number(of_log("stamped")), ahead) << "as after a failover";
  topic_.server().query(set_ahead + "3600000" + topic_.where(Log{0}));
  EXPECT_EQ(topic_.append("ARRAY['d'::bytea]"), 3);
  EXPECT_LT(number(of_log("stamped")), ahead + 1'800'000)
      << "or time would stand still for an hour, and nobody be found dead";
}

TEST_F(PostgresSchemaTest, WhatIsBelowARecordThatIsTooOldGoesWithIt) {
  topic_.append("array_fill('x'::bytea, ARRAY[10])");
  topic_.server().query("UPDATE neliroute.record SET stamped = stamped - 700000" + topic_.where() +
                        " AND position = 7");
  topic_.append("array_fill('x'::bytea, ARRAY[255])");
  EXPECT_EQ(number(of_log("low")), 8) << "a clock was ahead before it";
  EXPECT_EQ(kept_records(), 257);
}

TEST_F(PostgresSchemaTest, AHoleEndsNoRetention) {
  topic_.append("array_fill('x'::bytea, ARRAY[2000])");
  topic_.server().query("DELETE FROM neliroute.record" + topic_.where() + " AND position < 1990; "
                        "UPDATE neliroute.record SET stamped = stamped - 700000" + topic_.where());
  topic_.append("array_fill('x'::bytea, ARRAY[255])");
  EXPECT_EQ(number(of_log("low")), 2000);
}

TEST_F(PostgresSchemaTest, NobodyAsksForRecordsToBeKeptForEver) {
  topic_.append("ARRAY['a'::bytea]", milliseconds{9'000'000'000'000'000});
  EXPECT_EQ(number(of_log("kept")), 7 * 86'400'000);
}

TEST_F(PostgresSchemaTest, ObjectsOfAnotherUserAreNotTrusted) {
  const auto rows = topic_.server().query(
      "CREATE ROLE mallory; CREATE SCHEMA theirs AUTHORIZATION mallory; SET ROLE mallory; "
      "CREATE TABLE theirs.log (topic text, log int); RESET ROLE; DO $make$ BEGIN EXECUTE $body$" +
      postgres_schema_body("theirs") + "$body$; EXCEPTION WHEN raise_exception THEN NULL; END "
      "$make$; SELECT to_regproc('theirs.append') IS NULL");
  EXPECT_EQ(rows.at(0).at(0), "t");
}

TEST_F(PostgresSchemaTest, WhatIsOlderThanTheLongestTimeAskedForGoes) {
  const std::string many = "array_fill('x'::bytea, ARRAY[255])";
  topic_.append(many, 1s);
  topic_.server().query("UPDATE neliroute.record SET stamped = stamped - 650000" +
                        topic_.where());
  topic_.append("ARRAY['y'::bytea, 'z'::bytea]", 700s);
  EXPECT_EQ(number(of_log("kept")), 700'000) << "the longest of all writers'";
  EXPECT_EQ(kept_records(), 257) << "not old enough for that one";
  topic_.server().query("UPDATE neliroute.record SET stamped = stamped - 100000" + topic_.where() +
                        " AND position < 255");
  topic_.append(many, 1s);
  EXPECT_EQ(kept_records(), 2 + 255);
  EXPECT_EQ(number(of_log("low")), 255);
}

TEST_F(PostgresSchemaTest, WithoutOldRecordsNothingGoes) {
  topic_.append("array_fill('x'::bytea, ARRAY[600])");
  EXPECT_EQ(kept_records(), 600);
  EXPECT_EQ(number(of_log("low")), 0);
}

TEST_F(PostgresSchemaTest, AnAppendIsDurableWhateverTheUserHasSet) {
  const std::string append = "SELECT neliroute.append(topic, log, id, 600000, 1000, "
                             "ARRAY['a'::bytea], false) FROM neliroute.log" +
                             topic_.where(Log{0});
  for (const auto& [set, used] :
       {std::pair{"off", "on"}, {"local", "on"}, {"remote_write", "on"}, {"on", "on"},
        {"remote_apply", "remote_apply"}}) {
    const auto rows = topic_.server().query(
        "SET synchronous_commit = " + std::string(set) + "; BEGIN; " + append +
        "; SELECT current_setting('synchronous_commit'), current_setting('lock_timeout')");
    EXPECT_THAT(rows.at(0), ElementsAre(used, "1s")) << set << ": as it is when it commits";
  }
}

TEST_F(PostgresSchemaTest, NothingIsAppendedToOtherLogs) {
  const std::string before = topic_.server().query(of_log("id")).at(0).at(0);
  topic_.remove_logs();
  topic_.make_logs();
  const auto rows = topic_.server().query(
      "DO $$ BEGIN PERFORM neliroute.append('" + topic_.connection().topic + "', 0, '" + before +
      "', 600000, 1000, ARRAY['a'::bytea], false); EXCEPTION WHEN SQLSTATE 'NR001' THEN NULL; "
      "END $$; " + of_log("next"));
  EXPECT_EQ(rows.at(0).at(0), "0");
}

TEST_F(PostgresSchemaTest, AnotherNumberOfLogsDoesNotAddAny) {
  topic_.server().query("SELECT neliroute.make_logs('" + topic_.connection().topic + "', 3)");
  EXPECT_EQ(number("SELECT count(*) FROM neliroute.log" + topic_.where()), 1);
}

class PostgresOwnedTest : public testing::Test {
 protected:
  PostgresOwnedTest() { topic_.open_and_read(driver_, PostgresTopic::options()); }

  /// Of all of these, by one record. Returns its position.
  std::int64_t claim(std::uint64_t seq, const std::string& parts, std::uint32_t lane = 0) {
    Record record;
    record.type = RecordType::claim;
    record.id = LedgerDriver::id();
    record.seq = seq;
    record.lane = Lane{lane};
    record.parts = LogParts::parse(parts);
    const std::string text = encode_record(record);
    driver_.run([&](Ledger& ledger) { ledger.write({Log{0}, seq, text}); });
    EXPECT_TRUE(driver_.wait([&](const Seen& seen) {
      return seen.offsets.contains(seq) ||
             std::count(seen.failed.begin(), seen.failed.end(), seq) > 0;
    }));
    const Seen seen = driver_.seen();
    const auto found = seen.offsets.find(seq);
    return found == seen.offsets.end() ? -1 : found->second;
  }
  [[nodiscard]] std::string owned(std::int64_t partition, std::int64_t offset,
                                  std::uint32_t lane = 0) const {
    return "SELECT neliroute.owned('" + topic_.connection().topic + "', " + std::to_string(lane) +
           ", " + std::to_string(partition) + ", " + std::to_string(offset) + ")";
  }
  [[nodiscard]] bool is_owned(std::int64_t partition, std::int64_t offset,
                              std::uint32_t lane = 0) {
    return topic_.server().query(owned(partition, offset, lane)).at(0).at(0) == "t";
  }

  PostgresTopic topic_;
  LedgerDriver driver_;
};

TEST_F(PostgresOwnedTest, WhoeverHasClaimedLastOwns) {
  const std::int64_t first = claim(1, "0-3,7");
  EXPECT_TRUE(is_owned(0, first));
  EXPECT_TRUE(is_owned(7, first));
  const std::int64_t second = claim(2, "3-5");
  EXPECT_TRUE(is_owned(2, first));
  EXPECT_FALSE(is_owned(3, first));
  EXPECT_TRUE(is_owned(3, second));
  EXPECT_FALSE(is_owned(0, -1)) << "no epoch";
  EXPECT_FALSE(is_owned(0, 99)) << "an epoch of logs that were longer";
  EXPECT_TRUE(is_owned(0, first, 1)) << "another lane, in which nobody has claimed it";
  claim(3, "0", 1);
  EXPECT_FALSE(is_owned(0, first, 1));
  EXPECT_TRUE(is_owned(0, first));
}

TEST_F(PostgresOwnedTest, OfLogsThatWereMadeAnewNobodyOwnsAnything) {
  const std::int64_t first = claim(1, "0");
  topic_.remove_logs();
  EXPECT_FALSE(is_owned(0, first));
  topic_.make_logs();
  EXPECT_FALSE(is_owned(0, first));
}

// What is written in the transaction comes before the successor's claim, and so before it reads.
TEST_F(PostgresOwnedTest, UntilTheTransactionEndsNobodyClaims) {
  const std::int64_t first = claim(1, "0-3");
  {
    const OpenTransaction write(topic_.connection(), owned(2, first));
    EXPECT_EQ(write.answer(), "t");
    EXPECT_EQ(claim(2, "2"), -1) << "it has failed, and may be tried again";
    EXPECT_GE(claim(3, "3"), 0) << "of another partition";
    driver_.write(Log{0}, 4);
    EXPECT_TRUE(driver_.wait([](const Seen& seen) { return seen.offsets.contains(4); }));
  }
  const std::int64_t second = claim(5, "2");
  EXPECT_GT(second, first);
  EXPECT_FALSE(is_owned(2, first));
}

TEST_F(PostgresOwnedTest, ATransactionThatSeesNoNewClaimIsRefused) {
  const std::int64_t first = claim(1, "0");
  const auto rows = topic_.server().query(
      "BEGIN ISOLATION LEVEL REPEATABLE READ; DO $$ BEGIN PERFORM neliroute.owned('" +
      topic_.connection().topic + "', 0, 0, " + std::to_string(first) +
      "); EXCEPTION WHEN raise_exception THEN CREATE TEMP TABLE refused ON COMMIT DROP AS SELECT "
      "'yes'; END $$; SELECT * FROM refused; ");
  EXPECT_EQ(rows.at(0).at(0), "yes");
}

TEST_F(PostgresOwnedTest, WhatIsNoClaimOfOursClaimsNothing) {
  for (const char* value :
       {R"({"v":2,"t":"renewal","lane":0,"x":"t","lparts":"0-3","y":1})",
        R"({"v":2,"t":"claim","lane":0,"lparts":"x-1","y":1})",
        R"({"v":2,"t":"claim","lane":0,"lparts":"-3,,99999999","y":1})",
        R"({"v":2,"t":"claim","lane":123456,"lparts":"0","y":1})",
        R"({"v":2,"t":"claim","lane":0,"lparts":{"1":"2"},"y":1})", R"({"v":2,"t":"claim"})", ""}) {
    topic_.append("ARRAY[convert_to('" + std::string(value) + "', 'UTF8')]");
  }
  EXPECT_EQ(topic_.server().query("SELECT count(*) FROM neliroute.claim WHERE id IN (SELECT id "
                                  "FROM neliroute.log" + topic_.where() + ")")[0][0], "0");
}

TEST(PostgresSchemaName, IsOneThatNeedsNoQuotes) {
  for (const char* name : {"neliroute", "_a", "a1", "a_b"}) EXPECT_TRUE(check_schema_name(name));
  for (const char* name : {"", "1a", "A", "a-b", "a.b", "a\"", "pg_x", "a;b", "ä"}) {
    EXPECT_FALSE(check_schema_name(name)) << name;
  }
  EXPECT_FALSE(check_schema_name(std::string(64, 'a')));
  EXPECT_THAT(postgres_schema("shop"), HasSubstr("CREATE TABLE IF NOT EXISTS shop.log"));
  EXPECT_THAT(postgres_schema("shop"), testing::Not(HasSubstr("@")));
}

}  // namespace
}  // namespace neliroute
