#include "quorum/entry_log.h"

#include <neliroute/detail/assert.h>
#include <utility>

namespace neliroute::quorum {
namespace {

std::size_t bytes_of(const Entry& entry) {
  const auto* record = std::get_if<std::string>(&entry.what);
  return sizeof(Entry) + (record != nullptr ? record->size() : 0);
}

}  // namespace

const Entry& EntryLog::at(Index index) const {
  NELIROUTE_ASSERT(index >= first() && index < end(), "no entry has this index");
  return entries_[static_cast<std::size_t>(index - first())];
}

Term EntryLog::term_before(Index index) const {
  return index == first() ? start_.term_before : at(index - 1).term;
}

const Configuration& EntryLog::configuration() const {
  return configured_.empty() ? start_.configuration
                             : std::get<Configuration>(at(configured_.back()).what);
}

void EntryLog::append(Entry entry) {
  if (std::holds_alternative<Configuration>(entry.what)) {
    configured_.push_back(end());
  }
  bytes_ += bytes_of(entry);
  entries_.push_back(std::move(entry));
}

void EntryLog::cut(Index from) {
  NELIROUTE_ASSERT(from >= first(), "what was dropped cannot be cut off");
  while (end() > from) {
    bytes_ -= bytes_of(entries_.back());
    entries_.pop_back();
  }
  while (!configured_.empty() && configured_.back() >= from) {
    configured_.pop_back();
  }
}

void EntryLog::drop(Index first) {
  NELIROUTE_ASSERT(first <= end(), "entries that do not exist cannot be dropped");
  while (start_.first < first) {
    Entry& entry = entries_.front();
    bytes_ -= bytes_of(entry);
    start_.term_before = entry.term;
    start_.stamped_before = entry.stamped;
    if (auto* configuration = std::get_if<Configuration>(&entry.what)) {
      start_.configuration = std::move(*configuration);
      configured_.pop_front();
    }
    entries_.pop_front();
    ++start_.first;
  }
}

}  // namespace neliroute::quorum
