// What follows ? in an address: NAME=VALUE&NAME=VALUE.
//
// Threads: pure, any.   Units: none.   Errors: those of `take`.
#pragma once

#include <algorithm>
#include <neliroute/error.h>
#include <string_view>

namespace neliroute {

/// `take`: Result<void>(name, value), in their order until one fails; without = the value is empty.
template <class Take>
[[nodiscard]] Result<void> take_parameters(std::string_view query, const Take& take) {
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(one.size() + 1, query.size()));
    const auto equals = std::min(one.find('='), one.size());
    const std::string_view value = one.substr(std::min(equals + 1, one.size()));
    if (auto taken = take(one.substr(0, equals), value); !taken) return taken;
  }
  return {};
}

}  // namespace neliroute
