#include "neli_core/log/flow.h"

#include <algorithm>
#include <neliroute/detail/assert.h>
#include <utility>

#include "neli_core/mutation.h"

namespace neliroute {
namespace {

// Processes of one lane normally have one session and one lease. What cannot be an honest lane is
// bounded: each record advances every clock.
constexpr std::size_t kClocksMax = 64;
// With gaps again and again, nobody is given more than so many times its silence.
constexpr int kSilencesAtMost = 3;

}  // namespace

void Flow::read(microseconds stamp) {
  const bool lost = std::exchange(lost_, false);
  const auto last = std::exchange(last_, stamp);
  const microseconds step = last ? std::max(stamp - *last, microseconds{0}) : microseconds{0};
  total_ += std::min<microseconds>(step, kLeaseMax);
  for (auto& [cap, clock] : clocks_) {
    clock.at += std::min<microseconds>(step, cap);
    if (!lost && step <= cap) continue;
    clock.gap_end = clock.at;
    ++clock.gaps;
  }
}

Flow::Mark Flow::mark(milliseconds silence) {
  const milliseconds wanted = std::min(silence / 2, kLeaseMax);
  auto at = clocks_.find(wanted);
  if (at == clocks_.end() && clocks_.size() < kClocksMax) at = clocks_.try_emplace(wanted).first;
  if (at == clocks_.end()) {  // a shorter one flows less: nobody is dead too soon
    at = clocks_.upper_bound(wanted);
    if (at != clocks_.begin()) --at;
  }
  return {at->first, at->second.at, at->second.gaps};
}

const Flow::Clock& Flow::clock_of(const Mark& mark) const {
  const auto at = clocks_.find(mark.cap);
  NELIROUTE_ASSERT(at != clocks_.end(), "a mark is of a clock that is kept");
  return at->second;
}

microseconds Flow::since(const Mark& mark) const { return clock_of(mark).at - mark.at; }

std::optional<microseconds> Flow::since_gap(const Mark& mark) const {
  const Clock& clock = clock_of(mark);
  if (clock.gaps == mark.gaps) return std::nullopt;
  return clock.at - clock.gap_end;
}

std::uint64_t Flow::gaps(milliseconds silence) const {
  const auto at = clocks_.find(std::min(silence / 2, kLeaseMax));
  return at == clocks_.end() ? 0 : at->second.gaps;
}

microseconds Flow::until_silent(const Mark& mark, milliseconds silence) const {
  const microseconds flowed = since(mark);
  microseconds left = silence - flowed;
  if (const auto since_return = since_gap(mark)) {
    const microseconds to_most = kSilencesAtMost * silence - flowed;
    const microseconds anew = silence - *since_return;
    if (mutated(Mutation::gaps_ignored)) return std::max(left, microseconds{0});
    left = std::max(left, mutated(Mutation::gaps_without_end) ? anew : std::min(anew, to_most));
  }
  return std::max(left, microseconds{0});
}

}  // namespace neliroute
