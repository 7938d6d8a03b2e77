#include "voter/answers.h"

#include <algorithm>
#include <string>
#include <variant>

namespace neliroute {
namespace {

using quorum::Entry;
using quorum::EntryLog;
using quorum::Index;

std::size_t record_bytes(const Entry& entry) {
  const auto* record = std::get_if<std::string>(&entry.what);
  return record == nullptr ? 0 : record->size();
}

/// How many entries from there on fit into a message, of `most`, which `at` counts from 0.
template <class At>
std::size_t fitting(std::size_t most, const At& at) {
  most = std::min(most, quorum::kChunkEntries);
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < most; ++count) {
    bytes += record_bytes(at(static_cast<Index>(count)));
    if (count > 0 && bytes > quorum::kChunkBytes) break;
  }
  return count;
}

std::size_t between(Index from, Index end) { return static_cast<std::size_t>(end - from); }

}  // namespace

Index first_since(const EntryLog& log, Index end, BrokerTime stamp) {
  Index from = log.first();
  while (from < end) {
    const Index middle = from + (end - from) / 2;
    if (log.at(middle).stamped < stamp) {
      from = middle + 1;
    } else {
      end = middle;
    }
  }
  return from;
}

std::vector<Entry> chunk(const EntryLog& log, Index from, Index end, std::size_t most) {
  const std::size_t count = fitting(std::min(most, between(from, end)),
                                    [&](Index i) -> const Entry& { return log.at(from + i); });
  std::vector<Entry> entries;
  entries.reserve(count);
  for (std::size_t i = 0; i < count; ++i) entries.push_back(log.at(from + static_cast<Index>(i)));
  return entries;
}

quorum::Answer answer_to(const quorum::Ask& ask, quorum::LogId id, const EntryLog& log,
                         Index end) {
  Index index = std::clamp(ask.index, log.first(), end);
  if (ask.since) {
    index = first_since(log, end, *ask.since);
  } else if (ask.index == quorum::kNothing) {
    const std::size_t most = std::min<std::size_t>(ask.entries, between(log.first(), end));
    index = end - static_cast<Index>(fitting(
                      most, [&](Index i) -> const Entry& { return log.at(end - 1 - i); }));
  }
  quorum::Answer answer;
  answer.number = ask.number;
  answer.log = id;
  answer.first = log.first();
  answer.end = end;
  answer.index = index;
  answer.term_before = log.term_before(index);
  answer.entries = chunk(log, index, end, ask.entries);
  return answer;
}

}  // namespace neliroute
