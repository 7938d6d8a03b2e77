// Roles R_j on partitions: R_j is led by the process that leads partition j mod M.
//
// The number of roles may change at any time, without notifying anybody: no record carries it. With
// fewer roles than partitions some partitions carry none; with more, some carry several; every role
// always has a partition.
//
// Threads: any; set_count() too.   Units: none.   Errors: no roles at all is bad_option.
// Paper: "Protocol definition" (the mapping from R to M).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/time.h>

#include "neli_core/lease_vector.h"

namespace neliroute {

class Roles {
 public:
  /// `count`: at least 1.
  Roles(std::shared_ptr<const LeaseVector> leases, std::uint32_t count);

  [[nodiscard]] std::uint32_t count() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] Result<void> set_count(std::uint32_t count);

  [[nodiscard]] Partition partition_of(Role role) const noexcept {
    return Partition{role.value() % leases_->size()};
  }
  /// Whether this process leads the role. A role >= count() is led by nobody.
  [[nodiscard]] bool leads(Role role, LocalTime now) const noexcept {
    return role.value() < count() && leases_->leads(partition_of(role), now);
  }
  /// How many of the roles this process leads.
  [[nodiscard]] std::uint32_t led_count(LocalTime now) const noexcept;

 private:
  std::shared_ptr<const LeaseVector> leases_;
  std::atomic<std::uint32_t> count_;
};

}  // namespace neliroute
