// Statements to a PostgreSQL server, over one connection at a time.
//
// libpq may block while it looks up a host's name and connects: a side thread does that.
//
// Threads: the strand.   Units: std::chrono.
// Errors: in the answer; where there is none in time, the connection is dropped.
#pragma once

#include <libpq-fe.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/side_threads.h"
#include "ledgers/ledger_address.h"
#include "ledgers/parts/reports.h"
#include "ledgers/postgres/postgres_address.h"

namespace neliroute {

/// No statement has less time, and nothing that failed is tried again sooner.
inline constexpr milliseconds kPostgresAttemptLeast{100};
inline constexpr milliseconds kPostgresRetry{100};

enum class PostgresOutcome : std::uint8_t {
  ok,
  unreachable,  ///< no answer: nobody knows whether it was carried out
  other_logs,   ///< kOtherLogs
  missing,      ///< the schema, or something in it
  denied,       ///< no right to do that
  elsewhere,    ///< this server takes no writes
  failed,       ///< anything else
};

class PostgresAnswer {
 public:
  PostgresOutcome outcome = PostgresOutcome::unreachable;
  std::string trouble;  ///< what the server said, or why there is no answer

  void take(PGresult* result) { result_.reset(result, PQclear); }
  [[nodiscard]] bool ok() const noexcept { return outcome == PostgresOutcome::ok; }
  [[nodiscard]] int rows() const { return result_ ? PQntuples(result_.get()) : 0; }
  [[nodiscard]] bool is_null(int row, int column) const {
    return PQgetisnull(result_.get(), row, column) != 0;
  }
  [[nodiscard]] std::string_view text(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
  }
  /// 0: it is none.
  [[nodiscard]] std::int64_t number(int row, int column) const;
  /// Of a bytea.
  [[nodiscard]] std::string bytes(int row, int column) const;

 private:
  std::shared_ptr<PGresult> result_;
};

/// Which of the servers is tried first. All of a process share it.
class PostgresServers {
 public:
  explicit PostgresServers(PostgresConnection connection)
      : connection_(std::move(connection)),
        reports_(std::make_shared<Reports>(connection_.shown)),
        hosts_(libpq_hosts(connection_)) {}

  [[nodiscard]] const PostgresConnection& connection() const noexcept { return connection_; }
  [[nodiscard]] Reports& reports() noexcept { return *reports_; }
  [[nodiscard]] const std::shared_ptr<Reports>& shared_reports() const noexcept { return reports_; }
  [[nodiscard]] std::size_t turn() const noexcept { return turn_; }
  /// Who was connected at `turn` had no answer, or takes no writes: the next one is tried first.
  void leave(std::size_t turn) {
    if (turn == turn_ && hosts_ > 1) ++turn_;
  }
  /// As which logs they are read; empty: that is not known yet. Only to these is anything appended.
  [[nodiscard]] std::string& id_of(Log log) { return ids_[log]; }
  /// "SCHEMA.NAME"
  [[nodiscard]] std::string named(const char* name) const {
    return connection_.schema + "." + name;
  }

 private:
  PostgresConnection connection_;
  std::shared_ptr<Reports> reports_;
  std::size_t hosts_;
  std::size_t turn_ = 0;
  std::map<Log, std::string> ids_;
};

class PostgresClient {
 public:
  PostgresClient(boost::asio::any_io_executor strand, std::shared_ptr<PostgresServers> servers);

  /// Whether it is connected, to the servers' present choice.
  [[nodiscard]] bool connected();
  /// ok: it is connected now. No longer than `within`; what goes on then is waited for next time.
  [[nodiscard]] boost::asio::awaitable<PostgresAnswer> connect(milliseconds within);
  /// One at a time. Parameters are texts.
  [[nodiscard]] boost::asio::awaitable<PostgresAnswer> ask(std::string statement,
                                                           std::vector<std::string> parameters,
                                                           milliseconds within);
  /// Until there is a notification, the connection ends, wake() is called, or that time is over.
  [[nodiscard]] boost::asio::awaitable<void> wait(milliseconds at_most);
  /// The payloads of notifications, in their order.
  [[nodiscard]] std::optional<std::string> next_notification();
  void wake();
  /// What is awaited ends soon.
  void drop();
  /// The same, and connects to nothing any more.
  void close();

 private:
  using Connection = std::unique_ptr<PGconn, void (*)(PGconn*)>;
  /// What a side thread makes.
  struct Attempt {
    Connection connection{nullptr, PQfinish};
    std::size_t turn = 0;
    bool done = false;
  };

  void begin();
  /// False: the time is over, or the connection.
  [[nodiscard]] boost::asio::awaitable<bool> ready(bool to_write, LocalTime due);
  [[nodiscard]] boost::asio::awaitable<bool> sent(LocalTime due);
  [[nodiscard]] boost::asio::awaitable<bool> received(LocalTime due);
  void read_notifications();
  [[nodiscard]] PostgresAnswer gone(bool in_time);

  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  boost::asio::any_io_executor strand_;
  std::shared_ptr<PostgresServers> servers_;
  std::shared_ptr<boost::asio::steady_timer> attempted_;  ///< ends the wait for an attempt
  boost::asio::steady_timer overdue_;
  SideThreads aside_;
  std::shared_ptr<Attempt> attempt_;
  Connection connection_{nullptr, PQfinish};
  std::size_t turn_ = 0;  ///< of the servers, when it connected
  std::size_t skipped_ = 0;  ///< hosts that it could not connect to when it tried last
  std::optional<boost::asio::posix::stream_descriptor> socket_;
  std::deque<std::string> notifications_;
  bool waiting_ = false;
  bool closed_ = false;
};

}  // namespace neliroute
