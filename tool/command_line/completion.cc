// neliroute completion: a shell completion script, made from the same descriptions as --help.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tool/command_line/commands.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

/// `text` with a backslash before each of these.
std::string escaped(std::string_view text, std::string_view which) {
  std::string made;
  for (const char c : text) {
    if (which.find(c) != std::string_view::npos) made += '\\';
    made += c;
  }
  return made;
}

/// In single quotes, as in bash and zsh, where nothing can be escaped.
std::string shell_quoted(std::string_view text) {
  std::string made = "'";
  for (const char c : text) made += c == '\'' ? "'\\''" : std::string(1, c);
  return made + "'";
}

bool takes_file(const OptionText& option) { return option.type == "FILE"; }

/// The positional words: "bash|zsh|fish" lists all of them, "KEY..." does not.
std::vector<std::string> words_of(const CommandText& text) {
  std::vector<std::string> words;
  if (text.positionals.find('|') == std::string::npos) return words;
  std::string rest = text.positionals + '|';
  for (std::size_t end; (end = rest.find('|')) != std::string::npos; rest.erase(0, end + 1)) {
    words.push_back(rest.substr(0, end));
  }
  return words;
}

std::vector<std::string> first_words() {
  std::vector<std::string> words;
  for (const Command& command : commands()) words.emplace_back(command.name);
  words.insert(words.end(), {"help", "--help", "--version"});
  return words;
}

// --- bash ----------------------------------------------------------------------------------------

std::string bash_case(const Description& command) {
  std::vector<std::string> names = words_of(command.text);
  std::vector<std::string> files;
  std::vector<std::string> others;
  std::string choices;
  for (const OptionText& option : command.options) {
    if (!option.alias.empty()) names.emplace_back(option.alias);
    names.emplace_back(option.flag);
    if (!option.choices.empty()) {
      choices +=
          fmt::format("          {}) choices='{}' ;;\n", option.flag, option.choices);
    } else if (takes_file(option)) {
      files.emplace_back(option.flag);
    } else if (!option.type.empty()) {
      others.emplace_back(option.flag);
    }
  }
  std::string text = fmt::format("      {})\n        options='{}'\n        case $previous in\n{}",
                                 command.text.name, fmt::join(names, " "), choices);
  text += fmt::format("          {}) value=file ;;\n", fmt::join(files, " | "));
  if (!others.empty()) {
    text += fmt::format("          {}) value=any ;;\n", fmt::join(others, " | "));
  }
  return text + "        esac\n        ;;\n";
}

constexpr std::string_view kBashHead =
    R"(# Completion of neliroute for bash, made by `neliroute completion bash`.
_neliroute() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local options= choices= value= word
  if [[ $current == '=' ]]; then  # of --option=value, where bash breaks words
    current=
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word == -- ]]; then return; fi  # keys from there on
  done
  if ((COMP_CWORD == 1)); then
)";

constexpr std::string_view kBashTail = R"(    esac
  fi
  if [[ $value == file ]]; then
    compopt -o filenames 2>/dev/null || true  # only while bash completes
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  elif [[ -z $value ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${choices:-$options}" -- "$current")
  fi
}
complete -F _neliroute neliroute)";

std::string for_bash() {
  std::string text(kBashHead);
  const std::string all = fmt::format("{}", fmt::join(first_words(), " "));
  text += fmt::format("    choices='{}'\n  else\n    case ${{COMP_WORDS[1]}} in\n", all);
  text += fmt::format("      help) choices='{}' ;;\n", all);
  for (const Command& command : commands()) text += bash_case(description_of(command));
  return text + std::string(kBashTail);
}

// --- zsh -----------------------------------------------------------------------------------------

std::string zsh_value(const OptionText& option) {
  if (option.type.empty()) return {};
  const std::string action = !option.choices.empty() ? fmt::format("({})", option.choices)
                             : takes_file(option)    ? "_files"
                                                     : " ";
  return ":" + escaped(option.type, ":\\") + ":" + action;
}

std::string zsh_case(const Description& command) {
  std::string text = fmt::format("    {})\n      _arguments -s -S", command.text.name);
  const auto add = [&text](const std::string& spec) {
    text += " \\\n        " + shell_quoted(spec);
  };
  for (const OptionText& option : command.options) {
    const std::string help = "[" + escaped(option.help, "[]:\\") + "]";
    const bool is_short = option.flag.size() == 2;
    const std::string sign = option.type.empty() ? "" : is_short ? "+" : "=";
    add(fmt::format("{}{}{}{}{}", is_short ? "*" : "", option.flag, sign, help,
                    zsh_value(option)));
    if (!option.alias.empty()) add(std::string(option.alias) + help);
  }
  const std::vector<std::string> words = words_of(command.text);
  if (!words.empty()) {
    add(fmt::format("1:word:({})", fmt::join(words, " ")));
  } else if (!command.text.positionals.empty()) {
    add("*:" + escaped(command.text.positionals, ":\\") + ": ");
  }
  return text + "\n      ;;\n";
}

