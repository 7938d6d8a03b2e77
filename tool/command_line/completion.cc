// neliroute completion: a script with which a shell completes command lines. The script only asks
// the program that it completes (complete.cc), and shows the answer as its shell does.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tool/command_line/commands.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

// A program that was typed as ~/bin/neliroute still has its tilde in the words that a script gets.
constexpr std::string_view kBash = R"sh(# Made by `neliroute completion bash`.
_neliroute() {
  local current=${COMP_WORDS[COMP_CWORD]}
  mapfile -t COMPREPLY < <("${COMP_WORDS[0]/#\~/$HOME}" __complete \
    "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ ${COMPREPLY[*]} == :file ]]; then
    compopt -o filenames 2>/dev/null || true  # only while bash completes
    mapfile -t COMPREPLY < <(compgen -f -- "${current#=}")
  fi
  COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")  # bash shows no meanings
}
complete -F _neliroute neliroute)sh";

constexpr std::string_view kZsh = R"sh(#compdef neliroute
# Made by `neliroute completion zsh`.
_neliroute() {
  local -a found
  local tab=$'\t'
  found=(${(f)"$(${~words[1]} __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)"})
  if [[ "$found" == :file ]]; then
    compset -P '--[^=]##='
    _files
  else
    found=(${${found//:/\\:}/$tab/:})
    _describe -V neliroute found
  fi
}
if [[ $funcstack[1] == _neliroute ]]; then
  _neliroute "$@"
else
  compdef _neliroute neliroute
fi)sh";

constexpr std::string_view kFish = R"sh(# Made by `neliroute completion fish`.
function __neliroute_complete
    set -l words (commandline -opc | string replace -r '^~/' "$HOME/")
    set -l current (commandline -ct)
    set -l found ($words[1] __complete $words[2..] "$current" 2>/dev/null)
    if test "$found" = :file
        set -l option (string match -r '^--[^=]+=' -- "$current")
        set found "$option"(__fish_complete_path (string replace -- "$option" '' "$current"))
    end
    string join -- \n $found
end
complete -c neliroute -f -a '(__neliroute_complete)')sh";

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kShells = {{
    {"bash", kBash},
    {"zsh", kZsh},
    {"fish", kFish},
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
  say(shell->second);
  return kExitYes;
}

}  // namespace neliroute::tool
