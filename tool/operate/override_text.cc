#include "tool/operate/override_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <chrono>
#include <utility>

#include "tool/command_line/values.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

std::string verb_text(OverrideVerb verb) {
  std::string text = to_string(verb);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string process_text(const std::string& name) { return name.empty() ? "nobody" : shown(name); }

std::string partitions_text(const PartitionRanges& partitions) {
  const std::size_t count = partitions.size();
  return fmt::format("{} {}", text_of(std::uint64_t{count}),
                     count == 1 ? "partition" : "partitions");
}

std::string line_of(const OverrideMove& move) {
  std::string text = fmt::format("\n  {} from {} to {}: {}", partitions_text(move.partitions),
                                 process_text(move.from), process_text(move.to),
                                 shortened(move.partitions.to_string()));
  if (!move.why.empty()) text += fmt::format(" ({})", move.why);
  return text;
}

void put_process(boost::json::object& row, std::string_view name, const std::string& process) {
  if (process.empty()) {
    row[name] = nullptr;
  } else {
    put_text(row, name, process);
  }
}

boost::json::object json_of(const OverrideMove& move) {
  boost::json::object row;
  put_process(row, "from", move.from);
  put_process(row, "to", move.to);
  row["partitions"] = move.partitions.to_string();
  if (!move.why.empty()) row["why"] = move.why;
  return row;
}

double in_ms(microseconds time) { return static_cast<double>(time.count()) / 1000; }

std::string dry_text(const OverrideOutcome& outcome) {
  std::string text = text_of(outcome.override) + " would move ";
  if (outcome.moves.empty()) return text + "nothing";
  PartitionRanges all;
  for (const OverrideMove& move : outcome.moves) all.insert(move.partitions);
  text += partitions_text(all);
  for (const OverrideMove& move : outcome.moves) text += line_of(move);
  return text;
}

}  // namespace

void add_move(std::vector<OverrideMove>& moves, OverrideMove way, Partition partition) {
  const auto same = [&](const OverrideMove& move) {
    return move.from == way.from && move.to == way.to && move.why == way.why;
  };
  auto at = std::find_if(moves.begin(), moves.end(), same);
  if (at == moves.end()) at = moves.insert(moves.end(), std::move(way));
  at->partitions.insert(partition);
}

// As the command has it.
std::string text_of(const Override& override) {
  if (override.verb == OverrideVerb::unweight) return "weight " + shown(override.name) + " own";
  std::string text = verb_text(override.verb);
  if (!override.partitions.empty()) {
    text += " partitions " + shortened(override.partitions.to_string());
  }
  if (!override.name.empty()) {
    text += (override.verb == OverrideVerb::pin ? " to " : " ") + shown(override.name);
  }
  if (override.verb == OverrideVerb::weight) text += fmt::format(" {}", override.weight);
  return text;
}

std::string text_of(const OverrideOutcome& outcome) {
  if (outcome.dry_run) return dry_text(outcome);
  const std::string said = text_of(outcome.override);
  if (!outcome.carried_out) return said + ": not carried out yet";
  std::string text =
      fmt::format("{}: {} in {}", said, outcome.moves.empty() ? "in force" : "carried out",
                  text_of(outcome.took));
  for (const OverrideMove& move : outcome.moves) text += line_of(move);
  if (outcome.moves.empty()) {
    text += outcome.moves_paused ? "; moves are paused, so nothing moves until resume-moves"
                                 : "; nothing had to move";
  } else {
    const bool unled = std::any_of(outcome.moves.begin(), outcome.moves.end(),
                                   [](const OverrideMove& move) { return move.from.empty(); });
    text += fmt::format("\n  nobody led them for {:.1f} ms at most{}", in_ms(outcome.unowned),
                        unled ? " after it was ordered" : "");
  }
  return text;
}

