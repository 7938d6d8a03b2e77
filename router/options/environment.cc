// RouterOptions and WatcherOptions from the command's environment variables.
#include <neliroute/options.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "router/options/option_parts.h"
#include "router/options/option_text.h"

namespace neliroute {
namespace {

constexpr std::string_view kPrefix = "NELIROUTE_";

/// NELIROUTE_GROUP_PROTOCOL is --group-protocol; NELIROUTE_X is -X.
std::string option_of(std::string_view variable) {
  std::string name(variable.substr(kPrefix.size()));
  if (name == "X") return name;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  return name;
}

Result<void> set(RouterOptions& options, const std::string& name, std::string_view text) {
  if (name != "X") return set_option(options, name, text);
  while (!text.empty()) {  // one property per line
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty()) continue;
    if (auto done = set_option(options, name, line); !done) return done;
  }
  return {};
}

}  // namespace

Result<RouterOptions> RouterOptions::from_environment() {
  RouterOptions options;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view entry = *one;
    const std::string_view variable = entry.substr(0, entry.find('='));
    if (!variable.starts_with(kPrefix) || variable.size() == entry.size()) continue;
    const std::string name = option_of(variable);
    if (!is_option(name)) continue;
    if (auto done = set(options, name, entry.substr(variable.size() + 1)); !done) {
      return Error{done.error().code(), std::string(variable) + ": " + done.error().message()};
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
