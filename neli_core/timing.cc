#include "neli_core/timing.h"

#include <algorithm>
#include <utility>

#include "neli_core/mutation.h"
#include "neli_core/record/record.h"

namespace neliroute {
namespace {

// A group that does not hear a leave assigns a session later. Whom it assigned leads soon or never.
constexpr milliseconds kDrainMost{10'000};

// A successor that does not lead is given up in that time (A5), and another one named and leading.
milliseconds drain_beside_assigner(Mode mode, const Timing& timing) {
  return mode == Mode::exclusive ? 2 * timing.lease + timing.session
                                 : 3 * timing.session + 4 * timing.interval;
}

// Of others: below that, how long something may take would follow from nothing.
constexpr milliseconds kAssumedLeaseMin{100};

std::string text(milliseconds value) { return std::to_string(value.count()) + " ms"; }
Error bad(std::string what) { return {Errc::bad_option, std::move(what)}; }

milliseconds default_clock_error(milliseconds session) {
  return std::max(session / 20, milliseconds{100});
}

// Non-exclusive: how long a successor may take after the owner's last renewal. The group notices
// after a session and sends the assignment with a heartbeat; then the first renewal must be read.
milliseconds non_exclusive_bound(milliseconds session, milliseconds heartbeat,
                                 milliseconds interval, GroupProtocol protocol) {
  const milliseconds rebalance =
      protocol == GroupProtocol::consumer ? milliseconds{500} : milliseconds{3500};
  return session + heartbeat + interval + rebalance;
}

milliseconds exclusive_lease(milliseconds session, milliseconds clock_error) {
  return std::min(session * 3 / 4, session * 19 / 20 - clock_error);
}

// Refuses values that the bounds below are not meant for, and that would overflow.
Result<void> refuse_absurd(const TimingRequest& request) {
  constexpr milliseconds kMost = kServeStaleMax;
  const auto check = [&](const char* option, const std::optional<milliseconds>& value,
                         milliseconds least) -> Result<void> {
    if (!value || (*value >= least && *value <= kMost)) return {};
    return bad(std::string(option) + " " + text(*value) + " is outside of " + text(least) + " to " +
               text(kMost));
  };
  for (auto checked :
       {check("`timing.session`", request.session, milliseconds{1}),
        check("`timing.interval`", request.interval, milliseconds{1}),
        check("`timing.lease`", request.lease, milliseconds{1}),
        check("`timing.clock_error`", request.clock_error, milliseconds{0}),
        check("`timing.local_clock_error`", request.local_clock_error, milliseconds{0}),
        check("`timing.hang_limit`", request.hang_limit, milliseconds{1}),
        check("`timing.serve_stale`", request.serve_stale, milliseconds{0})}) {
    if (!checked) return checked;
  }
  return {};
}

// An assigner's members state their own session; no broker knows of it.
Result<milliseconds> own_session(const TimingRequest& request) {
  const milliseconds session = request.session.value_or(timing_of(request.profile).session);
  if (session < kMemberSessionMin) {
    return bad("with an assigner the session must be at least " + text(kMemberSessionMin) +
               ", but `timing.session` is " + text(session) + "; raise it");
  }
  if (session > kLeaseMax) {  // nobody would believe its renewals
    return bad("with an assigner the session must not exceed " + text(kLeaseMax) +
               ", but `timing.session` is " + text(session) + "; lower it");
  }
  return session;
}

// Rule A10. Non-exclusive: a death is noticed, and perhaps believed only another session later;
// then the seat is claimed, the successor named, and its first renewal read.
Result<void> choose_with_assigner(const TimingRequest& request, Timing& timing) {
  constexpr milliseconds kRound{50};
  const milliseconds session = timing.session;
  if (request.hang_limit) {
    return bad("`timing.hang_limit` is of the group; with an assigner a process that hangs is "
               "replaced after `timing.session`; leave it out");
  }
  const milliseconds wanted = std::min(timing_of(request.profile).interval, session / 5);
  timing.interval = request.interval.value_or(wanted);
  if (3 * timing.interval > session) {
    return bad("with an assigner 3 x interval must not exceed the session, but 3 x " +
               text(timing.interval) + " = " + text(3 * timing.interval) + " > " + text(session) +
               "; lower `timing.interval` or raise `timing.session`");
  }
  if (request.mode == Mode::exclusive) return {};
  const milliseconds least = 2 * session + 3 * kRound;
  const milliseconds usual = std::max(3 * session, session + 2 * timing.interval + 10 * kRound);
  timing.lease = request.lease.value_or(std::max(usual, least));
  if (timing.lease < least && !mutated(Mutation::lease_below_bound)) {
    return bad("non-exclusive mode with an assigner needs a lease of at least " + text(least) +
               " (2 x session " + text(session) + " + 150 ms), but `timing.lease` is " +
               text(timing.lease) + "; raise `timing.lease` or lower `timing.session`");
  }
  timing.interval = request.interval.value_or(std::min(wanted, timing.lease / 4));
  return {};
}

Result<milliseconds> session_in_force(const TimingRequest& request, const SessionFacts& facts,
                                      std::vector<std::string>& warnings) {
  const milliseconds profile = timing_of(request.profile).session;
  if (facts.protocol == GroupProtocol::consumer) {
    const milliseconds session = facts.session.value_or(request.session.value_or(profile));
    if (request.session && *request.session != session) {
      const std::string what =
          facts.why_not_set.empty()
              ? ": set the group's consumer.session.timeout.ms or the broker's "
                "group.consumer.session.timeout.ms, or leave `timing.session` out"
              : ", and " + facts.why_not_set;
      return bad("`timing.session` " + text(*request.session) + " differs from the " +
                 text(session) + " in force; with the consumer protocol the broker decides" + what);
    }
    return session;
  }
  const milliseconds low =
      std::max(kClassicSessionMin, facts.session_min.value_or(kClassicSessionMin));
  const milliseconds high = facts.session_max.value_or(milliseconds{1'800'000});
  if (high < low) {
    return bad("the broker's group.max.session.timeout.ms of " + text(high) +
               " is below the " + text(low) + " that the classic protocol needs; raise it");
  }
  if (request.session) {
    if (*request.session < low || *request.session > high) {
      return bad("`timing.session` " + text(*request.session) + " is outside of " + text(low) +
                 " to " + text(high) +
                 ", what the classic protocol and this broker allow "
                 "(group.min.session.timeout.ms, group.max.session.timeout.ms)");
    }
    return *request.session;
  }
  const milliseconds session = std::clamp(profile, low, high);
  if (session != profile) {
    warnings.push_back("session is " + text(session) + " instead of the profile's " +
                       text(profile) + ": the classic protocol and this broker allow no other");
  }
  return session;
}

Result<milliseconds> choose_hang_limit(const TimingRequest& request, GroupProtocol protocol,
                                       milliseconds session) {
  const milliseconds least = least_hang_limit(protocol, session);
  if (request.hang_limit && *request.hang_limit < least) {
    return bad("`timing.hang_limit` " + text(*request.hang_limit) + " is below the " + text(least) +
               " that a session of " + text(session) + " needs with the " +
               std::string(to_string(protocol)) +
               " protocol; raise it or leave it out, or lower the session");
  }
  return request.hang_limit.value_or(least);
}

Result<milliseconds> exclusive_lease_for(const TimingRequest& request, const Timing& timing) {
  if (request.lease) {
    if (*request.lease + timing.clock_error >= timing.session) {
      return bad("exclusive mode needs lease + clock error < session, but " + text(*request.lease) +
                 " + " + text(timing.clock_error) + " >= " + text(timing.session) +
                 "; lower `timing.lease` or `timing.clock_error`, or raise the session");
    }
    return *request.lease;
  }
  // The profile's own session gives a shorter hand-over, if the one in force leaves room.
  const milliseconds profile_session = timing_of(request.profile).session;
  const milliseconds profile_error =
      request.clock_error.value_or(default_clock_error(profile_session));
  const milliseconds wanted = exclusive_lease(profile_session, profile_error);
  const milliseconds lease = wanted.count() > 0 && wanted + timing.clock_error < timing.session
                                 ? wanted
                                 : exclusive_lease(timing.session, timing.clock_error);
  if (lease.count() <= 0) {
    return bad("a session of " + text(timing.session) +
               " leaves no lease beside a clock error of " +
               text(timing.clock_error) + "; raise the session or lower `timing.clock_error`");
  }
  return lease;
}

Result<void> choose_non_exclusive(const TimingRequest& request, const SessionFacts& facts,
                                  Timing& timing) {
  const milliseconds profile_interval = timing_of(request.profile).interval;
  const auto bound = [&](milliseconds interval) {
    return non_exclusive_bound(timing.session, timing.heartbeat, interval, facts.protocol);
  };
  timing.lease = request.lease.value_or(
      std::max(3 * timing.session, bound(request.interval.value_or(profile_interval))));
  timing.interval = request.interval.value_or(std::min(profile_interval, timing.lease / 4));
  if (timing.lease < bound(timing.interval)) {
    // A longer lease has a longer interval, unless one was given: what is named here is enough.
    const milliseconds interval = request.interval.value_or(profile_interval);
    return bad("non-exclusive mode needs a lease of at least " + text(bound(interval)) +
               " (session " + text(timing.session) + " + heartbeat " + text(timing.heartbeat) +
               " + interval " + text(interval) + " + rebalance), but `timing.lease` is " +
               text(timing.lease) + "; raise `timing.lease` or lower the session");
  }
  return {};
}

// An option of the other variation, or mode, would be silently ignored.
Result<void> refuse_others_options(const TimingRequest& request) {
  const bool serves_on =
      request.variation == Variation::claimed && request.mode == Mode::non_exclusive;
  if (!serves_on && request.serve_stale.value_or(milliseconds{0}).count() > 0) {
    return bad("`timing.serve_stale` is of `variation` claimed in non-exclusive mode only: "
               "otherwise nobody leads beyond a lease; leave it out");
  }
  if (request.variation == Variation::broadcast) {
    if (!request.clock_error) return {};
    return bad(
        "`timing.clock_error` is between two brokers, which `variation` broadcast never compares; "
        "say `timing.local_clock_error`, between the broker and this machine");
  }
  if (!request.local_clock_error && request.groups == 1) return {};
  return bad(
      std::string(request.local_clock_error ? "`timing.local_clock_error`" : "`timing.groups`") +
      " is of `variation` broadcast only; leave it out, or choose that variation");
}

// The paper's: T above the session, or T + e below it.
Result<void> choose_broadcast(const TimingRequest& request, Timing& timing) {
  const milliseconds session = timing.session;
  const milliseconds e = request.local_clock_error.value_or(default_clock_error(session));
  timing.local_clock_error = e;
  timing.clock_error = milliseconds{0};
  const milliseconds profile_interval = timing_of(request.profile).interval;
  if (request.lease) {
    timing.lease = *request.lease;
  } else if (request.mode == Mode::exclusive) {
    // The profile's own session gives a shorter grace, if the one in force leaves room.
    const milliseconds wanted = exclusive_lease(timing_of(request.profile).session, e);
    timing.lease =
        wanted.count() > 0 && wanted + e < session ? wanted : exclusive_lease(session, e);
    if (timing.lease.count() <= 0) {
      return bad("a session of " + text(session) + " leaves no lease beside a local clock error "
                 "of " + text(e) + "; raise the session or lower `timing.local_clock_error`");
    }
  } else {
    timing.lease = std::max(
        3 * session, 4 * static_cast<int>(request.groups) * request.interval.value_or(
                                                                profile_interval));
  }
  timing.interval = request.interval.value_or(
      std::min(profile_interval, timing.lease / (4 * std::max(request.groups, 1U))));
  return check_broadcast_timing(request.mode, timing.lease, session, e, timing.interval,
                                request.groups);
}

}  // namespace

Result<void> check_broadcast_timing(Mode mode, milliseconds lease, milliseconds session,
                                    milliseconds local_clock_error, milliseconds interval,
                                    std::uint32_t groups) {
  if (groups == 0) return bad("groups 0: expected at least 1, the number that share the topic");
  if (local_clock_error.count() < 0 || local_clock_error > kLeaseMax) {
    return bad("local clock error " + text(local_clock_error) + ": expected 0 ms to " +
               text(kLeaseMax));
  }
  if (mode == Mode::exclusive && lease + local_clock_error >= session) {
    return bad("exclusive broadcast needs lease + local clock error < session, but " +
               text(lease) + " + " + text(local_clock_error) + " >= " + text(session) +
               "; lower `timing.lease` or `timing.local_clock_error`, or raise the session");
  }
  if (mode == Mode::non_exclusive && lease <= session) {
    return bad("non-exclusive broadcast needs lease > session, but " + text(lease) + " <= " +
               text(session) + "; raise `timing.lease` or lower the session");
  }
  const milliseconds beat = interval * groups;
  if (beat.count() <= 0 || beat > lease / 3) {
    return bad("3 x interval x groups must not exceed the lease, but 3 x " + text(interval) +
               " x " + std::to_string(groups) + " = " + text(3 * beat) + " > " + text(lease) +
               "; lower `timing.interval` or raise `timing.lease`");
  }
  return {};
}

std::string_view to_string(GroupProtocol protocol) noexcept {
  return protocol == GroupProtocol::classic ? "classic" : "consumer";
}

std::string_view to_string(Profile profile) noexcept {
  switch (profile) {
    case Profile::fast:
      return "fast";
    case Profile::balanced:
      return "balanced";
    case Profile::steady:
      return "steady";
  }
  return "";
}

std::optional<Profile> parse_profile(std::string_view text) noexcept {
  for (const Profile profile : {Profile::fast, Profile::balanced, Profile::steady}) {
    if (to_string(profile) == text) return profile;
  }
  return std::nullopt;
}

ProfileTiming timing_of(Profile profile) noexcept {
  switch (profile) {
    case Profile::fast:
      return {milliseconds{100}, milliseconds{500}};
    case Profile::balanced:
      return {milliseconds{500}, milliseconds{3000}};
    case Profile::steady:
      break;
  }
  return {milliseconds{2000}, milliseconds{10000}};
}

milliseconds least_hang_limit(GroupProtocol protocol, milliseconds session) noexcept {
  return protocol == GroupProtocol::consumer ? std::max(session / 2, milliseconds{1000})
                                             : std::max(session, kClassicSessionMin);
}

namespace {

// The bounds that both sources of assignments share, and the exclusive lease.
Result<Timing> finish(const TimingRequest& request, const SessionFacts& facts, Timing timing) {
  const bool assigner = request.assignment == Assignment::assigner;
  timing.clock_error = request.clock_error.value_or(default_clock_error(timing.session));
  if (request.variation == Variation::broadcast) {
    if (auto chosen = choose_broadcast(request, timing); !chosen) return chosen.error();
  } else if (request.mode == Mode::exclusive) {
    const auto lease = exclusive_lease_for(request, timing);
    if (!lease) return lease.error();
    timing.lease = *lease;
    timing.interval = request.interval.value_or(
        std::min(assigner ? timing.interval : timing_of(request.profile).interval,
                 timing.lease / 4));
  } else if (!assigner) {
    if (auto chosen = choose_non_exclusive(request, facts, timing); !chosen) return chosen.error();
  }
  if (timing.lease > kLeaseMax) {
    return bad("a lease of " + text(timing.lease) + " is above the limit of " + text(kLeaseMax) +
               "; lower `timing.lease`, or the session it follows from");
  }
  if (timing.interval.count() <= 0) {
    return bad("a lease of " + text(timing.lease) +
               " is too short to be renewed within a quarter of it; raise `timing.lease`");
  }
  if (3 * timing.interval > timing.lease) {
    return bad("3 x interval must not exceed the lease, but 3 x " + text(timing.interval) + " = " +
               text(3 * timing.interval) + " > " + text(timing.lease) +
               "; lower `timing.interval` or raise `timing.lease`");
  }
  if (request.variation == Variation::claimed && request.mode == Mode::non_exclusive) {
    timing.serve_stale = request.serve_stale.value_or(kServeStaleDefault);
  }
  timing.drain = assigner ? drain_beside_assigner(request.mode, timing)
                          : std::min(timing.lease + timing.session, kDrainMost);
  return timing;
}

}  // namespace

Result<Timing> derive_timing(const TimingRequest& request, const SessionFacts& facts) {
  if (auto sane = refuse_absurd(request); !sane) return sane.error();
  if (auto fits = refuse_others_options(request); !fits) return fits.error();
  Timing timing;
  if (request.assignment == Assignment::assigner) {
    const auto session = own_session(request);
    if (!session) return session.error();
    timing.session = timing.hang_limit = *session;
    if (auto chosen = choose_with_assigner(request, timing); !chosen) return chosen.error();
    return finish(request, facts, std::move(timing));
  }
  const auto session = session_in_force(request, facts, timing.warnings);
  if (!session) return session.error();
  timing.session = *session;
  timing.heartbeat = facts.heartbeat.value_or(std::max(timing.session / 10, milliseconds{1}));
  const auto hang_limit = choose_hang_limit(request, facts.protocol, timing.session);
  if (!hang_limit) return hang_limit.error();
  timing.hang_limit = *hang_limit;
  return finish(request, facts, std::move(timing));
}

Timing watcher_timing(const TimingRequest& request) {
  SessionFacts facts;
  facts.protocol = GroupProtocol::consumer;
  TimingRequest defaults = request;
  defaults.session.reset();
  defaults.hang_limit.reset();
  const milliseconds assumed = request.lease.value_or(milliseconds{0});
  if (assumed < kAssumedLeaseMin) defaults.lease.reset();
  if (auto timing = derive_timing(defaults, facts)) return *timing;
  defaults.lease.reset();
  defaults.interval.reset();
  defaults.clock_error.reset();
  defaults.local_clock_error.reset();
  defaults.groups = 1;
  Timing timing = *derive_timing(defaults, facts);
  // What it assumes of others need not fit a group that it is no member of.
  if (assumed >= kAssumedLeaseMin && assumed <= kLeaseMax) timing.lease = assumed;
  return timing;
}

}  // namespace neliroute
