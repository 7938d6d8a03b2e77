// The second port: what a consumer group does for the processes of a lane. Only Kafka has one, and
// only `--assignment group` uses it; where a member assigns, there is none.
//
// Threads: all calls, and all answers, on one strand, that of the ledger.   Units: std::chrono.
// Errors: a group that cannot be reached assigns nothing; no call fails.
// Paper: "Overview" (atomic partition assignment).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <neliroute/time.h>
#include <optional>

namespace neliroute {

class GroupPort {
 public:
  GroupPort() = default;
  GroupPort(const GroupPort&) = delete;
  GroupPort& operator=(const GroupPort&) = delete;

  /// Joins the group; GroupAssigned and GroupRevoked follow.
  virtual void subscribe() = 0;
  /// Sends the group a heartbeat after a random delay of at most `within`, instead of at the next
  /// interval: an assignment made by then is an event soon after.
  virtual void expedite(milliseconds within) = 0;
  /// Lets the oldest `count` assigned or revoked events proceed.
  virtual void finish_rebalances(std::uint32_t count) = 0;
  /// Leaves the group; what it had assigned is not revoked again.
  virtual void leave_group() = 0;
  /// Leaves the group, or does not join it, until it is told otherwise: then joins if it would
  /// have. What it had assigned is revoked.
  virtual void stay_away(bool away) = 0;
  /// How many members the group has now besides this process; no value if that cannot be found out.
  /// May answer at once.
  virtual void count_others(std::function<void(std::optional<std::size_t>)> answer) = 0;
  /// Variation `broadcast`: appends a record without key and value to every partition. The outcome
  /// is not reported.
  virtual void broadcast() = 0;

 protected:
  ~GroupPort() = default;  // a part of the ledger, which owns it
};

}  // namespace neliroute
