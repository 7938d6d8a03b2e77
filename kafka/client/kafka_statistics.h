// What librdkafka's own statistics say of this process's clients, as far as an operator needs it;
// and how often this process left the group by itself.
//
// Each client tells them every `statistics.interval.ms` (statistics_interval(); -X sets it, 0:
// never). Counts only grow, also where librdkafka forgets a broker, gives it another name, or a
// client was replaced by a new one.
//
// Threads: any; a lock, held while numbers are copied.
// Units: std::chrono; bytes.   Errors: none: what is not as librdkafka documents it counts as 0.
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
  /// At the logs' ends, that this process has not taken yet; none: it reads none.
  std::optional<std::uint64_t> unread_records;
  /// Whether it is in the group, its coordinator reached; none: no member.
  std::optional<bool> joined;
  // Of the slowest broker, in the interval; none: nothing was asked.
  std::optional<microseconds> round_trip_median;
  std::optional<microseconds> round_trip_p99;
  /// The longest that a broker's quota made it wait, in the interval.
  milliseconds throttle{0};
};

class KafkaStatistics {
 public:
  KafkaStatistics();
  ~KafkaStatistics();

  /// What a client tells, as JSON, now; and what its reader knows.
  void note(ClientKind kind, std::string_view json, LocalTime now,
            std::optional<std::uint64_t> unread_records = std::nullopt);
  /// None: it has not told anything yet.
  [[nodiscard]] std::optional<ClientStatistics> read(ClientKind kind) const;

  /// This process left the group, as it could not lead what it was given.
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
