// What a process knows of the members of its lane, record by record.
//
// Threads: one.   Units: milliseconds.   Errors: none.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "neli_core/assigner/members.h"
#include "tests/unit/neli_core/assigner/told.h"

namespace neliroute {

/// Members of a process that reads a record each interval: its own, once it is a member.
class MembersTest : public testing::Test {
 protected:
  void read(const Record& record, bool history = false) {
    members.read(record, told::seen(now, history));
    members.tick(now);
  }
  void hear(ProcessId id) {
    members.heard(id, told::seen(now));
    members.tick(now);
  }
  /// The log flows for that long, by the records of this process.
  void live_for(milliseconds duration, milliseconds step = told::kInterval) {
    for (const LocalTime end = now + duration; now < end;) {
      now = std::min(end, now + step);
      read(told::renewal(1, milliseconds{60'000}));
    }
  }
  /// Nothing is written for that long.
  void stand_still_for(milliseconds duration) { live_for(duration, duration); }

  Members members{{told::kOwn, told::kInterval}};
  LocalTime now = told::at_ms(10'000);
};

}  // namespace neliroute
