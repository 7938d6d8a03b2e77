// The voters of a quorum, and what all that this process asks of them has in common.
//
// Threads: the strand.   Units: std::chrono.   Errors: none.
#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <neliroute/clock.h>
#include <string>
#include <utility>

#include "base/host_names.h"
#include "ledgers/ledger_address.h"
#include "ledgers/parts/reports.h"
#include "ledgers/store_statistics.h"
#include "net/tls.h"

namespace neliroute {

class QuorumVoters {
 public:
  /// `tls`: null, if the connection has none.
  QuorumVoters(boost::asio::any_io_executor strand, QuorumConnection connection, TlsContextPtr tls)
      : connection_(std::move(connection)),
        tls_(std::move(tls)),
        names_(std::move(strand)),
        reports_(std::make_shared<Reports>(connection_.shown)) {}

  [[nodiscard]] const QuorumConnection& connection() const noexcept { return connection_; }
  /// Null: without TLS. The files are read anew now and then, as they may have been renewed; while
  /// they cannot be read, what was read last is used.
  [[nodiscard]] TlsContextPtr tls() {
    constexpr milliseconds kEach{10'000};
    const LocalTime now = boot_now();
    if (!tls_ || now < later(tls_read_, kEach)) return tls_;
    tls_read_ = now;
    auto anew =
        trusting({connection_.authorities, connection_.certificate, connection_.private_key});
    if (anew) {
      tls_ = std::move(*anew);
    } else {
      reports_->report("tls", 0, Severity::error, anew.error().message(), now);
    }
    return tls_;
  }
  [[nodiscard]] HostNames& names() noexcept { return names_; }
  [[nodiscard]] Reports& reports() noexcept { return *reports_; }
  [[nodiscard]] const std::shared_ptr<Reports>& shared_reports() const noexcept { return reports_; }
  [[nodiscard]] StoreStatistics& statistics() noexcept { return *statistics_; }
  [[nodiscard]] const std::shared_ptr<StoreStatistics>& shared_statistics() const noexcept {
    return statistics_;
  }

 private:
  QuorumConnection connection_;
  TlsContextPtr tls_;
  LocalTime tls_read_ = boot_now();
  HostNames names_;
  std::shared_ptr<Reports> reports_;
  std::shared_ptr<StoreStatistics> statistics_ = std::make_shared<StoreStatistics>(boot_now());
};

}  // namespace neliroute
