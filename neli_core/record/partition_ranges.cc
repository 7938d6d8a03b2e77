#include "neli_core/record/partition_ranges.h"

#include <algorithm>
#include <charconv>

namespace neliroute {
namespace {

// Reads a decimal number without sign; advances `text` past it.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value >= kPartitionCountMax) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

PartitionRanges PartitionRanges::of(const std::vector<Partition>& partitions) {
  PartitionRanges set;
  set.ranges_.reserve(partitions.size());
  for (Partition p : partitions) set.ranges_.push_back({p.value(), p.value()});
  set.normalise();
  return set;
}

std::optional<PartitionRanges> PartitionRanges::parse(std::string_view text) {
  PartitionRanges set;
  if (text.empty()) return set;
  while (true) {
    const auto first = take_number(text);
    if (!first) return std::nullopt;
    auto last = first;
    if (!text.empty() && text.front() == '-') {
      text.remove_prefix(1);
      last = take_number(text);
      if (!last || *last < *first) return std::nullopt;
    }
    set.ranges_.push_back({*first, *last});
    // More ranges than there are partitions can only repeat themselves.
    if (set.ranges_.size() > kPartitionCountMax) return std::nullopt;
    if (text.empty()) break;
    if (text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
  set.normalise();
  return set;
}

void PartitionRanges::normalise() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  merge_neighbours();
}

void PartitionRanges::merge_neighbours() {
  std::vector<Range> merged;
  merged.reserve(ranges_.size());
  for (const Range& range : ranges_) {
    if (!merged.empty() && range.first <= merged.back().last + 1) {
      merged.back().last = std::max(merged.back().last, range.last);
    } else {
      merged.push_back(range);
    }
  }
  ranges_ = std::move(merged);
}

void PartitionRanges::insert(Partition partition) {
  const std::uint32_t p = partition.value();
  if (ranges_.empty() || p > ranges_.back().last + 1) {
    ranges_.push_back({p, p});
  } else if (p == ranges_.back().last + 1) {
    ranges_.back().last = p;
  } else {
    insert_between(p);
  }
}

// Some range ends at or after `p`.
void PartitionRanges::insert_between(std::uint32_t p) {
  const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), p,
                                   [](const Range& r, std::uint32_t v) { return r.last < v; });
  if (at->first <= p) return;
  const bool joins_next = at->first == p + 1;
  const bool joins_previous = at != ranges_.begin() && std::prev(at)->last + 1 == p;
  if (joins_next && joins_previous) {
    std::prev(at)->last = at->last;
    ranges_.erase(at);
  } else if (joins_next) {
    at->first = p;
  } else if (joins_previous) {
    std::prev(at)->last = p;
  } else {
    ranges_.insert(at, {p, p});
  }
}

void PartitionRanges::insert(const PartitionRanges& others) {
  const auto middle = static_cast<std::ptrdiff_t>(ranges_.size());
  ranges_.insert(ranges_.end(), others.ranges_.begin(), others.ranges_.end());
  std::inplace_merge(ranges_.begin(), ranges_.begin() + middle, ranges_.end(),
                     [](const Range& a, const Range& b) { return a.first < b.first; });
  merge_neighbours();
}

void PartitionRanges::erase(const PartitionRanges& others) {
  std::vector<Range> kept;
  auto other = others.ranges_.begin();
  for (Range range : ranges_) {
    while (other != others.ranges_.end() && other->last < range.first) ++other;
    for (auto at = other; at != others.ranges_.end() && at->first <= range.last; ++at) {
      if (range.first < at->first) kept.push_back({range.first, at->first - 1});
      range.first = at->last + 1;
    }
    if (range.first <= range.last) kept.push_back(range);
  }
  ranges_ = std::move(kept);
}

bool PartitionRanges::contains(Partition partition) const noexcept {
  const std::uint32_t p = partition.value();
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), p,
                                      [](std::uint32_t v, const Range& r) { return v < r.first; });
  return after != ranges_.begin() && p <= std::prev(after)->last;
}

std::size_t PartitionRanges::size() const noexcept {
  std::size_t count = 0;
  for (const Range& range : ranges_) count += range.last - range.first + 1;
  return count;
}

std::string PartitionRanges::to_string() const {
  std::string text;
  for (const Range& range : ranges_) {
    if (!text.empty()) text += ',';
    text += std::to_string(range.first);
    if (range.last != range.first) text += '-' + std::to_string(range.last);
  }
  return text;
}

std::vector<Partition> PartitionRanges::to_vector() const {
  std::vector<Partition> all;
  all.reserve(size());
  for_each(kPartitionCountMax, [&all](Partition p) { all.push_back(p); });
  return all;
}

}  // namespace neliroute
