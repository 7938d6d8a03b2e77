// Moves, by cause and against the least possible.
#include "metrics/slot_moves.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/router/view/records.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using testing_records::at_ms;

constexpr auto kQuiet = 1000ms;

/// 40 slots on 4 partitions; owners are written "1122", and 0 is nobody.
struct Episode {
  SlotMoves moves{SlotCount{40}, 4, kQuiet};
  LocalTime now = at_ms(1000);

  void owners(const std::string& digits) {
    now += 1ms;
    for (std::uint32_t p = 0; p < 4; ++p) {
      const auto id = static_cast<std::uint64_t>(digits[p] - '0');
      moves.note(Partition{p}, ProcessId{id}, id != 0, now);
    }
  }
  /// "join leave balance excess", after a rest.
  std::string counts() {
    moves.tick(now += kQuiet);
    const MoveCounts& c = moves.counts();
    return std::to_string(c.join) + " " + std::to_string(c.leave) + " " +
           std::to_string(c.balance) + " " + std::to_string(c.excess);
  }
};

TEST(SlotMoves, first_owners_are_no_moves) {
  Episode episode;
  episode.owners("1122");
  EXPECT_EQ(episode.counts(), "0 0 0 0");
}

TEST(SlotMoves, are_counted_even_while_the_first_owners_are_being_learned) {
  Episode episode;
  episode.owners("1100");
  episode.owners("1122");
  episode.owners("1123");
  EXPECT_EQ(episode.counts(), "10 0 0 0");
}

TEST(SlotMoves, are_told_apart_by_who_came_and_who_left) {
  Episode episode;
  episode.owners("1122");
  EXPECT_EQ(episode.counts(), "0 0 0 0");
  episode.owners("1123");
  EXPECT_EQ(episode.counts(), "10 0 0 0") << "3 joined";
  episode.owners("0023");
  EXPECT_EQ(episode.moves.counts().leave, 0u) << "not yet: two have no owner";
  episode.owners("2323");
  EXPECT_EQ(episode.counts(), "10 20 0 0") << "1 left";
  episode.owners("2223");
  EXPECT_EQ(episode.counts(), "10 20 10 0") << "both had slots before and after";
}

TEST(SlotMoves, that_come_back_are_none) {
  Episode episode;
  episode.owners("1122");
  static_cast<void>(episode.counts());
  episode.owners("0022");
  episode.owners("2222");
  episode.owners("1122");
  EXPECT_EQ(episode.counts(), "0 0 0 0");
}

TEST(SlotMoves, beyond_the_least_are_excess) {
  Episode episode;
  episode.owners("1122");
  static_cast<void>(episode.counts());
  episode.owners("2211");
  EXPECT_EQ(episode.counts(), "0 0 40 40") << "each has as many as before";
  episode.owners("3122");
  EXPECT_EQ(episode.counts(), "10 0 70 70") << "10 to 3 would have done";
}

TEST(SlotMoves, are_counted_in_the_end_even_if_a_partition_stays_without_an_owner) {
  Episode episode;
  episode.owners("1122");
  static_cast<void>(episode.counts());
  episode.owners("1330");
  EXPECT_EQ(episode.counts(), "0 0 0 0") << "it is not at rest";
  episode.moves.tick(episode.now + 10 * kQuiet);
  EXPECT_EQ(episode.moves.counts().leave, 10u) << "2 has left what 3 got";
  episode.owners("1333");
  EXPECT_EQ(episode.counts(), "10 20 0 0") << "from 2, whose it was last";
}

}  // namespace
}  // namespace neliroute
