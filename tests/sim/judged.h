// How much of each kind was judged: a run that judged nothing proves nothing.
//
// Threads: values.   Units: times; led_seconds in seconds.   Errors: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace neliroute::sim {

enum class Judged : std::uint8_t {
  led_seconds,       ///< partition-seconds in which somebody led
  acquisitions,      ///< epochs compared with the ones before
  barriers,          ///< that kept a partition occupied when they began
  planned_gaps,      ///< unowned, and nothing but planned moves before
  disturbed_gaps,    ///< unowned after a fault
  crash_gaps,        ///< of these, where a member assigns and nothing but crashes was wrong
  local_answers,     ///< lookups, by verdict
  remote_answers,
  unowned_answers,
  unknown_answers,
  writes_taken,      ///< by the fenced store
  writes_refused,
  late_writes,       ///< of an ownership that was over when they came
  agreements,        ///< of two members on who is dead
  sick_gaps,         ///< beside a member that is sick for ever
  preferences,       ///< who took a free seat, compared with all that were well
  overrides,         ///< lanes whose owners were compared with their overrides
  requests_served,   ///< of callers with old hints
  requests_redirected,
  requests_waiting,
  requests_refused,  ///< sent on too often
  audited,           ///< ownerships that the auditor found in the logs
  two_leaders,       ///< a lease while another leads, where an assumption does not hold
  beyond,            ///< all that broke where an assumption does not hold
};
inline constexpr std::size_t kJudgedCount = static_cast<std::size_t>(Judged::beyond) + 1;

using JudgedCounts = std::array<std::uint64_t, kJudgedCount>;

[[nodiscard]] constexpr std::string_view to_string(Judged what) noexcept {
  constexpr std::array<std::string_view, kJudgedCount> kNames{
      "led_seconds",     "acquisitions",    "barriers",     "planned_gaps",
      "disturbed_gaps",  "crash_gaps",      "local_answers",   "remote_answers", "unowned_answers",
      "unknown_answers", "writes_taken",    "writes_refused", "late_writes",
      "agreements",      "sick_gaps",       "preferences",     "overrides",
      "requests_served", "requests_redirected", "requests_waiting", "requests_refused", "audited",
      "two_leaders", "beyond"};
  return kNames[static_cast<std::size_t>(what)];
}

}  // namespace neliroute::sim
