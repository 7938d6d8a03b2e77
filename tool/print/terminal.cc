#include "tool/print/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace neliroute::tool {
namespace {

// Of the 256-colour palette: bright enough for black letters, and distinct for the colour-blind.
constexpr std::array kBackgrounds = {75, 214, 114, 176, 222, 80, 210, 147};
constexpr std::string_view kTrack = "\033[48;5;237m";
constexpr std::string_view kReset = "\033[0m";

std::string_view code_of(Style style) {
  switch (style) {
    case Style::bold:
      return "\033[1m";
    case Style::dim:
      return "\033[2m";
    case Style::good:
      return "\033[1;32m";
    case Style::bad:
      return "\033[1;31m";
    case Style::plain:
      break;
  }
  return "";
}

}  // namespace

Terminal Terminal::of_stdout() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  return Terminal(::isatty(STDOUT_FILENO) == 1 && !dumb &&
                  (no_color == nullptr || *no_color == '\0'));
}

std::string Terminal::styled(Style style, std::string_view text) const {
  if (!rich_ || style == Style::plain) return std::string(text);
  return std::string(code_of(style)) + std::string(text) + std::string(kReset);
}

std::string Terminal::on_owner(std::size_t owner, std::string_view text) const {
  if (!rich_) return std::string(text);
  return "\033[38;5;16;48;5;" + std::to_string(kBackgrounds[owner % kBackgrounds.size()]) + "m" +
         std::string(text) + std::string(kReset);
}

std::string Terminal::bar(std::size_t owner, double share, std::size_t width) const {
  const double wanted = std::round(std::clamp(share, 0.0, 1.0) * static_cast<double>(width));
  const std::size_t filled =
      share > 0.0 ? std::max<std::size_t>(1, static_cast<std::size_t>(wanted)) : 0;
  const std::string rest(width - filled, ' ');
  if (!rich_) return std::string(filled, '#') + rest;
  return on_owner(owner, std::string(filled, ' ')) + std::string(kTrack) + rest +
         std::string(kReset);
}

}  // namespace neliroute::tool
