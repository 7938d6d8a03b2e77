#include "tool/watch/watch_assignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tool/command_line/values.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

constexpr std::size_t kIndent = 4;

std::string count_text(std::size_t count) { return text_of(std::uint64_t{count}); }

/// What it says of itself, and what its records show.
std::string words_of(const ObservedMember& member) {
  std::string text;
  const auto add = [&text](const std::string& word) { text += text.empty() ? word : ", " + word; };
  if (member.state == MemberState::leaving) add("leaving");
  if (member.state == MemberState::silent) add("silent");
  if (member.cordoned) add("cordoned");
  if (member.on_probation) add("on probation");
  if (member.preparing) add("preparing");
  if (member.weight != 1) add(fmt::format("weight {}", member.weight));
  return text;
}

}  // namespace

std::string notes_of(const WatchModel& model, const OwnerRow& row) {
  std::string text;
  const auto add = [&text](const std::string& word) {
    if (!word.empty()) text += text.empty() ? word : ", " + word;
  };
  if (model.assigner() && model.assigner()->id == row.peer->id) add("assigns");
  if (row.member) add(words_of(*row.member));
  if (row.designated > row.partitions) {
    add(count_text(row.designated - row.partitions) + " to come");
  } else if (row.designated < row.partitions) {
    add(count_text(row.partitions - row.designated) + " to hand over");
  }
  return text;
}

std::string assignment_text(const WatchModel& model) {
  if (!model.assigned()) return {};
  std::string special;
  std::size_t living = 0;
  for (const OwnerRow& row : model.owners()) {
    if (!row.member) continue;
    if (row.member->state != MemberState::silent) ++living;
    const std::string words = words_of(*row.member);
    if (words.empty()) continue;
    special += special.empty() ? ": " : "; ";
    special += shown(row.peer->info.name) + ' ' + words;
  }
  std::string text;
  const std::string who =
      model.assigner() ? "assigned by " + shown(model.assigner()->info.name) : "nobody assigns";
  wrap(text,
       fmt::format("{}; {} {}{}", who, count_text(living), living == 1 ? "member" : "members",
                   special),
       kIndent);
  std::map<std::string, PartitionRanges> on_the_way;
  for (std::uint32_t p = 0; p < model.partitions().size(); ++p) {
    const PeerPtr& designee = model.partitions()[p].route.designee;
    if (designee) on_the_way[shown(designee->info.name)].insert(Partition{p});
  }
  for (const auto& [name, partitions] : on_the_way) {
    wrap(text,
         fmt::format("on the way to {}: {} partitions {}", name, partitions.size(),
                     partitions.to_string()),
         kIndent);
  }
  if (const auto& overrides = model.overrides()) {
    for (const auto& [name, partitions] : overrides->pins) {
      wrap(text, fmt::format("pinned to {}: partitions {}", shown(name), partitions), kIndent);
    }
    if (overrides->moves_paused) text += "moves are paused\n";
  }
  if (!text.empty()) text.pop_back();  // the last line's end
  return text;
}

}  // namespace neliroute::tool