boost::json::object json_of(const OverrideOutcome& outcome) {
  boost::json::object row{{"override", verb_text(outcome.override.verb)}};
  if (!outcome.override.name.empty()) put_text(row, "name", outcome.override.name);
  if (outcome.override.verb == OverrideVerb::weight) row["weight"] = outcome.override.weight;
  if (!outcome.override.partitions.empty()) {
    row["partitions"] = outcome.override.partitions.to_string();
  }
  boost::json::array moves;
  for (const OverrideMove& move : outcome.moves) moves.push_back(json_of(move));
  if (outcome.dry_run) {
    row["dry_run"] = true;
    row["moves"] = std::move(moves);
    return row;
  }
  row["id"] = outcome.id;
  row["offset"] = outcome.offset;
  row["taken_in"] = outcome.taken_in;
  row["stands"] = outcome.stands;
  row["carried_out"] = outcome.carried_out;
  row["moves_paused"] = outcome.moves_paused;
  row["took_ms"] = outcome.took.count();
  row["moved"] = std::move(moves);
  // Whole ones, as all times there are: Boost.JSON would write 0E0. Rounded up: it is "at most".
  row["unowned_ms"] = std::chrono::ceil<milliseconds>(outcome.unowned).count();
  return row;
}

std::string undone_text(const OverrideOutcome& outcome, std::size_t astray) {
  const std::string said = text_of(outcome.override);
  if (!outcome.stands) {
    return said +
           " was written, but does not stand: another override was written meanwhile that "
           "says otherwise, or leaves no room for it in the 64 KiB of all. `neliroute overrides` "
           "lists those that stand";
  }
  const std::string where =
      outcome.taken_in
          ? fmt::format("the assigner has taken it in, but {} partitions are not where they should "
                        "be", astray)
          : "no assigner has taken it in";
  return fmt::format(
      "{} was written, and stands, but is not carried out after {}: {}. It goes on "
      "by itself; `neliroute watch` shows how far it is",
      said, text_of(outcome.took), where);
}

std::vector<StandingOverride> list_of(const ShownLane& lane) {
  const auto processes = [&](const std::string& name) {
    return static_cast<std::size_t>(
        std::count_if(lane.members.begin(), lane.members.end(),
                      [&](const ShownMember& member) { return member.process.name == name; }));
  };
  std::vector<StandingOverride> list;
  const StandingOverrides& overrides = lane.overrides;
  for (const std::string& name : overrides.cordoned) {
    list.push_back({"cordon", name, std::nullopt, {}, processes(name)});
  }
  for (const auto& [name, weight] : overrides.weights) {
    list.push_back({"weight", name, weight, {}, processes(name)});
  }
  for (const auto& [name, partitions] : overrides.pins) {
    list.push_back({"pin", name, std::nullopt, partitions, processes(name)});
  }
  if (overrides.moves_paused) list.push_back({"pause-moves", "", std::nullopt, {}, 0});
  return list;
}

std::string text_of(const StandingOverride& override, const SlotPlan& plan) {
  std::string text = override.verb;
  if (!override.name.empty()) text += "  " + shown(override.name);
  if (override.weight) text += fmt::format("  {}", *override.weight);
  if (!override.partitions.empty()) {
    text += fmt::format("  partitions {}, slots {}", shortened(override.partitions.to_string()),
                        shortened(slots_text(override.partitions, plan)));
  }
  if (!override.name.empty() && override.processes == 0) text += "  (no process has this name now)";
  if (override.processes > 1) text += fmt::format("  ({} processes)", override.processes);
  return text;
}

boost::json::object json_of(const StandingOverride& override, const SlotPlan& plan) {
  boost::json::object row{{"override", override.verb}};
  if (!override.name.empty()) {
    put_text(row, "name", override.name);
    row["processes"] = override.processes;
  }
  if (override.weight) row["weight"] = *override.weight;
  if (!override.partitions.empty()) {
    row["partitions"] = override.partitions.to_string();
    row["slots"] = slots_text(override.partitions, plan);
  }
  return row;
}

}  // namespace neliroute::tool
