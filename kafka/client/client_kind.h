// Which of the librdkafka clients of a process.
//
// Threads: a value, any.   Units: none.   Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace neliroute {

enum class ClientKind : std::uint8_t {
  admin,     ///< queries at start
  producer,  ///< the one writer
  tail,      ///< the one reader, in no group
  group,     ///< assigned and revoked, nothing else
};
inline constexpr std::size_t kClientKinds = 4;

}  // namespace neliroute
