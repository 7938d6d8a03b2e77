#include "voter/statistics/voter_statistics.h"

#include <chrono>

namespace neliroute {
namespace {

/// A machine that is busy is not taken for a voter that hangs.
constexpr milliseconds kHangs{30'000};

constexpr const char* kStopped = "this voter has stopped, as its disk failed";

}  // namespace

std::string lacks(const VoterStatistics& voter) {
  if (voter.ended) return kStopped;
  std::size_t leaderless = 0;
  std::size_t one = 0;
  for (std::size_t log = 0; log < voter.logs.size(); ++log) {
    if (voter.logs[log].is_led) continue;
    if (leaderless++ == 0) one = log;
  }
  if (leaderless == 0) return {};
  std::string said = "this voter knows no leader of log " + std::to_string(one);
  if (leaderless > 1) said += " and of " + std::to_string(leaderless - 1) + " more";
  return said + ": more than half of the voters must run and reach each other";
}

std::string trouble_of(const VoterStatistics& voter, LocalTime now) {
  if (voter.ended) return kStopped;
  const auto idle = now - voter.worked_at.load();
  if (idle < 2 * voter.election + kHangs) return {};
  return "this voter has done nothing for " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(idle).count()) + " s";
}

}  // namespace neliroute
