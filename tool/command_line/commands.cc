#include "tool/command_line/commands.h"

#include <array>

namespace neliroute::tool {
namespace {

constexpr bool kForOperators = true;
constexpr std::array kCommands = {
    Command{"demo", "Shows it all in half a minute: owners, keys, a kill, a failover",
            demo_command},
    Command{"broker", "Runs a small broker in memory, to try things without Kafka", broker_command},
    Command{"run", "Owns slots until it is stopped", run_command},
    Command{"route", "Prints who owns keys, and where to find them", route_command},
    Command{"watch", "Shows who owns what, and every change", watch_command},
    Command{"gateway", "Sends each HTTP request to the process that owns its key",
            gateway_command},
    Command{"voter", "Runs one of the voters that keep a ledger's logs", voter_command},
    Command{"audit", "Checks a ledger's records against the protocol's rules",
            audit_command},
    Command{"slot", "Prints the slots of keys, offline", slot_command},
    Command{"schema", "Prints the SQL for logs in a PostgreSQL database", schema_command},
    Command{"completion", "Prints a completion script for bash, zsh or fish",
            completion_command},
    Command{"man", "Prints the manual page", man_command},
    Command{"cordon", "Moves everything away from a process", cordon_command, kForOperators},
    Command{"uncordon", "Withdraws a cordon", uncordon_command, kForOperators},
    Command{"weight", "Says how much a process owns beside the others", weight_command,
            kForOperators},
    Command{"pin", "Keeps slots with a process", pin_command, kForOperators},
    Command{"unpin", "Removes a pin", unpin_command, kForOperators},
    Command{"pause-moves", "Leaves slots where they are", pause_moves_command, kForOperators},
    Command{"resume-moves", "Lets slots move again", resume_moves_command, kForOperators},
    Command{"overrides", "Prints cordons, weights, pins and whether moves are paused",
            overrides_command, kForOperators},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

Description description_of(const Command& command) {
  Description description;
  static_cast<void>(command.run({{}, &description}));
  return description;
}

std::vector<std::string> all_flags() {
  std::vector<std::string> all;
  for (const Command& command : kCommands) {
    const std::vector<std::string> flags = description_of(command).flags;
    all.insert(all.end(), flags.begin(), flags.end());
  }
  return all;
}

}  // namespace neliroute::tool
