// The servers that an address names, and which of them is in use. All of a process share it, or one
// part of it might read what the other does not write.
//
// Threads: the strand.   Units: std::chrono.   Errors: none.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <neliroute/clock.h>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <string>
#include <utility>
#include <vector>

#include "ledgers/ledger_address.h"
#include "ledgers/parts/reports.h"
#include "ledgers/postgres/postgres_address.h"
#include "ledgers/store_statistics.h"

namespace neliroute {

class PostgresServers {
 public:
  explicit PostgresServers(PostgresConnection connection)
      : connection_(std::move(connection)),
        reports_(std::make_shared<Reports>(connection_.shown)),
        hosts_(libpq_hosts(connection_)) {}

  [[nodiscard]] const PostgresConnection& connection() const noexcept { return connection_; }
  [[nodiscard]] Reports& reports() noexcept { return *reports_; }
  [[nodiscard]] const std::shared_ptr<Reports>& shared_reports() const noexcept { return reports_; }
  [[nodiscard]] StoreStatistics& statistics() noexcept { return *statistics_; }
  [[nodiscard]] const std::shared_ptr<StoreStatistics>& shared_statistics() const noexcept {
    return statistics_;
  }

  [[nodiscard]] bool uses(std::size_t host) const noexcept { return host == used_; }
  /// Grows with each one that is left.
  [[nodiscard]] std::size_t changes() const noexcept { return changes_; }
  /// Somebody is connected to that one.
  void use(std::size_t host) noexcept { used_ = host; }
  /// It takes no writes, or does not answer: for a while it is not tried.
  void leave(std::size_t host, LocalTime now) {
    if (hosts_ == 1 || host != used_) return;
    ++changes_;
    left_ = host;
    left_until_ = later(now, kAway);
    go_on();
  }
  /// None could be connected to: libpq does not go on from each that fails.
  void go_on() noexcept { used_ = (used_ + 1) % hosts_; }
  /// Whom to try, the first one first.
  [[nodiscard]] std::vector<std::size_t> order(LocalTime now) const {
    std::vector<std::size_t> hosts;
    for (std::size_t one = 0; one < hosts_; ++one) {
      const std::size_t host = (used_ + one) % hosts_;
      if (host != left_ || now >= left_until_) hosts.push_back(host);
    }
    return hosts;
  }

  /// As which logs they are read; empty: that is not known yet. Only to these is anything appended.
  [[nodiscard]] std::string& id_of(Log log) { return ids_[log]; }
  /// "SCHEMA.NAME"
  [[nodiscard]] std::string named(const char* name) const {
    return connection_.schema + "." + name;
  }

 private:
  static constexpr milliseconds kAway{2'000};

  PostgresConnection connection_;
  std::shared_ptr<Reports> reports_;
  std::shared_ptr<StoreStatistics> statistics_ = std::make_shared<StoreStatistics>(boot_now());
  std::size_t hosts_;
  std::size_t used_ = 0;
  std::size_t changes_ = 0;
  std::size_t left_ = 0;
  LocalTime left_until_ = kLongAgo;
  std::map<Log, std::string> ids_;
};

}  // namespace neliroute
