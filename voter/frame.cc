#include "voter/frame.h"

#include <boost/crc.hpp>
#include <cstdint>
#include <limits>
#include <neliroute/detail/assert.h>

namespace neliroute {
namespace {

/// Castagnoli's, as iSCSI's and ext4's.
std::uint32_t crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

void append_number(std::string& to, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) {
    to.push_back(static_cast<char>(value >> shift & 0xff));
  }
}

std::uint32_t number_at(std::string_view bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= std::uint32_t{static_cast<unsigned char>(bytes[offset + i])} << (8 * i);
  }
  return value;
}

}  // namespace

std::string framed(std::string_view bytes) {
  NELIROUTE_ASSERT(!bytes.empty() && bytes.size() <= std::numeric_limits<std::uint32_t>::max(),
                   "a frame's length is a number of four bytes");
  std::string frame;
  frame.reserve(kFrameHeadBytes + bytes.size());
  append_number(frame, static_cast<std::uint32_t>(bytes.size()));
  append_number(frame, crc32c(bytes));
  frame += bytes;
  return frame;
}

std::optional<std::string_view> frame_at(std::string_view file, std::size_t offset) {
  if (offset > file.size() || file.size() - offset < kFrameHeadBytes) {
    return std::nullopt;
  }
  const std::size_t size = number_at(file, offset);
  const std::string_view rest = file.substr(offset + kFrameHeadBytes);
  if (size == 0 || size > rest.size() ||
      crc32c(rest.substr(0, size)) != number_at(file, offset + 4)) {
    return std::nullopt;
  }
  return rest.substr(0, size);
}

}  // namespace neliroute
