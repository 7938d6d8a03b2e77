// How many lookups and admissions gave which answer, counted by each thread for itself.
//
// A thread writes to a cache line of its own, with plain stores: a shared counter would cost every
// lookup an atomic addition, and threads would contend for its line. A thread's counts stay when it
// ends, and another thread counts on from there, so there are as many blocks as there were threads
// at the same time.
//
// Threads: add(): the thread that took the block, wait-free. take(): any, once a thread; it
// allocates, unless a thread has ended. total(): any.
// Units: lookups.   Errors: none.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <neliroute/admission.h>
#include <neliroute/observable.h>

namespace neliroute {

class LookupCounters {
 public:
  using Counts = LookupCounts;

  /// One thread's, in cache lines of its own.
  class alignas(64) Block {
   public:
    void add([[maybe_unused]] Verdict verdict) noexcept {
#ifndef NELIROUTE_UNCOUNTED_LOOKUPS  // only bench/lookup: measures a lookup without it
      std::atomic<std::uint64_t>& count = counts_[static_cast<std::size_t>(verdict)];
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
#endif
    }
    void add(Admit answer) noexcept {
      std::atomic<std::uint64_t>& count = admissions_[static_cast<std::size_t>(answer)];
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    /// One that had to take what was published last.
    void add_anew() noexcept {
      anew_.store(anew_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

   private:
    friend class LookupCounters;
    std::array<std::atomic<std::uint64_t>, 4> counts_{};
    std::atomic<std::uint64_t> anew_{0};
    std::array<std::atomic<std::uint64_t>, 4> admissions_{};
    std::atomic<bool> taken_{true};
    Block* next_ = nullptr;
  };
  struct GiveBack {
    void operator()(Block* block) const noexcept {
      block->taken_.store(false, std::memory_order_release);
    }
  };
  using Taken = std::unique_ptr<Block, GiveBack>;

  LookupCounters() = default;
  LookupCounters(const LookupCounters&) = delete;
  LookupCounters& operator=(const LookupCounters&) = delete;
  /// All blocks are given back.
  ~LookupCounters();

  /// For one thread. Give it back before the counters are destroyed.
  [[nodiscard]] Taken take();
  [[nodiscard]] Counts total() const noexcept;
  [[nodiscard]] AdmissionCounts total_admissions() const noexcept;
  [[nodiscard]] std::uint64_t total_anew() const noexcept;

 private:
  std::atomic<Block*> first_{nullptr};
};

}  // namespace neliroute
