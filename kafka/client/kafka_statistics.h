// What librdkafka's own statistics say about this process's clients, as far as operators need it;
// and how often this process left the group by itself.
//
// Each client emits them every `statistics.interval.ms` (statistics_interval(); -X sets it, 0:
// never). Counts only grow, even if librdkafka forgets a broker or renames it, or a client is
// replaced.
//
// Threads: any; a lock, held while numbers are copied.
// Units: std::chrono; bytes.   Errors: none: what librdkafka does not document counts as 0.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <neliroute/time.h>
#include <optional>
#include <string_view>
#include <vector>

#include "kafka/client/client_kind.h"
#include "neli_core/leaving/withdrawal.h"

namespace neliroute {

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

class KafkaStatistics {
 public:
  KafkaStatistics();
  ~KafkaStatistics();

  /// Takes the statistics that a client emitted now, as JSON; and what its reader knows.
  void note(ClientKind kind, std::string_view json, LocalTime now,
            std::optional<std::uint64_t> unread_records = std::nullopt);
  /// None: it has not emitted any yet.
  [[nodiscard]] std::optional<ClientStatistics> read(ClientKind kind) const;

  /// This process left the group, as it could not lead its partitions.
  void note_withdrawal(Obstacle why) noexcept;
  /// It joins again.
  void note_return() noexcept { withdrawn_ = false; }
  [[nodiscard]] std::uint64_t withdrawals(Obstacle why) const noexcept;
  /// Out of the group for that reason now.
  [[nodiscard]] bool withdrawn() const noexcept { return withdrawn_; }

 private:
  struct Client;

  mutable std::mutex mutex_;
  std::vector<Client> clients_;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::uint64_t> out_of_reach_ = 0;
  std::atomic<bool> withdrawn_ = false;
};

}  // namespace neliroute
