#include <neliroute/ids.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <ostream>

namespace neliroute {

std::string to_string(ProcessId id) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(id.value()));
  return std::string(text.data());
}

std::string to_string(const Epoch& epoch) {
  return std::to_string(epoch.incarnation) + ":" + std::to_string(epoch.offset);
}

std::optional<Epoch> parse_epoch(std::string_view text) noexcept {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view digits) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    if (digits.empty() || error != std::errc{} || stop != end) return std::nullopt;
    return value;
  };
  const auto incarnation = number(text.substr(0, colon));
  const auto offset = number(text.substr(colon + 1));
  if (!incarnation || !offset) return std::nullopt;
  return Epoch{*incarnation, *offset};
}

std::ostream& operator<<(std::ostream& out, ProcessId id) { return out << to_string(id); }

std::ostream& operator<<(std::ostream& out, const Epoch& epoch) { return out << to_string(epoch); }

}  // namespace neliroute
