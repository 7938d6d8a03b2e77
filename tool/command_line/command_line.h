// The command line of one subcommand: its options, its help, and where else values come from.
//
// A value is looked up on the command line, then in the file of --config, then in the environment
// (--group-protocol is NELIROUTE_GROUP_PROTOCOL, -X is NELIROUTE_X), so that no secret has to be on
// a command line, which every user of the machine can read. Wraps CLI11, which only command_line.cc
// includes: it takes seconds to compile.
//
// It also describes itself, for completions and the manual: only parse() looks at what Arguments
// request.
//
// Threads: one.   Units: none.
// Errors: parse() says on stderr what was given, where it came from, what was expected and what to
// do. It warns of NELIROUTE_ variables that are not settings.
#pragma once

#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/options/option_table.h"

namespace neliroute::tool {

struct CommandText {
  std::string name;         ///< "route": what follows `neliroute`; see called()
  std::string summary;      ///< the help's first lines
  std::string positionals;  ///< "[KEY...]" in the usage line; empty: there are none
  std::string footer;       ///< the help's end; several lines are printed unchanged
  bool brief = false;       ///< --help shows the options of the first day, --help-all all
};

struct Description {
  CommandText text;
  std::vector<OptionText> options;  ///< those that are shown, those of a heading together
  std::vector<std::string> flags;   ///< of all that it takes
};

/// What a subcommand is called with.
struct Arguments {
  std::vector<std::string> given;  ///< without program and subcommand
  /// If not null, the command fills it in and does nothing else.
  Description* describe = nullptr;
  /// The flags of all commands, as one settings file and one environment serve them all; null: of
  /// this one only.
  std::vector<std::string> (*all_flags)() = nullptr;
};

class CommandLine {
 public:
  explicit CommandLine(CommandText text);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  using Take = std::function<Result<void>(const std::string& value)>;

  /// Of the options that follow, unless they have their own.
  void heading(std::string_view title);
  /// `take` gets each value; of a flag "true". Views into `option` must outlive this.
  void add(const OptionText& option, Take take);
  /// Of options together: parse() calls it once all have their values.
  void after(std::function<Result<void>()> check);

  /// A value: exit with it now.
  [[nodiscard]] std::optional<int> parse(const Arguments& arguments);
  /// The arguments that are not options, in order; all of them after `--`.
  [[nodiscard]] const std::vector<std::string>& positionals() const;
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] std::string help(bool all) const;
  [[nodiscard]] Description description() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The one of `candidates` that `word` may stand for; nullopt if none.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 const std::vector<std::string>& candidates);

}  // namespace neliroute::tool
