// Kinds of stores that may keep the logs, as far as the protocol can tell them apart. None of their
// own code runs here.
//
// Threads: values.   Units: none.   Errors: no value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace neliroute::sim {

enum class Store : std::uint8_t { kafka, etcd, postgres, quorum };

struct StoreKind {
  Store store;
  std::string_view name;
  /// Positions rise by at most so much.
  std::int64_t step;
  /// Records carry their writers' time, and these clocks differ by seconds.
  bool writers_stamps;
  /// A tail reads the newest record of each writer and kind, and all that come after it starts.
  bool newest_only;
  /// Stamps never fall, whoever leads the log.
  bool stamps_rise;
};

inline constexpr std::array<StoreKind, 4> kStores{{
    {Store::kafka, "kafka", 1, false, false, false},
    {Store::etcd, "etcd", 50, true, true, false},
    {Store::postgres, "postgres", 1, false, false, true},
    {Store::quorum, "quorum", 1, false, false, true},
}};

[[nodiscard]] constexpr const StoreKind& kind_of(Store store) noexcept {
  return kStores[static_cast<std::size_t>(store)];
}

[[nodiscard]] constexpr std::optional<Store> store_named(std::string_view name) noexcept {
  for (const StoreKind& kind : kStores) {
    if (kind.name == name) return kind.store;
  }
  return std::nullopt;
}

}  // namespace neliroute::sim
