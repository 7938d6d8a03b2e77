#include "neli_core/epoch_history.h"

#include <algorithm>

namespace neliroute {

const EpochHistory::Known* EpochHistory::find(const Epoch& epoch) const noexcept {
  for (const Known& known : foreign_) {
    if (known.epoch == epoch) return &known;
  }
  return nullptr;
}

bool EpochHistory::claim_was_read(const Epoch& epoch) const noexcept {
  if (newest_ && newest_->epoch == epoch) return true;
  const Known* known = find(epoch);
  return known != nullptr && known->claim_read;
}

EpochHistory::Known& EpochHistory::entry(const Epoch& epoch, ProcessId id,
                                         const Reading& reading) {
  greatest_ = std::max(greatest_, epoch);
  Known* known = const_cast<Known*>(find(epoch));
  const bool first = known == nullptr;
  if (first) {
    foreign_.push_back({});
    known = &foreign_.back();
    known->epoch = epoch;
    known->id = id;
  }
  known->last_read = reading.read;
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
  // Its claim tells whose an epoch is. What others said of it before was not theirs to say.
  if (known.id != id) known.released_at = kNever;
  known.id = id;
  newest_ = Newest{epoch, id, newest_ ? newest_->id : kNobody};
}

void EpochHistory::renewal(const Epoch& epoch, ProcessId id, bool draining,
                           const Reading& reading) {
  Known& known = entry(epoch, id, reading);
  // Two speak for one epoch and its claim was not read: neither can release it.
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
    // Its claim lies below the tail's start. Kept, so that its late renewals count for nothing.
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
}

void EpochHistory::forget(LocalTime now, const Epoch& keep_above) {
  const auto gone = [&](const Known& known) {
    if (newest_ && known.epoch == newest_->epoch) return false;
    if (known.epoch > keep_above) return false;
    return known.over_at <= now;  // released ones stay until then, to outlive late renewals
  };
  foreign_.erase(std::remove_if(foreign_.begin(), foreign_.end(), gone), foreign_.end());
}

}  // namespace neliroute
