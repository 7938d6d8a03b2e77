#include "forward/rules/peer_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "forward/rules/beast_text.h"

namespace neliroute::forward {
namespace {

namespace http = boost::beast::http;

constexpr std::array kAll{kOwnerField,   kEpochField, kHopsField,
                          kTimeoutField, kSlotField,  kDetourField};
constexpr std::uint32_t kHopsMax = 1000;
constexpr std::uint32_t kTimeoutMax = 86'400'000;

/// The field's value: nothing, one, or more than one.
struct Values {
  std::size_t count = 0;
  std::string_view first;
};

Values values_of(const http::fields& fields, std::string_view name) {
  const auto [begin, end] = fields.equal_range(to_beast(name));
  if (begin == end) return {};
  return {static_cast<std::size_t>(std::distance(begin, end)),
          view_of(begin->value())};
}

std::string malformed(std::string_view name, std::string_view expected) {
  return std::string(name) + " is malformed: expected " + std::string(expected) + ", once";
}

std::optional<std::uint32_t> number_of(std::string_view text, std::uint32_t most) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number <= most ? std::optional(number) : std::nullopt;
}

}  // namespace

bool is_peer_field(std::string_view name) noexcept {
  return std::any_of(kAll.begin(), kAll.end(),
                     [&](std::string_view ours) { return is_alike(ours, name); });
}

std::variant<PeerFields, std::string> read_peer_fields(const http::fields& fields) {
  PeerFields said;
  if (const Values epoch = values_of(fields, kEpochField); epoch.count > 0) {
    const auto parsed = epoch.count == 1 ? parse_epoch(epoch.first) : std::nullopt;
    const bool possible = parsed && parsed->incarnation >= 0 && parsed->offset >= 0;
    if (!possible) return malformed(kEpochField, "INC:OFFSET");
    said.epoch = *parsed;
  }
  if (const Values hops = values_of(fields, kHopsField); hops.count > 0) {
    const auto number = hops.count == 1 ? number_of(hops.first, kHopsMax) : std::nullopt;
    if (!number) return malformed(kHopsField, "0 to " + std::to_string(kHopsMax));
    said.hops = *number;
  }
  if (const Values timeout = values_of(fields, kTimeoutField); timeout.count > 0) {
    const auto number = timeout.count == 1 ? number_of(timeout.first, kTimeoutMax) : std::nullopt;
    if (!number) return malformed(kTimeoutField, "milliseconds, at most a day");
    said.timeout = milliseconds{*number};
  }
  if (const Values slot = values_of(fields, kSlotField); slot.count > 0) {
    const auto number = slot.count == 1 ? number_of(slot.first, kSlotCountMax - 1) : std::nullopt;
    if (!number) return malformed(kSlotField, "a slot");
    said.slot = Slot{*number};
  }
  if (const Values detour = values_of(fields, kDetourField); detour.count > 0) {
    if (detour.count != 1 || detour.first != "1") return malformed(kDetourField, "1");
    said.detour = true;
  }
  return said;
}

void strip_peer_fields(http::fields& fields) { erase_fields(fields, is_peer_field); }

void write_peer_fields(http::fields& fields, const PeerFields& said) {
  strip_peer_fields(fields);
  if (said.epoch != kNoEpoch) fields.set(to_beast(kEpochField), to_string(said.epoch));
  if (said.hops > 0) fields.set(to_beast(kHopsField), std::to_string(said.hops));
  if (said.timeout) fields.set(to_beast(kTimeoutField), std::to_string(said.timeout->count()));
  if (said.slot) fields.set(to_beast(kSlotField), std::to_string(said.slot->value()));
  if (said.detour) fields.set(to_beast(kDetourField), "1");
}

}  // namespace neliroute::forward
