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

}  // namespace
}  // namespace neliroute
