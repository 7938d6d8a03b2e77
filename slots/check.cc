#include <neliroute/detail/check.h>

#include <cstdio>
#include <cstdlib>

namespace neliroute::detail {

void slots_invariant_broken(const char* message) noexcept {
  constexpr const char* kFormat = "neliroute: broken invariant: %s\n";
  std::fprintf(stderr, kFormat, message);  // tidy-allow(impure): the last words before abort
  std::abort();
}

}  // namespace neliroute::detail
