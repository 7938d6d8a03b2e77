// A log in files: segments, numbered without a gap, each a frame with a Segment and then frames
// with Batches.
//
// A frame is one write, so what a crash tore is one frame, at the end of the last file, with
// nothing behind it: the next one is written when this one is on disk. Any other frame that is not
// whole was damaged. (Damage to the very last frame looks like a torn write.) Nothing is ever cut
// out of a file: a frame replaces what earlier ones had from its index on, so a crash leaves the
// old entries or the new ones.
//
// Threads: one.   Units: bytes, indices.   Errors: a Damage.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "quorum/encoding.h"
#include "quorum/entry_log.h"

namespace neliroute {

/// What a log that keeps the entries from this one on would start with.
[[nodiscard]] quorum::LogStart start_at(const quorum::EntryLog& log, quorum::Index first);

/// "log.000001"
[[nodiscard]] std::string segment_name(std::uint64_t number);
/// Of what segment_name() returned; nothing else is a segment.
[[nodiscard]] std::optional<std::uint64_t> segment_number(std::string_view name);

struct Damage {
  std::string file;
  std::size_t offset = 0;
  std::string what;
};

/// Reads segments, in the order of their numbers.
class SegmentReader {
 public:
  explicit SegmentReader(quorum::Vote vote) : vote_(std::move(vote)) {}

  /// `last`: its end may be torn.
  [[nodiscard]] std::optional<Damage> read(const std::string& file, std::string_view bytes,
                                           bool last);
  /// What they say.
  [[nodiscard]] quorum::EntryLog& log() noexcept { return log_; }
  /// Of the file that was read last: where its whole frames end, and its first index. 0: it has no
  /// frame, so it says nothing.
  [[nodiscard]] std::size_t whole_bytes() const noexcept { return whole_bytes_; }
  [[nodiscard]] quorum::Index segment_first() const noexcept { return segment_first_; }

 private:
  /// What is wrong with the frame, or null.
  [[nodiscard]] const char* take(std::string_view frame);
  [[nodiscard]] const char* begin_segment(quorum::Segment segment);
  [[nodiscard]] const char* take_entries(std::vector<quorum::Entry> entries);
  [[nodiscard]] bool frame_behind(std::string_view bytes, std::size_t offset) const;

  quorum::Vote vote_;
  quorum::EntryLog log_;
  bool begun_ = false;
  std::size_t whole_bytes_ = 0;
  quorum::Index segment_first_ = 0;
};

}  // namespace neliroute
