// neliroute: the command. Finds the subcommand and calls it.
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neli_core/system_refusal.h"
#include "tool/command_line/commands.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

std::string help() {
  std::string text =
      "neliroute answers who owns a key: hash slots are divided among processes\n"
      "through a Kafka topic, an etcd, a PostgreSQL database or voters of their own\n"
      "(the NELI protocol), and keys are routed to the owner of their slot.\n"
      "\nUsage: neliroute COMMAND [OPTIONS]\n\nCommands:\n";
  bool for_operators = false;
  for (const Command& command : commands()) {
    if (std::exchange(for_operators, command.for_operators) != command.for_operators) {
      text += "\nCommands for operators, with an assigner:\n";
    }
    text += fmt::format("  {:<14}{}\n", command.name, command.summary);
  }
  text +=
      "\n`neliroute COMMAND --help` explains one. Without Kafka, in three terminals:\n"
      "  neliroute broker\n"
      "  neliroute run --endpoint 127.0.0.1:7001\n"
      "  neliroute route some-key another-key\n"
      "\nExit codes: 0 yes, done, or stopped as planned; 1 the answer is no; 2 bad usage,\n"
      "or settings that do not fit; 3 the ledger is unreachable, refuses or is silent,\n"
      "or the system refuses what it needs, or an answer could not be written.";
  return text;
}

int main_command(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    say(help());
    return kExitUsage;
  }
  std::string_view first = arguments.front();
  std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (first == "help" && !rest.empty()) {  // `neliroute help run`
    rest.push_back("--help");
    first = rest.front();
  }
  if (first == "--help" || first == "-h" || first == "help") {
    say(help());
    return kExitYes;
  }
  if (first == "--version" || first == "-V") {
    say("neliroute " NELIROUTE_VERSION " (librdkafka " NELIROUTE_RDKAFKA ")");
    return kExitYes;
  }
  if (first == "__complete") return complete(rest);
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == first) {
      if (arguments.front() == "help") rest = {"--help"};
      return command.run({rest, nullptr, all_flags});
    }
    names.emplace_back(command.name);
  }
  if (first.starts_with('-')) {
    return fail("", fmt::format("options go after the command, as in `neliroute run {}`; "
                                "`neliroute --help` lists the commands", first), kExitUsage);
  }
  const auto meant = nearest(first, names);
  return fail("", fmt::format("\"{}\" is not a command; {}", shown(first),
                              meant ? "did you mean " + *meant + "?"
                                    : "`neliroute --help` lists them"), kExitUsage);
}

/// A process started with stdout closed would otherwise write its answers into its first socket.
void occupy_standard_files() {
  for (const int file : {0, 1, 2}) {
    if (::fcntl(file, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDONLY));
  }
}

/// glibc gives threads arenas of their own, up to eight per core, and each keeps as much memory as
/// it ever used. librdkafka's threads come and go with every broker, so a process would grow for
/// hours, by some 10 MiB. They allocate too little to need an arena each.
void share_arenas() {
  constexpr int kArenas = 2;
  if (std::getenv("MALLOC_ARENA_MAX") == nullptr) mallopt(M_ARENA_MAX, kArenas);
}

}  // namespace
}  // namespace neliroute::tool

int main(int count, char** arguments) {
  using namespace neliroute::tool;
  share_arenas();
  occupy_standard_files();
  try {
    return after_output(main_command({arguments + 1, arguments + count}));
  } catch (const std::exception& error) {
    // Errors are values here; only Asio and the library throw, when the system refuses something.
    return fail("", fmt::format("the system refuses what it needs: {}; {}", error.what(),
                                neliroute::kLookAtLimits), kExitUnreachable);
  }
}
