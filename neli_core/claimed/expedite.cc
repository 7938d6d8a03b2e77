#include "neli_core/claimed/expedite.h"

#include <algorithm>
#include <iterator>

namespace neliroute {
namespace {

// The pauses before the heartbeat is sent early again, while no assignment comes.
constexpr std::array<milliseconds, 3> kAgain{milliseconds{50}, milliseconds{100},
                                             milliseconds{200}};

}  // namespace

std::size_t ExpeditePacing::asked_lately(LocalTime now) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(asked_.begin(), asked_.end(), [&](LocalTime asked) {
        return asked != kLongAgo && now < later(asked, heartbeat_);
      }));
}

void ExpeditePacing::begin(LocalTime now) noexcept {
  if (heartbeat_ <= kSoonEnough) return;
  repeated_ = 0;
  until_ = later(now, heartbeat_);
  const std::size_t lately = asked_lately(now);
  LocalTime at = now;
  if (lately > 0) {
    const LocalTime last = *std::max_element(asked_.begin(), asked_.end());
    const auto apart = std::max<microseconds>(
        kAgain.front(), microseconds{heartbeat_} * static_cast<int>(lately) / 64);
    at = std::max(at, later(last, apart));
  }
  if (due_ > now) due_ = at;  // and not with the repetition of an older one
}

bool ExpeditePacing::take(LocalTime now, milliseconds spread) noexcept {
  if (now < due_) return false;
  due_ = kNever;
  if (asked_lately(now) == kMost) {
    const LocalTime next = later(asked_[oldest_], heartbeat_);
    if (next < until_) due_ = next;
    return false;
  }
  asked_[oldest_] = now;
  oldest_ = (oldest_ + 1) % kMost;
  if (repeated_ < kAgain.size()) {
    const LocalTime again = later(now, spread + kAgain[repeated_++]);
    if (again < until_) due_ = again;
  }
  return true;
}

bool LaneMembers::note(const Record& record, milliseconds lease, LocalTime read) {
  if (record.id == kNobody) return true;
  const auto [at, fresh] = seen_.try_emplace(record.id);
  Seen& seen = at->second;
  const bool known = !fresh && read < seen.live_until;
  seen.read = read;
  seen.live_until = later(read, lease);
  // Its records in several logs are not read in the order in which it wrote them.
  if (record.seq >= seen.seq && record.type != RecordType::claim) {
    seen.seq = record.seq;
    seen.giving_up = record.type == RecordType::release ||
                     (record.leading.empty() && !record.draining.empty());
  } else if (record.seq >= seen.seq) {
    seen.seq = record.seq;
    seen.giving_up = false;
  }
  if (seen_.size() > forget_at_) forget(read);
  return known;
}

void LaneMembers::forget(LocalTime now) {
  for (auto it = seen_.begin(); it != seen_.end();) {
    it = it->second.live_until <= now ? seen_.erase(it) : std::next(it);
  }
  forget_at_ = std::max<std::size_t>(64, 2 * seen_.size());
}

std::uint32_t LaneMembers::living(LocalTime now) const {
  return static_cast<std::uint32_t>(
      std::count_if(seen_.begin(), seen_.end(),
                    [&](const auto& entry) { return now < entry.second.live_until; }));
}

std::uint32_t LaneMembers::staying(LocalTime since) const {
  return static_cast<std::uint32_t>(
      std::count_if(seen_.begin(), seen_.end(), [&](const auto& entry) {
        return entry.second.read >= since && !entry.second.giving_up;
      }));
}

}  // namespace neliroute
