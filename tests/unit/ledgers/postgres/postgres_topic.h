// A topic of a test's own on the PostgreSQL that all tests of a program share.
//
// Threads: the test's.   Units: std::chrono.   Errors: they fail the test.
#pragma once

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <memory>
#include <string>

#include "ledgers/postgres/postgres_ledger.h"
#include "ledgers/postgres/postgres_schema.h"
#include "tests/unit/ledgers/ledger_driver.h"
#include "tests/unit/ledgers/postgres/postgres_server.h"

namespace neliroute {

/// A client of its own, that keeps a transaction open.
class OpenTransaction {
 public:
  OpenTransaction(const PostgresConnection& connection, const std::string& sql)
      : connection_(PQconnectdb(connection.uri.c_str()), PQfinish) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> done(
        PQexec(connection_.get(), ("BEGIN; " + sql).c_str()), PQclear);
    EXPECT_EQ(PQresultStatus(done.get()), PGRES_TUPLES_OK) << PQerrorMessage(connection_.get());
    if (PQntuples(done.get()) == 1) answer_ = PQgetvalue(done.get(), 0, 0);
  }
  [[nodiscard]] const std::string& answer() const noexcept { return answer_; }

 private:
  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
  std::string answer_;
};

class PostgresTopic {
 public:
  explicit PostgresTopic(std::uint32_t logs = 1) : logs_(logs) {
    static int topics = 0;
    name_ = "topic" + std::to_string(++topics);
    server_.query(postgres_schema("neliroute"));
    make_logs();
  }
  ~PostgresTopic() { server_.thaw(); }
  PostgresTopic(const PostgresTopic&) = delete;
  PostgresTopic& operator=(const PostgresTopic&) = delete;

  [[nodiscard]] PostgresProcess& server() { return server_; }
  [[nodiscard]] PostgresConnection connection(const std::string& query = "") const {
    return server_.connection(name_, query);
  }
  void make_logs() {
    server_.query("SELECT neliroute.make_logs('" + name_ + "', " + std::to_string(logs_) + ")");
  }
  void remove_logs() {
    server_.query("DELETE FROM neliroute.record" + where() + "; DELETE FROM neliroute.log" +
                  where());
  }
  /// Of a log's record or row.
  [[nodiscard]] std::string where(Log log) const {
    return where() + " AND log = " + std::to_string(log.value());
  }
  [[nodiscard]] std::string where() const { return " WHERE topic = '" + name_ + "'"; }
  /// `values`: SQL of an array. Position of the first.
  std::int64_t append(const std::string& values, milliseconds kept = milliseconds{600'000}) {
    const auto rows = server_.query(
        "SELECT neliroute.append(topic, log, id, " + std::to_string(kept.count()) + ", 1000, " +
        values + ", false) FROM neliroute.log" + where(Log{0}));
    return rows.empty() ? -1 : std::stoll(rows[0][0]);
  }

  /// A ledger with these options, that reads all there is.
  void open_and_read(LedgerDriver& driver, PostgresLedgerOptions options,
                     const std::string& query = "") {
    options.logs = logs_;
    driver.open(logs_, [&](boost::asio::any_io_executor strand) {
      return make_postgres_ledger(std::move(strand), connection(query), options).ledger;
    });
    driver.start_and_read();
  }
  [[nodiscard]] static PostgresLedgerOptions options() {
    PostgresLedgerOptions options;
    options.lease = milliseconds{1'000};
    options.interval = milliseconds{100};
    options.clock_error = milliseconds{100};
    options.kept = milliseconds{600'000};
    return options;
  }
  static void write_and_read(LedgerDriver& driver, std::uint64_t seq) {
    driver.write(Log{0}, seq);
    ASSERT_TRUE(driver.wait([&](const Seen& seen) {
      return !seen.received[0].empty() && seen.received[0].back().seq == seq;
    }));
  }
  /// The same where some may fail, each under a number of its own from `seq` on.
  static void write_until_read(LedgerDriver& driver, std::uint64_t seq) {
    for (bool read = false; !read; ++seq) {
      driver.write(Log{0}, seq);
      ASSERT_TRUE(driver.wait([&](const Seen& seen) {
        read = !seen.received[0].empty() && seen.received[0].back().seq == seq;
        return read || (!seen.failed.empty() && seen.failed.back() == seq);
      }));
    }
  }

 private:
  PostgresProcess& server_ = PostgresProcess::shared();
  std::string name_;
  std::uint32_t logs_;
};

}  // namespace neliroute
