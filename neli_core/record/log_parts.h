// Which partitions of one log a record is about: ranges of p / L, as records name them.
//
// The partitions of a log are every L-th one. Numbered by their place in the log, neighbours stay
// neighbours, so a whole log is "0-16383", whatever L is. A record does not say in which log it is,
// nor how many there are; its reader knows both, and passes them.
//
// Threads: as a container: const calls from any, others from one.
// Units: partitions outside, p / L inside.   Errors: parse() returns nullopt.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neli_core/record/partition_ranges.h"

namespace neliroute {

/// A log, and what defines it: L and M of its topic.
struct LogPlace {
  Log log;
  std::uint32_t logs = 1;
  std::uint32_t partitions = kPartitionCountMax;

  /// Calls visit(Partition) in ascending order for all whose records are in the log.
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    for (std::uint32_t p = log.value(); p < partitions; p += logs) visit(Partition{p});
  }
};

class LogParts {
 public:
  LogParts() = default;
  /// Of partitions that are all in one log.
  [[nodiscard]] static LogParts of(const std::vector<Partition>& partitions, std::uint32_t logs);
  /// The same as PartitionRanges::parse().
  [[nodiscard]] static std::optional<LogParts> parse(std::string_view text);

  /// Cheapest in ascending order.
  void insert(Partition partition, std::uint32_t logs) {
    numbers_.insert(Partition{partition.value() / logs});
  }
  /// For a partition of the log that holds the record.
  [[nodiscard]] bool contains(Partition partition, std::uint32_t logs) const noexcept {
    return numbers_.contains(Partition{partition.value() / logs});
  }
  [[nodiscard]] bool empty() const noexcept { return numbers_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return numbers_.size(); }
  [[nodiscard]] std::string to_string() const { return numbers_.to_string(); }

  /// Calls visit(std::uint32_t) for each p / L, ascending.
  template <class Visitor>
  void for_each_number(Visitor&& visit) const {
    numbers_.for_each(kPartitionCountMax, [&visit](Partition number) { visit(number.value()); });
  }
  /// Calls visit(Partition) in ascending order for those that exist.
  template <class Visitor>
  void for_each(const LogPlace& place, Visitor&& visit) const {
    if (place.log.value() >= place.partitions) return;
    const std::uint32_t count = (place.partitions - place.log.value() - 1) / place.logs + 1;
    numbers_.for_each(count, [&](Partition number) {
      visit(Partition{number.value() * place.logs + place.log.value()});
    });
  }

  friend bool operator==(const LogParts&, const LogParts&) = default;

 private:
  PartitionRanges numbers_;
};

}  // namespace neliroute
