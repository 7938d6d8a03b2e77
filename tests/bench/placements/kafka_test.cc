// Kafka's assignors, against their definitions and the numbers worked out for them.
#include <gmock/gmock.h>

#include <algorithm>

#include "bench/placements/kafka/java_order.h"
#include "bench/placements/kafka/range.h"
#include "bench/placements/kafka/round_robin.h"
#include "placement/least_moves.h"
#include "tests/bench/placements/rig.h"

namespace neliroute::placement {
namespace {

using ::testing::ElementsAre;

TEST(KafkaRangeTest, BlocksInTheOrderOfIdsTheFirstOneLonger) {
  const std::vector<MemberId> sorted = {7, 2, 5};
  EXPECT_THAT(assign_range(8, sorted), ElementsAre(7, 7, 7, 2, 2, 2, 5, 5));
  EXPECT_THAT(assign_range(2, sorted), ElementsAre(7, 2));
}

TEST(KafkaRoundRobinTest, PartitionModuloMembers) {
  const std::vector<MemberId> sorted = {7, 2, 5};
  EXPECT_THAT(assign_round_robin(8, sorted), ElementsAre(7, 2, 5, 7, 2, 5, 7, 2));
}

/// What moves when a fourth joins three at the rank, of 12 partitions.
std::vector<std::uint64_t> moved_by_rank(std::string_view spec) {
  std::vector<std::uint64_t> moved;
  for (const std::string_view newcomer : {"A", "C", "E", "G"}) {
    Rig rig(spec, 12, {{"B"}, {"D"}, {"F"}, {std::string(newcomer)}}, 3);
    const auto before = rig.owners();
    rig.placement->join(3);
    moved.push_back(differing(before, rig.owners()));
  }
  return moved;
}

TEST(KafkaRangeTest, AJoinMovesByItsRank) {
  EXPECT_THAT(moved_by_rank("range"), ElementsAre(6, 4, 4, 6));
}

TEST(KafkaRoundRobinTest, AJoinMovesNearlyAll) {
  EXPECT_THAT(moved_by_rank("roundrobin"), ElementsAre(9, 9, 9, 9));
}

TEST(KafkaStickyTest, AJoinMovesTheLeast) {
  EXPECT_THAT(moved_by_rank("sticky"), ElementsAre(3, 3, 3, 3));
}

TEST(KafkaRangeTest, TheMeanOverRanksIsTheClosedForm) {
  // P (P + 1) divides M: moved / M = (P + 2) / (3 (P + 1)) on average, 1/2 at the ends.
  constexpr std::uint32_t kP = 10;
  constexpr std::uint32_t kM = 1100;
  std::uint64_t sum = 0;
  for (std::uint32_t rank = 0; rank <= kP; ++rank) {
    std::vector<MemberId> before;
    for (MemberId id = 0; id < kP; ++id) before.push_back(id);
    std::vector<MemberId> after = before;
    after.insert(after.begin() + rank, kP);
    const std::uint64_t moved = differing(assign_range(kM, before), assign_range(kM, after));
    if (rank == 0 || rank == kP) {
      EXPECT_EQ(moved, kM / 2);
    }
    sum += moved;
  }
  EXPECT_EQ(sum * 3, std::uint64_t{kM} * (kP + 2));
}

TEST(JavaOrderTest, HashesAsJavaDoes) {
  EXPECT_EQ(java_hash(""), 0U);
  EXPECT_EQ(java_hash("hello"), 99162322U);
  // Two of a kind that every Java textbook names; Integer.MIN_VALUE, which overflows int.
  EXPECT_EQ(java_hash("Aa"), java_hash("BB"));
  EXPECT_EQ(java_hash("polygenelubricants"), 0x80000000U);
}

TEST(JavaOrderTest, WalksBucketsThenNames) {
  // In 16 buckets "a".."e" lie in 1..5 (97 mod 16), "Aa" and "BB" (2112) both in 0.
  const std::vector<Member> roster = {{"e"}, {"BB"}, {"c"}, {"Aa"}, {"a"}};
  std::vector<MemberId> members = first_ids(5);
  sort_as_java_map(members, roster);
  EXPECT_THAT(members, ElementsAre(3, 1, 4, 2, 0));
}

TEST(JavaOrderTest, TheMapGrowsAboveThreeQuarters) {
  // "p" (112) lies in bucket 0 of 16 and in 16 of 32: 12 names fit 16 buckets, 13 do not.
  for (const std::uint32_t count : {12U, 13U}) {
    std::vector<Member> roster = {{"p"}};
    for (char c = 'a'; roster.size() < count; ++c) roster.push_back({std::string(1, c)});
    std::vector<MemberId> members = first_ids(count);
    sort_as_java_map(members, roster);
    EXPECT_EQ(members.front() == 0, count == 12) << count;
  }
}

struct Churn {
  std::uint64_t moved = 0;
  std::uint64_t least = 0;
};

/// Random joins and leaves; each must leave the loads within one of each other.
Churn churn_of(std::string_view spec, std::uint32_t partitions) {
  Rig rig(spec, partitions, roster_of(30, 5), 10);
  std::vector<MemberId> present = first_ids(10);
  std::vector<MemberId> absent;
  for (MemberId id = 10; id < 30; ++id) absent.push_back(id);
  Churn churn;
  for (std::uint64_t round = 0; round < 300; ++round) {
    const std::uint64_t dice = hash_words(round, 77);
    const bool joins = present.size() == 1 || (!absent.empty() && dice % 2 == 0);
    std::vector<MemberId>& from = joins ? absent : present;
    std::vector<MemberId>& to = joins ? present : absent;
    const auto at = static_cast<std::ptrdiff_t>((dice >> 8) % from.size());
    const MemberId member = from[static_cast<std::size_t>(at)];
    from.erase(from.begin() + at);
    to.push_back(member);
    const auto before = rig.owners();
    joins ? rig.placement->join(member) : rig.placement->leave(member);
    churn.moved += differing(before, rig.owners());
    std::vector<Share> shares;
    std::uint64_t least = UINT64_MAX;
    std::uint64_t most = 0;
    const auto loads = rig.loads();
    for (const MemberId one : present) {
      shares.push_back({one, 1});
      least = std::min(least, loads[one]);
      most = std::max(most, loads[one]);
    }
    EXPECT_LE(most - least, 1U) << spec << " in round " << round;
    churn.least += least_moves(before, shares, 0, rig.roster.size()).count.moves;
  }
  return churn;
}

TEST(KafkaStickyTest, NeverMovesMoreThanTheLeast) {
  for (const std::uint32_t partitions : {7U, 64U, 120U}) {
    const Churn churn = churn_of("sticky", partitions);
    EXPECT_EQ(churn.moved, churn.least) << partitions;
  }
}

TEST(KafkaUniformTest, Kafka41NeverMovesMoreThanTheLeast) {
  for (const std::uint32_t partitions : {7U, 64U, 120U}) {
    const Churn churn = churn_of("uniform-4.1", partitions);
    EXPECT_EQ(churn.moved, churn.least) << partitions;
  }
}

TEST(KafkaUniformTest, Kafka40MovesWithoutNeed) {
  const Churn churn = churn_of("uniform-4.0", 64);
  EXPECT_GT(churn.moved, churn.least);
  // At most M mod P more each time, and it is far less.
  EXPECT_LT(churn.moved, churn.least + 300);
}

TEST(KafkaUniformTest, WhoHoldsTheExtraPartition) {
  // "b" has all 5 partitions when "a" comes, which is before it in Java's map.
  const std::vector<Member> roster = {{"b"}, {"a"}};
  for (const std::string_view spec : {"uniform-4.0", "uniform-4.1"}) {
    Rig rig(spec, 5, roster, 1);
    rig.placement->join(1);
    // 4.0 gives the ceiling to "a", the first of the walk; 4.1 leaves it to "b", who holds it.
    EXPECT_THAT(rig.loads(), spec == "uniform-4.0" ? ElementsAre(2, 3) : ElementsAre(3, 2));
  }
}

TEST(KafkaUniformTest, AFilledMemberGivesUpItsLastPartitionsAndTheFreeOnesGoFirst) {
  Rig rig("uniform-4.1", 6, {{"a"}, {"b"}, {"c"}}, 2);
  EXPECT_THAT(rig.owners(), ElementsAre(0, 0, 0, 1, 1, 1));
  rig.placement->join(2);
  EXPECT_THAT(rig.owners(), ElementsAre(0, 0, 2, 1, 1, 2));
}

TEST(KafkaStickyTest, FillsTheShortOnesInTurn) {
  Rig rig("sticky", 6, {{"a"}, {"b"}, {"c"}}, 2);
  EXPECT_THAT(rig.owners(), ElementsAre(0, 1, 0, 1, 0, 1));
  rig.placement->join(2);
  EXPECT_THAT(rig.owners(), ElementsAre(0, 1, 0, 1, 2, 2));
}

}  // namespace
}  // namespace neliroute::placement
