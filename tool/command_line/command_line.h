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

namespace neliroute::tool {

/// An option as the help shows it.
struct OptionText {
  std::string heading;
  std::string name;   ///< "--slots", "-X"
  std::string alias;  ///< "-h"; empty: none
  std::string type;   ///< "N", "FILE"; empty: it takes no value
  std::string help;
  std::vector<std::string> choices;  ///< all possible values; empty: too many to list
};

struct CommandText {
  std::string name;         ///< "route": what follows `neliroute`
  std::string summary;      ///< the help's first lines
  std::string positionals;  ///< "[KEY...]" in the usage line; empty: there are none
  std::string footer;       ///< the help's end; several lines are printed unchanged
};

struct Description {
  CommandText text;
  std::vector<OptionText> options;  ///< those of a heading together
};

/// What a subcommand is called with.
struct Arguments {
  std::vector<std::string> given;  ///< without program and subcommand
  /// If not null, the command fills it in and does nothing else.
  Description* describe = nullptr;
};

class CommandLine {
 public:
  explicit CommandLine(CommandText text);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  using Take = std::function<Result<void>(const std::string& value)>;

  /// The options that follow are listed under this heading in the help; empty: they are hidden.
  void heading(std::string title);
  /// An option with one value. `name` is "--slots" or "-X"; `type` and `help` are for people.
  void value(const std::string& name, std::string type, std::string help, Take take);
  /// One that may be given many times; its variable and settings file hold a list.
  void values(const std::string& name, std::string type, std::string help, Take take);
  /// One whose value is a comma-separated list: several are joined.
  void list(const std::string& name, std::string type, std::string help, Take take);
  void flag(const std::string& name, std::string help, std::function<void()> set);
  void flag(const std::string& name, std::string help, bool& target);
  /// All possible values of the option added last.
  void choices(std::vector<std::string> values);
  /// Options that a settings file may contain although this subcommand has none of them.
  void allow_in_file(std::vector<std::string> options);

  /// A value: exit with it now.
  [[nodiscard]] std::optional<int> parse(const Arguments& arguments);
  /// The arguments that are not options, in order; all of them after `--`.
  [[nodiscard]] const std::vector<std::string>& positionals() const;
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] std::string help() const;
  [[nodiscard]] Description description() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The one of `candidates` that `word` may stand for; nullopt if none.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 const std::vector<std::string>& candidates);

}  // namespace neliroute::tool
