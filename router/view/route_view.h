// What readers on any thread see: this process's leases, and a published copy of the directory.
//
// The writer publishes a new immutable snapshot when an owner or an epoch changes; renewals only
// move atomic deadlines. A reader keeps the snapshot that it used last and compares one version
// number; std::atomic<std::shared_ptr> would cost 12 ns and a lock. To publish, the writer brings a
// snapshot that nobody reads any more up to date, so that it costs as much as what changed; all of
// it is copied only where threads keep every older one.
//
// Threads: one writer (the strand). route() and owns(): any thread, wait-free; no allocation, but
// in a thread's first call on a view.
// Units: LocalTime.   Errors: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <neliroute/detail/assert.h>
#include <neliroute/detail/fast_mod.h>
#include <neliroute/route.h>
#include <neliroute/slot_space.h>
#include <vector>

#include "neli_core/lease_vector.h"
#include "router/view/directory.h"
#include "router/view/interned_processes.h"
#include "router/view/lookup_counters.h"
#include "router/view/published.h"

namespace neliroute {

class RouteView {
 public:
  /// `leases`: the state machine's, or an own one that never holds for a process that owns nothing.
  RouteView(Peer self, std::shared_ptr<LeaseVector> leases, std::uint32_t log_count,
            SlotSpace slots);
  RouteView(const RouteView&) = delete;
  RouteView& operator=(const RouteView&) = delete;

  // Readers.
  [[nodiscard]] Partition partition_of(Slot slot) const noexcept {
    return Partition{static_cast<std::uint32_t>(modulo_(slot.value()))};
  }
  /// A partition that does not exist aborts.
  [[nodiscard]] Slot first_slot_of(Partition partition) const noexcept {
    NELIROUTE_ASSERT(partition.value() < leases_->size(), "there is no such partition");
    return Slot{partition.value()};
  }
  [[nodiscard]] std::uint32_t partition_count() const noexcept { return leases_->size(); }
  [[nodiscard]] const LeaseVector& leases() const noexcept { return *leases_; }
  [[nodiscard]] bool owns(Slot slot, LocalTime now) const noexcept {
    return leases_->leads(partition_of(slot), now);
  }
  [[nodiscard]] const SlotSpace& slots() const noexcept { return slots_; }
  /// What it points to is kept for long, see Route.
  [[nodiscard]] inline Route route(Slot slot, LocalTime now) const;
  /// The same, not counted, and without a place kept for this thread: for those that look on.
  [[nodiscard]] Route look(Slot slot, LocalTime now) const;
  /// Of every partition.
  [[nodiscard]] std::vector<Route> look_at_all(LocalTime now) const;
  /// What route() answered so far.
  [[nodiscard]] LookupCounters::Counts lookups() const noexcept { return lookups_->total(); }
  /// What count() was called with so far.
  [[nodiscard]] AdmissionCounts admissions() const noexcept {
    return lookups_->total_admissions();
  }
  /// Of an admission by this thread.
  void count(Admit answer) const {
    last_.view_id == id_ ? last_.counts->add(answer) : count_first(answer);
  }
  /// No event will arrive any more.
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  /// How many of them were not answered from what their thread had read before.
  [[nodiscard]] std::uint64_t lookups_anew() const noexcept { return lookups_->total_anew(); }
  /// How often publish() copied every entry.
  [[nodiscard]] std::uint64_t whole_copies() const noexcept { return whole_copies_; }
  /// When the most silent log last answered.
  [[nodiscard]] LocalTime oldest_answer() const noexcept;
  /// Whether all of them count as answering.
  [[nodiscard]] bool answers(LocalTime now) const noexcept;

  // The writer.
  /// The epoch that the application is about to be notified of; kNoEpoch: that it stopped.
  void set_local(Partition partition, const Epoch& epoch, std::uint16_t generation);
  void set_hint(Partition partition, const Hint& hint);
  /// Seen at once; after the publish() of the hint itself.
  void set_hint_until(Partition partition, const Hint& hint);
  void set_log(Log log, LocalTime answering_until, LocalTime history_until);
  void set_last_answer(Log log, LocalTime at);
  void set_closed() noexcept { closed_.store(true, std::memory_order_release); }
  /// Makes what set_local() and set_hint() said visible, if anything was said.
  void publish(LocalTime now);
  /// When publish() is due, should nothing be said: what was named long ago is freed.
  [[nodiscard]] LocalTime next_deadline() const noexcept { return processes_.next_deadline(); }

 private:
  /// One cache line: with many owners, lines are what a lookup waits for.
  struct alignas(64) Entry {
    const ProcessInfo* owner = nullptr;
    const ProcessInfo* next = nullptr;
    Epoch local_epoch = kNoEpoch;
    Epoch hint_epoch = kNoEpoch;
    /// The owner's, when it was published; lengthened in hints_ since. No owner: unowned since.
    LocalTime hint_until = kLongAgo;
    std::uint16_t local_generation = 0;
    std::uint16_t hint_generation = 0;
    bool owner_is_self = false;
    bool owner_is_suspected = false;
    bool owner_is_stale = false;  ///< as `hint_until`

