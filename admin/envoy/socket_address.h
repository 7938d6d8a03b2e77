// Where an owner's endpoint leads: an IP address and a port, since Envoy takes nothing else.
//
// Threads: pure functions, any.   Units: none.
// Errors: bad_option, saying what is wrong with the endpoint.
#pragma once

#include <compare>
#include <cstdint>
#include <neliroute/error.h>
#include <optional>
#include <string>
#include <string_view>

namespace neliroute::admin {

struct SocketAddress {
  std::string ip;  ///< IPv6 without brackets
  std::uint16_t port = 0;
  friend auto operator<=>(const SocketAddress&, const SocketAddress&) = default;
};

/// "10.0.0.7:8080", "[2001:db8::7]:8080".
[[nodiscard]] std::string to_string(const SocketAddress& address);

struct EndpointText {
  std::string host;  ///< an address without brackets, or a name
  std::uint16_t port = 0;
};

/// HOST:PORT or [IPV6]:PORT, the port from 1.
[[nodiscard]] Result<EndpointText> parse_endpoint(std::string_view text);

/// The address, as everybody writes it; none if the host is a name. Addresses with a zone
/// (fe80::1%eth0) mean something on one machine only, and count as names.
[[nodiscard]] std::optional<std::string> ip_of(std::string_view host);

}  // namespace neliroute::admin
