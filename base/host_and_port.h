// HOST:PORT, as addresses of servers are written.
//
// Threads: pure, any.   Units: none.   Errors: no value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace neliroute {

struct HostAndPort {
  std::string host;
  std::uint16_t port = 0;
};
/// Of HOST:PORT, or [ADDRESS]:PORT.
[[nodiscard]] std::optional<HostAndPort> host_and_port(std::string_view address);

}  // namespace neliroute
