// What the two sides of a channel say first, and what they prove with their key.
//
// Threads: one.   Units: bytes.   Errors: an empty std::optional, or false.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace neliroute {

/// Sent by each side, at once.
struct Preamble {
  static constexpr std::string_view kMagic = "NELICHAN";
  static constexpr std::size_t kProtocolBytes = 32;
  static constexpr std::size_t kNonceBytes = 32;
  static constexpr std::size_t kBytes = kMagic.size() + kProtocolBytes + 1 + kNonceBytes;

  /// What is longer than kProtocolBytes is cut.
  std::string protocol;
  bool keyed = false;
  /// Never the same twice.
  std::array<char, kNonceBytes> nonce{};

  [[nodiscard]] std::string encode() const;
  /// Of kBytes that begin with kMagic.
  [[nodiscard]] static std::optional<Preamble> decode(std::string_view bytes);
};

/// No value: the system has no random numbers.
[[nodiscard]] std::optional<Preamble> draw_preamble(std::string_view protocol, bool keyed);

/// HMAC-SHA256.
using Digest = std::array<char, 32>;

/// Of one channel: both preambles, as they were sent, and the key make them. Who does not have the
/// key can make none of these, and none fits another channel, or the other direction.
class ChannelKeys {
 public:
  static constexpr std::size_t kCodeBytes = 16;

  ChannelKeys(std::string_view key, std::string_view client, std::string_view server);

  /// What the client sends, and the server.
  [[nodiscard]] const Digest& client_proof() const noexcept { return client_proof_; }
  [[nodiscard]] const Digest& server_proof() const noexcept { return server_proof_; }
  /// Of the message with this number in its direction.
  [[nodiscard]] std::string code(bool from_client, std::uint64_t number,
                                 std::string_view message) const;

 private:
  Digest client_proof_, server_proof_;
  Digest from_client_, from_server_;
};

/// In a time that does not tell where they differ.
[[nodiscard]] bool is_same_secret(std::string_view one, std::string_view other);

}  // namespace neliroute
