#include "neli_core/record/log_parts.h"

namespace neliroute {

LogParts LogParts::of(const std::vector<Partition>& partitions, std::uint32_t logs) {
  std::vector<Partition> numbers;
  numbers.reserve(partitions.size());
  for (const Partition p : partitions) numbers.push_back(Partition{p.value() / logs});
  LogParts parts;
  parts.numbers_ = PartitionRanges::of(numbers);
  return parts;
}

std::optional<LogParts> LogParts::parse(std::string_view text) {
  auto numbers = PartitionRanges::parse(text);
  if (!numbers) return std::nullopt;
  LogParts parts;
  parts.numbers_ = std::move(*numbers);
  return parts;
}

}  // namespace neliroute
