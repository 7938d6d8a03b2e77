// Who owns what, according to the records: hints, by the last paragraph of docs/protocol.md.
//
// Pure: fed with the same events as the state machine, and with the time at which they were
// noticed. A hint is believed until local read time + its lease. While its owner's log is silent it
// is stale, and believed on (directory_stale.cc). Records that existed before the
// tail started are believed once a newer one shows how old they are: until their lease is over, or
// newer ones say otherwise. Epochs decide, not order of arrival.
//
// Threads: one (the router's strand); readers use RouteView.
// Units: LocalTime.   Errors: none; a record that makes no sense changes nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/observer.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <neliroute/transition.h>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neli_core/deadline_tree.h"
#include "neli_core/event.h"
#include "neli_core/lease_bound.h"
#include "neli_core/log/flow.h"
#include "neli_core/log/log_progress.h"
#include "neli_core/options.h"
#include "neli_core/record/judgement.h"

namespace neliroute {

/// The owner before the present one, or before there was none.
struct FormerOwner {
  PeerPtr who;  ///< null: none is known
  Epoch epoch = kNoEpoch;
  Ending ending = Ending::none;
};

/// What is known of one partition.
struct Hint {
  /// The leader; null if none is known.
  PeerPtr owner;
  Epoch epoch = kNoEpoch;
  /// The epoch was released, which is final: a renewal that arrives later revives nobody.
  bool released = false;
  bool draining = false;
  /// A caller could not reach the owner, and no record of it was read since.
  bool suspected = false;
  /// The epoch was known before the tail last started: see Directory::forget_doubtful().
  bool doubtful = false;
  /// Known only from records that existed before the tail started.
  bool from_past = false;
  /// What readers compare: the lease's end, or later where it may be stale, set anew now and then.
  LocalTime until = kLongAgo;
  LocalTime lease_until = kLongAgo;
  /// How long it may be stale, at most; not after `lease_until`: it may not.
  LocalTime stale_until = kLongAgo;
  /// Its lease is over, or its log was lost, and nothing shows that its owner does not live.
  bool stale = false;
  /// While it is stale: to whom an owner redirected a caller, under a greater epoch than any record
  /// names. Null: to nobody.
  PeerPtr told;
  Epoch told_epoch = kNoEpoch;
  /// Of the renewal that last said that the owner leads.
  std::uint64_t seq = 0;
  /// The owner's, as its last renewal says.
  milliseconds lease{0};
  /// The process that claimed after the owner, and has not led yet.
  PeerPtr next;
  Epoch next_epoch = kNoEpoch;
  /// When it lost its owner; kLongAgo: it has one, had none, or nobody knows.
  LocalTime lost_at = kLongAgo;
  /// The epoch that this one followed without a gap, until its release is read; and since when.
  Epoch before = kNoEpoch;
  LocalTime moved_at = kLongAgo;
  /// Without an owner: since when. kLongAgo: no record has said yet.
  LocalTime unowned_since = kLongAgo;
  /// Incremented whenever owner or epoch change, so that a reader can tell whose `until` it read.
  std::uint16_t generation = 0;
  FormerOwner former;

  /// The owner, for callers.
  [[nodiscard]] const PeerPtr& named() const noexcept { return told ? told : owner; }
};

struct DirectoryOptions {
  std::uint32_t partitions = 0;
  std::uint32_t logs = 0;
  Lane lane;
  Mode mode = Mode::non_exclusive;
  /// This process's own lease, from which T* starts. A watcher's is assumed until an owner states
  /// its own.
  milliseconds lease{0};
  bool watcher = false;
  milliseconds clock_error{0};
  bool believe_broker_time = true;
  /// For how long a hint may be stale, and no longer than its owner says.
  milliseconds serve_stale{0};
  /// This process's own. Records that existed before it and name this are of a process that is
  /// gone. Empty: it has none.
  std::string endpoint{};
  /// This process's own. Who existed before it with other slots is not believed before its settings
  /// are compared. No value: any are.
  std::optional<Settings> settings{};
};

/// Of a process with these options.
[[nodiscard]] DirectoryOptions directory_options(const CoreOptions& core, bool watcher = false);

class Directory {
 public:
  explicit Directory(DirectoryOptions options);

