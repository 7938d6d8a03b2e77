// Checks options, apart from what only a broker knows. Private; the command uses it, too.
//
// Threads: any.   Units: none.
// Errors: bad_option, naming the option, what was expected and what to do.
#pragma once

#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <optional>
#include <string>
#include <string_view>

namespace neliroute {

/// Whether every slot can get a key.
[[nodiscard]] Result<void> check_hash(SlotCount slots, HashScheme hash);

/// Whether callers can connect to it: HOST:PORT, where HOST is a name, an IPv4 address, or an IPv6
/// address in brackets.
[[nodiscard]] Result<void> check_endpoint(std::string_view endpoint);

/// A warning if only this machine can connect to the endpoint, and some broker is elsewhere.
[[nodiscard]] std::optional<std::string> loopback_warning(std::string_view endpoint,
                                                          std::string_view brokers);

}  // namespace neliroute
