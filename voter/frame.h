// How bytes are kept so that it shows whether they are whole: length, CRC-32C, bytes.
//
// Threads: any.   Units: bytes.   Errors: an empty std::optional.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace neliroute {

inline constexpr std::size_t kFrameHeadBytes = 8;

[[nodiscard]] std::string framed(std::string_view bytes);
/// The bytes of the frame that begins here, if it is whole. None is empty: zeros are no frame.
[[nodiscard]] std::optional<std::string_view> frame_at(std::string_view file, std::size_t offset);

}  // namespace neliroute
