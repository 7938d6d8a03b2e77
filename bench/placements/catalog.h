// The placements by name: which there are, and how one is made.
//
// A spec is a name, for some with a number after a colon: "ring:160", "bounded:1.25".
//
// Threads: any.   Units: none.   Errors: nullopt for text that is no spec; unfit() says why a spec
// cannot serve a setting, and making one that cannot aborts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bench/placements/placement.h"

namespace neliroute::placement {

enum class Unit : std::uint8_t { partitions, slots };

struct Parameter {
  std::string_view name;  ///< empty: there is none
  double least = 0;
  double most = 0;
  /// Its default; nullopt: it follows from the setting.
  std::optional<double> usual;
  bool whole = true;
};

struct Kind {
  std::string_view name;
  /// What it usually places: assignors know nothing smaller than a partition.
  Unit unit = Unit::slots;
  Parameter parameter;
  bool knows_weights = false;
  /// No item ever moves between two members that were there before and after.
  bool excess_free = false;
  std::string_view summary;
};

[[nodiscard]] std::span<const Kind> kinds() noexcept;

struct Spec {
  const Kind* kind = nullptr;
  std::optional<double> parameter;

  [[nodiscard]] std::string text() const;
};

[[nodiscard]] std::optional<Spec> parse_spec(std::string_view text);

/// Why it cannot serve: what was given, what it accepts, what to do. nullopt if it can.
[[nodiscard]] std::optional<std::string> unfit(const Spec& spec, const Setting& setting);

[[nodiscard]] std::unique_ptr<Placement> make_placement(const Spec& spec, const Setting& setting);

}  // namespace neliroute::placement
