#include "forward/rules/target.h"

#include <algorithm>
#include <array>

#include "forward/rules/authority.h"
#include "router/text/ascii.h"

namespace neliroute::forward {
namespace {

constexpr std::string_view kRoot = "/";

}  // namespace

std::optional<Target> split_target(std::string_view text) {
  // Visible characters only; a fragment is never sent.
  const bool sound = std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c != '\x7f' && c != '#' && c != '\\';
  });
  if (text.empty() || !sound) return std::nullopt;
  Target target;
  if (text == "*") {
    target.path = target.origin = text;
    return target;
  }
  constexpr std::array<std::string_view, 2> kSchemes{"http://", "https://"};
  for (const std::string_view scheme : kSchemes) {
    if (!is_same_name(text.substr(0, scheme.size()), scheme)) continue;
    text.remove_prefix(scheme.size());
    const std::size_t end = std::min(text.find_first_of("/?"), text.size());
    target.authority = text.substr(0, end);
    if (!host_of(target.authority)) return std::nullopt;
    text.remove_prefix(end);
    if (text.empty()) text = kRoot;
  }
  if (text.front() != '/') return std::nullopt;  // also an absolute one with a query and no path
  target.origin = text;
  const std::size_t mark = text.find('?');
  target.path = text.substr(0, mark);
  if (mark != text.npos) target.query = text.substr(mark + 1);
  return target;
}

}  // namespace neliroute::forward
