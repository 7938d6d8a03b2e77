// The servers of an etcd, which of them is asked at present, and what all requests carry.
//
// Threads: the strand.   Units: std::chrono.   Errors: none.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host_names.h"
#include "ledgers/ledger_address.h"
#include "neli_core/ledger.h"
#include "net/tls.h"

namespace neliroute {

class EtcdServers {
 public:
  /// `tls`: null, if the connection has none.
  EtcdServers(boost::asio::any_io_executor strand, const EtcdConnection& connection,
              TlsContextPtr tls)
      : connection_(connection), tls_(std::move(tls)), names_(std::move(strand)) {}

  [[nodiscard]] const EtcdServer& at(std::size_t server) const {
    return connection_.servers.at(server);
  }
  [[nodiscard]] const TlsContextPtr& tls() const noexcept { return tls_; }
  [[nodiscard]] HostNames& names() noexcept { return names_; }
  /// Whom to ask.
  [[nodiscard]] std::size_t current() const noexcept { return current_; }
  /// That one did not answer: the next one is asked from now on.
  void leave(std::size_t server) noexcept {
    if (server == current_) current_ = (current_ + 1) % connection_.servers.size();
  }

  [[nodiscard]] const EtcdConnection& connection() const noexcept { return connection_; }
  /// What a user's requests carry; empty: to be asked for.
  [[nodiscard]] std::string& token() noexcept { return token_; }

  /// Which logs are read (EtcdKeys::identity()); empty: that is not known yet. Only to these is
  /// anything appended.
  [[nodiscard]] std::string& logs() noexcept { return logs_; }

  void on_notice(NoticeSink notices) { notices_ = std::move(notices); }
  /// To operators, if `who` said nothing of this kind in the last minute.
  void report(std::string_view who, int kind, Severity severity, const std::string& text,
              LocalTime now) {
    const auto [at, is_first] = reported_.try_emplace({who, kind}, now);
    if (!is_first && now < later(at->second, kRepeat)) return;
    at->second = now;
    const NoticeSink notices = notices_;  // which may close this
    if (notices) notices({severity, text});
  }

 private:
  static constexpr milliseconds kRepeat{60'000};

  EtcdConnection connection_;
  TlsContextPtr tls_;
  HostNames names_;
  std::size_t current_ = 0;
  std::string token_;
  std::string logs_;
  NoticeSink notices_;
  std::map<std::pair<std::string_view, int>, LocalTime> reported_;  ///< by whom, of what: when
};

}  // namespace neliroute
