// How a record is judged before its contents count: whether it is of this lane, whether the epochs
// that it names are possible, and what it says of incarnations and settings. All judge alike: the
// state machines of both variations, the Directory, the Meter and the Auditor.
//
// Threads: pure functions, any.   Units: broker milliseconds.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <optional>

#include "neli_core/record/record.h"

namespace neliroute {

enum class Judgement {
  heeded,            ///< of this lane, and what it names is possible
  other_lane,        ///< its incarnations and its settings count, and nothing else
  impossible_epoch,  ///< of this lane, but names an impossible epoch: nobody believes it
};
[[nodiscard]] Judgement judge(const Record& record, BrokerTime stamped, Lane lane) noexcept;

/// The greatest incarnation in its log that a record with this judgement states; 0: none that is
/// believed. For the epoch of a claim of this lane, see claim_epoch().
[[nodiscard]] std::int64_t incarnation_told(const Record& record, Judgement judged,
                                            BrokerTime stamped, std::int64_t offset) noexcept;

/// The epoch that a claim makes: a pure function of the record and its place. Its incarnation is
/// the later of the written one and the record's own broker time, so it outranks epochs led earlier
/// by processes that are gone and of which the claimant read nothing.
[[nodiscard]] Epoch claim_epoch(const Record& record, BrokerTime stamped,
                                std::int64_t offset) noexcept;

/// Null: they cannot be read, or are of another version, in which they may mean something else.
[[nodiscard]] const Settings* readable_settings(const Record& record) noexcept;
/// A process that leads states its lane's rules. Null: it does not lead. A process that only claims
/// may have them wrong, and will refuse to go on.
[[nodiscard]] const Settings* settings_in_force(const Record& record) noexcept;

/// Whether it says only that its writer has joined, or lives: a renewal that names no epoch.
[[nodiscard]] bool is_greeting(const Record& record) noexcept;
/// Since when its writer takes part, as its first record but greetings says (`since`). Before the
/// writer has read that record back, it cannot say so: then this record may be that one. No value:
/// it has only greeted.
[[nodiscard]] std::optional<std::int64_t> since_told(const Record& record,
                                                     BrokerTime stamped) noexcept;

// --- Incarnations --------------------------------------------------------------------------------

/// 139 years of milliseconds.
inline constexpr std::int64_t kIncarnationAhead = std::int64_t{1} << 42;
/// The greatest incarnation that a record of this broker time may name. Incarnations are made from
/// broker times, and rise by one now and then: one that is a lifetime ahead is a mistake, and
/// believing it would leave no room above it.
[[nodiscard]] std::int64_t incarnation_limit(BrokerTime stamped) noexcept;
/// The greatest incarnation of those that it names, and its own.
[[nodiscard]] std::int64_t greatest_named_incarnation(const Record& record) noexcept;
/// Whether the epochs that it names are possible: a claim's is made where it is, see claim_epoch().
[[nodiscard]] bool names_possible_epochs(const Record& record, BrokerTime stamped) noexcept;
/// The greatest possible incarnation that it knows of; 0: none.
[[nodiscard]] std::int64_t greatest_incarnation_in(const Record& record,
                                                   BrokerTime stamped) noexcept;
/// One that outranks `incarnation`, if there is one: at the limit, the offset alone decides.
[[nodiscard]] constexpr std::int64_t next_incarnation(std::int64_t incarnation) noexcept {
  return incarnation < kIncarnationMax ? incarnation + 1 : kIncarnationMax;
}

}  // namespace neliroute
