// The earliest of many deadlines: a tournament tree, one leaf per partition.
//
// Setting a leaf costs O(log n), reading the earliest O(1). A heap with lazy deletion would
// grow with every renewed lease; a scan costs 30 us at 65,536 partitions and every record.
//
// Threads: one.   Units: LocalTime.   Errors: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <vector>

namespace neliroute {

class DeadlineTree {
 public:
  explicit DeadlineTree(std::uint32_t count) {
    while (leaf_count_ < count) leaf_count_ *= 2;
    nodes_.assign(2 * leaf_count_, kNever);
  }

  void set(Partition partition, LocalTime deadline) noexcept {
    std::size_t node = leaf_count_ + partition.value();
    nodes_[node] = deadline;
    for (node /= 2; node >= 1; node /= 2) {
      const LocalTime earliest = std::min(nodes_[2 * node], nodes_[2 * node + 1]);
      if (nodes_[node] == earliest) break;
      nodes_[node] = earliest;
    }
  }

  [[nodiscard]] LocalTime earliest() const noexcept { return nodes_[1]; }

  /// A partition whose deadline is earliest().
  [[nodiscard]] Partition first() const noexcept {
    std::size_t node = 1;
    while (node < leaf_count_) node = 2 * node + (nodes_[2 * node] == nodes_[node] ? 0 : 1);
    return Partition{static_cast<std::uint32_t>(node - leaf_count_)};
  }

 private:
  std::size_t leaf_count_ = 1;
  std::vector<LocalTime> nodes_;
};

}  // namespace neliroute
