// NELIROUTE_ASSERT: an invariant of ours that must hold, in release builds too.
//
// After a broken invariant, nothing this process says about ownership can be trusted. So it prints
// which one broke and aborts; a supervisor restarts it with a new id, and the protocol treats that
// as a crash. In a constant expression it does not compile. Errors that the outside world can
// cause are values (neliroute/error.h), or an empty std::optional.
//
// Threads: any.   Units: none.   Errors: aborts.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace neliroute::detail {

/// Prints the broken invariant to stderr and aborts.
[[noreturn, gnu::cold, gnu::noinline]] inline void assertion_failed(const char* expression,
                                                                    const char* message,
                                                                    const char* file,
                                                                    int line) noexcept {
  std::fprintf(stderr, "neliroute: broken invariant: %s (%s) at %s:%d\n", message, expression,
               file, line);
  std::abort();
}

}  // namespace neliroute::detail

#define NELIROUTE_ASSERT(expression, message)                                              \
  ((expression) ? static_cast<void>(0)                                                     \
                : ::neliroute::detail::assertion_failed(#expression, message, __FILE__, __LINE__))

/// Marks code that must never be reached.
#define NELIROUTE_UNREACHABLE(message) \
  ::neliroute::detail::assertion_failed("unreachable", message, __FILE__, __LINE__)
