#include <neliroute/clock.h>

#include <time.h>

namespace neliroute {

namespace {

microseconds read_clock(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::seconds{now.tv_sec} +
         std::chrono::duration_cast<microseconds>(std::chrono::nanoseconds{now.tv_nsec});
}

}  // namespace

LocalTime boot_now() noexcept { return LocalTime{read_clock(CLOCK_BOOTTIME)}; }

WallTime wall_now() noexcept { return WallTime{read_clock(CLOCK_REALTIME)}; }

microseconds unix_minus_boot_now() noexcept {
  return wall_now().time_since_epoch() - boot_now().time_since_epoch();
}

}  // namespace neliroute
