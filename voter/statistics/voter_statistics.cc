#include "voter/statistics/voter_statistics.h"

#include <algorithm>
#include <chrono>

namespace neliroute {
namespace {

/// A machine that is busy is not taken for a voter that hangs.
constexpr milliseconds kHangs{30'000};

constexpr const char* kStopped = "this voter has stopped, as its disk failed";

}  // namespace

std::string lacks(const VoterStatistics& voter) {
  if (voter.ended) return kStopped;
  const auto among = [&](const auto& lacks_it) {
    const auto first = std::ranges::find_if(voter.logs, lacks_it);
    if (first == voter.logs.end()) return std::string();
    const auto count = std::ranges::count_if(voter.logs, lacks_it);
    return "log " + std::to_string(first - voter.logs.begin()) +
           (count > 1 ? " and " + std::to_string(count - 1) + " more" : "");
  };
  if (const auto logs = among([](const LogStatistics& log) { return !log.is_led; });
      !logs.empty()) {
    return "this voter knows no leader of " + logs +
           ": more than half of the voters must run and reach each other";
  }
  if (const auto logs = among([](const LogStatistics& log) { return !log.counts; });
      !logs.empty()) {
    return "this voter's vote does not count in the election of the leader of " + logs +
           ": it must copy the log first, and be in the list of most voters";
  }
  return {};
}

std::string trouble_of(const VoterStatistics& voter, LocalTime now) {
  if (voter.ended) return kStopped;
  const auto idle = now - voter.worked_at.load();
  if (idle < 2 * voter.election + kHangs) return {};
  return "this voter has done nothing for " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(idle).count()) + " s";
}

}  // namespace neliroute
