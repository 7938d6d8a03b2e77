// How often this thread has allocated with operator new, which this test program replaces.
//
// Threads: each counts its own.   Units: calls.   Errors: none.
#pragma once

#include <cstdint>

namespace neliroute::testing_allocations {

[[nodiscard]] std::uint64_t count() noexcept;

}  // namespace neliroute::testing_allocations
