// Everything that a decision of the assigner rests on.
//
// Threads: values.   Units: milliseconds.   Errors: none.
#pragma once

#include <neliroute/time.h>

#include "neli_core/assigner/designations.h"
#include "neli_core/assigner/members.h"
#include "neli_core/assigner/overrides.h"
#include "neli_core/assigner/owners.h"
#include "neli_core/record/partition_ranges.h"

namespace neliroute {

struct AssignerView {
  const Members& members;
  const Owners& owners;
  const Designations& designations;
  milliseconds longest_lease{0};  ///< T*: of all members
  const Overrides& overrides;
  PartitionRanges unread{};  ///< numbers of the logs that the assigner does not read
  microseconds lag{0};       ///< by which it reads log 0 late, as others may
};

}  // namespace neliroute
