#include "tool/watch/watch_once.h"

#include <fmt/format.h>

#include <algorithm>

#include "tool/command_line/values.h"
#include "tool/print/output.h"
#include "tool/watch/watch_table.h"

namespace neliroute::tool {
namespace {

/// "    0,3,6,9" on lines of at most 80 columns.
std::string wrapped(const PartitionRanges& partitions) {
  constexpr std::size_t kColumns = 74;
  const std::string ranges = partitions.to_string();
  std::string text;
  for (std::size_t at = 0; at < ranges.size();) {
    std::size_t end = std::min(ranges.size(), at + kColumns);
    if (end < ranges.size()) end = ranges.rfind(',', end - 1) + 1;
    text += "    " + ranges.substr(at, end - at) + '\n';
    at = end;
  }
  return text;
}

std::string assignment_text(const WatchModel& model) {
  const auto living = static_cast<std::uint64_t>(
      std::count_if(model.members().begin(), model.members().end(),
                    [](const auto& one) { return one.second.state != MemberState::silent; }));
  // The assigner lists overrides twice a lease, and this starts at the end of the log.
  return fmt::format("{}; {} {}\noperators' overrides: see `neliroute overrides`\n",
                     assigner_text(model), text_of(living), living == 1 ? "member" : "members");
}

}  // namespace

std::string once_text(const WatchModel& model) {
  const WatchTable table = table_of(model, WatchPage::owners, LocalTime{});
  const std::vector<std::uint32_t> rows = list(table, "");
  const Picture lines = picture_of(table, rows, kNoWidth);
  std::string text = plain_text(lines.front()) + '\n';
  for (const std::uint32_t row : rows) {
    text += plain_text(lines[row + 1]) + '\n' + wrapped(model.summary().owners[row].partitions);
  }
  for (const Verdict verdict : {Verdict::unowned, Verdict::unknown}) {
    PartitionRanges partitions;
    for (std::uint32_t p = 0; p < model.partitions().size(); ++p) {
      if (model.partitions()[p].route.verdict == verdict) partitions.insert(Partition{p});
    }
    if (partitions.empty()) continue;
    text += fmt::format("{}: {} partitions\n{}", to_string(verdict), partitions.size(),
                        wrapped(partitions));
  }
  if (model.assigned()) text += assignment_text(model);
  text.pop_back();
  return text;
}

}  // namespace neliroute::tool