  void on(const TailStarted& event, LocalTime now);
  void on(const Received& event, LocalTime now);
  void on(const LogPosition& event, LocalTime now);
  void on(const Reread& event, LocalTime now);
  void on(const GapFound& event, LocalTime now);
  /// Events of this process alone say nothing of owners.
  template <class Other>
  void on(const Other&, LocalTime) {}
  /// Drops hints that have expired. Due at next_expiry().
  void tick(LocalTime now);
  [[nodiscard]] LocalTime next_expiry() const noexcept {
    return std::min(expiries_.earliest(), suspicions_end_);
  }
  /// No event will come any more.
  void forget_all(LocalTime now);

  /// Callers could not reach who has one of these endpoints: its hints are suspected until a record
  /// of it is read, or they end; those that are stale for 2 s at a time.
  void suspect(const std::set<std::string, std::less<>>& endpoints, LocalTime now);
  /// A caller could.
  void trust(std::string_view endpoint);
  /// Whoever was asked for it says that this one leads. Moves what is stale, for as long as it is.
  void redirect(Partition partition, std::string_view endpoint, const Epoch& epoch);

  /// This process itself stopped leading, which it knows before any record says so.
  void forget_owner(Partition partition, ProcessId id, LocalTime at);

  [[nodiscard]] const DirectoryOptions& options() const noexcept { return options_; }
  [[nodiscard]] Lane lane() const noexcept { return options_.lane; }
  /// It was there when the tail started: its writer may be long gone.
  [[nodiscard]] bool is_history(const Received& event) const {
    return logs_[event.log.value()].is_history(event.offset);
  }
  [[nodiscard]] const Hint& hint(Partition partition) const { return hints_[partition.value()]; }
  /// T: how long an answer of a log's leader counts. A watcher's is the owners', as they state it.
  [[nodiscard]] milliseconds lease() const noexcept { return options_.lease; }
  /// Whether another process is known to lead, and is not handing over.
  [[nodiscard]] bool others_lead(ProcessId self) const;
  /// Every hint counts as changed.
  void note_all_changed();
  /// Until when the log's leader counts as answering; kLongAgo before its tail started.
  [[nodiscard]] LocalTime answering_until(Log log) const;
  /// When the log's leader last answered; kLongAgo: never yet.
  [[nodiscard]] LocalTime last_answer(Log log) const { return logs_[log.value()].last_answer; }
  /// Until when a partition that no record has mentioned is `unknown` rather than `unowned`.
  [[nodiscard]] LocalTime history_until(Log log) const;
  /// Who leads it is known, or that nobody does.
  [[nodiscard]] bool is_known(Partition partition, LocalTime now) const;

  /// Partitions whose hint changed (was not merely extended) since the last call, each once.
  [[nodiscard]] std::vector<Partition> take_changed();
  /// Partitions whose `until` moved since the last call.
  [[nodiscard]] std::vector<Partition> take_renewed();
  /// Of partitions that got an owner and had one before: how long they had none, if at all.
  [[nodiscard]] std::vector<microseconds> take_gaps() { return std::exchange(gaps_, {}); }
  /// Of those without a gap: how long after that the former owner's release was read.
  [[nodiscard]] std::vector<microseconds> take_overlaps() { return std::exchange(overlaps_, {}); }

