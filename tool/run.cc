// neliroute run: owns slots until it is stopped.
#include "tool/command_line/commands.h"
#include "tool/owner.h"

namespace neliroute::tool {

int run_command(const Arguments& arguments) {
  CommandLine line({"run",
                    "Owns slots as a member of the group, until SIGTERM or Ctrl-C: then it hands "
                    "over and leaves. A second signal, 1 s later or more, stops at once (exit "
                    "130).",
                    "",
                    "Example: neliroute run --endpoint 127.0.0.1:7001 --name alpha --events -"});
  OwnerOptions options;
  add_owner_options(line, options);
  if (const auto code = line.parse(arguments)) return *code;
  return run_owner(line.name(), options);
}

}  // namespace neliroute::tool
