#include "forward/rules/authority.h"

#include <boost/url/authority_view.hpp>
#include <boost/url/parse.hpp>
#include <charconv>
#include <cstdint>

namespace neliroute::forward {

std::optional<std::string_view> host_of(std::string_view authority) {
  const auto parsed = boost::urls::parse_authority({authority.data(), authority.size()});
  if (!parsed || parsed->has_userinfo()) return std::nullopt;
  const auto host = parsed->encoded_host();
  if (host.empty()) return std::nullopt;
  const auto port = parsed->port();
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool whole = error == std::errc() && end == port.data() + port.size();
  if (!port.empty() && !whole) return std::nullopt;
  return std::string_view(host.data(), host.size());
}

}  // namespace neliroute::forward
