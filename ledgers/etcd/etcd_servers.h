// The servers of an etcd, which of them is asked at present, and what all requests carry.
//
// Threads: the strand.   Units: std::chrono.   Errors: none.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <neliroute/clock.h>
#include <neliroute/ids.h>
#include <string>
#include <utility>
#include <vector>

#include "base/host_names.h"
#include "ledgers/ledger_address.h"
#include "ledgers/parts/reports.h"
#include "ledgers/store_statistics.h"
#include "net/tls.h"

namespace neliroute {

class EtcdServers {
 public:
  /// `tls`: null, if the connection has none.
  EtcdServers(boost::asio::any_io_executor strand, const EtcdConnection& connection,
              TlsContextPtr tls)
      : connection_(connection),
        tls_(std::move(tls)),
        names_(strand),
        token_asked_(std::move(strand), boost::asio::steady_timer::time_point::max()),
        reports_(std::make_shared<Reports>(connection.shown)) {}

  [[nodiscard]] const EtcdServer& at(std::size_t server) const {
    return connection_.servers.at(server);
  }
  [[nodiscard]] const TlsContextPtr& tls() const noexcept { return tls_; }
  [[nodiscard]] HostNames& names() noexcept { return names_; }
  /// Whom to ask.
  [[nodiscard]] std::size_t current() const noexcept { return current_; }
  [[nodiscard]] std::size_t count() const noexcept { return connection_.servers.size(); }
  /// That one did not answer, or not as an etcd does: the next one is asked from now on.
  void leave(std::size_t server) {
    if (count() == 1) return;
    if (server == current_) current_ = (current_ + 1) % count();
    const auto left = on_leave_;
    if (left) left(server);
  }
  /// Who waits for it may wait in vain.
  void on_leave(std::function<void(std::size_t server)> left) { on_leave_ = std::move(left); }

  [[nodiscard]] const EtcdConnection& connection() const noexcept { return connection_; }
  /// What a user's requests carry; empty: to be asked for.
  [[nodiscard]] std::string& token() noexcept { return token_; }
  /// While it lives, no other client of this process asks for a token; it wakes who waits for that.
  class AsksForToken {
   public:
    explicit AsksForToken(EtcdServers& servers) : servers_(servers) { servers_.asked_for_ = true; }
    ~AsksForToken() {
      servers_.asked_for_ = false;
      servers_.token_asked_.cancel();
    }
    AsksForToken(const AsksForToken&) = delete;
    AsksForToken& operator=(const AsksForToken&) = delete;

   private:
    EtcdServers& servers_;
  };
  [[nodiscard]] bool token_is_asked_for() const noexcept { return asked_for_; }
  [[nodiscard]] boost::asio::steady_timer& token_asked() noexcept { return token_asked_; }

  /// As which logs that one is read (EtcdKeys::identity()); empty: that is not known yet. Only to
  /// these is anything appended.
  [[nodiscard]] std::string& logs(Log log) { return logs_[log]; }

  [[nodiscard]] Reports& reports() noexcept { return *reports_; }
  [[nodiscard]] const std::shared_ptr<Reports>& shared_reports() const noexcept { return reports_; }
  [[nodiscard]] StoreStatistics& statistics() noexcept { return *statistics_; }
  [[nodiscard]] const std::shared_ptr<StoreStatistics>& shared_statistics() const noexcept {
    return statistics_;
  }

 private:
  EtcdConnection connection_;
  TlsContextPtr tls_;
  HostNames names_;
  std::size_t current_ = 0;
  std::string token_;
  boost::asio::steady_timer token_asked_;  ///< never expires
  bool asked_for_ = false;
  std::map<Log, std::string> logs_;
  std::shared_ptr<Reports> reports_;
  std::shared_ptr<StoreStatistics> statistics_ = std::make_shared<StoreStatistics>(boot_now());
  std::function<void(std::size_t server)> on_leave_;
};

}  // namespace neliroute
