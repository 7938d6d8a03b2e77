#include "tool/command_line/values.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "slots/partition.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

Error bad(std::string what) { return {Errc::bad_option, std::move(what)}; }

/// Takes `digits` digits and what follows them off the front.
std::optional<std::int64_t> take_digits(std::string_view& text, std::size_t digits,
                                        std::string_view then = {}) {
  if (text.size() < digits + then.size()) return std::nullopt;
  const std::string_view head = text.substr(0, digits);
  if (head.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  if (text.substr(digits, then.size()) != then) return std::nullopt;
  text.remove_prefix(digits + then.size());
  return static_cast<std::int64_t>(*number_of(head));
}

/// ".123456", to milliseconds; nullopt if there is a point and no digit.
std::optional<milliseconds> take_fraction(std::string_view& text) {
  if (!text.starts_with('.')) return milliseconds{0};
  text.remove_prefix(1);
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  if (digits.empty()) return std::nullopt;
  text.remove_prefix(digits.size());
  return milliseconds{
      static_cast<std::int64_t>(*number_of((std::string{digits} + "00").substr(0, 3)))};
}

/// "Z" or "+02:00": how far that clock is ahead.
std::optional<std::chrono::minutes> take_zone(std::string_view& text) {
  if (text == "Z" || text == "z") return text = {}, std::chrono::minutes{0};
  if (!text.starts_with('+') && !text.starts_with('-')) return std::nullopt;
  const int sign = text.front() == '-' ? -1 : 1;
  text.remove_prefix(1);
  const auto hours = take_digits(text, 2, ":");
  const auto minutes = hours ? take_digits(text, 2) : std::nullopt;
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return sign * std::chrono::minutes{*hours * 60 + *minutes};
}

/// RFC 3339.
std::optional<milliseconds> time_of(std::string_view text) {
  const auto year = take_digits(text, 4, "-");
  const auto month = year ? take_digits(text, 2, "-") : std::nullopt;
  const auto day = month ? take_digits(text, 2) : std::nullopt;
  const bool separated = day && (text.starts_with('T') || text.starts_with(' '));
  if (!separated) return std::nullopt;
  text.remove_prefix(1);
  const auto hour = take_digits(text, 2, ":");
  const auto minute = hour ? take_digits(text, 2, ":") : std::nullopt;
  const auto second = minute ? take_digits(text, 2) : std::nullopt;
  const auto fraction = second ? take_fraction(text) : std::nullopt;
  const auto zone = fraction ? take_zone(text) : std::nullopt;
  const bool in_range = zone && text.empty() && *hour < 24 && *minute < 60 && *second < 61;
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(year.value_or(0))},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!in_range || !date.ok()) return std::nullopt;
  return std::chrono::sys_days{date}.time_since_epoch() + std::chrono::hours{*hour} +
         std::chrono::minutes{*minute} + std::chrono::seconds{*second} + *fraction - *zone;
}

}  // namespace

Result<milliseconds> parse_since(std::string_view text, milliseconds unix_now) {
  std::optional<milliseconds> time = time_of(text);
  if (!time) {
    const auto ago = parse_duration(text);
    if (!ago) {
      return bad(fmt::format("\"{}\" is no time; write how long ago, as in 10m (ms, s or m; at "
                             "most a day), or when, as in 2026-01-31T12:00:00Z", text));
    }
    time = unix_now - *ago;
  }
  if (*time > unix_now) return bad(fmt::format("{} is still to come", text));
  return *time;
}

Result<void> check_even(SlotCount slots, std::uint32_t partitions, bool allow_uneven) {
  if (slots.value() < partitions) {
    return bad(fmt::format("--slots {} are fewer than --partitions {}; raise --slots or lower "
                           "--partitions", slots.value(), partitions));
  }
  if (!allow_uneven && !partitions_are_even(slots, partitions)) {
    const std::uint32_t less = slots.value() / partitions * partitions;
    return bad(fmt::format("--slots {} is not a multiple of --partitions {}, so some partitions "
                           "would carry more slots than others; choose {} or {}, or say "
                           "--allow-uneven", slots.value(), partitions, less, less + partitions));
  }
  return {};
}

std::string text_of(milliseconds duration) {
  const auto ms = duration.count();
  if (ms >= 120'000 && ms % 60'000 == 0) return fmt::format("{} min", ms / 60'000);
  if (ms < 1000) return fmt::format("{} ms", ms);
  return fmt::format("{:g} s", static_cast<double>(ms) / 1000.0);
}

std::string text_of(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

}  // namespace neliroute::tool
