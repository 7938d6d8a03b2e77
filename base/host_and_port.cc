#include "base/host_and_port.h"

#include <charconv>
#include <system_error>

namespace neliroute {

std::optional<HostAndPort> host_and_port(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = address.substr(0, colon);
  const std::string_view port = address.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  HostAndPort made;
  made.host = host;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), made.port);
  if (host.empty() || error != std::errc() || end != port.data() + port.size() || made.port == 0) {
    return std::nullopt;
  }
  return made;
}

}  // namespace neliroute
