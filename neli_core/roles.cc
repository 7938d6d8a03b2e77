#include "neli_core/roles.h"

#include <neliroute/detail/assert.h>
#include <utility>

namespace neliroute {

Roles::Roles(std::shared_ptr<const LeaseVector> leases, std::uint32_t count)
    : leases_(std::move(leases)), count_(count) {
  NELIROUTE_ASSERT(count > 0, "there is at least one role");
}

Result<void> Roles::set_count(std::uint32_t count) {
  if (count == 0) return Error{Errc::bad_option, "roles 0: expected at least 1"};
  count_.store(count, std::memory_order_relaxed);
  return {};
}

std::uint32_t Roles::led_count(LocalTime now) const noexcept {
  const std::uint32_t roles = count();
  const std::uint32_t partitions = leases_->size();
  std::uint32_t led = 0;
  for (std::uint32_t p = 0; p < partitions && p < roles; ++p) {
    // Roles p, p + M, p + 2M, ...
    if (leases_->leads(Partition{p}, now)) led += (roles - p - 1) / partitions + 1;
  }
  return led;
}

}  // namespace neliroute
