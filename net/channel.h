// A connection that carries messages, each whole, between two sides that may have to prove that
// they have the same key.
//
// With a key each side first proves that it has it. Each message then carries a code that only a
// holder of the key can make, for this connection and this position in it. Messages are not
// encrypted, unless the stream below uses TLS.
//
// On the wire: each side's Preamble (net/channel_keys.h); with a key the client's proof and then
// the server's; then frames: the message's length (four bytes, little endian), the message, and
// with a key its code.
//
// Threads: one (an executor of its own).   Units: bytes; std::chrono.
// Errors: in the results; trouble() says for people why a channel ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <string_view>

#include "net/await.h"
#include "net/stream.h"

namespace neliroute {

struct ChannelOptions {
  /// The protocol and its version, the same on both sides, or the channel does not open. At most
  /// Preamble::kProtocolBytes.
  std::string protocol;
  /// Shared by both sides; empty: none is needed.
  std::string key;
  /// A longer message ends the channel, before its bytes are read.
  std::size_t message_bytes_max = std::size_t{2} << 20;
  /// Of the first message that is read: whoever connects is given no more memory before it has said
  /// what it wants.
  std::size_t first_message_bytes_max = std::numeric_limits<std::size_t>::max();
};

class Channel {
 public:
  enum class Side : std::uint8_t { client, server };

  /// Of a stream that is connected, its handshake of TLS done.
  Channel(std::unique_ptr<Stream> stream, Side side, ChannelOptions options);
  /// As close(): what is awaited still ends.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// First. False: it did not open within this time.
  [[nodiscard]] Awaitable<bool> open(milliseconds within);
  /// The next message, however long that takes. One at a time. No value: the channel is over.
  [[nodiscard]] Awaitable<std::optional<std::string>> read();
  /// One at a time; beside a read. False: the channel is over; `within`: or the other side did not
  /// take all of it in that time, and then it is.
  [[nodiscard]] Awaitable<bool> write(std::string message, milliseconds within);
  /// What is awaited ends soon, and nothing else begins.
  void close();

  /// Why it is over; empty: the other side ended it, or this one.
  [[nodiscard]] const std::string& trouble() const noexcept;

 private:
  struct State;
  const std::shared_ptr<State> state_;  ///< coroutines keep it, too
};

struct ReadWithin {
  std::optional<std::string> message;
  /// False: nothing came within the time, and the channel is over.
  bool in_time = true;
};
/// As read(), but not for longer.
[[nodiscard]] Awaitable<ReadWithin> read_within(std::shared_ptr<Channel> channel,
                                                milliseconds within);

}  // namespace neliroute
