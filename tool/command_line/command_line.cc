#include "tool/command_line/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <sstream>
#include <utility>

#include "tool/command_line/flags.h"
#include "tool/print/output.h"

extern char** environ;

namespace neliroute::tool {
namespace {

constexpr std::size_t kHelpColumn = 29;
constexpr std::string_view kVariablePrefix = "NELIROUTE_";
// Variables without a flag: a secret, and what scripts and tests read.
constexpr std::array kOtherVariables = {"NELIROUTE_BIN", "NELIROUTE_BUILD", "NELIROUTE_DEPS",
                                        "NELIROUTE_ETCD_PASSWORD", "NELIROUTE_WITNESS"};

std::string option_of(const std::string& setting) {
  return (setting.size() == 1 ? "-" : "--") + setting;
}

/// CLI11's reader, except that it reports the line of a mistake, that a '#' after a value belongs
/// to it (a password may contain one), and that it skips options of other subcommands, so that one
/// file serves them all.
class SettingsFile : public CLI::ConfigTOML {
 public:
  SettingsFile() { comment('\0'); }
  std::vector<std::string> known;  ///< "--slots", "-X"
  std::vector<std::string> (*all_flags)() = nullptr;

  /// The flags of all commands, this one's included.
  [[nodiscard]] const std::vector<std::string>& all() const {
    if (!all_) all_ = all_flags == nullptr ? known : all_flags();
    return *all_;
  }

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::stringstream copy;
    copy << input.rdbuf();
    number_lines(copy);
    copy.clear();
    copy.seekg(0);
    auto settings = CLI::ConfigTOML::from_config(copy);
    std::erase_if(settings, [this](const CLI::ConfigItem& item) {
      if (!item.parents.empty()) {
        const std::string& section = item.parents.front();
        throw CLI::ConfigError(line_of("[" + section + "]") + "it has a section [" + section +
                               "], but settings must be outside of sections");
      }
      const std::string option = option_of(item.name);
      if (is_in(known, option)) return false;
      if (is_in(all(), option)) return true;
      const auto meant = nearest(option, known);
      throw CLI::ConfigError(line_of(option) + "unknown setting " + item.name +
                             (meant ? "; did you mean " + meant->substr(2) + "?" : ""));
    });
    return settings;
  }

  [[nodiscard]] bool holds(const std::string& option) const { return lines_.contains(option); }
  /// "line 3: "; empty if not known. Of several, the last.
  [[nodiscard]] std::string line_of(const std::string& option) const {
    const auto found = lines_.find(option);
    return found == lines_.end() ? "" : fmt::format("line {}: ", found->second);
  }

 private:
  /// As CLI11 reads them: it does not report where it found what.
  void number_lines(std::istream& input) const {
    std::size_t number = 0;
    for (std::string line; std::getline(input, line);) {
      ++number;
      CLI::detail::trim(line);
      if (line.empty() || line.front() == '#' || line.front() == ';') continue;
      if (line.front() == '[') {
        lines_[line] = number;
        continue;
      }
      std::string name = line.substr(0, line.find('='));
      CLI::detail::trim(name);
      CLI::detail::remove_quotes(name);
      // CLI11 reads the text before a point as a section.
      const auto point = name.find('.');
      lines_[point == std::string::npos ? option_of(name) : "[" + name.substr(0, point) + "]"] =
          number;
    }
  }

  mutable std::map<std::string, std::size_t> lines_;
  mutable std::optional<std::vector<std::string>> all_;

  static bool is_in(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
};

}  // namespace

struct CommandLine::Parts {
  CommandText text;
  CLI::App app;
  std::shared_ptr<SettingsFile> file = std::make_shared<SettingsFile>();
  std::string_view heading = "Options";
  std::vector<OptionText> options;
  std::vector<std::string> names;
  std::vector<std::function<Result<void>()>> checks;
  std::vector<std::string> positionals;

  /// Splits what CLI11 did not know into positionals and mistakes; returns the mistake, if any.
  std::optional<std::string> sort_rest() {
    bool options_ended = false;
    for (const std::string& rest : app.remaining()) {
      if (!options_ended && rest == "--") {
        options_ended = true;
      } else if (!options_ended && rest.size() > 1 && rest[0] == '-') {
        return unknown_option(rest);
      } else if (text.positionals.empty()) {
        return fmt::format("unexpected argument \"{}\"; it takes options only, see `{} --help`",
                           shown_text(rest), called(text.name));
      } else {
        positionals.push_back(rest);
      }
    }
    return std::nullopt;
  }

  std::string unknown_option(const std::string& given) const {
    const std::string name = given.substr(0, given.find('='));
    if (const auto meant = nearest(name, names)) {
      return fmt::format("unknown option {}; did you mean {}?", name, *meant);
    }
    return fmt::format("unknown option {}; `{} --help` lists them all{}", name, called(text.name),
                       text.positionals.empty() ? "" : ", and words that begin with - go after --");
  }

