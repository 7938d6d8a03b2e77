// The priorities of replicas, against the tables and sentences of the text that they come from.
#include "placement/priorities.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <optional>

namespace neliroute::placement {
namespace {

using testing::ElementsAre;

/// By node; a node without a replica has none.
std::map<MemberId, std::uint32_t> by_node(std::uint32_t nodes, std::uint32_t partition,
                                          std::uint32_t replicas) {
  std::map<MemberId, std::uint32_t> found;
  for (const auto& [node, priority] : priorities(nodes, Partition{partition}, replicas)) {
    found[node] = priority;
  }
  return found;
}

/// How many partitions each node leads, where the living replica of the highest priority does.
std::vector<std::uint32_t> leads(std::uint32_t nodes, std::uint32_t partitions,
                                 std::uint32_t replicas, std::optional<MemberId> dead) {
  std::vector<std::uint32_t> counts(nodes);
  for (std::uint32_t p = 0; p < partitions; ++p) {
    auto group = priorities(nodes, Partition{p}, replicas);
    std::erase_if(group, [&](const ReplicaPriority& replica) { return replica.node == dead; });
    const auto first = std::max_element(
        group.begin(), group.end(),
        [](const auto& a, const auto& b) { return a.priority < b.priority; });
    if (first != group.end()) ++counts[first->node];
  }
  return counts;
}

std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

// Zeebe's table, by node and partition, partitions counted from 1. For partitions 3 and 6 it has
// the two nodes that are not primary the other way round than its pseudo-code: as if the group were
// [2, 1, 0], and not [2, 0, 1], which "For partition 5, the replication group = [1,2,0]" implies.
// We take the pseudo-code, with which all other sentences of the text agree.
//
//   node\partition | 1 | 2 | 3 | 4 | 5 | 6 |
//   0              | 3 | 1 | 1 | 3 | 2 | 2 |
//   1              | 2 | 3 | 2 | 1 | 3 | 1 |
//   2              | 1 | 2 | 3 | 2 | 1 | 3 |
//
//   primaryMember.priority = replicationFactor;
//   if((partition - 1)/clustersize % 2 == 0) {
//     nextPriority = replicationFactor - 1;
//     foreach (member : nonPrimaryPartitionMembers) {
//       member.priority = nextPriority;
//       nextPriority--;
//     }
//   } else {
//     nextPriority = 1
//     foreach (member : nonPrimaryPartitionMembers) {
//       member.priority = nextPriority;
//       nextPriority++;
//     }
//   }
TEST(Priorities, are_those_of_the_pseudo_code_where_the_table_of_three_nodes_differs) {
  constexpr std::uint32_t kTable[3][6] = {{3, 1, 1, 3, 2, 2}, {2, 3, 2, 1, 3, 1},
                                          {1, 2, 3, 2, 1, 3}};
  constexpr std::uint32_t kByPseudoCode[3][6] = {{3, 1, 2, 3, 2, 1}, {2, 3, 1, 1, 3, 2},
                                                 {1, 2, 3, 2, 1, 3}};
  for (std::uint32_t p = 0; p < 6; ++p) {
    const auto found = by_node(3, p, 3);
    bool as_the_table = true;
    for (MemberId node = 0; node < 3; ++node) {
      EXPECT_EQ(found.at(node), kByPseudoCode[node][p]) << "node " << node << ", " << p + 1;
      as_the_table = as_the_table && found.at(node) == kTable[node][p];
    }
    EXPECT_EQ(as_the_table, p + 1 != 3 && p + 1 != 6) << p + 1;
  }
}

TEST(Priorities, begin_with_the_primary_and_go_on_in_the_order_of_the_group) {
  EXPECT_THAT(priorities(3, Partition{4}, 3),
              ElementsAre(ReplicaPriority{1, 3}, ReplicaPriority{2, 1}, ReplicaPriority{0, 2}));
}

// Of 4 nodes, 12 partitions and 3 replicas: partitions 1, 5 and 9 have node 0 as primary and the
// group [0, 1, 2]; node 1 is the second for 1 and 9, node 2 for 5; so both take over from node 0.
TEST(Priorities, alternate_between_the_neighbours_of_a_primary) {
  for (const std::uint32_t p : {0U, 4U, 8U}) {
    const bool other = p == 4;
    EXPECT_THAT(priorities(4, Partition{p}, 3),
                ElementsAre(ReplicaPriority{0, 3}, ReplicaPriority{1, other ? 1U : 2U},
                            ReplicaPriority{2, other ? 2U : 1U}));
  }
  EXPECT_THAT(leads(4, 12, 3, std::nullopt), ElementsAre(3, 3, 3, 3));
  EXPECT_THAT(leads(4, 12, 3, 0), ElementsAre(0, 5, 4, 3));
}

// As evenly as among all that live, and one more: in both configurations of the text, and with
// three nodes for any number of partitions.
TEST(Priorities, spread_what_a_dead_node_led) {
  const auto expect_spread = [](std::uint32_t nodes, std::uint32_t partitions) {
    for (MemberId dead = 0; dead < nodes; ++dead) {
      const auto counts = leads(nodes, partitions, 3, dead);
      EXPECT_LE(*std::max_element(counts.begin(), counts.end()),
                ceil_div(partitions, nodes - 1) + 1)
          << nodes << " nodes, " << partitions << " partitions, without " << dead;
    }
  };
  expect_spread(4, 12);
  for (std::uint32_t partitions = 1; partitions <= 64; ++partitions) expect_spread(3, partitions);
}

// Two neighbours take over, not all: with more nodes and many partitions they have more than that.
TEST(Priorities, leave_half_of_what_a_dead_node_led_to_one_neighbour_at_most) {
  for (std::uint32_t nodes = 3; nodes <= 9; ++nodes) {
    for (std::uint32_t replicas = 3; replicas <= nodes; ++replicas) {
      for (const std::uint32_t partitions : {1U, 7U, 12U, 64U, 100U}) {
        const std::uint32_t share = ceil_div(partitions, nodes);
        for (MemberId dead = 0; dead < nodes; ++dead) {
          const auto counts = leads(nodes, partitions, replicas, dead);
          EXPECT_LE(*std::max_element(counts.begin(), counts.end()), share + ceil_div(share, 2));
        }
      }
    }
  }
}

TEST(Priorities, of_one_replica_or_two_leave_no_choice) {
  EXPECT_THAT(priorities(1, Partition{7}, 1), ElementsAre(ReplicaPriority{0, 1}));
  EXPECT_THAT(priorities(2, Partition{1}, 2),
              ElementsAre(ReplicaPriority{1, 2}, ReplicaPriority{0, 1}));
  EXPECT_THAT(priorities(2, Partition{3}, 2), priorities(2, Partition{1}, 2));
}

TEST(PrioritiesDeathTest, need_a_replica_and_a_node_for_each) {
  EXPECT_DEATH(static_cast<void>(priorities(3, Partition{0}, 0)), "there must be replicas");
  EXPECT_DEATH(static_cast<void>(priorities(3, Partition{0}, 4)), "no more of them than nodes");
}

}  // namespace
}  // namespace neliroute::placement
