// Records as other processes would write them, for tests of what the router makes of them.
//
// Threads: one.   Units: milliseconds.   Errors: none.
#pragma once

#include <cstdint>
#include <string>

#include "neli_core/event.h"
#include "neli_core/options.h"

namespace neliroute::testing_records {

inline constexpr std::int64_t kInc = 1'700'000'000'000;
inline constexpr milliseconds kLease{1000};
inline constexpr Partition kZero{0};
inline constexpr Log kLog{0};

constexpr LocalTime at_ms(std::int64_t ms) { return LocalTime{milliseconds{ms}}; }
inline Epoch epoch(std::int64_t offset) { return {kInc, offset}; }

/// A process that writes: its id, and the name and endpoint that follow from it.
struct Writer {
  std::uint64_t id = 1;
  std::string name = "p" + std::to_string(id);
  Mode mode = Mode::non_exclusive;
  milliseconds lease = kLease;
  Lane lane{};

  [[nodiscard]] Record header(RecordType type) const;
  [[nodiscard]] Record claim(const std::string& parts) const;
  /// Of the claim at that offset; the states of its partitions.
  [[nodiscard]] Record renewal(std::int64_t claim, const std::string& parts,
                               const std::string& leading, const std::string& draining = "") const;
  [[nodiscard]] Record leads(std::int64_t claim, const std::string& parts) const {
    return renewal(claim, parts, parts);
  }
  [[nodiscard]] Record drains(std::int64_t claim, const std::string& parts) const {
    return renewal(claim, parts, "", parts);
  }
  [[nodiscard]] Record looks(std::int64_t claim, const std::string& parts) const {
    return renewal(claim, parts, "");
  }
  [[nodiscard]] Record release(std::int64_t claim, const std::string& parts) const;
};

/// Somebody else, in either mode.
inline const Writer kB{2};
inline const Writer kExclusiveB{2, "p2", Mode::exclusive};

/// The settings that all of them have.
[[nodiscard]] Settings settings(Mode mode = Mode::non_exclusive);

}  // namespace neliroute::testing_records
