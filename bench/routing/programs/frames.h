// What applications and the store say to each other on one TCP connection each: an application
// begins with a hello, and sends increments without waiting for answers, which come in their order.
// Plain structures of this machine, not HTTP: the store shares two cores with all that is measured.
//
// Threads: values.   Units: none.   Errors: none.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace neliroute::bench {

struct StoreHello {
  std::array<char, 32> name{};  ///< of the application: one name for each start of one
};

/// Increment the counter of a key once for each call, under the epoch of the slot's owner.
struct StoreRequest {
  std::uint64_t call = 0;
  std::int64_t incarnation = 0;
  std::int64_t offset = 0;
  std::uint32_t key = 0;
  std::uint32_t slot = 0;
  std::uint64_t keyless = 0;  ///< 1: `call` is no idempotency key: it counts as often as it comes
};

struct StoreAnswer {
  std::uint64_t call = 0;
  std::uint32_t value = 0;   ///< after the increment
  std::uint32_t status = 0;  ///< as of HTTP: 200; 409, the epoch is older than one seen; 412, 400
};

static_assert(sizeof(StoreRequest) == 40 && sizeof(StoreAnswer) == 16);

template <class Frame>
void append_frame(std::string& to, const Frame& frame) {
  static_assert(std::is_trivially_copyable_v<Frame>);
  to.append(reinterpret_cast<const char*>(&frame), sizeof(frame));
}

/// The first frame of `bytes`, and removes it; nothing if it is not there to its end.
template <class Frame>
std::optional<Frame> take_frame(std::string_view& bytes) {
  static_assert(std::is_trivially_copyable_v<Frame>);
  if (bytes.size() < sizeof(Frame)) return std::nullopt;
  Frame frame;
  std::memcpy(&frame, bytes.data(), sizeof(frame));
  bytes.remove_prefix(sizeof(frame));
  return frame;
}

/// The text of a key, as callers send it: k0, k1, ...
[[nodiscard]] inline std::string key_text(std::uint32_t key) { return "k" + std::to_string(key); }

}  // namespace neliroute::bench
