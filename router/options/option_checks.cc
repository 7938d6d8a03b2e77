#include "router/options/option_checks.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <neliroute/hash.h>
#include <optional>

namespace neliroute {
namespace {

namespace ip = boost::asio::ip;

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

/// No value: it is none.
std::optional<ip::address> address_of(std::string_view host) {
  boost::system::error_code wrong;
  ip::address found;
  if (host.starts_with('[') && host.ends_with(']')) {
    found = ip::make_address_v6(std::string(host.substr(1, host.size() - 2)), wrong);
  } else {
    found = ip::make_address_v4(std::string(host), wrong);
  }
  if (wrong) return std::nullopt;
  const bool mapped = found.is_v6() && found.to_v6().is_v4_mapped();
  return mapped ? ip::make_address_v4(ip::v4_mapped, found.to_v6()) : found;
}

bool is_host(std::string_view text) {
  // What looks like an IPv4 address is one: 10.0.0.256 is no host name.
  if (text.find_first_not_of("0123456789.") == std::string_view::npos || text.starts_with('[')) {
    return address_of(text).has_value();
  }
  return is_host_name(text);
}

/// Of HOST:PORT, HOST or PROTOCOL://HOST:PORT.
bool is_loopback(std::string_view place) {
  if (const auto protocol = place.find("://"); protocol != place.npos) {
    place.remove_prefix(protocol + 3);
  }
  std::string_view host = place.substr(0, place.rfind(':'));
  if (place.ends_with(']')) host = place;
  if (const auto address = address_of(host)) return address->is_loopback();
  return host == "localhost" || host.ends_with(".localhost");
}

/// Why nobody can connect to it; null: somebody can.
const char* unfit_to_call(const ip::address& address) {
  if (address.is_unspecified()) {
    return "stands for every address of a machine, so callers would reach themselves";
  }
  if (address.is_multicast()) return "is a multicast address: no process has it alone";
  if (address == ip::address(ip::address_v4::broadcast())) {
    return "is the broadcast address: no process has it alone";
  }
  return nullptr;
}

}  // namespace

Result<void> check_endpoint(std::string_view endpoint) {
  const auto colon = endpoint.rfind(':');
  const bool good = colon != std::string_view::npos && is_host(endpoint.substr(0, colon)) &&
                    is_port(endpoint.substr(colon + 1));
  if (good) {
    const std::string_view host = endpoint.substr(0, colon);
    const auto address = address_of(host);
    const char* const unfit = address ? unfit_to_call(*address) : nullptr;
    if (unfit == nullptr) return {};
    return Error{Errc::bad_option, "\"" + std::string(endpoint) + "\": " + std::string(host) +
                                       " " + unfit + "; write what callers connect to, as in "
                                       "10.0.0.7:8080 or [2001:db8::7]:8080. Where the process "
                                       "itself listens may be another address"};
  }
  return Error{Errc::bad_option, "\"" + std::string(endpoint) +
                                     "\" is not HOST:PORT; write a name, an IPv4 address or an "
                                     "IPv6 address in brackets, and a port from 1 to 65535, as in "
                                     "10.0.0.7:8080 or [2001:db8::7]:8080"};
}

std::optional<std::string> loopback_warning(std::string_view endpoint, std::string_view brokers) {
  if (endpoint.empty() || !is_loopback(endpoint)) return std::nullopt;
  while (!brokers.empty()) {
    const std::string_view broker = brokers.substr(0, brokers.find(','));
    brokers.remove_prefix(std::min(brokers.size(), broker.size() + 1));
    if (broker.empty() || is_loopback(broker)) continue;
    return "`process.endpoint` " + std::string(endpoint) + " is of this machine only, but broker " +
           std::string(broker) + " is elsewhere: callers on other machines that are sent here "
           "reach themselves; write an address by which they reach this process";
  }
  return std::nullopt;
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
