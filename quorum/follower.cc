#include "quorum/follower.h"

#include <algorithm>

namespace neliroute::quorum {

void Follower::sent(std::uint64_t round, LocalTime now, Index next, bool loaded) {
  next_ = next;
  newest_ = round;
  if (loaded || sent_.size() < kRemembered) {
    loaded_ += loaded ? 1 : 0;
    sent_.emplace(round, Sent{now, loaded});
  }
}

/// It was sent no earlier than the newest one that is remembered and not above it.
void Follower::answered_to(std::uint64_t round) {
  const auto later = sent_.upper_bound(round);
  if (round > newest_ || later == sent_.begin()) {
    return;
  }
  answered_ = std::max(answered_, std::prev(later)->second.at);
  for (auto it = sent_.begin(); it != later;) {
    loaded_ -= it->second.loaded ? 1 : 0;
    it = sent_.erase(it);
  }
}

void Follower::stored(Index end, std::uint64_t round) {
  answered_to(round);
  matched_ = std::max(matched_, end);
  next_ = std::max(next_, matched_);
}

void Follower::behind(Index end, std::uint64_t round) {
  answered_to(round);
  if (round <= restarted_in_) {
    return;
  }
  restarted_in_ = newest_;
  next_ = std::min(next_, end);
  for (auto& [_, sent] : sent_) {
    sent.loaded = false;
  }
  loaded_ = 0;
}

}  // namespace neliroute::quorum
