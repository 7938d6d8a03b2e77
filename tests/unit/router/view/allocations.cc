#include "tests/unit/router/view/allocations.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

constinit thread_local std::uint64_t allocations = 0;
constinit thread_local std::size_t fail_above = kAny;
constinit std::atomic<std::uint64_t> live = 0;

void* counted(void* memory) {
  ++allocations;
  if (memory == nullptr) throw std::bad_alloc();
  live.fetch_add(malloc_usable_size(memory), std::memory_order_relaxed);
  return memory;
}

void* allocated(std::size_t size, std::size_t unit) {
  if (size > fail_above) throw std::bad_alloc();
  if (unit == 0) return counted(std::malloc(size == 0 ? 1 : size));
  return counted(std::aligned_alloc(unit, (size + unit - 1) / unit * unit));
}

void freed(void* memory) noexcept {
  live.fetch_sub(malloc_usable_size(memory), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

namespace neliroute::testing_allocations {

std::uint64_t count() noexcept { return allocations; }
std::uint64_t live_bytes() noexcept { return live.load(std::memory_order_relaxed); }

FailAbove::FailAbove(std::size_t bytes) noexcept { fail_above = bytes; }
FailAbove::~FailAbove() { fail_above = kAny; }

}  // namespace neliroute::testing_allocations

// operator new[] and the other nothrow forms of the standard library end up here, too; those of the
// sanitizers would not.
void* operator new(std::size_t size) { return allocated(size, 0); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return allocated(size, 0);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocated(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { freed(memory); }
void operator delete(void* memory, std::size_t) noexcept { freed(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { freed(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { freed(memory); }
