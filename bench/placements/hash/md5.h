// MD5, for ketama's points only. Not for anything that must be secure.
//
// Threads: pure, any.   Units: bytes.   Errors: none.
// Source: RFC 1321.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace neliroute::placement {

[[nodiscard]] std::array<std::uint8_t, 16> md5(std::string_view bytes);

}  // namespace neliroute::placement
