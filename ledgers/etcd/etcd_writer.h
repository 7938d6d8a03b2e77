// Appends of one process to all logs, one after the other.
//
// Each transaction writes one record, and moves this process's writer key, which it compares: so a
// request that is late, or of which nobody knows whether it was carried out, is carried out once at
// most and never after a newer one. It also compares which logs these are: nothing is appended to
// others than those that are read. Keys hang on leases of etcd, so that those of the dead vanish;
// nothing else depends on these leases.
//
// Threads: the strand.   Units: std::chrono.   Errors: told by what it was given.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>
#include <utility>

#include "ledgers/etcd/etcd_client.h"
#include "ledgers/etcd/etcd_json.h"
#include "ledgers/etcd/etcd_keys.h"
#include "ledgers/parts/parts_ledger.h"
#include "ledgers/parts/write_queue.h"
#include "neli_core/ready.h"

namespace neliroute {

struct EtcdWriterOptions {
  ProcessId id = kNobody;  ///< drawn: of no other writer
  milliseconds lease{0};   ///< T
  milliseconds kept{0};    ///< for how long records are kept, at least
};

class EtcdWriter final : public LedgerWriter, public std::enable_shared_from_this<EtcdWriter> {
 public:
  EtcdWriter(boost::asio::any_io_executor strand, std::shared_ptr<EtcdServers> servers,
             EtcdKeys keys, EtcdWriterOptions options);

  void start(Written written, Refused refused, Doubted doubted) override;
  void write(Write write) override;
  void finish(std::function<void()> done) override;
  void close() override;

 private:
  struct Pending {
    std::uint64_t number = 0;  ///< among all records of this writer
    std::uint64_t seq = 0;
    Log log;
    std::string key;
    std::string value;
    bool lasting = false;
    LocalTime due;
  };

  [[nodiscard]] boost::asio::awaitable<void> run();
  [[nodiscard]] boost::asio::awaitable<void> append(Pending pending);
  [[nodiscard]] boost::asio::awaitable<void> keep_lease();
  [[nodiscard]] boost::asio::awaitable<void> look_at_size();
  /// 0: it got none.
  [[nodiscard]] boost::asio::awaitable<std::int64_t> grant(LocalTime due);
  [[nodiscard]] boost::json::object request_for(const Pending& pending, std::int64_t lease) const;
  [[nodiscard]] milliseconds patience(LocalTime due) const;
  void take(const Pending& pending, const EtcdCommitted& committed);
  void on_trouble(const EtcdAnswer& answer);
  void report(const std::string& text, EtcdOutcome outcome);
  void refuse(const Pending& pending, const EtcdAnswer& answer);

  boost::asio::any_io_executor strand_;
  boost::asio::steady_timer pause_;  ///< what run() waits for
  WriteQueue<Pending> queue_;
  std::shared_ptr<EtcdServers> servers_;
  EtcdClient client_;
  EtcdKeys keys_;
  EtcdWriterOptions options_;
  Refused refused_;
  Doubted doubted_;
  std::function<void()> finished_;
  std::uint64_t number_ = 0;
  /// Of the records that were handed over since this turn of the strand began.
  std::map<std::pair<Log, std::string_view>, std::uint32_t> places_;
  bool batch_ends_ = false;  ///< posted
  std::int64_t writer_revision_ = 0;  ///< at which the writer key was moved last; 0: never
  std::int64_t lease_ = 0;            ///< 0: none yet
  LocalTime lease_due_ = kLongAgo;    ///< when to keep it alive again
  LocalTime size_due_ = kLongAgo;     ///< when to look how large the database is
  /// Logs of which the mark is known to be there, and as which logs.
  std::map<Log, std::string> begun_;
  bool ever_stored_ = false;
  bool ever_refused_ = false;
  bool closed_ = false;
};

}  // namespace neliroute
