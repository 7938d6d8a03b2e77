// A connection that carries messages, each whole, between two sides that may have to prove that
// they have the same key.
//
// With a key each side proves it before anything else is said, and each message carries a code that
// only who has the key can make, for this connection and this place in it. Nothing is hidden: that
// is what TLS is for, which may be below.
//
// Threads: one (an executor of its own).   Units: bytes; std::chrono.
// Errors: in the results; trouble() says for people why a channel ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <string_view>

#include "net/await.h"
#include "net/stream.h"

namespace neliroute {

struct ChannelOptions {
  /// Both sides say the same, or it does not open: what is spoken, and its version.
  std::string protocol;
  /// Shared; empty: nobody has to prove anything.
  std::string key;
  /// A longer message ends the channel, before its bytes are read.
  std::size_t message_bytes_max = std::size_t{2} << 20;
};

class Channel {
 public:
  enum class Side : std::uint8_t { client, server };

  /// Of a stream that is connected, its handshake of TLS done.
  Channel(Stream stream, Side side, ChannelOptions options);

  /// First. False: it did not open within this time.
  [[nodiscard]] Awaitable<bool> open(milliseconds within);
  /// The next message, however long that takes. One at a time. No value: the channel is over.
  [[nodiscard]] Awaitable<std::optional<std::string>> read();
  /// One at a time; beside a read. False: the channel is over; `within`: or the other side took
  /// nothing for so long, and then it is.
  [[nodiscard]] Awaitable<bool> write(std::string message, milliseconds within);
  /// What is awaited ends soon, and nothing else begins.
  void close();

  /// Why it is over; empty: the other side ended it, or this one.
  [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }

 private:
  Stream stream_;
  Side side_;
  ChannelOptions options_;
  std::string trouble_;
};

}  // namespace neliroute
