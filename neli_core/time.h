// The clocks of the protocol, as types that cannot be compared with each other.
//
// LocalTime is CLOCK_BOOTTIME of this machine: it counts suspends, so a machine that slept wakes
// up with its leases over. It is never compared with another machine's. BrokerTime is what the
// broker stamped on a record. WallTime is this machine's CLOCK_REALTIME, which only variation
// `broadcast` compares with a broker's, as it assumes a bound on their difference. Nothing here
// reads a clock: time is always an argument.
//
// Threads: values, any.   Units: LocalTime and WallTime microseconds, BrokerTime milliseconds.
// Errors: none.
// Paper: "Exclusivity of role assignment" (BTime and CTime).
#pragma once

#include <chrono>
#include <cstdint>

namespace neliroute {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Tag of CLOCK_BOOTTIME; has no now() on purpose (neli_core/kafka/clock.h reads it).
struct BootClock {
  using duration = microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};
using LocalTime = BootClock::time_point;

/// Tag of a broker's LogAppendTime, milliseconds since the Unix epoch.
struct BrokerClock {
  using duration = milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BrokerClock>;
  static constexpr bool is_steady = false;
};
using BrokerTime = BrokerClock::time_point;

/// Tag of this machine's CLOCK_REALTIME, since the Unix epoch; has no now() on purpose either.
struct WallClock {
  using duration = microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<WallClock>;
  static constexpr bool is_steady = false;
};
using WallTime = WallClock::time_point;

inline constexpr LocalTime kNever = LocalTime::max();
inline constexpr LocalTime kLongAgo = LocalTime::min();

/// No lease on the wire is longer; a longer one is read as this.
inline constexpr milliseconds kLeaseMax{600'000};

/// A wait, made longer by what clocks may drift apart during it: 0.1 %, twice the 500 ppm that
/// the protocol assumes, rounded up.
[[nodiscard]] constexpr microseconds with_drift(microseconds wait) noexcept {
  return wait.count() <= 0 ? microseconds{0} : wait + wait / 1000 + microseconds{1};
}

/// LocalTime + wait, staying at kNever instead of overflowing.
[[nodiscard]] constexpr LocalTime later(LocalTime time, microseconds wait) noexcept {
  return time > kNever - wait ? kNever : time + wait;
}

}  // namespace neliroute
