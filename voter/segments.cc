#include "voter/segments.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "voter/frame.h"

namespace neliroute {
namespace {

using quorum::Configuration;
using quorum::EntryLog;
using quorum::Index;
using quorum::LogStart;

constexpr std::string_view kPrefix = "log.";

}  // namespace

LogStart start_at(const EntryLog& log, Index first) {
  if (first == log.first()) {
    return log.start();
  }
  LogStart start{first, log.term_before(first), log.at(first - 1).stamped,
                 log.start().configuration};
  for (Index i = first - 1; i >= log.first(); --i) {
    if (const auto* configuration = std::get_if<Configuration>(&log.at(i).what)) {
      start.configuration = *configuration;
      break;
    }
  }
  return start;
}

std::string segment_name(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(kPrefix) + std::string(6 - std::min<std::size_t>(digits.size(), 6), '0') +
         digits;
}

std::optional<std::uint64_t> segment_number(std::string_view name) {
  if (!name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  const char* digits = name.data() + kPrefix.size();
  const auto [end, error] = std::from_chars(digits, name.data() + name.size(), number);
  return error == std::errc() && segment_name(number) == name ? std::optional(number)
                                                              : std::nullopt;
}

std::optional<Damage> SegmentReader::read(const std::string& file, std::string_view bytes,
                                          bool last) {
  whole_bytes_ = 0;
  while (whole_bytes_ < bytes.size() || whole_bytes_ == 0) {
    const auto frame = frame_at(bytes, whole_bytes_);
    if (!frame) {
      if (last && !frame_behind(bytes, whole_bytes_)) {
        return std::nullopt;
      }
      return Damage{file, whole_bytes_, "what was written there is not whole"};
    }
    if (const char* wrong = take(*frame)) {
      return Damage{file, whole_bytes_, wrong};
    }
    whole_bytes_ += kFrameHeadBytes + frame->size();
  }
  return std::nullopt;
}

const char* SegmentReader::take(std::string_view frame) {
  if (whole_bytes_ == 0) {
    auto segment = quorum::decode_segment(frame);
    return segment ? begin_segment(std::move(*segment)) : "it is no start of a log's file";
  }
  auto batch = quorum::decode_batch(frame);
  if (!batch) {
    return "these are no entries of a log";
  }
  if (batch->index < segment_first_ || batch->index > log_.end()) {
    return "its entries do not follow those before";
  }
  log_.cut(batch->index);
  return take_entries(std::move(batch->entries));
}

const char* SegmentReader::begin_segment(quorum::Segment segment) {
  if (segment.log != vote_.log) {
    return "it belongs to another log than the vote";
  }
  segment_first_ = segment.start.first;
  // One that replaces all that is left of those before it begins the log, too.
  if (segment.anew || !begun_ || segment_first_ <= log_.first()) {
    log_ = EntryLog(std::move(segment.start));
    begun_ = true;
  } else if (segment_first_ > log_.end() || start_at(log_, segment_first_) != segment.start) {
    return "it does not follow the file before";
  } else {
    log_.cut(segment_first_);
  }
  return take_entries(std::move(segment.entries));
}

const char* SegmentReader::take_entries(std::vector<quorum::Entry> entries) {
  for (quorum::Entry& entry : entries) {
    if (entry.term < log_.last_term() || entry.stamped < log_.last_stamp()) {
      return "its terms or stamps are below those before";
    }
    if (entry.term > vote_.term) {
      return "it has a term that the vote does not know yet";
    }
    log_.append(std::move(entry));
  }
  return nullptr;
}

/// Whether another frame stands anywhere behind one that is not whole. A batch begins with its
/// index, and it cannot be far from the others': few bytes must be looked at twice.
bool SegmentReader::frame_behind(std::string_view bytes, std::size_t offset) const {
  const auto most = static_cast<std::uint64_t>(log_.end()) + bytes.size();
  for (std::size_t at = offset + 1; at + kFrameHeadBytes + sizeof(Index) <= bytes.size(); ++at) {
    std::uint64_t index = 0;
    for (std::size_t i = 0; i < sizeof(Index); ++i) {
      const auto byte = static_cast<unsigned char>(bytes[at + kFrameHeadBytes + i]);
      index |= std::uint64_t{byte} << (8 * i);
    }
    if (index <= most && frame_at(bytes, at)) {
      return true;
    }
  }
  return false;
}

}  // namespace neliroute
