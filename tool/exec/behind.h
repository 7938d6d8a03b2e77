// What stands behind an owner: an HTTP server that knows nothing of slots (`--upstream`), perhaps
// the program that it is (`--exec`), and where it is notified of what it owns (`--notify`).
//
// Threads: one, besides those of HttpFront and Notifier.   Units: std::chrono.
// Errors: bad_option, naming the option and what to do.
#pragma once

#include <cstdint>
#include <neliroute/time.h>
#include <optional>
#include <string>

#include "tool/exec/notify_url.h"
#include "tool/http_front.h"
#include "tool/owner.h"

namespace neliroute::tool {

struct BehindOptions {
  std::optional<std::string> upstream;  ///< HOST:PORT
  std::optional<std::string> listen;    ///< HOST:PORT; none: the endpoint
  std::optional<std::string> health;    ///< a path there; none: that it accepts connections
  std::optional<milliseconds> unhealthy_after;  ///< none: the session
  std::optional<std::string> exec;      ///< for a shell
  std::optional<NotifyUrl> notify;      ///< in place of the program's stdin
  std::optional<milliseconds> prepare;  ///< RouterOptions::prepare_timeout
  std::optional<milliseconds> upstream_idle;  ///< ForwarderLimits::application_idle
  FrontOptions front;
  std::optional<std::string> trusted;  ///< none: as a Forwarder does
  std::uint32_t hop_limit = 3;  ///< the router's
  std::optional<milliseconds> handover_grace;  ///< none: as a Forwarder has it

  [[nodiscard]] bool wanted() const noexcept {
    return upstream || exec || notify || prepare || given_of_application() != nullptr;
  }
  /// Together, and with the owner's.
  [[nodiscard]] Result<void> check(const OwnerOptions& owner) const;

 private:
  /// The first flag that is given of those that only mean something with `upstream`; null: none.
  [[nodiscard]] const char* given_of_application() const noexcept;
};
void add_behind_options(CommandLine& line, BehindOptions& options);

/// run_owner() with all of that. Returns the program's status, if it ended by itself.
[[nodiscard]] int run_before(const std::string& command, const OwnerOptions& owner,
                             const BehindOptions& options);

}  // namespace neliroute::tool
