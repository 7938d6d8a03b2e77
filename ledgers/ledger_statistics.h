// What a ledger tells operators of its connections to the store; and how often this process left
// the group by itself.
//
// Counts only grow, even if a client is replaced.
//
// Threads: any.   Units: std::chrono; bytes.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/time.h>
#include <optional>

#include "neli_core/leaving/withdrawal.h"

namespace neliroute {

/// Which of the clients of a process.
enum class ClientKind : std::uint8_t {
  admin,     ///< queries at start
  producer,  ///< the one writer
  tail,      ///< the one reader, in no group
  group,     ///< assigned and revoked, nothing else
};
inline constexpr std::size_t kClientKinds = 4;

/// One client's.
struct ClientStatistics {
  // Since this process started, over all brokers.
  std::uint64_t requests = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t send_errors = 0;
  std::uint64_t receive_errors = 0;
  std::uint64_t timeouts = 0;  ///< requests that were never answered
  std::uint64_t connects = 0;
  std::uint64_t disconnects = 0;
  LocalTime told_at = kLongAgo;
  // As of then.
  std::uint32_t brokers_up = 0;      ///< that it is connected to
  std::uint64_t unserved_events = 0;  ///< that wait for this process
  /// What a producer holds; none: it is none.
  std::optional<std::uint64_t> unsent_records;
  /// At the logs' ends, not read by this process yet; none: it reads none.
  std::optional<std::uint64_t> unread_records;
  /// Whether it is in the group and reaches its coordinator; none: no member.
  std::optional<bool> joined;
  // Of the slowest broker, in the interval; none: no request was sent.
  std::optional<microseconds> round_trip_median;
  std::optional<microseconds> round_trip_p99;
  /// The longest time that a broker's quota made it wait, in the interval.
  milliseconds throttle{0};
};

struct StoreStatistics;

class LedgerStatistics {
 public:
  virtual ~LedgerStatistics() = default;
  LedgerStatistics() = default;
  LedgerStatistics(const LedgerStatistics&) = delete;
  LedgerStatistics& operator=(const LedgerStatistics&) = delete;

  /// Of a store that is no Kafka; null: it is one, of which all the rest is.
  [[nodiscard]] virtual const StoreStatistics* store() const noexcept { return nullptr; }
  /// None: that client has not told anything yet.
  [[nodiscard]] virtual std::optional<ClientStatistics> read(ClientKind /*kind*/) const {
    return std::nullopt;
  }
  /// How often this process left the group, as it could not lead its partitions.
  [[nodiscard]] virtual std::uint64_t withdrawals(Obstacle /*why*/) const noexcept { return 0; }
  /// Out of the group for that reason now.
  [[nodiscard]] virtual bool withdrawn() const noexcept { return false; }
};

}  // namespace neliroute
