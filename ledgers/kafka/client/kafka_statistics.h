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

#include "ledgers/ledger_statistics.h"

namespace neliroute {

class KafkaStatistics final : public LedgerStatistics {
 public:
  KafkaStatistics();
  ~KafkaStatistics() override;

  /// Takes the statistics that a client emitted now, as JSON; and what its reader knows.
  void note(ClientKind kind, std::string_view json, LocalTime now,
            std::optional<std::uint64_t> unread_records = std::nullopt);
  [[nodiscard]] std::optional<ClientStatistics> read(ClientKind kind) const override;

  /// This process left the group, as it could not lead its partitions.
  void note_withdrawal(Obstacle why) noexcept;
  /// It joins again.
  void note_return() noexcept { withdrawn_ = false; }
  [[nodiscard]] std::uint64_t withdrawals(Obstacle why) const noexcept override;
  [[nodiscard]] bool withdrawn() const noexcept override { return withdrawn_; }

 private:
  struct Client;

  mutable std::mutex mutex_;
  std::vector<Client> clients_;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::uint64_t> out_of_reach_ = 0;
  std::atomic<bool> withdrawn_ = false;
};

}  // namespace neliroute
