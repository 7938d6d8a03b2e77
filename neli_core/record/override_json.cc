#include "neli_core/record/override_json.h"

#include <algorithm>
#include <boost/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "neli_core/record/json_fields.h"
#include "neli_core/record/record.h"

namespace neliroute {
namespace {

constexpr OverrideVerb kVerbs[] = {OverrideVerb::cordon,      OverrideVerb::uncordon,
                                   OverrideVerb::weight,      OverrideVerb::unweight,
                                   OverrideVerb::pin,         OverrideVerb::unpin,
                                   OverrideVerb::pause_moves, OverrideVerb::resume_moves};

bool has_name(OverrideVerb verb) {
  return verb != OverrideVerb::unpin && verb != OverrideVerb::pause_moves &&
         verb != OverrideVerb::resume_moves;
}

bool has_partitions(OverrideVerb verb) {
  return verb == OverrideVerb::pin || verb == OverrideVerb::unpin;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kOverrideNameBytesMax;
}

std::optional<std::uint32_t> weight_of(const json::value* value) {
  const auto weight = small_of(value);
  return weight && *weight <= kWeightMax ? weight : std::nullopt;
}

std::optional<PartitionRanges> partitions_of(const json::value* value) {
  auto partitions = PartitionRanges::parse(text_of(value));
  return partitions && !partitions->empty() ? std::move(partitions) : std::nullopt;
}

/// Calls read(name, value) for each member of an object that need not be there. False: it is
/// something else, a name is none, or read() says so.
template <class Read>
bool read_names(const json::value* value, Read&& read) {
  if (value == nullptr) return true;
  const json::object* object = value->if_object();
  return object != nullptr && std::all_of(object->begin(), object->end(), [&](const auto& member) {
           const std::string name(member.key().data(), member.key().size());
           return is_name(name) && read(name, member.value());
         });
}

bool read_cordoned(const json::value* value, std::set<std::string>& into) {
  if (value == nullptr) return true;
  const json::array* names = value->if_array();
  return names != nullptr && std::all_of(names->begin(), names->end(), [&](const auto& item) {
           const std::string name = text_of(&item);
           into.insert(name);
           return is_name(name);
         });
}

bool pins_one_twice(const std::map<std::string, PartitionRanges>& pins) {
  std::vector<PartitionRanges::Range> all;
  for (const auto& [name, partitions] : pins) {
    all.insert(all.end(), partitions.ranges().begin(), partitions.ranges().end());
  }
  std::sort(all.begin(), all.end(),
            [](const auto& left, const auto& right) { return left.first < right.first; });
  return std::adjacent_find(all.begin(), all.end(), [](const auto& left, const auto& right) {
           return right.first <= left.last;
         }) != all.end();
}

}  // namespace

const char* to_string(OverrideVerb verb) noexcept {
  switch (verb) {
    case OverrideVerb::cordon:
      return "cordon";
    case OverrideVerb::uncordon:
      return "uncordon";
    case OverrideVerb::weight:
      return "weight";
    case OverrideVerb::unweight:
      return "unweight";
    case OverrideVerb::pin:
      return "pin";
    case OverrideVerb::unpin:
      return "unpin";
    case OverrideVerb::pause_moves:
      return "pause_moves";
    case OverrideVerb::resume_moves:
      return "resume_moves";
  }
  return "";
}

std::optional<Override> override_of(const json::object& object) {
  const std::string named = text_of(object.if_contains("verb"));
  const auto* const verb = std::find_if(std::begin(kVerbs), std::end(kVerbs),
                                        [&](OverrideVerb one) { return named == to_string(one); });
  if (verb == std::end(kVerbs)) return std::nullopt;
  Override override;
  override.verb = *verb;
  if (has_name(override.verb)) {
    override.name = text_of(object.if_contains("name"));
    if (!is_name(override.name)) return std::nullopt;
  }
  if (has_partitions(override.verb)) {
    auto partitions = partitions_of(object.if_contains("parts"));
    if (!partitions) return std::nullopt;
    override.partitions = std::move(*partitions);
  }
  if (override.verb == OverrideVerb::weight) {
    const auto weight = weight_of(object.if_contains("weight"));
    if (!weight) return std::nullopt;
    override.weight = *weight;
  }
  return override;
}

void write_override(ObjectWriter& out, const Override& override) {
  out.text("verb", to_string(override.verb));
  if (has_name(override.verb)) out.text("name", override.name);
  if (has_partitions(override.verb)) out.text("parts", override.partitions.to_string());
  if (override.verb == OverrideVerb::weight) out.number("weight", override.weight);
}

std::optional<StandingOverrides> standing_of(const json::object& object) {
  StandingOverrides standing;
  if (!read_cordoned(object.if_contains("cordoned"), standing.cordoned)) return std::nullopt;
  const auto read_weight = [&](const std::string& name, const json::value& value) {
    const auto weight = weight_of(&value);
    if (weight) standing.weights[name] = *weight;
    return weight.has_value();
  };
  if (!read_names(object.if_contains("weights"), read_weight)) return std::nullopt;
  const auto read_pin = [&](const std::string& name, const json::value& value) {
    auto partitions = partitions_of(&value);
    const bool read = partitions.has_value();
    if (read) standing.pins[name] = std::move(*partitions);
    return read;
  };
  if (!read_names(object.if_contains("pins"), read_pin)) return std::nullopt;
  if (pins_one_twice(standing.pins)) return std::nullopt;
  if (const json::value* paused = object.if_contains("moves_paused")) {
    if (!paused->is_bool()) return std::nullopt;
    standing.moves_paused = paused->get_bool();
  }
  if (standing_bytes(standing) > kStandingBytesMax) return std::nullopt;
  return standing;
}

void write_standing(ObjectWriter& out, const StandingOverrides& standing) {
  if (!standing.cordoned.empty()) {
    out.begin_list("cordoned");
    for (const std::string& name : standing.cordoned) out.item(name);
    out.end_list();
  }
  if (!standing.weights.empty()) {
    out.begin("weights");
    for (const auto& [name, weight] : standing.weights) out.number(name, weight);
    out.end();
  }
  if (!standing.pins.empty()) {
    out.begin("pins");
    for (const auto& [name, partitions] : standing.pins) out.text(name, partitions.to_string());
    out.end();
  }
  if (standing.moves_paused) out.truth("moves_paused", true);
}

std::size_t standing_bytes(const StandingOverrides& standing) {
  ObjectWriter out;
  write_standing(out, standing);
  return out.take().size();
}

}  // namespace neliroute
