// The entries that a voter keeps: what is old enough is dropped below, and what another leader
// replaces is cut off above.
//
// Memory: all of it.
// Threads: one.   Units: indices.   Errors: an index outside of the log aborts.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "quorum/entry.h"

namespace neliroute::quorum {

class EntryLog {
 public:
  EntryLog() = default;
  explicit EntryLog(LogStart start) : start_(std::move(start)) {}

  [[nodiscard]] const LogStart& start() const noexcept { return start_; }
  [[nodiscard]] Index first() const noexcept { return start_.first; }
  /// One above the last entry.
  [[nodiscard]] Index end() const noexcept { return first() + std::ssize(entries_); }
  [[nodiscard]] const Entry& at(Index index) const;
  /// Of the entry below this index; also of the one below the first.
  [[nodiscard]] Term term_before(Index index) const;
  /// About, in memory.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] Term last_term() const { return term_before(end()); }
  [[nodiscard]] BrokerTime last_stamp() const {
    return entries_.empty() ? start_.stamped_before : entries_.back().stamped;
  }
  /// The newest, and where it is: nothing: below the first entry.
  [[nodiscard]] const Configuration& configuration() const;
  [[nodiscard]] std::optional<Index> configured_at() const {
    return configured_.empty() ? std::nullopt : std::optional(configured_.back());
  }

  void append(Entry entry);
  /// Removes the entries from this one on.
  void cut(Index from);
  /// Removes the entries below this one.
  void drop(Index first);

 private:
  LogStart start_;
  std::deque<Entry> entries_;
  std::size_t bytes_ = 0;
  /// Where the configurations are, rising.
  std::deque<Index> configured_;
};

}  // namespace neliroute::quorum
