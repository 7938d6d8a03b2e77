// The store itself: counters behind a fence. It keeps the greatest epoch of each slot, and who
// wrote under it; it carries out each idempotency key once; and it notes what must never happen.
//
// Threads: one.   Units: none.   Errors: statuses, as of HTTP.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/slot_space.h>
#include <vector>

#include "bench/routing/programs/frames.h"

namespace neliroute::bench {

/// A call that was carried out; as the file has them. `value` is 0 for those that were not.
struct Applied {
  std::uint32_t key = 0;
  std::uint32_t value = 0;
  std::uint32_t times = 0;  ///< more than once: it had no idempotency key, and was sent again
};

struct StoreCounts {
  std::uint64_t applied = 0;
  std::uint64_t repeats = 0;      ///< came again, and were answered as before
  std::uint64_t stale = 0;        ///< refused: under an older epoch
  std::uint64_t two_writers = 0;  ///< under one epoch of a slot: must never happen
  std::uint64_t wrong_slot = 0;   ///< not the key's: must never happen
};

class FencedCounters {
 public:
  FencedCounters(SlotSpace slots, std::uint32_t keys)
      : slots_(slots), fences_(slots.count().value()), values_(keys) {}

  /// `writer`: a number for each application.
  [[nodiscard]] StoreAnswer take(std::uint32_t writer, const StoreRequest& request) {
    StoreAnswer answer{request.call, 0, 200};
    const bool known = request.key < values_.size() && request.call < kCallsMax;
    if (!known || slots_.slot_of(key_text(request.key)) != Slot{request.slot}) {
      ++counts_.wrong_slot;
      answer.status = 400;
      return answer;
    }
    if (!passes(fences_[request.slot], writer, {request.incarnation, request.offset}, answer)) {
      return answer;
    }
    if (request.call >= applied_.size()) applied_.resize(request.call + 1);
    Applied& done = applied_[request.call];
    if (done.value != 0 && request.keyless == 0) {
      ++counts_.repeats;
    } else {
      ++counts_.applied;
      done = {request.key, ++values_[request.key], done.times + 1};
    }
    answer.value = done.value;
    return answer;
  }

  [[nodiscard]] const StoreCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] const std::vector<std::uint32_t>& values() const noexcept { return values_; }
  [[nodiscard]] const std::vector<Applied>& applied() const noexcept { return applied_; }

 private:
  static constexpr std::uint64_t kCallsMax = 100'000'000;
  struct Fence {
    Epoch epoch = kNoEpoch;
    std::uint32_t writer = 0;
  };

  bool passes(Fence& fence, std::uint32_t writer, const Epoch& epoch, StoreAnswer& answer) {
    if (epoch < fence.epoch) {
      ++counts_.stale;
      answer.status = 409;
    } else if (epoch == fence.epoch && writer != fence.writer) {
      ++counts_.two_writers;
      answer.status = 412;
    } else {
      fence = {epoch, writer};
      return true;
    }
    return false;
  }

  SlotSpace slots_;
  std::vector<Fence> fences_;
  std::vector<std::uint32_t> values_;
  std::vector<Applied> applied_;  ///< by call
  StoreCounts counts_;
};

}  // namespace neliroute::bench
