#include "tool/operate/override_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "neli_core/assigner/overrides.h"
#include "neli_core/record/override.h"
#include "slots/partition.h"
#include "tool/command_line/command_line.h"
#include "tool/command_line/values.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

constexpr std::size_t kNamed = 10;       // names or slots in a message
constexpr std::size_t kRangesText = 200;  // characters

Error bad_input(std::string text) { return {Errc::bad_option, std::move(text)}; }

std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::string range_text(const SlotRange& range) {
  return range.first == range.last ? std::to_string(range.first)
                                   : fmt::format("{}-{}", range.first, range.last);
}

/// Sorted, and none beside another.
std::vector<SlotRange> merged(std::vector<SlotRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const SlotRange& a, const SlotRange& b) { return a.first < b.first; });
  std::vector<SlotRange> made;
  for (const SlotRange& range : ranges) {
    if (!made.empty() && range.first <= std::uint64_t{made.back().last} + 1) {
      made.back().last = std::max(made.back().last, range.last);
    } else {
      made.push_back(range);
    }
  }
  return made;
}

/// How many of these slots each partition has.
std::vector<std::uint32_t> counted(const std::vector<SlotRange>& slots, const SlotPlan& plan) {
  std::vector<std::uint32_t> counts(plan.partitions);
  for (const SlotRange& range : slots) {
    for (std::uint32_t slot = range.first; slot <= range.last; ++slot) {
      ++counts[partition_of(Slot{slot}, plan.partitions)];
    }
  }
  return counts;
}

std::string first_slots(std::uint32_t partition, const SlotPlan& plan) {
  std::string text;
  std::size_t named = 0;
  for (std::uint64_t slot = partition; slot < plan.slots; slot += plan.partitions) {
    if (named++ == kNamed) return text + ", …";
    text += (text.empty() ? "" : ", ") + std::to_string(slot);
  }
  return text;
}

}  // namespace

Result<std::vector<SlotRange>> parse_slot_ranges(std::string_view text) {
  const std::string_view whole = text;
  const auto wrong = [&] {
    return bad_input(fmt::format("SLOTS \"{}\": expected slots and ranges of them, as in 0-9,12",
                                 shortened(std::string(whole))));
  };
  std::vector<SlotRange> ranges;
  while (true) {
    const auto first = take_number(text);
    if (!first) return wrong();
    SlotRange range{*first, *first};
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      const auto last = take_number(text);
      if (!last) return wrong();
      if (*last < *first) {
        return bad_input(
            fmt::format("SLOTS \"{}\": {} is less than {}; write the smaller one first",
                        shortened(std::string(whole)), *last, *first));
      }
      range.last = *last;
    }
    ranges.push_back(range);
    if (text.empty()) return merged(std::move(ranges));
    if (!text.starts_with(',')) return wrong();
    text.remove_prefix(1);
  }
}

Result<PartitionRanges> whole_partitions(const std::vector<SlotRange>& slots, const SlotPlan& plan,
                                         bool whole) {
  if (slots.back().last >= plan.slots) {
    return bad_input(fmt::format("slot {} does not exist: the lane has {} slots, 0 to {}",
                                 slots.back().last, text_of(std::uint64_t{plan.slots}),
                                 plan.slots - 1));
  }
  const std::vector<std::uint32_t> counts = counted(slots, plan);
  std::vector<Partition> touched;
  std::vector<Partition> partial;
  for (std::uint32_t p = 0; p < plan.partitions; ++p) {
    if (counts[p] == 0) continue;
    touched.push_back(Partition{p});
    if (counts[p] < slots_on_partition(p, SlotCount{plan.slots}, plan.partitions)) {
      partial.push_back(Partition{p});
    }
  }
  PartitionRanges partitions = PartitionRanges::of(touched);
  if (whole || partial.empty()) return partitions;
  const std::uint32_t first = partial.front().value();
  return bad_input(fmt::format(
      "these are only some of the slots of {} {}, and a partition moves as a whole; partition {} "
      "has the slots {}. Give all of them, or --whole for every slot of the partitions {}",
      partial.size() == 1 ? "partition" : "partitions",
      shortened(PartitionRanges::of(partial).to_string()), first, first_slots(first, plan),
      shortened(partitions.to_string())));
}

std::string slots_text(const PartitionRanges& partitions, const SlotPlan& plan) {
  std::vector<SlotRange> slots;
  for (std::uint64_t from = 0; from < plan.slots; from += plan.partitions) {
    for (const PartitionRanges::Range& range : partitions.ranges()) {
      const std::uint64_t first = from + range.first;
      const std::uint64_t last =
          std::min<std::uint64_t>(from + std::min(range.last, plan.partitions - 1), plan.slots - 1);
      if (range.first >= plan.partitions || first > last) continue;
      slots.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)});
    }
  }
  std::string text;
  for (const SlotRange& range : merged(std::move(slots))) {
    text += (text.empty() ? "" : ",") + range_text(range);
  }
  return text;
}

std::string shortened(std::string ranges) {
  if (ranges.size() <= kRangesText) return ranges;
  const std::size_t comma = ranges.rfind(',', kRangesText);
  ranges.erase(comma == std::string::npos ? kRangesText : comma + 1);
  return ranges + "…";
}

Result<void> check_name(const std::string& name, const std::set<std::string>& there, bool absent) {
  if (name.empty() || name.size() > kOverrideNameBytesMax) {
    return bad_input(
        fmt::format("a name of {} bytes: expected 1 to {}", name.size(), kOverrideNameBytesMax));
  }
  if (absent || there.contains(name)) return {};
  std::string list;
  std::size_t named = 0;
  for (const std::string& one : there) {
    if (named++ == kNamed) break;
    list += (list.empty() ? "" : ", ") + shown(one);
  }
  if (there.size() > kNamed) list += fmt::format(" and {} more", there.size() - kNamed);
  const auto near = nearest(name, {there.begin(), there.end()});
  return bad_input(
      fmt::format("no process named {} lives{} There are: {}. With --absent it stands "
                  "for one that comes later",
                  shown(name), near ? "; did you mean " + shown(*near) + "?" : ".", list));
}

bool nobody_takes(const ShownLane& lane, const StandingOverrides& standing) {
  return !lane.members.empty() &&
         std::none_of(lane.members.begin(), lane.members.end(), [&](const ShownMember& shown) {
           Member member;
           member.process = shown.process;
           member.fields = shown.fields;
           return !shown.leaving && effective_weight(member, standing) > 0;
         });
}

// host_pid_id, as default_process_name() makes it.
bool is_default_name(std::string_view name) {
  constexpr std::size_t kIdDigits = 16;
  const auto all_of = [](std::string_view text, std::string_view digits) {
    return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
  };
  const std::size_t last = name.rfind('_');
  if (last == std::string_view::npos || last == 0) return false;
  const std::size_t before = name.rfind('_', last - 1);
  if (before == std::string_view::npos || before == 0) return false;
  const std::string_view id = name.substr(last + 1);
  return id.size() == kIdDigits && all_of(id, "0123456789abcdef") &&
         all_of(name.substr(before + 1, last - before - 1), "0123456789");
}

}  // namespace neliroute::tool
