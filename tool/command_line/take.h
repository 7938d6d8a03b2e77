// What most options do with their text: the usual cases of CommandLine::Take.
//
// Threads: one. The target must outlive CommandLine::parse().   Units: none.
// Errors: those of `parse`, which takes the text and returns a Result.
#pragma once

#include <neliroute/error.h>
#include <string>
#include <string_view>
#include <utility>

#include "router/options/option_text.h"
#include "tool/command_line/command_line.h"

namespace neliroute::tool {

/// Stores the text as it is.
template <class Text>
[[nodiscard]] CommandLine::Take into(Text& target) {
  return [&target](const std::string& text) -> Result<void> {
    target = text;
    return {};
  };
}

/// Stores what `parse` makes of the text.
template <class Target, class Parse>
[[nodiscard]] CommandLine::Take into(Target& target, Parse parse) {
  return [&target, parse = std::move(parse)](const std::string& text) -> Result<void> {
    auto value = parse(text);
    if (!value) return value.error();
    target = std::move(*value);
    return {};
  };
}

/// Stores the text as it is, if `parse` takes it.
template <class Text, class Parse>
[[nodiscard]] CommandLine::Take into_if(Text& target, Parse parse) {
  return [&target, parse = std::move(parse)](const std::string& text) -> Result<void> {
    if (const auto value = parse(text); !value) return value.error();
    target = text;
    return {};
  };
}

/// A flag that has no field in the library.
inline void add_flag(CommandLine& line, std::string_view flag, std::string_view help,
                     bool& target) {
  line.add({.flag = flag, .takes = OptionText::Takes::flag, .help = help},
           into(target, parse_flag));
}

}  // namespace neliroute::tool
