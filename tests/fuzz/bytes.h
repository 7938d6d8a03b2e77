// What the fuzz targets share: the fuzzer's bytes as a source of choices, and checks that abort.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace neliroute::fuzz {

/// Choices from the front of the input; when it is used up, all of them are 0.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size)
      : left_(reinterpret_cast<const char*>(data), size) {}

  [[nodiscard]] bool empty() const noexcept { return left_.empty(); }
  [[nodiscard]] std::string_view rest() const noexcept { return left_; }

  std::uint8_t byte() noexcept {
    if (left_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(left_.front());
    left_.remove_prefix(1);
    return first;
  }
  /// 0..count-1
  std::uint32_t below(std::uint32_t count) noexcept { return byte() % count; }
  bool flag() noexcept { return (byte() & 1) != 0; }
  std::int64_t wide() noexcept {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return static_cast<std::int64_t>(value);
  }
  template <class T, std::size_t N>
  const T& one_of(const T (&choices)[N]) noexcept {
    return choices[byte() % N];
  }

 private:
  std::string_view left_;
};

}  // namespace neliroute::fuzz

/// What must hold for every input.
#define FUZZ_CHECK(condition, what)                                                   \
  do {                                                                                \
    if (!(condition)) {                                                               \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, what);  \
      std::abort();                                                                   \
    }                                                                                 \
  } while (false)
