#include "router/options/option_checks.h"

#include <algorithm>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>
#include <charconv>
#include <neliroute/hash.h>

namespace neliroute {
namespace {

constexpr std::size_t kHostNameMax = 253;  // RFC 1035

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  return error == std::errc{} && stop == end && port > 0;
}

bool is_host_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_' || c == '.';
  };
  const bool separated = !text.empty() && text.front() != '.' && text.front() != '-' &&
                         text.find("..") == std::string_view::npos;
  return separated && text.size() <= kHostNameMax && std::all_of(text.begin(), text.end(), fits);
}

bool is_host(std::string_view text) {
  boost::system::error_code wrong;
  if (text.starts_with('[')) {
    if (!text.ends_with(']')) return false;
    static_cast<void>(
        boost::asio::ip::make_address_v6(std::string(text.substr(1, text.size() - 2)), wrong));
    return !wrong;
  }
  // What looks like an IPv4 address is one: 10.0.0.256 is no host name.
  if (text.find_first_not_of("0123456789.") != std::string_view::npos) return is_host_name(text);
  static_cast<void>(boost::asio::ip::make_address_v4(std::string(text), wrong));
  return !wrong;
}

}  // namespace

Result<void> check_endpoint(std::string_view endpoint) {
  const auto colon = endpoint.rfind(':');
  const bool good = colon != std::string_view::npos && is_host(endpoint.substr(0, colon)) &&
                    is_port(endpoint.substr(colon + 1));
  if (good) return {};
  return Error{Errc::bad_option, "\"" + std::string(endpoint) +
                                     "\" is not HOST:PORT; write a name, an IPv4 address or an "
                                     "IPv6 address in brackets, and a port from 1 to 65535, as in "
                                     "10.0.0.7:8080 or [2001:db8::7]:8080"};
}

Result<void> check_hash(SlotCount slots, HashScheme hash) {
  const std::uint64_t reached = slots_reached(hash.hash);
  if (slots.value() <= reached) return {};
  return Error{Errc::bad_option, "`slots` " + std::to_string(slots.value()) + ": `hash` " +
                                     std::string(to_string(hash.hash)) + " has " +
                                     std::to_string(reached) +
                                     " values only, so the rest would never get a key; lower "
                                     "`slots`, or use `hash` xxh3"};
}

}  // namespace neliroute
