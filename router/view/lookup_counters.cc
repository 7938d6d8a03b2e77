#include "router/view/lookup_counters.h"

namespace neliroute {

LookupCounters::~LookupCounters() {
  for (Block* block = first_.load(std::memory_order_acquire); block != nullptr;) {
    Block* next = block->next_;
    delete block;
    block = next;
  }
}

LookupCounters::Taken LookupCounters::take() {
  Block* const first = first_.load(std::memory_order_acquire);
  for (Block* block = first; block != nullptr; block = block->next_) {
    bool taken = false;
    // Acquires what the last thread counted.
    if (block->taken_.compare_exchange_strong(taken, true, std::memory_order_acquire,
                                              std::memory_order_relaxed)) {
      return Taken(block);
    }
  }
  auto made = std::make_unique<Block>();
  made->next_ = first;
  while (!first_.compare_exchange_weak(made->next_, made.get(), std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
  return Taken(made.release());
}

LookupCounters::Counts LookupCounters::total() const noexcept {
  Counts sums{};
  for (const Block* block = first_.load(std::memory_order_acquire); block != nullptr;
       block = block->next_) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] += block->counts_[i].load(std::memory_order_relaxed);
    }
  }
  return sums;
}

AdmissionCounts LookupCounters::total_admissions() const noexcept {
  AdmissionCounts sums{};
  for (const Block* block = first_.load(std::memory_order_acquire); block != nullptr;
       block = block->next_) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] += block->admissions_[i].load(std::memory_order_relaxed);
    }
  }
  return sums;
}

std::uint64_t LookupCounters::total_anew() const noexcept {
  std::uint64_t sum = 0;
  for (const Block* block = first_.load(std::memory_order_acquire); block != nullptr;
       block = block->next_) {
    sum += block->anew_.load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace neliroute
