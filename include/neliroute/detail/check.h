// Checks of the invariants of slots, kept in release builds.
//
// A caller who asks for zero slots or a partition of zero has a bug: any answer would send keys
// to the wrong process, so the process says what broke and aborts. What a person or another
// process can get wrong goes through the functions that return std::optional instead. The core
// has a check of its own (neli_core/assert.h).
//
// Threads: any.   Units: none.   Errors: aborts.
#pragma once

namespace neliroute::detail {

/// Prints the broken invariant to stderr and aborts.
[[noreturn]] void slots_invariant_broken(const char* message) noexcept;

/// Constant evaluation that breaks the invariant does not compile.
constexpr void slots_check(bool holds, const char* message) noexcept {
  if (!holds) [[unlikely]] {
    slots_invariant_broken(message);
  }
}

}  // namespace neliroute::detail
