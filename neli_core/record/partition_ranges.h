// A set of partitions, kept and written as ranges: "0-9,12".
//
// Threads: as a container: const calls from any, others from one.
// Units: partitions.   Errors: parse() returns nullopt.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace neliroute {

class PartitionRanges {
 public:
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t last = 0;  ///< inclusive
    friend bool operator==(const Range&, const Range&) = default;
  };

  PartitionRanges() = default;
  [[nodiscard]] static PartitionRanges of(const std::vector<Partition>& partitions);
  /// Accepts what to_string() writes, in any order, and nothing else. Refuses a partition of
  /// kPartitionCountMax or more, so a set never takes more memory than that.
  [[nodiscard]] static std::optional<PartitionRanges> parse(std::string_view text);

  /// Adds one partition; cheapest in ascending order.
  void insert(Partition partition);
  /// Adds all of them at once.
  void insert(const PartitionRanges& others);
  /// Takes all of them out.
  void erase(const PartitionRanges& others);
  [[nodiscard]] bool contains(Partition partition) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept;  ///< partitions, not ranges
  [[nodiscard]] const std::vector<Range>& ranges() const noexcept { return ranges_; }
  [[nodiscard]] std::string to_string() const;
  [[nodiscard]] std::vector<Partition> to_vector() const;

  /// Calls visit(Partition) in ascending order for those below `bound`.
  template <class Visitor>
  void for_each(std::uint32_t bound, Visitor&& visit) const {
    for (const Range& range : ranges_) {
      for (std::uint32_t p = range.first; p <= range.last && p < bound; ++p) visit(Partition{p});
    }
  }

  friend bool operator==(const PartitionRanges&, const PartitionRanges&) = default;

 private:
  void normalise();
  void merge_neighbours();
  void insert_between(std::uint32_t p);
  std::vector<Range> ranges_;  // ascending, disjoint, not adjacent
};

}  // namespace neliroute
