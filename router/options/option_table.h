// Each option of a Router in one row: the environment, the command's flags, its settings file,
// help, completions, manual and messages, and the table of docs/operating.md come from it. The
// command adds rows of its own. Private; the command uses it, too.
//
// Threads: values and pure functions, any.   Units: none.
// Errors: `set`: bad_option, naming the text, what was expected and what to do.
#pragma once

#include <neliroute/error.h>
#include <neliroute/options.h>
#include <span>
#include <string>
#include <string_view>

namespace neliroute {

/// How a process uses the ledger: an owner takes part, a reader only reads, an override is written
/// after reading, and a list is of what members say.
enum class Part : unsigned { owner = 1, reader = 2, override = 4, list = 8 };

struct OptionText {
  enum class Takes {
    value,
    flag,  ///< the variable and the settings file give it true or false
    list,  ///< comma-separated; several are joined
    each,  ///< may be repeated; its variable has one a line
  };
  std::string_view field = {};  ///< "timing.lease", as messages name it; empty: none does
  std::string_view flag = {};   ///< "--lease", "-X"
  std::string_view alias = {};  ///< "-h"
  Takes takes = Takes::value;
  std::string_view type = {};     ///< "TIME"
  std::string_view choices = {};  ///< all possible values, a space between; empty: too many
  std::string_view heading = {};  ///< in the help; empty: that of the option before
  std::string_view help = {};
  std::string_view reader_help = {};  ///< of those who own nothing, if that differs
  std::string_view override_help = {};
  bool first_day = false;  ///< in the short help of `run`
  unsigned shown = 15;     ///< to whom, a bit a Part; the others accept it

  /// As this one shows it.
  [[nodiscard]] OptionText of(Part part) const;
};

struct OptionRow : OptionText {
  Result<void> (*set)(RouterOptions&, std::string_view) = nullptr;
};

[[nodiscard]] std::span<const OptionRow> router_options() noexcept;

/// NELIROUTE_GROUP_PROTOCOL for --group-protocol, NELIROUTE_X for -X.
[[nodiscard]] std::string variable_of(std::string_view flag);

}  // namespace neliroute
