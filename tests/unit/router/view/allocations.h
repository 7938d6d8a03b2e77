// What was allocated with operator new, which a test program with allocations.cc replaces.
//
// Threads: any.   Units: calls, bytes.   Errors: none, but in FailAbove.
#pragma once

#include <cstddef>
#include <cstdint>

namespace neliroute::testing_allocations {

/// How often this thread has allocated.
[[nodiscard]] std::uint64_t count() noexcept;
/// What all threads have allocated and not freed.
[[nodiscard]] std::uint64_t live_bytes() noexcept;

/// While it lives, this thread cannot allocate more bytes at once: std::bad_alloc.
class FailAbove {
 public:
  explicit FailAbove(std::size_t bytes) noexcept;
  ~FailAbove();
  FailAbove(const FailAbove&) = delete;
  FailAbove& operator=(const FailAbove&) = delete;
};

}  // namespace neliroute::testing_allocations
