// How the durations of the protocol follow from each other, and which of them conflict.
//
// A value that is not given follows from the session in force; a given value is never changed, and
// is refused with both numbers if it breaks a bound.
//
// Threads: pure functions, any.   Units: std::chrono.
// Errors: derive_timing() names the option, both numbers and what to do.
// Paper: "Protocol definition" (T and session.timeout.ms), "Exclusivity" (T + e).
#pragma once

#include <cstdint>
#include <neliroute/error.h>
#include <neliroute/options.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <optional>
#include <string>

namespace neliroute {

/// What a profile means where nothing else is given.
struct ProfileTiming {
  milliseconds interval;
  milliseconds session;
};
[[nodiscard]] ProfileTiming timing_of(Profile profile) noexcept;

/// What the user asked for, and the rules by which it is judged.
struct TimingRequest : TimingOptions {
  Mode mode = Mode::non_exclusive;
  Variation variation = Variation::claimed;
  Assignment assignment = Assignment::group;
};

/// What the broker reported; empty: not known.
struct SessionFacts {
  GroupProtocol protocol = GroupProtocol::consumer;
  /// Consumer protocol: the session and heartbeat in force for the group.
  std::optional<milliseconds> session;
  std::optional<milliseconds> heartbeat;
  /// Classic protocol: the broker's bounds on a member's session.
  std::optional<milliseconds> session_min;
  std::optional<milliseconds> session_max;
  /// Why the session that was asked for was not set for the group, and what to do.
  std::string why_not_set = {};
};

[[nodiscard]] Result<Timing> derive_timing(const TimingRequest& request,
                                           const SessionFacts& facts);

/// A watcher has no session: it takes the profile's lease.
[[nodiscard]] Timing watcher_timing(const TimingRequest& request);

/// The smallest hang limit, and the default one. librdkafka checks every 500 ms, and with the
/// classic protocol requires at least the session. With classic, it leaves by itself; with the
/// consumer protocol, the broker must notice the silence, which takes another session.
[[nodiscard]] milliseconds least_hang_limit(GroupProtocol protocol, milliseconds session) noexcept;

/// A classic session below this cannot work with librdkafka: a rejoin may wait 1 s in silence.
inline constexpr milliseconds kClassicSessionMin{2000};

/// The paper's inequalities, for variation `broadcast`. Non-exclusive: T > session. Exclusive:
/// T + e < session. Both: 3 broadcasts fit into T, so that one that is lost or late costs nothing.
[[nodiscard]] Result<void> check_broadcast_timing(Mode mode, milliseconds lease,
                                                  milliseconds session,
                                                  milliseconds local_clock_error,
                                                  milliseconds interval, std::uint32_t groups);

}  // namespace neliroute