constexpr std::string_view kZshHead = R"(#compdef neliroute
# Completion of neliroute for zsh, made by `neliroute completion zsh`.
_neliroute() {
  local -a commands
  commands=(
)";

constexpr std::string_view kZshMiddle = R"(  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
    help) _describe command commands ;;
)";

constexpr std::string_view kZshTail = R"(  esac
}
if [[ $funcstack[1] == _neliroute ]]; then
  _neliroute "$@"
else
  compdef _neliroute neliroute
fi)";

std::string for_zsh() {
  std::string text(kZshHead);
  for (const Command& command : commands()) {
    const std::string summary = escaped(command.summary, ":\\");
    text += "    " + shell_quoted(std::string(command.name) + ":" + summary) + '\n';
  }
  text += "    'help:Explains a command'\n    '--help:Lists the commands'\n"
          "    '--version:Prints the version'\n";
  text += kZshMiddle;
  for (const Command& command : commands()) text += zsh_case(description_of(command));
  return text + std::string(kZshTail);
}

// --- fish ----------------------------------------------------------------------------------------

std::string fish_quoted(std::string_view text) { return "'" + escaped(text, "'\\") + "'"; }

std::string fish_option(std::string_view command, const OptionText& option) {
  const auto flag = [](std::string_view name) {
    return name.size() == 2 ? fmt::format(" -s {}", name.substr(1))
                            : fmt::format(" -l {}", name.substr(2));
  };
  std::string text = fmt::format("complete -c neliroute -n '__neliroute_is {}'{}{}", command,
                                 option.alias.empty() ? "" : flag(option.alias),
                                 flag(option.flag));
  if (takes_file(option)) {
    text += " -r -F";
  } else if (!option.type.empty()) {
    text += " -x";
  }
  if (!option.choices.empty()) text += " -a " + fish_quoted(option.choices);
  return text + " -d " + fish_quoted(option.help) + '\n';
}

constexpr std::string_view kFishHead =
    R"(# Completion of neliroute for fish, made by `neliroute completion fish`.
function __neliroute_is -a command
    set -l words (commandline -opc)
    if test (count $words) -lt 2
        test -z "$command"
    else
        test "$words[2]" = "$command"
    end
end
complete -c neliroute -f
)";

std::string for_fish() {
  std::string text(kFishHead);
  const auto word = [&text](std::string_view condition, std::string_view name,
                            std::string_view help) {
    text += fmt::format("complete -c neliroute -n '__neliroute_is {}' -a {} -d {}\n", condition,
                        name, fish_quoted(help));
  };
  for (const Command& command : commands()) {
    word("\"\"", command.name, command.summary);
    word("help", command.name, command.summary);
  }
  word("\"\"", "help", "Explains a command");
  word("\"\"", "--help", "Lists the commands");
  word("\"\"", "--version", "Prints the version");
  for (const Command& command : commands()) {
    const Description description = description_of(command);
    for (const std::string& one : words_of(description.text)) word(command.name, one, one);
    for (const OptionText& option : description.options) text += fish_option(command.name, option);
  }
  text.pop_back();
  return text;
}

constexpr std::array<std::pair<std::string_view, std::string (*)()>, 3> kShells = {{
    {"bash", for_bash},
    {"zsh", for_zsh},
    {"fish", for_fish},
}};

}  // namespace

int completion_command(const Arguments& arguments) {
  CommandLine line({"completion",
                    "Prints a script with which a shell completes commands, options and values.",
                    "bash|zsh|fish",
                    "To use it at once:\n"
                    "  source <(neliroute completion bash)        # or zsh\n"
                    "  neliroute completion fish | source\n"
                    "`cmake --install` puts it where the shells look for it."});
  if (const auto code = line.parse(arguments)) return *code;
  const auto& given = line.positionals();
  if (given.size() != 1) {
    return fail(line.name(), "which shell? Say bash, zsh or fish, as in `neliroute completion "
                             "bash`", kExitUsage);
  }
  const auto shell = std::find_if(kShells.begin(), kShells.end(),
                                  [&](const auto& one) { return one.first == given.front(); });
  if (shell == kShells.end()) {
    return fail(line.name(), fmt::format("\"{}\" is no shell that it knows; choose bash, zsh or "
                                         "fish", shown(given.front())), kExitUsage);
  }
  say(shell->second());
  return kExitYes;
}

}  // namespace neliroute::tool
