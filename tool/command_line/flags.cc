#include "tool/command_line/flags.h"

#include <map>

namespace neliroute::tool {
namespace {

/// By the field that has it. Never destroyed: librdkafka's threads may log until the very end.
std::map<std::string_view, std::string_view>& flags() {
  static auto* const of_fields = new std::map<std::string_view, std::string_view>;
  return *of_fields;
}

}  // namespace

void use_flags_of(const std::vector<OptionText>& options) {
  for (const OptionText& one : options) {
    if (!one.field.empty()) flags()[one.field] = one.flag;
  }
}

std::string with_flags(std::string_view text) {
  std::string made;
  for (;;) {
    const auto open = text.find('`');
    const auto end = open == std::string_view::npos ? open : text.find('`', open + 1);
    if (end == std::string_view::npos) return made.append(text);
    const std::string_view name = text.substr(open + 1, end - open - 1);
    const auto flag = flags().find(name);
    if (flag == flags().end()) {  // not an option's name; the second quote may begin another
      made.append(text.substr(0, end));
      text.remove_prefix(end);
    } else {
      made.append(text.substr(0, open)).append(flag->second);
      text.remove_prefix(end + 1);
    }
  }
}

}  // namespace neliroute::tool
