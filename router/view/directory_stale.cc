// What a directory makes of an owner that it hears nothing of ("Serving on" of docs/protocol.md).
//
// If its log is silent for everybody, it may well live and serve on. If others go on writing to a
// log in which it wrote, it is gone. So a hint whose lease is over is stale, until a log in which
// its owner renews has flowed for its lease without it.
#include <algorithm>
#include <utility>

#include "router/view/directory.h"

namespace neliroute {
namespace {

// How often what is stale is looked at, at most, however short the lease that a record states.
constexpr milliseconds kLookLeast{10};

}  // namespace

// Of records of this lane, by the broker's time if that is believed.
void Directory::read_flow(const Received& event, const Record* record, LocalTime now) {
  if (options_.serve_stale.count() == 0) return;
  const auto* assignment = std::get_if<AssignmentRecord>(event.value);
  const bool of_lane = record != nullptr       ? record->lane == options_.lane
                       : assignment != nullptr ? assignment->lane == options_.lane
                                               : false;
  if (!of_lane) return;
  const bool stamped = options_.believe_broker_time && event.store_stamped;
  logs_[event.log.value()].flow.read(stamped ? microseconds{event.stamped.time_since_epoch()}
                                             : now.time_since_epoch());
  drop_gone(now);
}

// A process that gave up what it held in a log writes there no more, and lives all the same.
void Directory::note_written(const Received& event, const Record& record) {
  if (options_.serve_stale.count() == 0) return;
  const auto known = peers_.find(record.id);
  if (known == peers_.end()) return;
  KnownPeer& peer = known->second;
  peer.lease = record.lease.value_or(lease_bound());
  const bool holds = !record.epochs.empty() || record.member;
  if (record.type != RecordType::claim && !(record.type == RecordType::renewal && holds)) {
    peer.wrote.erase(event.log);
    return;
  }
  if (record.member) peer.leaving = record.member->leaving;
  peer.wrote[event.log] = logs_[event.log.value()].flow.mark(peer.lease);
}

bool Directory::is_gone(ProcessId id) const {
  const auto known = peers_.find(id);
  if (known == peers_.end()) return true;
  const KnownPeer& peer = known->second;
  return peer.leaving || std::any_of(peer.wrote.begin(), peer.wrote.end(), [&](const auto& one) {
    return logs_[one.first.value()].flow.until_silent(one.second, peer.lease).count() == 0;
  });
}

// A hint's lease is about to end, or is over. `slept`: since this was called last.
void Directory::look_at(Partition partition, microseconds slept, LocalTime now) {
  Hint& hint = hints_[partition.value()];
  const bool goes_on = hint.stale_until > std::max(hint.lease_until, now) &&
                       !is_gone(hint.owner->id);
  const bool over = hint.stale || now >= hint.lease_until;
  if (goes_on && slept <= hint.lease) {
    if (over) return become_stale(partition, now);
    hint.until = std::min(later(now, hint.lease), hint.stale_until);
    renewed_.push_back(partition);
  }
  if (!over) return expiries_.set(partition, hint.lease_until);
  // Who slept for T knows nothing until it has read: the owner may have gone on, or not.
  if (goes_on) logs_[log_of(partition).value()].started_at = now;
  // The next renewal of one known from the past may only be late: nobody knows that it leads no
  // more.
  const LocalTime at = hint.stale ? std::min(now, hint.stale_until) : hint.lease_until;
  lose_owner(partition, goes_on || hint.from_past ? kLongAgo : at, Ending::expired);
}

// Or goes on being. Never more than T ahead, so that who sleeps wakes up knowing nothing.
void Directory::become_stale(Partition partition, LocalTime now) {
  Hint& hint = hints_[partition.value()];
  hint.until = std::min(later(now, hint.lease), hint.stale_until);
  const milliseconds again = std::max(hint.lease / 4, kLookLeast);
  expiries_.set(partition, std::min(later(now, again), hint.stale_until));
  renewed_.push_back(partition);
  if (std::exchange(hint.stale, true)) return;
  ++stale_count_;
  stale_owners_.insert(hint.owner->id);
  note_change(partition);
}

bool Directory::end_stale(Hint& hint) {
  if (!std::exchange(hint.stale, false)) return false;
  if (--stale_count_ == 0) stale_owners_.clear();
  forget_told(hint);
  return true;
}

bool Directory::forget_told(Hint& hint) {
  hint.told_epoch = kNoEpoch;
  return std::exchange(hint.told, nullptr) != nullptr;
}

// What is read decides again: a redirect may be wrong, so the epoch that it names is only shown.
// An endpoint that no record has named is not heeded: nobody connects to an address out of an
// answer.
void Directory::redirect(Partition partition, std::string_view endpoint, const Epoch& epoch) {
  Hint& hint = hints_[partition.value()];
  if (!hint.stale || epoch <= std::max(hint.epoch, hint.told_epoch)) return;
  if (endpoint.empty() || endpoint == options_.endpoint) return;
  for (const auto& [id, known] : peers_) {
    PeerPtr peer = known.peer.lock();
    if (!peer || peer->info.endpoint != endpoint) continue;
    hint.told = std::move(peer);
    hint.told_epoch = epoch;
    return note_change(partition);
  }
}

// A log has shown by now that some of those live no more.
void Directory::drop_gone(LocalTime now) {
  std::set<ProcessId> gone;
  for (const ProcessId id : stale_owners_) {
    if (is_gone(id)) gone.insert(id);
  }
  if (gone.empty()) return;
  for (std::uint32_t p = 0; p < options_.partitions; ++p) {
    const Hint& hint = hints_[p];
    if (hint.stale && gone.contains(hint.owner->id)) {
      lose_owner(Partition{p}, now, Ending::expired);
    }
  }
  std::erase_if(stale_owners_, [&](ProcessId id) { return gone.contains(id); });
}

void Directory::end_suspicions(LocalTime now) {
  suspicions_end_ = kNever;
  std::erase_if(suspected_, [&](const auto& one) {
    const auto& [id, suspected] = one;
    if (suspected.until > now) {
      suspicions_end_ = std::min(suspicions_end_, suspected.until);
      return false;
    }
    for (const Partition partition : suspected.partitions) {
      Hint& hint = hints_[partition.value()];
      if (!hint.suspected || hint.owner->id != id) continue;
      hint.suspected = false;
      note_change(partition);
    }
    return true;
  });
}

void Directory::forget_all(LocalTime now) {
  for (Hint& hint : hints_) hint.stale_until = kLongAgo;
  for (std::uint32_t l = 0; l < options_.logs; ++l) on(GapFound{Log{l}}, now);
}

}  // namespace neliroute
