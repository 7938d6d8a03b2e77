#include "router/view/route_view.h"

#include <algorithm>
#include <list>
#include <utility>

namespace neliroute {
namespace {

std::atomic<std::uint64_t> next_view_id{1};

// Beside the newest and those that threads keep: one to fill, and one more, since a thread that
// reads the newest gives up an older one that it may have kept for a while.
constexpr std::size_t kSparesMax = 2;

}  // namespace

// Keeps the snapshots of a thread's last_ alive.
struct RouteView::ThreadCache {
  struct Kept {
    std::uint64_t view_id = 0;
    std::weak_ptr<const char> alive;
    std::shared_ptr<Published<Snapshot>> published;  ///< outlives `reading`
    Published<Snapshot>::Reading reading;
    std::shared_ptr<LookupCounters> lookups;  ///< outlives `counts`
    LookupCounters::Taken counts;
  };
  /// A list, since erasing from it moves nothing: a move would take `published` from under its
  /// `reading`.
  std::list<Kept> kept;
  // Other objects of a thread that ends may still look something up.
  ~ThreadCache() {
    thread_ends_ = true;
    last_ = {0, 0, nullptr, nullptr};
  }

  // One for every living view that this thread has used.
  static Kept& of(const RouteView& view) {
    static thread_local ThreadCache cache;
    auto& kept = cache.kept;
    const auto mine = std::find_if(kept.begin(), kept.end(),
                                   [&](const Kept& k) { return k.view_id == view.id_; });
    if (mine != kept.end()) return *mine;
    std::erase_if(kept, [](const Kept& k) { return k.alive.expired(); });
    return kept.emplace_back(Kept{view.id_, view.alive_, view.published_, {}, view.lookups_,
                                  view.lookups_->take()});
  }
};

[[gnu::tls_model("initial-exec")]]
constinit thread_local RouteView::Last RouteView::last_{0, 0, nullptr, nullptr};
constinit thread_local bool RouteView::thread_ends_ = false;

RouteView::RouteView(Peer self, std::shared_ptr<LeaseVector> leases, std::uint32_t log_count,
                     SlotSpace slots)
    : id_(next_view_id.fetch_add(1)),
      self_(std::move(self)),
      leases_(std::move(leases)),
      hints_(leases_->size()),
      modulo_(leases_->size()),
      slots_(slots),
      log_count_(log_count),
      logs_(std::make_unique<LogTimes[]>(log_count)),
      pending_{1, std::vector<Entry>(leases_->size()), std::vector<PeerPtr>(2 * leases_->size()),
               0},
      published_(std::make_shared<Published<Snapshot>>(pending_)) {}

void RouteView::set_local(Partition partition, const Epoch& epoch, std::uint16_t generation) {
  Entry& entry = pending_.entries[partition.value()];
  entry.local_epoch = epoch;
  entry.local_generation = generation;
  note_change(partition);
}

void RouteView::set_hint(Partition partition, const Hint& hint) {
  Entry& entry = pending_.entries[partition.value()];
  const PeerPtr& owner = hint.named();
  entry.owner = owner ? &owner->info : nullptr;
  entry.next = hint.next ? &hint.next->info : nullptr;
  entry.owner_is_self = owner && owner->id == self_.id;
  entry.owner_is_suspected = owner == hint.owner && owner && hint.suspected;
  entry.owner_is_stale = hint.owner && hint.stale;
  const auto name = [this](PeerPtr& named, const PeerPtr& peer) {
    if (named == peer) return;
    processes_.add(peer);
    processes_.remove(named);
    named = peer;
  };
  name(pending_.peers[2 * partition.value()], owner);
  name(pending_.peers[2 * partition.value() + 1], hint.next);
  entry.hint_epoch = std::max(hint.epoch, hint.told_epoch);
  entry.hint_generation = hint.generation;
  entry.hint_until = hint.owner ? hint.until : hint.unowned_since;
  note_change(partition);
}

void RouteView::set_hint_until(Partition partition, const Hint& hint) {
  hints_.set(partition, hint.until, hint.generation, hint.stale);
}

void RouteView::set_log(Log log, LocalTime answering_until, LocalTime history_until) {
  logs_[log.value()].answering_until.store(answering_until, std::memory_order_relaxed);
  logs_[log.value()].history_until.store(history_until, std::memory_order_relaxed);
}

void RouteView::set_last_answer(Log log, LocalTime at) {
  logs_[log.value()].last_answer.store(at, std::memory_order_relaxed);
}

LocalTime RouteView::oldest_answer() const noexcept {
  LocalTime oldest = kNever;
  for (std::uint32_t l = 0; l < log_count_; ++l) {
    oldest = std::min(oldest, logs_[l].last_answer.load(std::memory_order_relaxed));
  }
  return oldest;
}

bool RouteView::answers(LocalTime now) const noexcept {
  for (std::uint32_t l = 0; l < log_count_; ++l) {
    if (now >= logs_[l].answering_until.load(std::memory_order_relaxed)) return false;
  }
  return true;
}

void RouteView::note_change(Partition partition) {
  changed_ = true;
  ++pending_.changes;
  // A snapshot that lags behind by more than this is as well copied whole.
  if (changes_.size() >= 2 * std::size_t{partition_count()}) {
    changes_.erase(changes_.begin(), changes_.begin() + partition_count());
  }
  changes_.push_back(partition);
}

RouteView::Snapshot RouteView::next_snapshot() {
  while (spares_.size() < kSparesMax) {
    auto spare = published_->reclaim();
    if (!spare) break;
    spares_.push_back(std::move(*spare));
  }
  const auto newest = std::max_element(
      spares_.begin(), spares_.end(),
      [](const Snapshot& a, const Snapshot& b) { return a.changes < b.changes; });
  if (newest == spares_.end()) {
    ++whole_copies_;
    return pending_;
  }
  Snapshot next = std::exchange(*newest, {});
  spares_.erase(newest);
  catch_up(next);
  return next;
}

void RouteView::catch_up(Snapshot& snapshot) {
  const std::uint64_t behind = pending_.changes - snapshot.changes;
  if (behind > std::min<std::uint64_t>(changes_.size(), partition_count())) {
    ++whole_copies_;
    snapshot = pending_;
    return;
  }
  for (std::size_t i = changes_.size() - behind; i < changes_.size(); ++i) {
    const std::size_t p = changes_[i].value();
    snapshot.entries[p] = pending_.entries[p];
    snapshot.peers[2 * p] = pending_.peers[2 * p];
    snapshot.peers[2 * p + 1] = pending_.peers[2 * p + 1];
  }
  snapshot.version = pending_.version;
  snapshot.changes = pending_.changes;
}

void RouteView::publish(LocalTime now) {
  if (std::exchange(changed_, false)) {
    ++pending_.version;
    published_->publish(next_snapshot());
    version_.store(pending_.version, std::memory_order_release);
  }
  processes_.retire(now);
}

const RouteView::Snapshot& RouteView::refresh() const {
  ThreadCache::Kept& mine = ThreadCache::of(*this);
  // Always read again: a value may be visible before its version is.
  mine.reading = published_->read();
  last_ = {id_, mine.reading->version, mine.reading->entries.data(), mine.counts.get()};
  return *mine.reading;
}

// Something was published since this thread's last look, or between two reads of this one.
Route RouteView::route_anew(Slot slot, LocalTime now) const {
  if (thread_ends_) return look(slot, now);
  const Snapshot& snapshot = refresh();
  last_.counts->add_anew();
  return route_in(snapshot, slot, now, *last_.counts);
}

// This thread's first call on this view, or its first after one on another.
void RouteView::count_first(Admit answer) const {
  if (thread_ends_) return;
  static_cast<void>(refresh());
  last_.counts->add(answer);
}

// A reading of its own, so that this thread's stays.
Route RouteView::look(Slot slot, LocalTime now) const {
  const auto reading = published_->read();
  LookupCounters::Block uncounted;
  return route_in(*reading, slot, now, uncounted);
}

std::vector<Route> RouteView::look_at_all(LocalTime now) const {
  const auto reading = published_->read();
  LookupCounters::Block uncounted;
  std::vector<Route> all;
  all.reserve(partition_count());
  for (std::uint32_t p = 0; p < partition_count(); ++p) {
    all.push_back(route_in(*reading, Slot{p}, now, uncounted));
  }
  return all;
}

Route RouteView::route_in(const Snapshot& snapshot, Slot slot, LocalTime now,
                          LookupCounters::Block& counts) const {
  const Partition partition = partition_of(slot);
  const Entry& entry = snapshot.entries[partition.value()];
  const LeaseVector::Deadline lease = leases_->get(partition);
  const LeaseVector::Deadline hint = hints_.get(partition);
  const bool lengthened = hint.generation == entry.hint_generation;
  return answer(entry, lease, lengthened ? hint.until : entry.hint_until,
                lengthened ? hint.stale : entry.owner_is_stale, slot, partition, now, counts);
}

Route RouteView::route_unowned(const Entry& entry, LocalTime since, Slot slot, LocalTime now,
                               LookupCounters::Block& counts) const {
  const Partition partition = partition_of(slot);
  Route route;
  route.slot = slot;
  route.partition = partition;
  route.next_info = entry.next;
  const LogTimes& log = logs_[log_of(partition, log_count_).value()];
  const auto unknown = [&] {
    counts.add(Verdict::unknown);
    return route;
  };
  if (now >= log.answering_until.load(std::memory_order_relaxed)) return unknown();
  if (since == kLongAgo && !entry.owner) {
    since = log.history_until.load(std::memory_order_relaxed);
    if (now < since) return unknown();  // history may name an owner that was silent so far
  }
  counts.add(Verdict::unowned);
  route.verdict = Verdict::unowned;
  route.unowned_since = std::min(since == kLongAgo ? now : since, now);
  return route;
}

}  // namespace neliroute
