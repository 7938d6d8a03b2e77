// NELIROUTE_ASSERT: an invariant of ours that must hold, in release builds too.
//
// A broken invariant means that nothing this process says about ownership can be believed any
// more, so it says which one broke and aborts; a supervisor restarts it with a new id, and the
// protocol treats that as a crash. Errors that the world can cause are values (neliroute/error.h).
//
// Threads: any.   Units: none.   Errors: aborts.
#pragma once

namespace neliroute::detail {

/// Prints the broken invariant to stderr and aborts.
[[noreturn]] void assertion_failed(const char* expression, const char* message, const char* file,
                                   int line) noexcept;

}  // namespace neliroute::detail

#define NELIROUTE_ASSERT(expression, message)                                              \
  ((expression) ? static_cast<void>(0)                                                     \
                : ::neliroute::detail::assertion_failed(#expression, message, __FILE__, __LINE__))
