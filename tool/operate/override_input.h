// What an operator may ask for, checked against what is there: names of processes, and slots that
// are whole partitions.
//
// Threads: pure functions, any.   Units: slots, partitions.
// Errors: bad_option, naming the text, what was expected and what to do.
#pragma once

#include <cstdint>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "neli_core/assigner/lane_reader.h"
#include "neli_core/record/partition_ranges.h"

namespace neliroute::tool {

/// The slots of a lane, and how they are divided.
struct SlotPlan {
  std::uint32_t slots = 0;
  std::uint32_t partitions = 0;
};

/// "0-9,12" as ranges of slots, sorted.
struct SlotRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  friend bool operator==(const SlotRange&, const SlotRange&) = default;
};
[[nodiscard]] Result<std::vector<SlotRange>> parse_slot_ranges(std::string_view text);

/// The partitions that these slots make up. A partition moves as a whole, so all of its slots must
/// be among them, unless `whole` widens them.
[[nodiscard]] Result<PartitionRanges> whole_partitions(const std::vector<SlotRange>& slots,
                                                       const SlotPlan& plan, bool whole);
/// The slots of partitions, as in "0-9,12": all of them, as SLOTS takes them.
[[nodiscard]] std::string slots_text(const PartitionRanges& partitions, const SlotPlan& plan);
/// Ranges for people: some hundred characters at most, and "…" for the rest.
[[nodiscard]] std::string shortened(std::string ranges);

/// That the name is one of those that are there. `absent`: it need not be.
[[nodiscard]] Result<void> check_name(const std::string& name, const std::set<std::string>& there,
                                      bool absent);
/// Whether, with these overrides, no member may own anything: each is cordoned or of weight 0.
[[nodiscard]] bool nobody_takes(const ShownLane& lane, const StandingOverrides& standing);
/// Whether a name looks like the one that a process without --name has: it ends with the process.
[[nodiscard]] bool is_default_name(std::string_view name);

}  // namespace neliroute::tool
