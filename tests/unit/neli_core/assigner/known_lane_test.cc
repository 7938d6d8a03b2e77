// What is known of a lane's owners, log by log.
#include "neli_core/assigner/known_lane.h"

#include <gtest/gtest.h>

#include "tests/unit/neli_core/assigner/told.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using told::at_ms;
using told::kInterval;
using told::kLease;

struct Lanes {
  KnownLane lane{{Lane{}, ProcessId{9}, kInterval, kLease, 1, 8}};
  const Record held = told::holding(1, {1'000, 3}, "0", "0");

  void start(std::int64_t from, std::int64_t end) {
    lane.tail_started(tail_at(Log{0}, from, end), at_ms(0));
  }
  void read(std::int64_t offset, bool history) {
    lane.read(Received{Log{0}, offset, BrokerTime{milliseconds{1}}, true, nullptr}, held, history,
              at_ms(1));
  }
  [[nodiscard]] ProcessId owner() const { return lane.owners.at(Partition{0}, at_ms(1)).id; }
};

TEST(KnownLane, believes_nobody_of_a_history_that_it_owns) {
  Lanes known;
  known.start(10, 20);
  known.read(10, true);
  EXPECT_EQ(known.owner(), kNobody);
  known.read(20, false);
  EXPECT_EQ(known.owner(), ProcessId{1});
}

TEST(KnownLane, forgets_the_owners_in_a_log_whose_tail_starts_elsewhere) {
  Lanes known;
  known.start(10, 10);
  known.read(10, false);
  ASSERT_EQ(known.owner(), ProcessId{1});
  known.start(30, 30);
  EXPECT_EQ(known.owner(), kNobody);
}

// Mutation obeys_unread. An older one is read, and the newer ones of another assigner's are not.
TEST(KnownLane, heeds_no_assignment_of_a_history_that_leaves_some_out) {
  for (const Below below : {Below::older, Below::unread}) {
    Lanes known;
    known.lane.tail_started({Log{0}, 3, 20, below}, at_ms(0));
    const auto read = [&](std::int64_t offset, const AssignmentRecord& record) {
      const BrokerTime stamped{milliseconds{1'000}};
      return known.lane.read(Received{Log{0}, offset, stamped, true, nullptr}, record, offset < 20,
                             at_ms(1));
    };
    read(5, told::seat_claim(ProcessId{1}));
    const AssignmentRecord assign = told::assign(1, {1'000, 5}, {{9, "0"}});
    EXPECT_EQ(read(7, assign), below == Below::unread ? Assigned::told : Assigned::valid);
    EXPECT_EQ(read(20, assign), Assigned::valid);
  }
}

}  // namespace
}  // namespace neliroute
