// What a process must do next: the outputs of the state machine.
//
// Carry out everything, in the order of the fields, as every driver does: Member, the simulator,
// the tests' rigs. The lease vector was changed before the Ready was made, so a partition that
// stopped answers "no" before anybody is notified. `transitions` come first: readers see them, then
// the application is notified, and only then is the rebalance acknowledged and anything written.
//
// Threads: values.   Units: std::chrono.   Errors: `refused` ends the process's part in the group.
#pragma once

#include <cstdint>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <neliroute/transition.h>
#include <optional>
#include <string>
#include <vector>

#include "neli_core/event.h"
#include "neli_core/record/record.h"

namespace neliroute {

/// A record to append to a log. Its time `sent` is when the Ready was taken: hand it over soon.
struct Write {
  Log log;
  std::uint64_t seq = 0;
  std::string value;
};

/// Read the record at `offset` again and answer with Reread; -1: any answer of the leader is
/// enough.
struct RereadRequest {
  Log log;
  /// Returned in the answer: an answer to a request from before a long silence proves nothing.
  std::uint64_t question = 0;
  std::int64_t offset = -1;
};

struct Ready {
  std::vector<Transition> transitions;
  /// What this process leads by the protocol, and lookups do not say yet: let the application warm
  /// up, and answer with WarmedUp. As a transition `acquired`, which follows.
  std::vector<Transition> warm_ups;
  /// What this process is about to claim: let the application prepare, and answer with Prepared.
  std::vector<Partition> prepares;
  /// What was prepared, or is being, and this process will not lead after all.
  std::vector<Partition> unprepared;
  /// What was assigned and taken back since the last Ready, in order. Drivers with a group know it
  /// from their own events; where a member assigns, nothing else says it.
  std::vector<AssignmentChange> assignments;
  /// Let this many rebalance events, the oldest first, proceed.
  std::uint32_t rebalances_done = 0;
  /// Variation `broadcast`: append a record without key and value to every partition. Reading it
  /// back is the only confirmation.
  bool broadcast = false;
  std::vector<Write> writes;
  /// Restart the tails of these logs, and answer with TailStarted.
  std::vector<Log> restart_tails;
  std::vector<RereadRequest> rereads;
  /// The history was read: join the group.
  bool subscribe = false;
  bool leave_group = false;
  /// The group may have another assignment for this process: send the next heartbeat early, after a
  /// random delay of at most this.
  std::optional<milliseconds> expedite;
  std::vector<Notice> notices;
  /// Why this process gave up; it drains, leaves and closes by itself.
  std::optional<Error> refused;
  /// Nothing is held or in flight: close the ledger.
  bool closed = false;
};

}  // namespace neliroute
