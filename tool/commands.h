// The subcommands: each takes its arguments, without program and subcommand, and returns the exit
// code of section "The tool" in the README.
//
// Threads: one.   Units: none.   Errors: told on stderr; see output.h for the codes.
#pragma once

#include <string>
#include <vector>

namespace neliroute::tool {

using Arguments = std::vector<std::string>;

[[nodiscard]] int audit_command(const Arguments& arguments);
[[nodiscard]] int broker_command(const Arguments& arguments);
[[nodiscard]] int demo_command(const Arguments& arguments);
[[nodiscard]] int route_command(const Arguments& arguments);
[[nodiscard]] int run_command(const Arguments& arguments);
[[nodiscard]] int simulate_command(const Arguments& arguments);
[[nodiscard]] int slot_command(const Arguments& arguments);
[[nodiscard]] int watch_command(const Arguments& arguments);

}  // namespace neliroute::tool
