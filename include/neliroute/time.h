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

/// Makes `Clock` a tag of time points. None has a now(), on purpose: neliroute/clock.h reads this
/// machine's clocks.
template <class Clock, class Duration, bool Steady>
struct ClockTag {
  using duration = Duration;
  using rep = typename Duration::rep;
  using period = typename Duration::period;
  using time_point = std::chrono::time_point<Clock, Duration>;
  static constexpr bool is_steady = Steady;
};

/// CLOCK_BOOTTIME.
struct BootClock : ClockTag<BootClock, microseconds, true> {};
using LocalTime = BootClock::time_point;

/// A broker's LogAppendTime, milliseconds since the Unix epoch.
struct BrokerClock : ClockTag<BrokerClock, milliseconds, false> {};
using BrokerTime = BrokerClock::time_point;

/// This machine's CLOCK_REALTIME, since the Unix epoch.
struct WallClock : ClockTag<WallClock, microseconds, false> {};
using WallTime = WallClock::time_point;

inline constexpr LocalTime kNever = LocalTime::max();
inline constexpr LocalTime kLongAgo = LocalTime::min();

/// No lease on the wire is longer; a longer one is read as this.
inline constexpr milliseconds kLeaseMax{600'000};

/// For how long an owner in non-exclusive mode goes on serving while its log is silent, at most.
inline constexpr milliseconds kServeStaleMax{24 * 3'600'000};
inline constexpr milliseconds kServeStaleDefault{15 * 60'000};

/// A wait, extended by how far clocks may drift apart during it: 0.1 %, twice the 500 ppm that
/// the protocol assumes, rounded up.
[[nodiscard]] constexpr microseconds with_drift(microseconds wait) noexcept {
  return wait.count() <= 0 ? microseconds{0} : wait + wait / 1000 + microseconds{1};
}

/// LocalTime + wait, staying at kNever instead of overflowing.
[[nodiscard]] constexpr LocalTime later(LocalTime time, microseconds wait) noexcept {
  return time > kNever - wait ? kNever : time + wait;
}

}  // namespace neliroute
