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
#include <vector>

#include "base/host_names.h"
#include "ledgers/ledger_address.h"
#include "neli_core/ledger.h"

namespace neliroute {

class EtcdServers {
 public:
  EtcdServers(boost::asio::any_io_executor strand, const EtcdConnection& connection)
      : connection_(connection), names_(std::move(strand)) {}

  [[nodiscard]] const EtcdServer& at(std::size_t server) const {
    return connection_.servers.at(server);
  }
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

  void on_notice(NoticeSink notices) { notices_ = std::move(notices); }
  /// To operators, if nothing of this kind was said in the last minute.
  void report(int kind, Severity severity, const std::string& text, LocalTime now) {
    const auto [at, is_first] = reported_.try_emplace(kind, now);
    if (!is_first && now < later(at->second, kRepeat)) return;
    at->second = now;
    if (notices_) notices_({severity, text});
  }

 private:
  static constexpr milliseconds kRepeat{60'000};

  EtcdConnection connection_;
  HostNames names_;
  std::size_t current_ = 0;
  std::string token_;
  NoticeSink notices_;
  std::map<int, LocalTime> reported_;  ///< by kind: when
};

}  // namespace neliroute
