// Stage: what a story may look at: who leads, the log, lookups, and how long nobody led.

#include "tests/scenarios/stage.h"
#include "tests/scenarios/tell.h"

namespace neliroute::scenario {
namespace {

std::string rounded(microseconds duration) {
  return text_of(std::chrono::duration_cast<milliseconds>(duration + microseconds{500}));
}

// Partitions with the same text share a line.
void add_line(std::vector<std::pair<PartitionRanges, std::string>>& lines, Partition partition,
              const std::string& text) {
  for (auto& [parts, known] : lines) {
    if (known == text) return parts.insert(partition);
  }
  lines.push_back({PartitionRanges::of({partition}), text});
}

Lines text_lines(const std::vector<std::pair<PartitionRanges, std::string>>& lines,
                 const std::string& before) {
  Lines texts;
  for (const auto& [parts, text] : lines) {
    texts.push_back("  " + before + parts.to_string() + ": " + text);
  }
  return texts;
}

const char* name_of(RoleState state) {
  switch (state) {
    case RoleState::following:
      return "following";
    case RoleState::looking:
      return "looking";
    case RoleState::leading:
      return "leading";
    case RoleState::draining:
      return "draining";
  }
  return "";
}

std::string before_of(Lane lane, bool several) {
  return several ? "lane " + std::to_string(lane.value()) + ", " : "";
}

}  // namespace

// The answer of leads() now, and the state as of the process's last event.
std::string Stage::leader_text(const Actor& actor, Partition partition) const {
  const bool leads = actor.process->leads(partition.value(), rig_.now());
  const RoleState state = actor.process->core.role_state(partition);
  const auto epoch = actor.process->core.epoch(partition);
  if (actor.process->stopped) {
    return leads ? actor.name + " (paused: would still say yes)" : "";
  }
  if (state == RoleState::following) return "";
  std::string text = actor.name + " " + (leads || state == RoleState::looking ? name_of(state)
                                                                              : "lapsed");
  if (epoch) text += " " + text_of(*epoch);
  return text;
}

std::string Stage::leaders_text(Lane lane, Partition partition) const {
  std::string text;
  for (const auto& actor : actors_) {
    if (!actor->process || actor->crashed || actor->lane != lane) continue;
    const std::string one = leader_text(*actor, partition);
    if (!one.empty()) text += (text.empty() ? "" : ", ") + one;
  }
  return text.empty() ? "nobody" : text;
}

Lines Stage::who() const {
  std::map<Lane, std::vector<std::pair<PartitionRanges, std::string>>> lanes;
  for (const auto& actor : actors_) {
    if (actor->process) lanes[actor->lane];
  }
  Lines all;
  for (auto& [lane, lines] : lanes) {
    for (std::uint32_t p = 0; p < options_.rig.partitions; ++p) {
      add_line(lines, Partition{p}, leaders_text(lane, Partition{p}));
    }
    for (auto& line : text_lines(lines, before_of(lane, lanes.size() > 1))) all.push_back(line);
  }
  if (options_.assignment == Assignment::assigner) all.push_back("  assigner: " + assigner_text());
  return all;
}

// Several, while one that was replaced has not read that.
std::string Stage::assigner_text() const {
  std::string text;
  for (const auto& actor : actors_) {
    if (!actor->process || actor->crashed || actor->process->stopped) continue;
    const auto status = actor->process->core.assignment_status();
    if (status && status->assigns) text += (text.empty() ? "" : ", ") + actor->name;
  }
  return text.empty() ? "nobody" : text;
}

Tally Stage::tally(Partition partition, Lane lane) const {
  const auto found = tallies_.find({lane, partition});
  return found == tallies_.end() ? Tally{} : found->second;
}

Lines Stage::take_tally() {
  std::map<Lane, std::vector<std::pair<PartitionRanges, std::string>>> lanes;
  for (const auto& [key, tally] : tallies_) {
    add_line(lanes[key.first], key.second,
             !tally.led ? "never led"
                        : "nobody for " + rounded(tally.unowned) + ", two at once for " +
                              rounded(tally.shared));
  }
  Lines all;
  for (const auto& [lane, lines] : lanes) {
    for (auto& line : text_lines(lines, before_of(lane, lanes.size() > 1))) all.push_back(line);
  }
  for (auto& [key, tally] : tallies_) {
    tally.unowned = tally.shared = microseconds{0};
  }
  return all;
}

Lines Stage::log(Log log, std::size_t from, bool json) {
  Lines lines;
  const auto& records = rig_.log(log.value()).records;
  for (std::size_t i = from; i < records.size(); ++i) {
    std::string line = "  #" + std::to_string(i) + " ";
    const Record* record = records[i].record();
    const auto* assignment = std::get_if<AssignmentRecord>(records[i].value.get());
    if (record != nullptr) {
      line += json ? encode_record(*record)
                   : record->process.name + ": " + text_of_stored(records[i], log);
    } else if (assignment != nullptr) {
      line += json ? encode_record(*assignment)
                   : called(assignment->id) + ": " + text_of_stored(records[i], log);
    } else {
      line += "no record of ours";
    }
    lines.push_back(line);
  }
  return lines;
}

Lines Stage::route(const Actor& actor, Slot slot) const {
  const Route route = actor.lookup->route(slot, rig_.now());
  std::string text = "  slot " + std::to_string(slot.value()) + ": " +
                     std::string(to_string(route.verdict));
  if (route.verdict == Verdict::local || route.verdict == Verdict::remote) {
    text += ", " + std::string(route.owner()) + " at " + std::string(route.endpoint()) +
            ", epoch " + text_of(route.epoch) + ", for " + rounded(route.valid_for);
  } else if (route.verdict == Verdict::unowned) {
    text += " since " + text_of(route.unowned_since);
  }
  if (!route.next_owner().empty()) text += ", next " + std::string(route.next_owner());
  return {text};
}

}  // namespace neliroute::scenario