  /// Where a wrong value of this option came from, which CLI11 does not say; empty: from the
  /// command line.
  std::string origin_of(const std::string& option,
                        const std::vector<std::string>& arguments) const {
    const auto gives = [&](const std::string& argument) {
      return argument == option || argument.starts_with(option + "=") ||
             (option.size() == 2 && argument.starts_with(option));
    };
    if (std::any_of(arguments.begin(), arguments.end(), gives)) return {};
    if (file->holds(option)) return settings_file() + file->line_of(option);
    const std::string variable = variable_of(option);
    return std::getenv(variable.c_str()) != nullptr ? variable + ": " : "";
  }

  std::string settings_file() const {
    return "settings file " + app.get_config_ptr()->as<std::string>() + ": ";
  }

  /// A variable with a misspelt name would otherwise be silently ignored.
  void warn_of_unknown_variables() const {
    std::vector<std::string> variables(kOtherVariables.begin(), kOtherVariables.end());
    for (char** one = environ; *one != nullptr; ++one) {
      const std::string_view entry = *one;
      const std::string name(entry.substr(0, entry.find('=')));
      if (!name.starts_with(kVariablePrefix)) continue;
      if (variables.size() == kOtherVariables.size()) {
        for (const std::string& flag : file->all()) variables.push_back(variable_of(flag));
      }
      if (std::find(variables.begin(), variables.end(), name) != variables.end()) continue;
      const auto meant = nearest(name, variables);
      warn(text.name,
           fmt::format("{} in the environment is no setting, so it is ignored; {}", name,
                       meant ? "did you mean " + *meant + "?"
                             : "`" + called(text.name) + " --help` lists the options"));
    }
  }

  static std::string shown_text(const std::string& raw) { return tool::shown(raw); }
};

CommandLine::CommandLine(CommandText text) : parts_(std::make_unique<Parts>()) {
  parts_->text = std::move(text);
  CLI::App& app = parts_->app;
  app.name(called(parts_->text.name));
  app.allow_extras();
  app.set_help_flag("-h,--help");
  if (parts_->text.brief) app.set_help_all_flag("--help-all");
  app.set_config("--config");
  app.config_formatter(parts_->file);
  app.allow_config_extras(CLI::config_extras_mode::error);
}

CommandLine::~CommandLine() = default;

void CommandLine::heading(std::string_view title) { parts_->heading = title; }

void CommandLine::add(const OptionText& option, Take take) {
  using Takes = OptionText::Takes;
  const std::string name(option.flag);
  const Takes takes = option.takes;
  parts_->names.push_back(name);
  parts_->options.push_back(option);
  if (option.heading.empty()) parts_->options.back().heading = parts_->heading;
  const auto give = [name, take = std::move(take)](const std::string& value) {
    if (const auto taken = take(value); !taken) {
      throw CLI::ValidationError(name, taken.error().message());
    }
  };
  if (takes == Takes::flag) {
    parts_->app.add_flag_callback(name, [give] { give("true"); })->envname(variable_of(name));
    return;
  }
  CLI::Option* made = parts_->app.add_option(
      name, CLI::callback_t([name, takes, give](const CLI::results_t& given) {
        if (takes == Takes::list) {
          give(fmt::format("{}", fmt::join(given, ",")));
          return true;
        }
        if (takes == Takes::value && given.size() > 1) {
          throw CLI::ValidationError(name, fmt::format("takes one value, not {}; leave all but one "
                                                       "out, or quote it in the settings file",
                                                       given.size()));
        }
        for (const std::string& one : given) give(one);
        return true;
      }));
  made->type_size(1)->expected(1)->allow_extra_args(false);
  made->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  made->envname(variable_of(name));
  if (takes == Takes::each) made->delimiter('\n');
}

void CommandLine::after(std::function<Result<void>()> check) {
  parts_->checks.push_back(std::move(check));
}

std::optional<int> CommandLine::parse(const Arguments& asked) {
  if (asked.describe != nullptr) {
    *asked.describe = description();
    return kExitYes;
  }
  const std::vector<std::string>& arguments = asked.given;
  parts_->file->known = parts_->names;
  parts_->file->all_flags = asked.all_flags;
  use_flags_of(parts_->options);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    parts_->app.parse(reversed);  // CLI11 reads them from the back
  } catch (const CLI::CallForHelp&) {
    say(help(!parts_->text.brief));
    return kExitYes;
  } catch (const CLI::CallForAllHelp&) {
    say(help(true));
    return kExitYes;
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();
    return fail(name(), what.substr(0, what.find(':')) + " needs a value", kExitUsage);
  } catch (const CLI::ConfigError& error) {
    return fail(name(), parts_->settings_file() + error.what(), kExitUsage);
  } catch (const CLI::FileError& error) {
    return fail(name(), std::string("--config: ") + error.what() +
                            "; give a file with one option per line, as in slots=1024", kExitUsage);
  } catch (const CLI::ConversionError& error) {  // CLI11 converts nothing but flags here
    const std::string what = error.what();
    const std::string given = what.substr(std::min(what.find('-'), what.size()));
    const std::string option = given.substr(0, given.find(' '));
    const auto value = given.find("= ");
    return fail(name(),
                fmt::format("{}{}: \"{}\" is neither true nor false",
                            parts_->origin_of(option, arguments), option,
                            value == std::string::npos ? given : given.substr(value + 2)),
                kExitUsage);
  } catch (const CLI::Error& error) {
    const std::string what = error.what();
    return fail(name(), parts_->origin_of(what.substr(0, what.find(':')), arguments) + what,
                kExitUsage);
  }
  if (const auto mistake = parts_->sort_rest()) return fail(name(), *mistake, kExitUsage);
  parts_->warn_of_unknown_variables();
  for (const auto& check : parts_->checks) {
    if (const auto fits = check(); !fits) return fail(name(), fits.error());
  }
  return std::nullopt;
}

