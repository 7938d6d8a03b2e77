// neliroute run: owns slots until it is stopped.
#include "tool/command_line/commands.h"
#include "tool/exec/behind.h"
#include "tool/owner.h"
#include "tool/print/output.h"

namespace neliroute::tool {

int run_command(const Arguments& arguments) {
  CommandLine line({"run",
                    "Owns slots, until SIGTERM or Ctrl-C: then it hands over and leaves. A second "
                    "signal, 1 s later or more, stops at once (exit "
                    "130).",
                    "",
                    "Example: neliroute run --endpoint 127.0.0.1:7001 --name alpha --events -",
                    true});
  OwnerOptions options;
  BehindOptions behind;
  add_owner_options(line, options);
  add_behind_options(line, behind);
  if (const auto code = line.parse(arguments)) return *code;
  options.common.router.hop_limit = behind.hop_limit;
  if (behind.prepare) options.common.router.prepare_timeout = *behind.prepare;
  if (!behind.wanted()) return run_owner(line.name(), options);
  if (const auto fit = behind.check(options); !fit) {
    return fail(line.name(), fit.error().message(), kExitUsage);
  }
  return run_before(line.name(), options, behind);
}

}  // namespace neliroute::tool
