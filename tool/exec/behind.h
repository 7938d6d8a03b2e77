// What stands behind an owner: an HTTP server that knows nothing of slots (`--upstream`), and the
// program that it is, perhaps (`--exec`).
//
// Threads: one, besides that of HttpFront.   Units: std::chrono.
// Errors: bad_option, naming the option and what to do.
#pragma once

#include <cstdint>
#include <neliroute/time.h>
#include <optional>
#include <string>

#include "tool/http_front.h"
#include "tool/owner.h"

namespace neliroute::tool {

struct BehindOptions {
  std::optional<std::string> upstream;  ///< HOST:PORT
  std::optional<std::string> listen;    ///< HOST:PORT; none: the endpoint
  std::optional<std::string> health;    ///< a path there; none: that it accepts connections
  std::optional<milliseconds> unhealthy_after;  ///< none: the session
  std::optional<std::string> exec;      ///< for a shell
  std::optional<milliseconds> prepare;  ///< RouterOptions::prepare_timeout
  std::optional<milliseconds> upstream_idle;  ///< ForwarderLimits::application_idle
  FrontOptions front;
  std::optional<std::string> trusted;  ///< none: as a Forwarder does
  std::uint32_t hop_limit = 3;  ///< the router's
  std::optional<milliseconds> handover_grace;  ///< none: as a Forwarder has it

  [[nodiscard]] bool wanted() const noexcept {
    return upstream || exec || prepare || given_of_application() != nullptr;
  }
  /// Together, and with the owner's.
  [[nodiscard]] Result<void> check(const OwnerOptions& owner) const;

 private:
  /// The first flag that is given of those that only mean something with `upstream`; null: none.
  [[nodiscard]] const char* given_of_application() const noexcept;
};
void add_behind_options(CommandLine& line, BehindOptions& options);

/// run_owner() with all of that. The program is told in its variables NELI_CONTROL and NELI_TOKEN
/// where to make control calls. Returns its status, if it ended by itself.
[[nodiscard]] int run_before(const std::string& command, const OwnerOptions& owner,
                             const BehindOptions& options);

}  // namespace neliroute::tool
