#include "quorum/follower.h"

#include <algorithm>

namespace neliroute::quorum {

void Follower::sent(std::uint64_t round, LocalTime now, Index next) {
  const bool loaded = next > next_;
  next_ = next;
  newest_ = round;
  loaded_ += loaded ? 1 : 0;
  sent_.emplace(round, Sent{now, loaded});
  if (sent_.size() > kRemembered) {  // what has entries is few, and waits for its answer
    sent_.erase(std::ranges::find_if(sent_, [](const auto& one) { return !one.second.loaded; }));
  }
}

void Follower::answered_to(std::uint64_t round) {
  const auto found = sent_.find(round);
  if (found == sent_.end()) {
    return;
  }
  answered_ = std::max(answered_, found->second.at);
  const auto later = std::next(found);
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
  next_ = std::max(matched_, std::min(next_, end));
  for (auto& [_, sent] : sent_) {
    sent.loaded = false;
  }
  loaded_ = 0;
}

}  // namespace neliroute::quorum
