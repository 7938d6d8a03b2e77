#include "admin/envoy/socket_address.h"

#include <boost/asio/ip/address.hpp>
#include <charconv>

namespace neliroute::admin {
namespace {

Error unfit(const char* what) { return {Errc::bad_option, what}; }

}  // namespace

std::string to_string(const SocketAddress& address) {
  const bool v6 = address.ip.find(':') != std::string::npos;
  return (v6 ? '[' + address.ip + ']' : address.ip) + ':' + std::to_string(address.port);
}

Result<EndpointText> parse_endpoint(std::string_view text) {
  if (text.empty()) return unfit("it is empty");
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return unfit("it has no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return unfit("its brackets hold no address before a port");
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return unfit("an IPv6 address goes into brackets");
  }
  if (host.empty()) return unfit("it has no host");
  EndpointText made{std::string(host), 0};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), made.port);
  if (error != std::errc{} || end != port.data() + port.size() || made.port == 0) {
    return unfit("it has no port from 1 to 65535");
  }
  return made;
}

std::optional<std::string> ip_of(std::string_view host) {
  if (host.find('%') != std::string_view::npos) return std::nullopt;
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(std::string(host), error);
  if (error) return std::nullopt;
  return address.to_string();
}

}  // namespace neliroute::admin
