// The subcommands: each takes its arguments, and returns the exit code of section "The tool" in the
// README.
//
// Threads: one.   Units: none.   Errors: printed on stderr; see output.h for the codes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tool/command_line/command_line.h"

namespace neliroute::tool {

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Arguments& arguments);
  bool for_operators = false;  ///< writes or prints overrides
};

/// All of them, in the order in which the help lists them: operators' come last.
[[nodiscard]] std::span<const Command> commands();
/// The contents of a command's --help.
[[nodiscard]] Description description_of(const Command& command);
/// Of all commands: Arguments::all_flags.
[[nodiscard]] std::vector<std::string> all_flags();

/// `neliroute __complete`: prints what the last of these words may become. It is for the scripts of
/// `neliroute completion`, so no help lists it.
[[nodiscard]] int complete(const std::vector<std::string>& words);

[[nodiscard]] int audit_command(const Arguments& arguments);
[[nodiscard]] int broker_command(const Arguments& arguments);
[[nodiscard]] int completion_command(const Arguments& arguments);
[[nodiscard]] int cordon_command(const Arguments& arguments);
[[nodiscard]] int demo_command(const Arguments& arguments);
[[nodiscard]] int gateway_command(const Arguments& arguments);
[[nodiscard]] int man_command(const Arguments& arguments);
[[nodiscard]] int overrides_command(const Arguments& arguments);
[[nodiscard]] int pause_moves_command(const Arguments& arguments);
[[nodiscard]] int pin_command(const Arguments& arguments);
[[nodiscard]] int resume_moves_command(const Arguments& arguments);
[[nodiscard]] int route_command(const Arguments& arguments);
[[nodiscard]] int run_command(const Arguments& arguments);
[[nodiscard]] int schema_command(const Arguments& arguments);
[[nodiscard]] int slot_command(const Arguments& arguments);
[[nodiscard]] int uncordon_command(const Arguments& arguments);
[[nodiscard]] int unpin_command(const Arguments& arguments);
[[nodiscard]] int voter_command(const Arguments& arguments);
[[nodiscard]] int watch_command(const Arguments& arguments);
[[nodiscard]] int weight_command(const Arguments& arguments);

}  // namespace neliroute::tool
