#include "neli_core/kafka/clock.h"

#include <time.h>

namespace neliroute {

LocalTime boot_now() noexcept {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return LocalTime{std::chrono::seconds{now.tv_sec} +
                   std::chrono::duration_cast<microseconds>(std::chrono::nanoseconds{now.tv_nsec})};
}

}  // namespace neliroute
