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
#include <memory>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/side_threads.h"
#include "ledgers/postgres/postgres_servers.h"

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
  held,         ///< another transaction has locked a row that it needs
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

struct PostgresNotification {
  std::string channel;
  std::string text;
};

class PostgresClient {
 public:
  /// After more than `patient` requests without an answer in time the server is left.
  PostgresClient(boost::asio::any_io_executor strand, std::shared_ptr<PostgresServers> servers,
                 int patient);

  /// Whether it is connected, to the server that is in use.
  [[nodiscard]] bool connected();
  /// ok: it is connected now. No longer than `within`; what goes on then is waited for next time.
  [[nodiscard]] boost::asio::awaitable<PostgresAnswer> connect(milliseconds within);
  /// One at a time. Parameters are texts.
  [[nodiscard]] boost::asio::awaitable<PostgresAnswer> ask(std::string statement,
                                                           std::vector<std::string> parameters,
                                                           milliseconds within);
  /// Until there is a notification, the connection ends, wake() is called, or that time is over.
  [[nodiscard]] boost::asio::awaitable<void> wait(milliseconds at_most);
  /// In their order.
  [[nodiscard]] std::optional<PostgresNotification> next_notification();
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
    std::size_t changes = 0;  ///< of the servers in use, when it began
    bool done = false;
  };

  void begin();
  [[nodiscard]] boost::asio::awaitable<PostgresAnswer> attempt(milliseconds within);
  [[nodiscard]] boost::asio::awaitable<PostgresAnswer> request(
      std::string statement, std::vector<std::string> parameters, milliseconds within);
  void count(const PostgresAnswer& answer, LocalTime asked);
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
  std::size_t host_ = 0;  ///< that it is connected to
  int patient_;
  int unanswered_ = 0;  ///< requests since the last answer
  int held_ = 0;        ///< lock timeouts in a row
  std::optional<boost::asio::posix::stream_descriptor> socket_;
  std::deque<PostgresNotification> notifications_;
  std::uint64_t waits_ = 0;  ///< counts them: of each its own time is over
  bool waiting_ = false;
  bool closed_ = false;
};

}  // namespace neliroute
