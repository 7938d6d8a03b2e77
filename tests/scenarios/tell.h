// Times, epochs, records and transitions in the words in which a story tells them.
//
// Times count from the story's start, in milliseconds; so does the incarnation of an epoch, by the
// broker's clock. An epoch {incarnation, offset} is told as incarnation#offset.
//
// Threads: pure functions, any.   Units: milliseconds in text.   Errors: none.
#pragma once

#include <functional>
#include <neliroute/time.h>
#include <string>
#include <vector>

#include "neli_core/ready.h"
#include "neli_core/record/record.h"

namespace neliroute::scenario {

/// Where the rig's clocks stand when a story begins.
inline constexpr LocalTime kStoryBegins{milliseconds{10'000}};
inline constexpr std::int64_t kStoryBeginsAtBroker = 1'700'000'010'000;

/// "1500", or "2252.251" where it is not a whole millisecond.
[[nodiscard]] std::string text_of(LocalTime time);
[[nodiscard]] std::string text_of(const Epoch& epoch);
[[nodiscard]] std::string text_of(milliseconds duration);
/// What a record says, without its writer: "claim 0-3", "renewal of #0, leading 0-1, looking 2".
[[nodiscard]] std::string text_of(const Record& record, const LogPlace& place);
/// The same of a seat claim, an assignment, a leave. `name`: of a process.
[[nodiscard]] std::string text_of(const AssignmentRecord& record,
                                  const std::function<std::string(ProcessId)>& name);
/// One line for all transitions that differ in their partition only.
[[nodiscard]] std::vector<std::string> lines_of(const std::vector<Transition>& transitions,
                                                LocalTime now);

/// `     500      a  leads`: when, who, what.
[[nodiscard]] std::string event_line(LocalTime now, const std::string& who,
                                     const std::string& what);

}  // namespace neliroute::scenario
