#include "neli_core/record/json_fields.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <limits>
#include <utility>

namespace neliroute {

std::optional<std::int64_t> integer_of(const json::value* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* number = value->if_int64()) return *number;
  if (const auto* number = value->if_uint64()) {
    if (*number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return static_cast<std::int64_t>(*number);
    }
  }
  return std::nullopt;
}

// Milliseconds since 1970, and no more than every reader of JSON can represent.
std::optional<std::int64_t> incarnation_of(const json::value* value) {
  const auto number = integer_of(value);
  return number && *number <= kIncarnationMax ? number : std::nullopt;
}

std::optional<std::uint32_t> small_of(const json::value* value) {
  const auto number = integer_of(value);
  if (!number || *number < 0 || *number > std::numeric_limits<std::uint32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(*number);
}

bool truth_of(const json::value* value) {
  const bool* truth = value == nullptr ? nullptr : value->if_bool();
  return truth != nullptr && *truth;
}

std::string text_of(const json::value* value) {
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string{} : std::string(text->begin(), text->end());
}

std::optional<ProcessId> id_of(const json::value* value) {
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  if (text == nullptr || text->size() != 16) return std::nullopt;
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), id, 16);
  if (error != std::errc{} || end != text->data() + text->size() || id == 0) return std::nullopt;
  return ProcessId{id};
}

std::optional<milliseconds> lease_of(const json::value* value) {
  const auto number = integer_of(value);
  if (!number || *number <= 0) return std::nullopt;
  return std::min(milliseconds{*number}, kLeaseMax);
}

std::optional<LogParts> parts_of(const json::value* value) {
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  if (text == nullptr) return std::nullopt;
  return LogParts::parse(std::string_view(text->data(), text->size()));
}

std::optional<PartitionRanges> ranges_of(const json::value* value) {
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  if (text == nullptr) return std::nullopt;
  return PartitionRanges::parse(std::string_view(text->data(), text->size()));
}

}  // namespace neliroute
