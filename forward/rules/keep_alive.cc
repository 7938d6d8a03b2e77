#include "forward/rules/keep_alive.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>

#include "forward/rules/beast_text.h"

namespace neliroute::forward {

std::optional<milliseconds> kept_by(const boost::beast::http::fields& answer) {
  constexpr std::chrono::seconds kMost{std::chrono::hours{24}};
  for (const std::string_view part :
       split(view_of(answer[boost::beast::http::field::keep_alive]), ',')) {
    const std::size_t equals = part.find('=');
    if (equals == part.npos || !is_same_name(trimmed(part.substr(0, equals)), "timeout")) continue;
    const std::string_view number = trimmed(part.substr(equals + 1));
    std::uint32_t seconds = 0;
    const char* const end = number.data() + number.size();
    const auto [read, failed] = std::from_chars(number.data(), end, seconds);
    if (failed != std::errc() || read != end) return std::nullopt;
    const milliseconds said = std::min(std::chrono::seconds{seconds}, kMost);
    return std::max(said - std::chrono::seconds{1}, said / 2);
  }
  return std::nullopt;
}

}  // namespace neliroute::forward