 private:
  struct LogView : LogProgress {
    LocalTime started_at = kLongAgo;
    LocalTime last_answer = kLongAgo;
    LocalTime reading_since = kLongAgo;  ///< without a silence of T*/2
    LocalTime last_record = kLongAgo;
    LocalTime records_since = kLongAgo;  ///< the same, of records
    bool has_past = false;               ///< what past_ knows of it counts as soon as its age shows
    Flow flow;                           ///< of the lane's records
  };
  /// A process that anything refers to.
  struct KnownPeer {
    std::weak_ptr<const Peer> peer;
    /// Where it renews: at its last record there.
    std::map<Log, Flow::Mark> wrote;
    milliseconds lease{0};
    bool leaving = false;
  };
  /// How long who serves on in a silence is suspected: no record could say that it is back.
  static constexpr milliseconds kSuspectedStale{2000};
  /// A process that callers could not reach, and where it was known as the owner.
  struct Suspected {
    LocalTime until = kLongAgo;
    std::vector<Partition> partitions;
  };
  void on_claim(const Received& event, const Record& record, LocalTime now);
  void learn_mode(const Record& record);
  void learn_lease(const Record& record, LocalTime now);
  /// T*.
  [[nodiscard]] milliseconds lease_bound() const noexcept {
    return std::max(lease_bound_.value(), options_.lease);
  }
  void on_renewal(const Received& event, const Record& record, LocalTime now);
  void on_release(const Received& event, const Record& record, LocalTime now);
  void renew(Partition partition, const Epoch& epoch, const Record& record, const PeerPtr& who,
             LocalTime now);
  void lose_owner(Partition partition, LocalTime at, Ending ending);
  // directory_stale.cc
  void read_flow(const Received& event, const Record* record, LocalTime now);
  void note_written(const Received& event, const Record& record);
  [[nodiscard]] bool is_gone(ProcessId id) const;
  void look_at(Partition partition, microseconds slept, LocalTime now);
  void become_stale(Partition partition, LocalTime now);
  bool end_stale(Hint& hint);
  static bool forget_told(Hint& hint);
  void drop_gone(LocalTime now);
  void end_suspicions(LocalTime now);
  void read_past(const Received& event);
  void date_past(const Received& event, LocalTime now);
  void adopt(Partition partition, const Hint& past, microseconds ahead, LocalTime now);
  void drop_past(Log log);
  [[nodiscard]] bool is_of_this_place(const PeerPtr& who) const;
  [[nodiscard]] bool has_other_slots(const Record& record) const;
  void trust(ProcessId id);
  void answered(Log log, LocalTime now);
  void note_move(Hint& hint, LocalTime now);
  void forget_doubtful(Partition partition, LocalTime read_since, LocalTime now);
  [[nodiscard]] bool is_outlived(const Hint& hint, LocalTime now) const;
  void note_change(Partition partition);
  /// One object for all that is known of it, as long as anything refers to it.
  [[nodiscard]] PeerPtr peer(ProcessId id, const ProcessInfo& info);
  [[nodiscard]] LogPlace place(Log log) const {
    return {log, options_.logs, options_.partitions};
  }
  [[nodiscard]] Log log_of(Partition p) const { return neliroute::log_of(p, options_.logs); }

  DirectoryOptions options_;
  LeaseBound lease_bound_;
  LocalTime lease_told_ = kLongAgo;  ///< a watcher: when an owner last stated the lease
  bool mode_told_ = false;
  std::vector<Hint> hints_;
  std::vector<LogView> logs_;
  DeadlineTree expiries_;
  std::map<ProcessId, KnownPeer> peers_;
  std::size_t forget_peers_at_ = 64;
  std::map<ProcessId, Suspected> suspected_;
  LocalTime suspicions_end_ = kNever;  ///< the first of them
  std::uint32_t stale_count_ = 0;  ///< hints
  std::set<ProcessId> stale_owners_;
  LocalTime ticked_ = kNever;
  std::vector<Partition> changed_;
  std::vector<Partition> renewed_;
  std::vector<microseconds> gaps_;
  std::vector<microseconds> overlaps_;
  /// What the records say that existed before the tails started. Its times are the broker's.
  std::unique_ptr<Directory> past_;
};

}  // namespace neliroute
