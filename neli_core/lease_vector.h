// V: until when this process leads each partition. The only state that every thread may read.
//
// A lease is compared with `now` in each lookup, so a process that was stopped, or a
// machine that was suspended, wakes up fenced. Each word also carries a short generation, which
// tells a reader whether the epoch that it has cached still belongs to the lease it just read, and
// whether it is served beyond the lease, while the log is silent.
//
// Threads: one writer; readers on any thread, wait-free, one atomic load.
// Units: LocalTime, kept to 16 us and rounded down.   Errors: none.
// Paper: "Protocol definition" (the vector V).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <neliroute/detail/assert.h>
#include <neliroute/ids.h>
#include <neliroute/time.h>

namespace neliroute {

class LeaseVector {
 public:
  struct Deadline {
    LocalTime until;
    std::uint16_t generation = 0;
    bool stale = false;
    [[nodiscard]] bool holds_at(LocalTime now) const noexcept { return now < until; }
  };

  explicit LeaseVector(std::uint32_t count)
      : count_(count), words_(std::make_unique<std::atomic<std::uint64_t>[]>(count)) {}

  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }

  [[nodiscard]] Deadline get(Partition partition) const noexcept {
    const std::uint64_t word = words_[partition.value()].load(std::memory_order_acquire);
    return {LocalTime{microseconds{static_cast<std::int64_t>((word >> kTimeShift) * kGrain)}},
            static_cast<std::uint16_t>(word), (word & kStale) != 0};
  }

  [[nodiscard]] bool leads(Partition partition, LocalTime now) const noexcept {
    return get(partition).holds_at(now);
  }

  /// Writer only. A time before boot, such as kLongAgo, means "not".
  void set(Partition partition, LocalTime until, std::uint16_t generation,
           bool stale = false) noexcept {
    const std::int64_t count = until.time_since_epoch().count();
    const std::uint64_t grains = count <= 0 ? 0 : static_cast<std::uint64_t>(count) / kGrain;
    const std::uint64_t kept = grains > kGrainsMax ? kGrainsMax : grains;
    words_[partition.value()].store(kept << kTimeShift | (stale ? kStale : 0) | generation,
                                    std::memory_order_release);
  }

 private:
  static constexpr std::uint64_t kStale = 1ULL << 16;              // above the generation
  static constexpr unsigned kTimeShift = 17;
  static constexpr std::uint64_t kGrain = 16;                      // us: 71 years fit 47 bits
  static constexpr std::uint64_t kGrainsMax = (1ULL << 47) - 1;
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  std::uint32_t count_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
};

}  // namespace neliroute
