// Which clock leases are measured by.
#include <neliroute/clock.h>

#include <gmock/gmock.h>
#include <time.h>

#include <vector>

namespace {

thread_local std::vector<clockid_t>* asked = nullptr;

}  // namespace

// The linker's names (tests/unit/ledgers/kafka/CMakeLists.txt).
extern "C" {
int __real_clock_gettime(clockid_t clock, timespec* now);
int __wrap_clock_gettime(clockid_t clock, timespec* now);

int __wrap_clock_gettime(clockid_t clock, timespec* now) {
  if (asked != nullptr) asked->push_back(clock);
  return __real_clock_gettime(clock, now);
}
}

namespace neliroute {
namespace {

// CLOCK_MONOTONIC stands still while a machine is suspended, and another one leads meanwhile.
TEST(Clock, GoesOnWhileTheMachineIsSuspended) {
  std::vector<clockid_t> clocks;
  asked = &clocks;
  static_cast<void>(boot_now());
  asked = nullptr;
  EXPECT_THAT(clocks, testing::ElementsAre(CLOCK_BOOTTIME));
}

}  // namespace
}  // namespace neliroute
