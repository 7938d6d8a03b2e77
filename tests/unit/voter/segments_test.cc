#include "voter/segments.h"

#include <gtest/gtest.h>

#include "voter/frame.h"

namespace neliroute {
namespace {

TEST(FrameTest, isWholeOrNot) {
  const std::string file = framed("abc") + framed("d");
  EXPECT_EQ(frame_at(file, 0), "abc");
  EXPECT_EQ(frame_at(file, kFrameHeadBytes + 3), "d");
  for (std::size_t offset : {std::size_t{1}, kFrameHeadBytes + 2, file.size(), file.size() + 9}) {
    EXPECT_EQ(frame_at(file, offset), std::nullopt) << offset;
  }
  EXPECT_EQ(frame_at(std::string(100, '\0'), 0), std::nullopt);
  // The check value of CRC-32C.
  EXPECT_EQ(framed("123456789").substr(4, 4), "\x83\x92\x06\xe3");
}

TEST(SegmentNameTest, isReadBack) {
  for (const std::uint64_t number : {0ULL, 1ULL, 999'999ULL, 1'000'000ULL, ~0ULL}) {
    EXPECT_EQ(segment_number(segment_name(number)), number);
  }
  for (const char* name : {"log.", "log.1", "log.0000001", "log.00000x", "vote", "log.000001x"}) {
    EXPECT_EQ(segment_number(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace neliroute
