// The servers of an etcd, which of them is asked at present, and what all requests carry.
//
// Threads: the strand.   Units: std::chrono.   Errors: none.
#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <string>
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

  /// As which logs that one is read (EtcdKeys::identity()); empty: that is not known yet. Only to
  /// these is anything appended.
  [[nodiscard]] std::string& logs(Log log) { return logs_[log]; }

  void on_notice(NoticeSink notices) { notices_ = std::move(notices); }
  /// To operators, if `who` said nothing of this kind in the last minute.
  void report(const std::string& who, int kind, Severity severity, const std::string& text,
              LocalTime now) {
    Report& last = reported_[{who, kind}];
    if (last.said != kLongAgo && now < later(last.said, last.open ? kRepeat : kPause)) return;
    if (!last.open) last.since = now;
    last.open = true;
    last.said = now;
    notify(severity, connection_.shown + ": " + text);
  }
  /// What `who` reported is over.
  void recovered(const std::string& who, const std::string& text, LocalTime now) {
    LocalTime since = kNever;
    for (auto& [what, last] : reported_) {
      if (what.first != who || !std::exchange(last.open, false)) continue;
      since = std::min(since, last.since);
    }
    if (since == kNever) return;
    const auto lasted = std::chrono::duration_cast<milliseconds>(now - since).count();
    notify(Severity::info, connection_.shown + ": " + text + ", " + std::to_string(lasted) +
                               " ms after the first failure");
  }

 private:
  struct Report {
    LocalTime since = kLongAgo;
    LocalTime said = kLongAgo;
    bool open = false;
  };
  static constexpr milliseconds kRepeat{60'000};
  static constexpr milliseconds kPause{5'000};  ///< where it comes and goes

  void notify(Severity severity, const std::string& text) const {
    const NoticeSink notices = notices_;  // which may close this
    if (notices) notices({severity, text});
  }

  EtcdConnection connection_;
  TlsContextPtr tls_;
  HostNames names_;
  std::size_t current_ = 0;
  std::string token_;
  std::map<Log, std::string> logs_;
  NoticeSink notices_;
  std::map<std::pair<std::string, int>, Report> reported_;  ///< by whom, of what
  std::function<void(std::size_t server)> on_leave_;
};

}  // namespace neliroute
