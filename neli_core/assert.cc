#include "neli_core/assert.h"

#include <cstdio>
#include <cstdlib>

namespace neliroute::detail {

void assertion_failed(const char* expression, const char* message, const char* file,
                      int line) noexcept {
  const char* format = "neliroute: broken invariant: %s (%s) at %s:%d\n";
  std::fprintf(stderr, format, message, expression, file, line);  // tidy-allow(impure): last words
  std::abort();
}

}  // namespace neliroute::detail
