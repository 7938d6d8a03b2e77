#include "neli_core/claimed/epoch_history.h"

#include <algorithm>
#include <tuple>

namespace neliroute {

const EpochHistory::Known* EpochHistory::find(const Epoch& epoch) const noexcept {
  for (const Known& known : foreign_) {
    if (known.epoch == epoch) return &known;
  }
  return nullptr;
}

bool EpochHistory::claim_was_read(const Epoch& epoch) const noexcept {
  if (newest_ && newest_->epoch == epoch) return true;
  // A record may name a folded epoch again; it gets a new entry then.
  if (const Known* known = find(epoch); known != nullptr && known->claim_read) return true;
  return last_folded_claim_ != kNoEpoch && first_folded_claim_ <= epoch &&
         epoch <= last_folded_claim_;
}

// A released epoch blocks nobody; otherwise the oldest is the first to stop blocking. The newest
// stays: rule 9 needs its state.
void EpochHistory::make_room() {
  if (foreign_.size() < kKnownMax) return;
  const auto goes_before = [this](const Known& a, const Known& b) {
    const auto rank = [this](const Known& known) {
      const bool newest = newest_ && newest_->epoch == known.epoch;
      return std::tuple(newest, known.released_at == kNever, known.epoch);
    };
    return rank(a) < rank(b);
  };
  const auto oldest = std::min_element(foreign_.begin(), foreign_.end(), goes_before);
  fold(*oldest);
  foreign_.erase(oldest);
}

void EpochHistory::fold(const Known& known) {
  if (known.claim_read) {
    const bool none = last_folded_claim_ == kNoEpoch;
    first_folded_claim_ = none ? known.epoch : std::min(first_folded_claim_, known.epoch);
    last_folded_claim_ = std::max(last_folded_claim_, known.epoch);
  }
  if (known.released_at != kNever) return;
  if (!folded_) {
    folded_ = known;
    folded_->id = kNobody;
    folded_->claim_read = false;
    return;
  }
  folded_->epoch = std::max(folded_->epoch, known.epoch);
  folded_->last_read = std::max(folded_->last_read, known.last_read);
  folded_->over_at = std::max(folded_->over_at, known.over_at);
  folded_->exclusive = folded_->exclusive || known.exclusive;
  // Broker time decides only if it can for all of them.
  if (folded_->over_stamp && known.over_stamp) {
    folded_->over_stamp = std::max(*folded_->over_stamp, *known.over_stamp);
  } else {
    folded_->over_stamp.reset();
  }
}

EpochHistory::Known& EpochHistory::entry(const Epoch& epoch, ProcessId id,
                                         const Reading& reading) {
  greatest_ = std::max(greatest_, epoch);
  Known* known = const_cast<Known*>(find(epoch));
  const bool first = known == nullptr;
  if (first) {
    make_room();
    foreign_.push_back({});
    known = &foreign_.back();
    known->epoch = epoch;
    known->id = id;
  }
  known->last_read = reading.read;
  known->exclusive = known->exclusive || reading.exclusive;
  known->over_at = std::max(known->over_at, later(reading.read, with_drift(reading.lease)));
  if (!reading.history_stamp) {
    known->over_stamp.reset();
  } else if (first) {
    known->over_stamp = *reading.history_stamp + reading.lease;
  } else if (known->over_stamp) {
    known->over_stamp = std::max(*known->over_stamp, *reading.history_stamp + reading.lease);
  }
  return *known;
}

void EpochHistory::own_claim(const Epoch& epoch, ProcessId own) {
  greatest_ = std::max(greatest_, epoch);
  newest_ = Newest{epoch, own, newest_ ? newest_->id : kNobody};
}

void EpochHistory::foreign_claim(const Epoch& epoch, ProcessId id, const Reading& reading) {
  Known& known = entry(epoch, id, reading);
  known.claim_read = true;
  // An epoch belongs to the process of its claim. Others had no right to say anything of it before.
  if (known.id != id) known.released_at = kNever;
  known.id = id;
  newest_ = Newest{epoch, id, newest_ ? newest_->id : kNobody};
}

void EpochHistory::renewal(const Epoch& epoch, ProcessId id, bool draining,
                           const Reading& reading) {
  Known& known = entry(epoch, id, reading);
  // Two processes name this epoch as theirs, and its claim was not read: neither can release it.
  if (!known.claim_read && known.id != id) {
    known.id = kNobody;
    known.released_at = kNever;
  }
  if (!draining) {
    known.draining_since = kNever;
  } else if (known.draining_since == kNever) {
    known.draining_since = reading.read;
  }
}

bool EpochHistory::release(const Epoch& epoch, ProcessId id, const Reading& reading) {
  Known* known = const_cast<Known*>(find(epoch));
  if (known == nullptr) {
    // Its claim is before the tail's start. Kept, so that its late renewals count for nothing.
    known = &entry(epoch, id, reading);
  }
  if (known->id != id || id == kNobody) return false;
  known->released_at = std::min(known->released_at, reading.read);
  return true;
}

void EpochHistory::gap() noexcept {
  newest_.reset();
  for (Known& known : foreign_) {
    known.over_stamp.reset();
    known.claim_read = false;
  }
  if (folded_) folded_->over_stamp.reset();
  first_folded_claim_ = last_folded_claim_ = kNoEpoch;
}

void EpochHistory::forget(LocalTime now, const Epoch& keep_above) {
  const auto gone = [&](const Known& known) {
    if (newest_ && known.epoch == newest_->epoch) return false;
    if (known.epoch > keep_above) return false;
    return known.over_at <= now;  // released ones stay until then, to outlive late renewals
  };
  foreign_.erase(std::remove_if(foreign_.begin(), foreign_.end(), gone), foreign_.end());
  if (folded_ && folded_->over_at <= now) folded_.reset();
  if (last_folded_claim_ <= keep_above) first_folded_claim_ = last_folded_claim_ = kNoEpoch;
}

}  // namespace neliroute
