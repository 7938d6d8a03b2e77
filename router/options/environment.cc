// RouterOptions and WatcherOptions from the command's environment variables.
#include <neliroute/options.h>

#include <algorithm>
#include <cstdlib>

#include "router/options/option_parts.h"
#include "router/options/option_table.h"

namespace neliroute {
namespace {

Result<void> set(RouterOptions& options, const OptionRow& row, std::string_view text) {
  if (row.takes != OptionText::Takes::each) return row.set(options, text);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty()) continue;
    if (auto done = row.set(options, line); !done) return done;
  }
  return {};
}

}  // namespace

Result<RouterOptions> RouterOptions::from_environment() {
  RouterOptions options;
  for (const OptionRow& row : router_options()) {
    const std::string variable = variable_of(row.flag);
    const char* const text = std::getenv(variable.c_str());
    if (text == nullptr) continue;
    if (auto done = set(options, row, text); !done) {
      return Error{done.error().code(), variable + ": " + done.error().message()};
    }
  }
  return options;
}

Result<WatcherOptions> WatcherOptions::from_environment() {
  auto options = RouterOptions::from_environment();
  if (!options) return options.error();
  return watcher_options(*options);
}

}  // namespace neliroute
