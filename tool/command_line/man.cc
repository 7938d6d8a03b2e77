// neliroute man: the manual page, made from the same descriptions as --help.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "tool/command_line/commands.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

/// Escaped for roff: a minus stays one, and no line is read as a request.
std::string roff(std::string_view text) {
  std::string made;
  for (const char c : text) {
    const bool begins_line = made.empty() || made.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) made += "\\&";
    if (c == '\\') {
      made += "\\e";
    } else if (c == '-') {
      made += "\\-";
    } else {
      made += c;
    }
  }
  return made;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string paragraph(std::string_view text) {
  if (text.empty()) return {};
  const std::string body = roff(text) + '\n';
  // Several lines are printed unchanged.
  if (text.find('\n') != std::string_view::npos) return ".PP\n.nf\n" + body + ".fi\n";
  return ".PP\n" + body;
}

std::string section_of(const Description& command) {
  const CommandText& text = command.text;
  std::string page = fmt::format(".SS neliroute {} [OPTIONS]{}\n", text.name,
                                 text.positionals.empty() ? "" : " " + roff(text.positionals));
  page += roff(text.summary) + '\n';
  std::string_view heading;
  for (const OptionText& option : command.options) {
    if (std::exchange(heading, option.heading) != option.heading) {
      page += ".PP\n" + roff(heading) + ":\n";
    }
    page += ".TP\n";
    if (!option.alias.empty()) page += bold(option.alias) + ", ";
    page += bold(option.flag);
    if (!option.type.empty()) page += ' ' + italic(option.type);
    page += '\n' + roff(option.help) + '\n';
  }
  return page + paragraph(text.footer);
}

constexpr std::string_view kDescription =
    "neliroute answers who owns a key. Keys hash to a fixed number of slots; the slots are divided "
    "among the living processes through a Kafka topic, an etcd or a PostgreSQL database, by the "
    "NELI protocol; a lookup "
    "names the owner of a key's slot, its endpoint, its epoch, and how long to believe it.";

constexpr std::string_view kSettings =
    "Any option can be set by an environment variable: NELIROUTE_LOG_LEVEL for --log-level, "
    "NELIROUTE_X for -X (one per line). A file that --config names has one option per line, as in "
    "slots=1024. Precedence: command line, settings file, environment. NO_COLOR, if it is set to "
    "anything, turns colours off.";

constexpr std::pair<std::string_view, std::string_view> kCodes[] = {
    {"0", "yes, done, or stopped as planned"},
    {"1", "the answer is no"},
    {"2", "bad usage, or settings that do not fit the ledger or the running group"},
    {"3", "the ledger is unreachable, refuses or is silent, or the system refuses what it needs, "
          "or an answer could not be written"},
    {"130", "a second signal"},
};

constexpr std::string_view kExample =
    "Without Kafka, in three terminals:\n"
    "\n"
    "  neliroute broker\n"
    "  neliroute run --endpoint 127.0.0.1:7001\n"
    "  neliroute route --explain some-key";

std::string page() {
  std::string text = ".TH NELIROUTE 1 \"\" \"neliroute " NELIROUTE_VERSION "\" \"User Commands\"\n"
                     ".SH NAME\nneliroute \\- says which process owns a key\n"
                     ".SH SYNOPSIS\n.B neliroute\n.I COMMAND\n[\\fIOPTIONS\\fR]\n";
  text += ".SH DESCRIPTION\n" + roff(kDescription) + '\n';
  for (const Command& command : commands()) {
    text += ".TP\n" + bold(command.name) + '\n' + roff(command.summary) + '\n';
  }
  text += ".PP\n" + bold("neliroute help") + ' ' + italic("COMMAND") +
          " explains one;\n" + bold("neliroute --version") + " prints the version.\n.SH COMMANDS\n";
  for (const Command& command : commands()) text += section_of(description_of(command));
  text += ".SH ENVIRONMENT AND SETTINGS FILE\n" + roff(kSettings) + '\n';
  text += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kCodes) {
    text += ".TP\n" + bold(code) + '\n' + roff(meaning) + '\n';
  }
  text += ".SH EXAMPLES\n.nf\n" + roff(kExample) + "\n.fi";
  return text;
}

}  // namespace

int man_command(const Arguments& arguments) {
  CommandLine line({"man", "Prints the manual page, for man(1) to show.", "",
                    "Example: neliroute man | man -l -"});
  if (const auto code = line.parse(arguments)) return *code;
  say(page());
  return kExitYes;
}

}  // namespace neliroute::tool