    [[nodiscard]] bool led() const noexcept { return local_epoch.offset != kNoEpoch.offset; }
    [[nodiscard]] bool is_of(const LeaseVector::Deadline& lease,
                             const LeaseVector::Deadline& hint) const noexcept {
      return lease.generation == local_generation && hint.generation == hint_generation;
    }
  };
  struct Snapshot {
    std::uint64_t version = 1;
    std::vector<Entry> entries;
    std::vector<PeerPtr> peers;  ///< owner and next of each entry, kept alive
    std::uint64_t changes = 0;   ///< how many of all that were noted it contains
  };
  struct LogTimes {
    std::atomic<LocalTime> answering_until{kLongAgo};
    std::atomic<LocalTime> history_until{kNever};
    std::atomic<LocalTime> last_answer{kLongAgo};
  };
  struct ThreadCache;
  /// What this thread read last; trivial, so that reading it costs no check for its construction,
  /// and found without a call of the loader, for which all registers would be saved.
  struct Last {
    std::uint64_t view_id;
    std::uint64_t version;
    const Entry* entries;
    LookupCounters::Block* counts;
  };
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Last last_;
  static constinit thread_local bool thread_ends_;

  void note_change(Partition partition);
  [[nodiscard]] Snapshot next_snapshot();
  void catch_up(Snapshot& snapshot);
  [[nodiscard]] const Snapshot& refresh() const;
  [[nodiscard]] Route route_anew(Slot slot, LocalTime now) const;
  void count_first(Admit answer) const;
  [[nodiscard]] Route route_in(const Snapshot& snapshot, Slot slot, LocalTime now,
                               LookupCounters::Block& counts) const;
  [[nodiscard]] Route answer(const Entry& entry, const LeaseVector::Deadline& lease,
                             LocalTime hint_until, bool hint_stale, Slot slot,
                             Partition partition, LocalTime now,
                             LookupCounters::Block& counts) const;
  [[nodiscard]] Route route_unowned(const Entry& entry, LocalTime since, Slot slot, LocalTime now,
                                    LookupCounters::Block& counts) const;

  const std::uint64_t id_;  ///< never used again, so a stale cache cannot be mistaken
  const std::shared_ptr<const char> alive_ = std::make_shared<const char>();
  Peer self_;
  std::shared_ptr<LeaseVector> leases_;
  LeaseVector hints_;
  FastMod modulo_;
  SlotSpace slots_;
  std::uint32_t log_count_;
  std::unique_ptr<LogTimes[]> logs_;

  InternedProcesses processes_;
  Snapshot pending_;
  bool changed_ = false;
  /// Partitions whose entry changed, the newest last; as many as a snapshot may have to catch up.
  std::vector<Partition> changes_;
  std::vector<Snapshot> spares_;  ///< that nobody reads, to be filled
  std::uint64_t whole_copies_ = 0;
  std::atomic<std::uint64_t> version_{1};
  std::atomic<bool> closed_{false};
  /// Of threads too, which may keep a reading for longer than the view lives.
  const std::shared_ptr<Published<Snapshot>> published_;
  const std::shared_ptr<LookupCounters> lookups_ = std::make_shared<LookupCounters>();
};

// Inlined into Lookup::route(), since one more call and its frame cost a tenth of the time. Every
// field of the answer is written once, where the caller wants it.
[[gnu::always_inline]] inline Route RouteView::route(Slot slot, LocalTime now) const {
  const Last& last = last_;
  if (last.view_id != id_ || last.version != version_.load(std::memory_order_acquire))
      [[unlikely]] {
    return route_anew(slot, now);
  }
  const Partition partition = partition_of(slot);
  const Entry& entry = last.entries[partition.value()];
  const LeaseVector::Deadline lease = leases_->get(partition);
  const LeaseVector::Deadline hint = hints_.get(partition);
  if (!entry.is_of(lease, hint)) [[unlikely]] {
    return route_anew(slot, now);
  }
  return answer(entry, lease, hint.until, hint.stale, slot, partition, now, *last.counts);
}

[[gnu::always_inline]] inline Route RouteView::answer(const Entry& entry,
                                                      const LeaseVector::Deadline& lease,
                                                      LocalTime hint_until, bool hint_stale,
                                                      Slot slot, Partition partition,
                                                      LocalTime now,
                                                      LookupCounters::Block& counts) const {
  const auto by = [&](Verdict verdict, bool suspected, bool stale, const ProcessInfo& owner,
                      const Epoch& epoch, LocalTime until) -> Route {
    counts.add(verdict);
    return {slot,       partition, verdict,     suspected, stale, &owner,
            entry.next, epoch,     until - now, LocalTime{}};
  };
  // Another generation: the lease of an epoch that is about to be published. A former leader goes
  // on with the epoch that it has (a store refuses it at worst); others wait for the new one.
  if (lease.holds_at(now) && entry.led()) {
    return by(Verdict::local, false, lease.stale, self_.info, entry.local_epoch, lease.until);
  }
  if (entry.owner && now < hint_until && !entry.owner_is_self) {
    return by(Verdict::remote, entry.owner_is_suspected, hint_stale, *entry.owner,
              entry.hint_epoch, hint_until);
  }
  // Not `?:`, which would take the address of hint_until, so that every lookup would store it.
  LocalTime since = entry.hint_until;
  if (entry.owner) since = hint_until;
  return route_unowned(entry, since, slot, now, counts);
}

}  // namespace neliroute
