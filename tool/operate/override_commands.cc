// neliroute cordon, uncordon, weight, pin, unpin, pause-moves, resume-moves and overrides:
// operators' overrides of what an assigner gives to whom.
#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "neli_core/record/record.h"
#include "tool/command_line/commands.h"
#include "tool/command_line/options.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"
#include "tool/operate/override_input.h"
#include "tool/operate/override_run.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

using Positionals = std::vector<std::string>;
/// Takes what is not an option.
using TakeWords = Result<void> (*)(const Positionals& words, OverrideRequest& request);

struct Family {
  const char* name;
  const char* summary;
  const char* words;  ///< in the usage line
  const char* footer;
  OverrideVerb verb;
  TakeWords take;
};

Error expected(const Positionals& words, const char* what) {
  std::string given;
  for (const std::string& word : words) given += (given.empty() ? "" : " ") + word;
  return {Errc::bad_option, fmt::format("expected {}, but got {}", what,
                                        words.empty() ? "nothing" : "\"" + given + "\"")};
}

// A word that is not an option was refused before.
Result<void> take_none(const Positionals&, OverrideRequest&) { return {}; }

Result<void> take_slots_word(const std::string& word, OverrideRequest& request) {
  if (auto slots = parse_slot_ranges(word); !slots) return slots.error();
  request.slots = word;
  return {};
}

// That it lives is looked at later, in the lane.
Result<void> take_name_word(const std::string& word, OverrideRequest& request) {
  request.override.name = word;
  return check_name(word, {}, /*absent=*/true);
}

Result<void> take_name(const Positionals& words, OverrideRequest& request) {
  if (words.size() != 1) return expected(words, "one NAME");
  return take_name_word(words[0], request);
}

Result<void> take_weight(const Positionals& words, OverrideRequest& request) {
  if (words.size() != 2) return expected(words, "NAME and N");
  if (auto taken = take_name_word(words[0], request); !taken) return taken;
  if (words[1] == "own") {
    request.override.verb = OverrideVerb::unweight;
    return {};
  }
  const auto weight = parse_number(words[1], 0, kWeightMax);
  if (!weight) {
    return Error{Errc::bad_option,
                 fmt::format("weight \"{}\": expected a whole number from 0, nothing, "
                             "to {}, or `own` for the process's own --weight",
                             words[1], kWeightMax)};
  }
  request.override.weight = *weight;
  return {};
}

Result<void> take_pin(const Positionals& words, OverrideRequest& request) {
  if (words.size() != 2) return expected(words, "SLOTS and NAME");
  if (auto taken = take_slots_word(words[0], request); !taken) return taken;
  return take_name_word(words[1], request);
}

Result<void> take_slots(const Positionals& words, OverrideRequest& request) {
  if (words.size() != 1) return expected(words, "SLOTS");
  return take_slots_word(words[0], request);
}

constexpr const char* kFooter =
    "An override is a record in log 0: it needs an owner's rights, and stands until\n"
    "it is withdrawn, whoever assigns. The command ends when the assigner has taken\n"
    "it in and every partition is led as it should be. Ctrl-C ends the waiting, not\n"
    "the override. Exit codes: 0 carried out; 1 not within --timeout, but it stands;\n"
    "or another override says otherwise meanwhile; 2 it cannot be ordered: an unknown\n"
    "name, a slot that is not there, no right to write, no assigner; 3 the ledger is\n"
    "unreachable.";

bool has_name(OverrideVerb verb) {
  return verb == OverrideVerb::cordon || verb == OverrideVerb::uncordon ||
         verb == OverrideVerb::weight || verb == OverrideVerb::pin;
}

int order(const Arguments& arguments, const Family& family) {
  CommandLine line({family.name, family.summary, family.words, family.footer});
  OverrideRequest request;
  request.override.verb = family.verb;
  request.common.log_level = LogLevel::warning;
  add_common_options(line, request.common, Part::override);
  add_wait_flag(line, request.common);
  line.heading("General");
  add_flag(line, "--dry-run", "Print what would move, and why, and order nothing", request.dry_run);
  if (has_name(family.verb)) {
    add_flag(line, "--absent", "NAME need not be that of a process that lives now", request.absent);
  }
  if (family.verb == OverrideVerb::pin || family.verb == OverrideVerb::unpin) {
    add_flag(line, "--whole", "Take every slot of the partitions that SLOTS are on", request.whole);
  }
  if (const auto code = line.parse(arguments)) return *code;
  if (auto taken = family.take(line.positionals(), request); !taken) {
    return fail(line.name(), taken.error());
  }
  start_log(request.common.log_level);
  std::signal(SIGPIPE, SIG_IGN);
  return run_override(line.name(), std::move(request));
}

}  // namespace

int cordon_command(const Arguments& arguments) {
  return order(arguments,
               {"cordon",
                "Moves everything away from the processes of that name, which own nothing until "
                "`uncordon`: before a restart, or to look at one in peace. They stay members, and "
                "may assign.",
                "NAME", kFooter, OverrideVerb::cordon, take_name});
}

int uncordon_command(const Arguments& arguments) {
  return order(arguments, {"uncordon",
                           "Withdraws a cordon: the processes of that name get their "
                           "share again.",
                           "NAME", kFooter, OverrideVerb::uncordon, take_name});
}

int weight_command(const Arguments& arguments) {
  return order(arguments,
               {"weight",
                "Says how much the processes of that name own beside the others, instead of their "
                "own --weight: from 0, nothing, to 1000; `own` for their own again.",
                "NAME N", kFooter, OverrideVerb::weight, take_weight});
}

int pin_command(const Arguments& arguments) {
  return order(
      arguments,
      {"pin",
       "Moves slots to the processes of that name, and keeps them there. While none of "
       "them lives, they are with others. SLOTS are ranges, as in 0-9,12, of whole "
       "partitions: slot j is on partition j modulo their number. The running lane says how "
       "many slots and partitions there are.",
       "SLOTS NAME", kFooter, OverrideVerb::pin, take_pin});
}

int unpin_command(const Arguments& arguments) {
  return order(arguments, {"unpin", "Removes a pin: these slots may be anywhere again.", "SLOTS",
                           kFooter, OverrideVerb::unpin, take_slots});
}

int pause_moves_command(const Arguments& arguments) {
  return order(
      arguments,
      {"pause-moves",
       "Leaves with each process that lives what it leads, whatever else is ordered, until "
       "`resume-moves`. What a dead or leaving process led still moves.",
       "", kFooter, OverrideVerb::pause_moves, take_none});
}

int resume_moves_command(const Arguments& arguments) {
  return order(arguments, {"resume-moves",
                           "Lets slots move again: what was deferred is carried "
                           "out.",
                           "", kFooter, OverrideVerb::resume_moves, take_none});
}

int overrides_command(const Arguments& arguments) {
  CommandLine line({"overrides",
                    "Prints operators' overrides: cordons, weights, pins, and "
                    "whether moves are paused. Writes nothing, and needs READ and DESCRIBE only.",
                    "",
                    "With --json, one object for each override. Exit code 0: they were printed, "
                    "or there are none."});
  CommonOptions options;
  options.log_level = LogLevel::warning;
  add_common_options(line, options, Part::list);
  add_wait_flag(line, options);
  if (const auto code = line.parse(arguments)) return *code;
  start_log(options.log_level);
  std::signal(SIGPIPE, SIG_IGN);
  return list_overrides(line.name(), options);
}

}  // namespace neliroute::tool
