// Appends records, over a connection of its own, and watches that the database may keep them.
//
// What was sent and not answered is said to have failed: it may be stored all the same.
//
// Threads: the strand.   Units: std::chrono.   Errors: told by what it was given.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <string>
#include <vector>

#include "ledgers/parts/parts_ledger.h"
#include "ledgers/parts/write_queue.h"
#include "ledgers/postgres/postgres_client.h"

namespace neliroute {

struct PostgresWriterOptions {
  milliseconds lease{0};  ///< T
  milliseconds kept{0};   ///< for how long records are kept, at least
  bool exclusive = false;
};

class PostgresWriter final : public LedgerWriter,
                             public std::enable_shared_from_this<PostgresWriter> {
 public:
  PostgresWriter(boost::asio::any_io_executor strand, std::shared_ptr<PostgresServers> servers,
                 PostgresWriterOptions options);

  void start(Written written, Refused refused, Doubted doubted) override;
  void write(Write write) override;
  void finish(std::function<void()> done) override;
  void close() override;

 private:
  struct Pending {
    std::uint64_t number = 0;
    std::uint64_t seq = 0;
    Log log;
    std::string value;
    LocalTime due;
  };

  [[nodiscard]] boost::asio::awaitable<void> run();
  [[nodiscard]] boost::asio::awaitable<bool> connect();
  [[nodiscard]] boost::asio::awaitable<void> append();
  [[nodiscard]] boost::asio::awaitable<void> look_at_promise();
  /// The first that wait and are of one log, and what append() is given of them.
  [[nodiscard]] std::vector<std::uint64_t> batch(std::string& values, bool& plain) const;
  void take(const std::vector<std::uint64_t>& numbers, const PostgresAnswer& answer);
  void report(const PostgresAnswer& answer);

  boost::asio::any_io_executor strand_;
  boost::asio::steady_timer pause_;
  WriteQueue<Pending> queue_;
  std::shared_ptr<PostgresServers> servers_;
  PostgresClient client_;
  PostgresWriterOptions options_;
  Refused refused_;
  Doubted doubted_;
  std::function<void()> finished_;
  std::uint64_t number_ = 0;
  LocalTime promise_due_ = kLongAgo;  ///< when to look whether records may be lost
  bool ever_stored_ = false;
  bool ever_refused_ = false;
  bool closed_ = false;
};

}  // namespace neliroute
