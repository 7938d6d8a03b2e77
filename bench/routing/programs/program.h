// What the programs of this benchmark have in common.
//
// Threads: any.   Units: none.   Errors: fail() ends the process with exit code 1.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace neliroute::bench {

[[noreturn]] inline void fail(std::string_view what) {
  std::fprintf(stderr, "error: %.*s\n", static_cast<int>(what.size()), what.data());
  std::exit(1);
}

/// All of `text`, in decimal.
template <class Number>
[[nodiscard]] std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// ADDRESS:PORT, without names. Anything else ends the process.
[[nodiscard]] inline boost::asio::ip::tcp::endpoint endpoint_of(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const auto port =
      colon == text.npos ? std::nullopt : number_of<std::uint16_t>(text.substr(colon + 1));
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(std::string(text.substr(0, colon)), error);
  if (!port || error) fail("\"" + std::string(text) + "\": expected ADDRESS:PORT");
  return {address, *port};
}

}  // namespace neliroute::bench
