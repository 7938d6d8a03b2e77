#include "tool/operate/wish_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <chrono>
#include <utility>

#include "tool/command_line/values.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

std::string verb_text(WishVerb verb) {
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

std::string line_of(const WishedMove& move) {
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

boost::json::object json_of(const WishedMove& move) {
  boost::json::object row;
  put_process(row, "from", move.from);
  put_process(row, "to", move.to);
  row["partitions"] = move.partitions.to_string();
  if (!move.why.empty()) row["why"] = move.why;
  return row;
}

double in_ms(microseconds time) { return static_cast<double>(time.count()) / 1000; }

std::string dry_text(const WishOutcome& outcome) {
  std::string text = text_of(outcome.wish) + " would move ";
  if (outcome.moves.empty()) return text + "nothing";
  PartitionRanges all;
  for (const WishedMove& move : outcome.moves) all.insert(move.partitions);
  text += partitions_text(all);
  for (const WishedMove& move : outcome.moves) text += line_of(move);
  return text;
}

}  // namespace

void add_move(std::vector<WishedMove>& moves, WishedMove way, Partition partition) {
  const auto same = [&](const WishedMove& move) {
    return move.from == way.from && move.to == way.to && move.why == way.why;
  };
  auto at = std::find_if(moves.begin(), moves.end(), same);
  if (at == moves.end()) at = moves.insert(moves.end(), std::move(way));
  at->partitions.insert(partition);
}

// As the command has it.
std::string text_of(const Wish& wish) {
  if (wish.verb == WishVerb::unweight) return "weight " + shown(wish.name) + " own";
  std::string text = verb_text(wish.verb);
  if (!wish.partitions.empty()) text += " partitions " + shortened(wish.partitions.to_string());
  if (!wish.name.empty()) text += (wish.verb == WishVerb::pin ? " to " : " ") + shown(wish.name);
  if (wish.verb == WishVerb::weight) text += fmt::format(" {}", wish.weight);
  return text;
}

std::string text_of(const WishOutcome& outcome) {
  if (outcome.dry_run) return dry_text(outcome);
  const std::string wish = text_of(outcome.wish);
  if (!outcome.carried_out) return wish + ": not carried out yet";
  std::string text =
      fmt::format("{}: {} in {}", wish, outcome.moves.empty() ? "in force" : "carried out",
                  text_of(outcome.took));
  for (const WishedMove& move : outcome.moves) text += line_of(move);
  if (outcome.moves.empty()) {
    text += outcome.moves_paused ? "; moves are paused, so nothing moves until resume-moves"
                                 : "; nothing had to move";
  } else {
    const bool unled = std::any_of(outcome.moves.begin(), outcome.moves.end(),
                                   [](const WishedMove& move) { return move.from.empty(); });
    text += fmt::format("\n  nobody led them for {:.1f} ms at most{}", in_ms(outcome.unowned),
                        unled ? " after it was wished" : "");
  }
  return text;
}

boost::json::object json_of(const WishOutcome& outcome) {
  boost::json::object row{{"wish", verb_text(outcome.wish.verb)}};
  if (!outcome.wish.name.empty()) put_text(row, "name", outcome.wish.name);
  if (outcome.wish.verb == WishVerb::weight) row["weight"] = outcome.wish.weight;
  if (!outcome.wish.partitions.empty()) row["partitions"] = outcome.wish.partitions.to_string();
  boost::json::array moves;
  for (const WishedMove& move : outcome.moves) moves.push_back(json_of(move));
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

std::string undone_text(const WishOutcome& outcome, std::size_t astray) {
  const std::string wish = text_of(outcome.wish);
  if (!outcome.stands) {
    return wish + " was written, but does not stand: another wish was written meanwhile that says "
                  "otherwise, or leaves no room for it in the 64 KiB of all. `neliroute wishes` "
                  "lists those that stand";
  }
  const std::string where =
      outcome.taken_in
          ? fmt::format("the assigner has taken it in, but {} partitions are not where they should "
                        "be", astray)
          : "no assigner has taken it in";
  return fmt::format("{} was written, and stands, but is not carried out after {}: {}. It goes on "
                     "by itself; `neliroute watch` shows how far it is",
                     wish, text_of(outcome.took), where);
}

std::vector<StandingWish> list_of(const ShownLane& lane) {
  const auto processes = [&](const std::string& name) {
    return static_cast<std::size_t>(
        std::count_if(lane.members.begin(), lane.members.end(),
                      [&](const ShownMember& member) { return member.process.name == name; }));
  };
  std::vector<StandingWish> list;
  const StandingWishes& wishes = lane.wishes;
  for (const std::string& name : wishes.cordoned) {
    list.push_back({"cordon", name, std::nullopt, {}, processes(name)});
  }
  for (const auto& [name, weight] : wishes.weights) {
    list.push_back({"weight", name, weight, {}, processes(name)});
  }
  for (const auto& [name, partitions] : wishes.pins) {
    list.push_back({"pin", name, std::nullopt, partitions, processes(name)});
  }
  if (wishes.moves_paused) list.push_back({"pause-moves", "", std::nullopt, {}, 0});
  return list;
}

std::string text_of(const StandingWish& wish, const SlotPlan& plan) {
  std::string text = wish.verb;
  if (!wish.name.empty()) text += "  " + shown(wish.name);
  if (wish.weight) text += fmt::format("  {}", *wish.weight);
  if (!wish.partitions.empty()) {
    text += fmt::format("  partitions {}, slots {}", shortened(wish.partitions.to_string()),
                        shortened(slots_text(wish.partitions, plan)));
  }
  if (!wish.name.empty() && wish.processes == 0) text += "  (no process has this name now)";
  if (wish.processes > 1) text += fmt::format("  ({} processes)", wish.processes);
  return text;
}

boost::json::object json_of(const StandingWish& wish, const SlotPlan& plan) {
  boost::json::object row{{"wish", wish.verb}};
  if (!wish.name.empty()) {
    put_text(row, "name", wish.name);
    row["processes"] = wish.processes;
  }
  if (wish.weight) row["weight"] = *wish.weight;
  if (!wish.partitions.empty()) {
    row["partitions"] = wish.partitions.to_string();
    row["slots"] = slots_text(wish.partitions, plan);
  }
  return row;
}

}  // namespace neliroute::tool
