// How a record is judged before anything that it says counts: whether it is of this lane, whether
// the epochs that it names can be, and what it tells of incarnations and settings. Everybody judges
// alike: the state machines of both variations, the Directory, the Meter and the Auditor.
//
// Threads: pure functions, any.   Units: broker milliseconds.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>

#include "neli_core/record/record.h"

namespace neliroute {

enum class Judgement {
  heeded,            ///< of this lane, and what it names can be
  other_lane,        ///< its incarnations and its settings count, and nothing else
  impossible_epoch,  ///< of this lane, but names an epoch that cannot be: nobody believes it
};
[[nodiscard]] Judgement judge(const Record& record, BrokerTime stamped, Lane lane) noexcept;

/// What a record that was judged so tells of the greatest incarnation in its log; 0: nothing that
/// is believed. What a claim of this lane makes of it, claim_epoch() says.
[[nodiscard]] std::int64_t incarnation_told(const Record& record, Judgement judged,
                                            BrokerTime stamped, std::int64_t offset) noexcept;

/// The epoch that a claim makes: a pure function of the record and where it stands. Its incarnation
/// is the later of the written one and the record's own broker time, so that it outranks what was
/// led before by whoever is gone, and of whom the claimant read nothing.
[[nodiscard]] Epoch claim_epoch(const Record& record, BrokerTime stamped,
                                std::int64_t offset) noexcept;

/// Null: they cannot be read, or are of another version, which may mean something else by them.
[[nodiscard]] const Settings* readable_settings(const Record& record) noexcept;
/// Who leads says which rules its lane plays by. Null: it does not lead. Who only claims may have
/// them wrong, and will refuse.
[[nodiscard]] const Settings* settings_in_force(const Record& record) noexcept;

// --- Incarnations --------------------------------------------------------------------------------

/// 139 years of milliseconds.
inline constexpr std::int64_t kIncarnationAhead = std::int64_t{1} << 42;
/// The greatest incarnation that a record of this broker time may name. Broker times are where
/// incarnations come from, and they grow by one now and then: one that is a lifetime ahead is a
/// mistake, and believing it would leave no room above it.
[[nodiscard]] std::int64_t incarnation_limit(BrokerTime stamped) noexcept;
/// The greatest incarnation of those that it names, and its own.
[[nodiscard]] std::int64_t greatest_named_incarnation(const Record& record) noexcept;
/// Whether the epochs that it names can be: a claim's is made where it stands, see claim_epoch().
[[nodiscard]] bool names_possible_epochs(const Record& record, BrokerTime stamped) noexcept;
/// The greatest incarnation that it knows of and that can be; 0: none.
[[nodiscard]] std::int64_t greatest_incarnation_in(const Record& record,
                                                   BrokerTime stamped) noexcept;
/// One that outranks `incarnation`, where there is one: at the limit, the offset decides alone.
[[nodiscard]] constexpr std::int64_t next_incarnation(std::int64_t incarnation) noexcept {
  return incarnation < kIncarnationMax ? incarnation + 1 : kIncarnationMax;
}

}  // namespace neliroute
