#include "router/view/directory.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "neli_core/mutation.h"
#include "neli_core/settings_mode.h"

namespace neliroute {
namespace {

// A watcher queries each log within half of the owners' lease: a record must not make it do so
// without a pause. Owners with a shorter lease do not make it query more often.
constexpr milliseconds kWatchedLeaseLeast{100};

// A watcher has no lease of its own for T* to start from.
LeaseBound lease_bound_of(const DirectoryOptions& options) {
  CoreOptions made;
  made.lease = options.watcher ? milliseconds{0} : options.lease;
  made.clock_error = options.clock_error;
  made.believe_broker_time = options.believe_broker_time;
  made.settings.logs = options.logs;
  return LeaseBound(made);
}

}  // namespace

DirectoryOptions directory_options(const CoreOptions& core, bool watcher) {
  DirectoryOptions made;
  made.partitions = core.settings.partitions;
  made.logs = core.settings.logs;
  made.lane = core.lane;
  made.mode = core.mode;
  made.lease = core.lease;
  made.watcher = watcher;
  made.clock_error = core.clock_error;
  made.believe_broker_time = core.believe_broker_time;
  made.serve_stale = core.serve_stale;
  if (!watcher) {
    made.endpoint = core.process.endpoint;
    made.settings = core.settings;
  }
  return made;
}

Directory::Directory(DirectoryOptions options)
    : options_(std::move(options)),
      lease_bound_(lease_bound_of(options_)),
      hints_(options_.partitions),
      logs_(options_.logs),
      expiries_(options_.partitions) {}

LocalTime Directory::answering_until(Log log) const {
  const LogView& view = logs_[log.value()];
  return view.started ? later(view.last_answer, options_.lease) : kLongAgo;
}

LocalTime Directory::history_until(Log log) const {
  const LogView& view = logs_[log.value()];
  return view.started ? later(view.started_at, lease_bound()) : kNever;
}

bool Directory::is_known(Partition partition, LocalTime now) const {
  const Hint& known = hint(partition);
  return known.owner || known.unowned_since != kLongAgo || now >= history_until(log_of(partition));
}

// A log that ends below what was read of it is another one, or was truncated. One that a tail only
// reads again from further back is the same, and epochs that were read from it still count.
void Directory::on(const TailStarted& event, LocalTime now) {
  LogView& view = logs_[event.log.value()];
  if (view.started && event.end < view.next) on(GapFound{event.log, GapReason::truncated}, now);
  if (!view.started) view.has_past = event.start < event.end && options_.believe_broker_time;
  view.flow.lost();
  view.start(event);
  view.started_at = view.last_answer = view.reading_since = now;
  view.last_record = view.records_since = now;
  place(event.log).for_each([this](Partition p) {
    Hint& hint = hints_[p.value()];
    hint.doubtful = !hint.owner || hint.stale;
  });
}

void Directory::on(const LogPosition& event, LocalTime now) {
  logs_[event.log.value()].reach(event.next);
  answered(event.log, now);
  if (now >= history_until(event.log)) drop_past(event.log);
}

void Directory::on(const Reread& event, LocalTime now) { answered(event.log, now); }

// After a silence, of the log or of this process, the first records may be long out of date.
void Directory::answered(Log log, LocalTime now) {
  LogView& view = logs_[log.value()];
  if (later(view.last_answer, lease_bound() / 2) < now) view.reading_since = now;
  view.last_answer = now;
}

void Directory::on(const GapFound& event, LocalTime now) {
  logs_[event.log.value()].stop();
  logs_[event.log.value()].flow.lost();
  drop_past(event.log);
  lease_bound_.gap(event.log);
  place(event.log).for_each([this, now](Partition p) {
    Hint& hint = hints_[p.value()];
    hint.next.reset();
    hint.next_epoch = kNoEpoch;
    if (hint.owner && hint.stale_until > std::max(now, hint.lease_until)) {
      become_stale(p, now);
      return note_change(p);
    }
    if (hint.owner) lose_owner(p, kLongAgo, Ending::none);
    hint.former = {};
    hint.unowned_since = hint.lost_at = hint.moved_at = kLongAgo;
    // The topic may be recreated, with offsets from 0 on; the incarnation keeps its epochs above
    // these.
    note_change(p);
  });
}

void Directory::on(const Received& event, LocalTime now) {
  LogView& view = logs_[event.log.value()];
  if (!view.started) return;
  view.read(event.offset);
  answered(event.log, now);
  if (later(view.last_record, lease_bound() / 2) < now) view.records_since = now;
  view.last_record = now;
  const bool history = view.is_history(event.offset);
  if (view.has_past) history ? read_past(event) : date_past(event, now);
  const auto* record = std::get_if<Record>(event.value);
  if (!history) read_flow(event, record, now);
  if (record == nullptr) return;
  lease_bound_.read(event, *record, now);
  if (history) return;
  if (judge(*record, event.stamped, options_.lane) != Judgement::heeded) return;
  trust(record->id);
  switch (record->type) {
    case RecordType::claim:
      on_claim(event, *record, now);
      break;
    case RecordType::renewal:
      on_renewal(event, *record, now);
      break;
    case RecordType::release:
      on_release(event, *record, now);
      break;
  }
  note_written(event, *record);
}

void Directory::on_claim(const Received& event, const Record& record, LocalTime now) {
  const Epoch epoch = claim_epoch(record, event.stamped, event.offset);
  const PeerPtr who = peer(record.id, record.process);
  const LogView& view = logs_[event.log.value()];
  for_each_claimed(record, place(event.log), [&](Partition partition) {
    Hint& hint = hints_[partition.value()];
    const bool outlived =
        epoch <= std::max(hint.epoch, hint.next_epoch) && is_outlived(hint, now);
    hint.doubtful = hint.doubtful || outlived;
    forget_doubtful(partition, outlived ? view.reading_since : view.records_since, now);
    if (epoch <= hint.epoch || epoch <= hint.next_epoch) return;
    if (hint.owner && hint.owner->id == record.id) return;  // its renewals will say so
    hint.next = who;
    hint.next_epoch = epoch;
    if (options_.mode == Mode::exclusive) {
      // A leader stops when it reads this, whether it is known or not.
      if (hint.owner && !mutated(Mutation::old_hint)) {
        lose_owner(partition, now, Ending::superseded);
      }
      if (hint.unowned_since == kLongAgo) hint.unowned_since = now;
    }
    note_change(partition);
  });
}

void Directory::learn_mode(const Record& record) {
  const Settings* theirs = settings_in_force(record);
  if (theirs == nullptr) return;
  options_.mode = mode_of(*theirs);
  mode_told_ = true;
}

// If owners' leases differ, the longest counts, until no owner has stated it for as long.
void Directory::learn_lease(const Record& record, LocalTime now) {
  if (!options_.watcher || settings_in_force(record) == nullptr || !record.lease) return;
  const milliseconds lease = std::max(*record.lease, kWatchedLeaseLeast);
  const bool told = lease_told_ != kLongAgo && now < later(lease_told_, options_.lease);
  if (told && lease < options_.lease) return;
  options_.lease = lease;
  lease_told_ = now;
}

void Directory::on_renewal(const Received& event, const Record& record, LocalTime now) {
  learn_mode(record);
  learn_lease(record, now);
  const PeerPtr who = peer(record.id, record.process);
  for_each_named(record, place(event.log), [&](Partition partition, const Epoch& epoch) {
    renew(partition, epoch, record, who, now);
  });
}

void Directory::renew(Partition partition, const Epoch& epoch, const Record& record,
                      const PeerPtr& who, LocalTime now) {
  Hint& hint = hints_[partition.value()];
  forget_doubtful(partition, logs_[log_of(partition).value()].records_since, now);
  if (epoch < hint.epoch || (epoch == hint.epoch && hint.released)) return;
  const bool draining = record.draining.contains(partition, options_.logs);
  if (!draining && !record.leading.contains(partition, options_.logs)) {
    // Holding, but not leading: in grace, or its lease lapsed. An older renewal that is stored
    // late, or a second time, tells what was before.
    const bool older = hint.owner && hint.owner->id == record.id && record.seq < hint.seq;
    if (hint.owner && hint.epoch == epoch && !older) {
      lose_owner(partition, now, Ending::expired);
    }
    return;
  }
  // Exclusive: a newer claim was read, so the owner stops, whatever its last renewals say.
  if (options_.mode == Mode::exclusive && epoch < hint.next_epoch) return;
  const bool moved = !hint.owner || hint.epoch != epoch || hint.owner->id != record.id;
  if (moved) {
    ++hint.generation;
    hint.suspected = false;
    note_move(hint, now);
  }
  const bool was_stale = end_stale(hint);
  const bool changed = moved || was_stale || hint.draining != draining || hint.owner != who;
  hint.owner = who;
  hint.epoch = epoch;
  hint.released = false;
  hint.doubtful = hint.from_past = false;
  hint.draining = draining;
  if (hint.next && hint.next_epoch <= epoch) {
    hint.next.reset();
    hint.next_epoch = kNoEpoch;
  }
  hint.seq = record.seq;
  hint.lease = record.lease.value_or(lease_bound());
  hint.until = hint.lease_until = later(now, hint.lease);
  hint.stale_until = later(now, std::min(record.serve_stale, options_.serve_stale));
  // It is looked at before its lease ends, so that it is lengthened in time.
  const bool may_be_stale = hint.stale_until > hint.lease_until;
  expiries_.set(partition, may_be_stale ? hint.until - hint.lease / 4 : hint.until);
  renewed_.push_back(partition);
  if (changed) note_change(partition);
}

// `hint` still describes the former owner.
void Directory::note_move(Hint& hint, LocalTime now) {
  hint.moved_at = kLongAgo;
  if (hint.owner) {
    gaps_.push_back(microseconds{0});
    hint.former = {hint.owner, hint.epoch, Ending::superseded};
    hint.before = hint.epoch;
    hint.moved_at = now;
  } else if (hint.lost_at != kLongAgo) {
    gaps_.push_back(std::max(now - hint.lost_at, microseconds{0}));
  }
  hint.lost_at = kLongAgo;
}

void Directory::on_release(const Received& event, const Record& record, LocalTime now) {
  for_each_named(record, place(event.log), [&](Partition partition, const Epoch& epoch) {
    Hint& hint = hints_[partition.value()];
    if (hint.moved_at != kLongAgo && hint.before == epoch) {
      overlaps_.push_back(now - std::exchange(hint.moved_at, kLongAgo));
    }
    if (hint.owner && hint.epoch == epoch && hint.owner->id == record.id) {
      lose_owner(partition, now, Ending::released);
      hint.released = true;
    } else if (hint.former.epoch == epoch && hint.former.who && hint.former.who->id == record.id) {
      hint.former.ending = Ending::released;
    }
    if (hint.next && hint.next_epoch == epoch && hint.next->id == record.id) {
      hint.next.reset();  // next_epoch stays: it keeps older owners from coming back
      note_change(partition);
    }
  });
}

void Directory::suspect(const std::set<std::string, std::less<>>& endpoints, LocalTime now) {
  end_suspicions(now);
  std::unordered_map<const Peer*, bool> meant;  // one comparison of texts for each owner
  for (std::uint32_t p = 0; p < options_.partitions; ++p) {
    Hint& hint = hints_[p];
    if (hint.told && endpoints.contains(hint.told->info.endpoint) && forget_told(hint)) {
      note_change(Partition{p});
    }
    if (!hint.owner || hint.suspected) continue;
    const auto [known, first] = meant.try_emplace(hint.owner.get(), false);
    const std::string& endpoint = hint.owner->info.endpoint;
    if (first) known->second = !endpoint.empty() && endpoints.contains(endpoint);
    if (!known->second) continue;
    hint.suspected = true;
    Suspected& suspected = suspected_[hint.owner->id];
    suspected.until =
        std::max({suspected.until, hint.lease_until, later(now, kSuspectedStale)});
    suspicions_end_ = std::min(suspicions_end_, suspected.until);
    suspected.partitions.push_back(Partition{p});
    note_change(Partition{p});
  }
}

// It wrote after it could not be reached, or nearly so.
void Directory::trust(ProcessId id) {
  const auto found = suspected_.find(id);
  if (found == suspected_.end()) return;
  for (const Partition partition : found->second.partitions) {
    Hint& hint = hints_[partition.value()];
    if (!hint.suspected || hint.owner->id != id) continue;
    hint.suspected = false;
    note_change(partition);
  }
  suspected_.erase(found);
}

void Directory::trust(std::string_view endpoint) {
  std::vector<ProcessId> reached;
  for (const auto& [id, suspected] : suspected_) {
    const auto known = peers_.find(id);
    const PeerPtr peer = known == peers_.end() ? nullptr : known->second.peer.lock();
    if (peer && peer->info.endpoint == endpoint) reached.push_back(id);
  }
  for (const ProcessId id : reached) trust(id);
}

void Directory::forget_owner(Partition partition, ProcessId id, LocalTime at) {
  const Hint& hint = hints_[partition.value()];
  if (hint.owner && hint.owner->id == id) lose_owner(partition, at, Ending::superseded);
}

// A log that lost acknowledged records goes on below the epochs that were read from it: with lower
// offsets and, if the record of a greater incarnation was lost too, with a lower incarnation. Where
// it ends now proves nothing, as it may have grown since. T* after the tail started, nobody leads
// any more by a lost record, and any process that does lead renews, so the log is not silent for
// T*/2. So a record that is read another T*/2 later was written after the loss. Empty answers prove
// nothing: a log whose end does not move has them, too.
void Directory::forget_doubtful(Partition partition, LocalTime read_since, LocalTime now) {
  Hint& hint = hints_[partition.value()];
  if (!hint.doubtful || (hint.owner && !hint.stale)) return;
  if (now < later(read_since, lease_bound() + lease_bound() / 2)) return;
  if (hint.owner) lose_owner(partition, now, Ending::none);
  hint.doubtful = hint.released = false;
  hint.epoch = hint.next_epoch = kNoEpoch;
}

// A claim's incarnation is at least the broker's time. So if it does not exceed the epochs read
// before, this time stepped back, and its writer does not know them: the log has expired since.
// Nobody has led by them for as long as above.
bool Directory::is_outlived(const Hint& hint, LocalTime now) const {
  if (hint.owner || hint.unowned_since == kLongAgo) return false;
  return now >= later(hint.unowned_since, lease_bound() + lease_bound() / 2);
}

// The epoch stays, so that nothing older is believed later.
void Directory::lose_owner(Partition partition, LocalTime at, Ending ending) {
  Hint& hint = hints_[partition.value()];
  hint.former = {std::move(hint.owner), hint.epoch, ending};
  hint.owner.reset();
  end_stale(hint);
  hint.draining = hint.suspected = hint.from_past = false;
  hint.until = hint.lease_until = hint.stale_until = kLongAgo;
  hint.unowned_since = hint.lost_at = at;
  ++hint.generation;
  expiries_.set(partition, kNever);
  renewed_.push_back(partition);
  note_change(partition);
}

void Directory::tick(LocalTime now) {
  const LocalTime before = std::exchange(ticked_, now);
  const microseconds slept = before < now ? now - before : microseconds{0};
  while (expiries_.earliest() <= now) look_at(expiries_.first(), slept, now);
  if (suspicions_end_ <= now) end_suspicions(now);
}

bool Directory::others_lead(ProcessId self) const {
  return std::any_of(hints_.begin(), hints_.end(), [&](const Hint& hint) {
    return hint.owner && hint.owner->id != self && !hint.draining;
  });
}

void Directory::note_all_changed() {
  for (std::uint32_t p = 0; p < options_.partitions; ++p) note_change(Partition{p});
}

void Directory::note_change(Partition partition) { changed_.push_back(partition); }

PeerPtr Directory::peer(ProcessId id, const ProcessInfo& info) {
  std::weak_ptr<const Peer>& known = peers_[id].peer;
  PeerPtr peer = known.lock();
  if (!peer || peer->info != info) {
    // Not make_shared(): a weak_ptr would keep its memory.
    peer.reset(new Peer{id, info});
    known = peer;
  }
  if (peers_.size() > forget_peers_at_) {
    std::erase_if(peers_, [](const auto& one) { return one.second.peer.expired(); });
    forget_peers_at_ = std::max<std::size_t>(64, 2 * peers_.size());
  }
  return peer;
}

std::vector<Partition> Directory::take_changed() {
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  return std::exchange(changed_, {});
}

std::vector<Partition> Directory::take_renewed() { return std::exchange(renewed_, {}); }

}  // namespace neliroute