const std::vector<std::string>& CommandLine::positionals() const { return parts_->positionals; }

const std::string& CommandLine::name() const { return parts_->text.name; }

Description CommandLine::description() const {
  std::vector<OptionText> all = parts_->options;
  std::erase_if(all, [](const OptionText& one) { return one.shown == 0; });
  const std::string_view general = "General";
  all.push_back({.flag = "--config", .type = "FILE", .heading = general,
                 .help = "More settings: one option per line, as in slots=1024",
                 .first_day = true});
  all.push_back({.flag = "--help", .alias = "-h", .heading = general, .help = "This text",
                 .first_day = true});
  if (parts_->text.brief) {
    all.push_back({.flag = "--help-all", .heading = general, .help = "All options",
                   .first_day = true});
  }
  // An option that was added later joins the others under its heading.
  std::vector<std::string_view> headings;
  for (const OptionText& one : all) {
    if (std::find(headings.begin(), headings.end(), one.heading) == headings.end()) {
      headings.push_back(one.heading);
    }
  }
  std::stable_sort(all.begin(), all.end(), [&](const OptionText& a, const OptionText& b) {
    return std::find(headings.begin(), headings.end(), a.heading) <
           std::find(headings.begin(), headings.end(), b.heading);
  });
  return {parts_->text, std::move(all), parts_->names};
}

std::string CommandLine::help(bool all) const {
  const CommandText& text = parts_->text;
  std::string out = fmt::format("Usage: {} [OPTIONS]{}{}\n\n", called(text.name),
                                text.positionals.empty() ? "" : " ", text.positionals);
  wrap(out, text.summary, 0);
  std::string_view heading;
  const Description described = description();
  for (const OptionText& one : described.options) {
    if (!all && !one.first_day) continue;
    if (std::exchange(heading, one.heading) != one.heading) {
      out += fmt::format("\n{}:\n", one.heading);
    }
    std::string line = fmt::format("  {}{}{}{}{}", one.alias, one.alias.empty() ? "" : ", ",
                                   one.flag, one.type.empty() ? "" : " ", one.type);
    if (line.size() + 2 > kHelpColumn) {
      out += line + "\n";
      line.clear();
    }
    line.resize(kHelpColumn, ' ');
    out += line;
    wrap(out, one.help, kHelpColumn);
  }
  out += "\nAny option can be set by a variable (NELIROUTE_LOG_LEVEL for --log-level).\n"
         "Precedence: command line, settings file, environment.\n";
  if (text.footer.find('\n') != std::string::npos) {
    out += '\n' + text.footer + '\n';
  } else if (!text.footer.empty()) {
    wrap(out += '\n', text.footer, 0);
  }
  if (!all) out += fmt::format("\n`{} --help-all` shows all options.\n", called(text.name));
  out.pop_back();
  return out;
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  std::size_t least = 3;  // a word that differs in more letters is another word
  for (const std::string& candidate : candidates) {
    // Levenshtein's distance, a row at a time.
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i + 1);
      for (std::size_t k = 0; k < candidate.size(); ++k) {
        const std::size_t changed = diagonal + (word[i] == candidate[k] ? 0 : 1);
        diagonal = row[k + 1];
        row[k + 1] = std::min({changed, row[k] + 1, row[k + 1] + 1});
      }
    }
    if (row.back() < least && 2 * row.back() < candidate.size()) {
      least = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace neliroute::tool
