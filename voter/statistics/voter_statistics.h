// What a voter says of itself to its operator: for metrics and for readiness.
//
// Threads: the voter's writes; any reads, without a lock, so two values may be of two moments.
// Units: LocalTime, bytes, entries.   Errors: none.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <neliroute/time.h>
#include <string>
#include <utility>

#include "base/histogram.h"
#include "quorum/entry.h"

namespace neliroute {

struct LogStatistics {
  std::atomic<bool> leads{false};
  /// This voter does, or it knows who does.
  std::atomic<bool> is_led{false};
  /// Its vote does; not that of one which is new, or lost its disk, until it has copied the log.
  std::atomic<bool> counts{false};
  std::atomic<quorum::Term> term{0};
  /// How often another one led, or the same in another term, since the start.
  std::atomic<std::uint64_t> leaders{0};
  /// One above the last entry that is committed, and above the last one there is.
  std::atomic<quorum::Index> committed{0};
  std::atomic<quorum::Index> end{0};
  std::atomic<quorum::Index> first{0};
  /// Of its files.
  std::atomic<std::size_t> disk_bytes{0};
  /// Of a leader: the voters that did not answer it within an election timeout.
  std::atomic<std::size_t> overdue{0};
  /// How far the newest record's stamp is ahead of this machine's clock.
  std::atomic<microseconds> clock_ahead{microseconds{0}};
};

struct VoterStatistics {
  VoterStatistics(std::string of_address, std::string of_quorum, milliseconds of_election,
                  std::uint32_t count)
      : address(std::move(of_address)),
        quorum(std::move(of_quorum)),
        election(of_election),
        logs(count) {}

  const std::string address;
  /// Its name.
  const std::string quorum;
  const milliseconds election;
  std::deque<LogStatistics> logs;
  /// From handing something to a disk until it is stored.
  Histogram stores;
  /// Connections of other voters, and of clients, to this one.
  std::atomic<std::size_t> peers{0};
  std::atomic<std::size_t> clients{0};
  /// When it did something last: it has something to do at least each election timeout.
  std::atomic<LocalTime> worked_at{kLongAgo};
  /// It does not run any more, as a disk failed.
  std::atomic<bool> ended{false};
};

/// What it lacks before clients can rely on it, for people; empty: its vote counts, and it knows
/// who leads each log.
[[nodiscard]] std::string lacks(const VoterStatistics& voter);
/// Why it should be started again; empty: no reason.
[[nodiscard]] std::string trouble_of(const VoterStatistics& voter, LocalTime now);

}  // namespace neliroute
