// The bytes of what voters send and store, in one format: the wire's and the disk's.
//
// Little endian. Messages, votes and segments begin with the version of the format. What is read
// back is what was written and nothing else: short, long, unknown or impossible bytes are refused,
// as they come from disks and strangers.
//
// Threads: any.   Units: bytes, indices, terms; stamps are milliseconds.
// Errors: an empty std::optional. Writing what is above the limits aborts: whoever takes a record
// or an address from outside checks it first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quorum/entry.h"
#include "quorum/message.h"

namespace neliroute::quorum {

inline constexpr std::size_t kRecordBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kMessageBytesMax = std::size_t{2} << 20;
inline constexpr std::size_t kAddressBytesMax = 255;
inline constexpr std::size_t kMembersMax = 64;
/// Of a name, or of a reason that people read.
inline constexpr std::size_t kWordsBytesMax = 1024;
/// Indices, terms and stamps are below it: JSON is exact up to here, and nothing overflows.
inline constexpr std::int64_t kNumberEnd = std::int64_t{1} << 53;

/// The version that this program writes, and the only one that it reads.
inline constexpr char kFormat = 1;

/// What a voter must not forget beside its log.
struct Vote {
  VoterId self;
  std::optional<LogId> log;
  Term term = 0;
  std::optional<VoterId> voted_for;
};

/// One write to a log: its entries replace all that there is from `index` on.
struct Batch {
  Index index = 0;
  std::vector<Entry> entries;
};

/// The first write of each file of a log: its entries replace all from `start.first` on.
struct Segment {
  LogId log;
  /// The log begins here; what is in the files before does not belong to it any more.
  bool anew = false;
  LogStart start;
  std::vector<Entry> entries;
};

[[nodiscard]] std::string encode(const Message& message);
[[nodiscard]] std::string encode(const Vote& vote);
[[nodiscard]] std::string encode(const Segment& segment);
[[nodiscard]] std::string encode(const Batch& batch);

[[nodiscard]] std::optional<Message> decode_message(std::string_view bytes);
[[nodiscard]] std::optional<Vote> decode_vote(std::string_view bytes);
[[nodiscard]] std::optional<Segment> decode_segment(std::string_view bytes);
[[nodiscard]] std::optional<Batch> decode_batch(std::string_view bytes);

}  // namespace neliroute::quorum
