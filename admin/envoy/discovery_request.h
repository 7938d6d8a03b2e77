// What an Envoy asks for by REST: a DiscoveryRequest in JSON.
//
// Threads: pure functions, any.   Units: bytes.
// Errors: a Refusal, which says what was wrong, what was expected and what to do.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "admin/request.h"

namespace neliroute::admin {

inline constexpr std::size_t kClustersMost = 16;
/// The name of one.
inline constexpr std::size_t kClusterBytesMost = 255;

/// The names of the clusters that a DiscoveryRequest asks for; none: it names no one.
[[nodiscard]] std::variant<std::vector<std::string>, Refusal> read_discovery(std::string_view body);

}  // namespace neliroute::admin
