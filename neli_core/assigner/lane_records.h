// What a record in log 0 says of the lane's members and its seat (rules A1 to A3), for whoever
// reads it: a member, or a watcher that is none.
//
// Threads: pure functions of what they are given.   Units: LocalTime.   Errors: none.
#pragma once

#include <neliroute/settings.h>
#include <neliroute/time.h>

#include "neli_core/assigner/members.h"
#include "neli_core/assigner/seat.h"
#include "neli_core/event.h"
#include "neli_core/record/record.h"

namespace neliroute {

/// A record of the claims protocol that was heeded. `same`: its settings are the lane's, as others'
/// make nobody a member. `history`: its writer may be long gone.
void read_member_record(const Record& record, bool same, bool history, LocalTime now,
                        Members& members, Seat& seat);

enum class Said {
  nothing_of_partitions,
  assignment,          ///< that counts
  refused_assignment,  ///< under a seat that is not the newest
};
/// A record of the lane that claims nothing.
[[nodiscard]] Said read_assignment_record(const Received& event, const AssignmentRecord& record,
                                          bool history, LocalTime now, Members& members,
                                          Seat& seat);

}  // namespace neliroute
