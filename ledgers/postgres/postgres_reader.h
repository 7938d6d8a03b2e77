// Reads all logs, over one connection: their history, and then what notifications say of them, and
// what is there when it looks.
//
// Threads: the strand.   Units: positions, std::chrono.
// Errors: events; that nobody answers is reported, and tried again.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledgers/parts/parts_ledger.h"
#include "ledgers/postgres/postgres_client.h"

namespace neliroute {

struct PostgresReaderOptions {
  std::uint32_t logs = 1;
  milliseconds lease{0};     ///< T
  milliseconds interval{0};  ///< of renewals: without notifications it looks four times in each
  milliseconds clock_error{0};
  /// It reads from the end.
  bool watcher = false;
};

class PostgresReader final : public LedgerReader,
                             public std::enable_shared_from_this<PostgresReader> {
 public:
  PostgresReader(boost::asio::any_io_executor strand, std::shared_ptr<PostgresServers> servers,
                 PostgresReaderOptions options);

  void start(Happened happened) override;
  void restart(Log log) override;
  void reread(const RereadRequest& request) override;
  void doubt() override;
  void close() override;

 private:
  struct Last {
    std::int64_t position = -1;  ///< none was delivered
    std::int64_t stamped = 0;
    std::string value;
  };
  struct Tail {
    Log log;
    bool wanted = true;     ///< to be started, or running
    bool running = false;   ///< it was started: `next` is known
    bool behind = false;    ///< there may be more
    bool unsure = false;    ///< what was read last may not stand where it was read
    bool at_end = false;    ///< that it has read all was said
    bool listens = false;   ///< on this connection
    LocalTime begin_at = kLongAgo;  ///< not before
    std::uint64_t turn = 0;  ///< counts starts: what was begun before one is void
    std::string id;
    std::int64_t next = 0;
    Last last;
    std::optional<RereadRequest> reread;
  };
  /// What a log's row says.
  struct Row {
    std::string id;  ///< empty: there is none
    std::int64_t next = 0;
    std::int64_t low = 0;
  };

  [[nodiscard]] boost::asio::awaitable<void> run();
  /// False: the connection is of no use any more.
  [[nodiscard]] boost::asio::awaitable<bool> serve();
  [[nodiscard]] boost::asio::awaitable<bool> connect();
  [[nodiscard]] boost::asio::awaitable<bool> serve_tails();
  [[nodiscard]] boost::asio::awaitable<bool> begin(Tail& tail);
  [[nodiscard]] boost::asio::awaitable<std::optional<BrokerTime>> old_enough(const Tail& tail);
  [[nodiscard]] boost::asio::awaitable<bool> listen(Tail& tail);
  [[nodiscard]] boost::asio::awaitable<bool> look(Tail& tail);
  [[nodiscard]] boost::asio::awaitable<bool> answer(Tail& tail);
  [[nodiscard]] boost::asio::awaitable<PostgresAnswer> ask(std::string statement,
                                                           std::vector<std::string> parameters);
  void start_tail(Tail& tail, const Row& row, std::optional<std::int64_t> old);
  void take(Tail& tail, const PostgresAnswer& answer, const Row& row);
  void take_notifications();
  void take_notification(const PostgresNotification& notification);
  [[nodiscard]] static bool is_due(const Tail& tail);
  void note_unheard();
  void deliver(Tail& tail, std::int64_t position, std::int64_t stamped, std::string value);
  /// Emits a gap if that is not the log that was read.
  [[nodiscard]] bool is_same(Tail& tail, const Row& row);
  [[nodiscard]] static Row row_in(const PostgresAnswer& answer);
  void look_everywhere();
  [[nodiscard]] LocalTime due() const;
  void lose(Tail& tail, GapReason reason);
  void report(const PostgresAnswer& answer);
  void emit(const Event& event);

  boost::asio::any_io_executor strand_;
  boost::asio::steady_timer pause_;
  std::shared_ptr<PostgresServers> servers_;
  PostgresClient client_;
  PostgresReaderOptions options_;
  Happened happened_;
  std::vector<Tail> tails_;
  std::string trouble_;
  int unheard_ = 0;  ///< times that there was something new, and no notification
  LocalTime heard_ = kLongAgo;   ///< when something came by itself, or was looked for
  LocalTime proved_ = kLongAgo;  ///< when these were known to be the same logs
  bool closed_ = false;
};

}  // namespace neliroute
