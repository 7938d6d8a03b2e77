// What a voter and its clients say to each other, about one log on each channel. Everything is done
// by the leader of that log: another voter says where that is, and ends the channel.
//
// Threads: values.   Units: indices, terms; std::chrono.
// Errors: an empty std::optional, of bytes that are no message; encoding what is above the limits
// aborts: encoding.h has them.
#pragma once

#include <cstdint>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quorum/encoding.h"
#include "quorum/entry.h"
#include "quorum/message.h"

namespace neliroute::quorum {

// --- What a client says --------------------------------------------------------------------------

/// First. From a voter to another one, too, which then sends PeerMessage and hears nothing.
struct Hello {
  /// Of the quorum.
  std::string name;
  bool peer = false;
  std::uint32_t log = 0;
  /// Of another voter: what it was started with, as all are to be.
  milliseconds election{0};
  milliseconds kept{0};
};

/// Asks for what is committed; answered once a majority has confirmed that this voter still leads.
/// The answer has at most `entries` entries: from `index` on, or the newest ones (kNothing).
struct Ask {
  std::uint64_t number = 0;
  Index index = kNothing;
  /// Instead of `index`: from the first entry on that was stamped then or later.
  std::optional<BrokerTime> since = {};
  std::uint32_t entries = 0;
};

/// Sends all committed entries from `next` on, as they are committed. Once on each channel.
struct Follow {
  Index next = 0;
};

struct AppendRecord {
  std::uint64_t number = 0;
  std::string record;
};

// --- What a voter says ---------------------------------------------------------------------------

/// First, whichever voter it is.
struct Welcome {
  std::uint32_t logs = 0;
  /// After an election timeout without a word the leader is to be doubted.
  milliseconds election{0};
  /// For how long records are kept.
  milliseconds kept{0};
  bool leads = false;
  /// Of the leader, if it is known; where `leads` is false the channel ends with this.
  std::string leader;
};

/// Why it does not serve; then the channel ends.
struct Refused {
  std::string why;
};

/// It does not lead any more; then the channel ends. What was not answered may be stored or not.
struct Resigned {};

struct Answer {
  std::uint64_t number = 0;
  LogId log;
  Index first = 0;
  /// One above the last committed entry.
  Index end = 0;
  /// Where `entries` begin, and the term of the entry below that. From `first` to `end`: what was
  /// asked for, or what is next to that.
  Index index = 0;
  Term term_before = 0;
  /// Fewer than were asked for, if they are large; none, if none is committed from `index` on.
  std::vector<Entry> entries;
};

/// Committed entries; or none, as a leader sends this at least four times in an election timeout.
struct Entries {
  Index index = 0;
  std::vector<Entry> entries;
};

/// It is committed there; or kNothing: it is not stored, as the log is full.
struct Appended {
  std::uint64_t number = 0;
  Index index = 0;
};

/// Between voters.
struct PeerMessage {
  std::uint32_t log = 0;
  Message message;
};

using ToVoter = std::variant<Hello, Ask, Follow, AppendRecord, PeerMessage>;
using ToClient = std::variant<Welcome, Refused, Resigned, Answer, Entries, Appended>;

[[nodiscard]] std::string encode(const ToVoter& message);
[[nodiscard]] std::string encode(const ToClient& message);
[[nodiscard]] std::optional<ToVoter> decode_to_voter(std::string_view bytes);
[[nodiscard]] std::optional<ToClient> decode_to_client(std::string_view bytes);

/// Of what a voter says; the largest is one from another voter.
inline constexpr std::size_t kSaidBytesMax = kMessageBytesMax + 64;
/// Of a Hello.
inline constexpr std::size_t kHelloBytesMax = kWordsBytesMax + 64;
/// Of the records of one Answer or Entries, unless there is only one.
inline constexpr std::size_t kChunkBytes = std::size_t{256} << 10;
inline constexpr std::size_t kChunkEntries = 64;

/// The protocol of channels between them (net/channel.h).
inline constexpr std::string_view kQuorumProtocol = "neliroute quorum 1";

}  // namespace neliroute::quorum
