// neliroute __complete WORD...: what the last of these words of a command line may become. The
// scripts of `neliroute completion` ask it, so that they are short, and as new as the program.
//
// A line is a candidate, or a candidate, a tab and what it means; or it is ":file" alone, for the
// shell to offer files. No line: nothing is known of such a word.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "tool/command_line/commands.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

constexpr std::string_view kFile = ":file";

/// What may stand where `begun` stands.
class Candidates {
 public:
  explicit Candidates(std::string_view begun) : begun_(begun) {}

  void add(std::string_view candidate, std::string_view meaning = {}) {
    if (candidate.empty() || !candidate.starts_with(begun_)) return;
    lines_.push_back(fmt::format("{}{}{}", candidate, meaning.empty() ? "" : "\t", meaning));
  }

  /// Each of the words in "slots|partitions", the text before them included.
  void add_each(std::string_view words, char separator, std::string_view before = {}) {
    while (!words.empty()) {
      const auto end = std::min(words.find(separator), words.size());
      add(fmt::format("{}{}", before, words.substr(0, end)));
      words.remove_prefix(std::min(end + 1, words.size()));
    }
  }

  void add_commands() {
    for (const Command& command : commands()) add(command.name, command.summary);
  }

  /// `before`: of the option itself, what is in the same word.
  void add_values(const OptionText& option, std::string_view before = {}) {
    if (option.type == "FILE") lines_.emplace_back(kFile);
    add_each(option.choices, ' ', before);
  }

  void say_all() const {
    if (!lines_.empty()) say(fmt::format("{}", fmt::join(lines_, "\n")));
  }

 private:
  std::string_view begun_;
  std::vector<std::string> lines_;
};

/// The option that this word is, if a value comes next.
const OptionText* option_before_value(const Description& command, std::string_view word) {
  const auto found = std::find_if(
      command.options.begin(), command.options.end(),
      [&](const OptionText& one) { return one.flag == word && !one.type.empty(); });
  return found == command.options.end() ? nullptr : &*found;
}

/// Of what follows the command; `before` are the words before the one that has begun.
Candidates arguments_of(const Description& command, std::span<const std::string> before,
                        std::string_view begun) {
  const OptionText* open = nullptr;
  for (const std::string& word : before) {
    if (open != nullptr && word == "=") continue;  // bash makes three words of --option=value
    if (std::exchange(open, nullptr) != nullptr) continue;
    if (word == "--") return Candidates(begun);  // keys from there on, which nobody can know
    open = option_before_value(command, word);
  }
  if (open != nullptr) {
    Candidates values(begun == "=" ? "" : begun);
    values.add_values(*open);
    return values;
  }
  Candidates made(begun);
  const auto equals = begun.starts_with("--") ? begun.find('=') : std::string_view::npos;
  if (equals != std::string_view::npos) {
    open = option_before_value(command, begun.substr(0, equals));
    if (open != nullptr) made.add_values(*open, begun.substr(0, equals + 1));
    return made;
  }
  // "bash|zsh|fish" are all there are, "KEY..." are not.
  const std::string& words = command.text.positionals;
  if (words.find('|') != std::string::npos) made.add_each(words, '|');
  for (const OptionText& option : command.options) {
    made.add(option.alias, option.help);
    made.add(option.flag, option.help);
  }
  return made;
}

Candidates candidates_of(std::span<const std::string> words) {
  Candidates made(words.empty() ? std::string_view{} : words.back());
  if (words.size() < 2) {
    made.add_commands();
    made.add("help", "Explains a command");
    made.add("--help", "Lists the commands");
    made.add("--version", "Prints the version");
  } else if (words.front() == "help") {
    if (words.size() == 2) made.add_commands();
  } else if (const auto command =
                 std::find_if(commands().begin(), commands().end(),
                              [&](const Command& one) { return one.name == words.front(); });
             command != commands().end()) {
    return arguments_of(description_of(*command), words.subspan(1, words.size() - 2),
                        words.back());
  }
  return made;
}

}  // namespace

int complete(const std::vector<std::string>& words) {
  candidates_of(words).say_all();
  return kExitYes;
}

}  // namespace neliroute::tool
