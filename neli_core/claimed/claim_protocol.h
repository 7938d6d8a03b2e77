// The NELI protocol, variation `claimed`, as a pure state machine: one process's part in it.
//
// No clock, I/O, thread or random number inside: events come in through step() with the time at
// which they were noticed; take_ready() returns what must be done. The simulator and production run
// this very class. The comments give the numbers of the rules in docs/protocol.md.
//
// Threads: one caller; leases() may be read by any thread.
// Units: std::chrono.
// Errors: make() refuses bad options; later ones are in Ready::refused and Ready::notices.
// Paper: "Protocol definition", "Exclusivity of role assignment"; goNELI's fast NELI.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <neliroute/error.h>
#include <optional>
#include <vector>

#include "neli_core/claimed/expedite.h"
#include "neli_core/claimed/log_state.h"
#include "neli_core/claimed/partition_state.h"
#include "neli_core/core.h"
#include "neli_core/deadline_tree.h"
#include "neli_core/event.h"
#include "neli_core/lease_bound.h"
#include "neli_core/lease_vector.h"
#include "neli_core/leaving/barriers.h"
#include "neli_core/leaving/closing.h"
#include "neli_core/log/flow.h"
#include "neli_core/options.h"
#include "neli_core/ready.h"
#include "neli_core/settings_agreement.h"

namespace neliroute {

/// Counters of what the protocol met; exported elsewhere.
struct ClaimCounters {
  std::uint64_t records_own = 0;
  std::uint64_t records_foreign = 0;
  std::uint64_t records_other_lane = 0;
  std::uint64_t records_ignored = 0;
  std::uint64_t renewals_stale = 0;
  std::uint64_t releases_refused = 0;
  std::uint64_t claims_unreadable = 0;
  std::uint64_t gaps = 0;
  std::uint64_t lapses = 0;
};

class ClaimProtocol final : public Core {
 public:
  [[nodiscard]] static Result<ClaimProtocol> make(CoreOptions options);
  ClaimProtocol(ClaimProtocol&&) noexcept = default;
  ClaimProtocol& operator=(ClaimProtocol&&) noexcept = default;

  void step(const Event& event, LocalTime now) override;
  void tick(LocalTime now) override;
  [[nodiscard]] Ready take_ready() override;
  [[nodiscard]] LocalTime next_deadline() const noexcept override;

  [[nodiscard]] const std::shared_ptr<LeaseVector>& leases() const noexcept override {
    return leases_;
  }

  [[nodiscard]] const CoreOptions& options() const noexcept { return options_; }
  [[nodiscard]] const ClaimCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] RoleState role_state(Partition partition) const noexcept override;
  [[nodiscard]] std::optional<Epoch> epoch(Partition partition) const noexcept override;
  [[nodiscard]] std::uint16_t generation(Partition partition) const noexcept override;
  /// Partitions led or held, and partitions that the group assigned.
  [[nodiscard]] std::uint32_t held_count() const noexcept { return held_count_; }
  [[nodiscard]] bool closed() const noexcept override {
    return closing_.stage() == ClosingStage::closed;
  }
  [[nodiscard]] RejectedRecords rejected() const noexcept override {
    return {counters_.renewals_stale, counters_.releases_refused, 0, 0, 0};
  }
  /// How long the application may still prepare or warm up for anything; 0: it does not.
  [[nodiscard]] milliseconds preparing_for() const noexcept;
  /// For which partitions.
  [[nodiscard]] PartitionRanges preparing() const;
  /// Own records whose send times it knows: those that may still extend a lease.
  [[nodiscard]] std::size_t sent_count() const noexcept { return sent_.size(); }
  /// T*: the greatest of its own lease and every lease that it read.
  [[nodiscard]] milliseconds lease_bound() const noexcept { return lease_bound_.value(); }
  [[nodiscard]] LocalTime lease_until(Partition partition) const noexcept override;

  // What a member adds where one of them assigns (neli_core/assigner): it renews even if it holds
  // nothing, and says in log 0 who it is.

  /// Renews log 0 each interval from now on, `every_log`: all of them.
  void keep_renewing(bool every_log);
  void say(const MemberFields& member) { member_ = member; }
  /// Renews a log that it renews at all with the next Ready, before the interval is over.
  void renew_now(Log which) { log(which).state_changed = true; }
  /// Others are named for these: as far as the assigner has read, nobody else leads them yet. What
  /// is stale here is served on for the time that such a process has to lead it.
  void named_for_others(const PartitionRanges& partitions);
  /// The assigner says which logs it does not read.
  void assigner_reads(const PartitionRanges& unread);
  /// Another one assigns, or the same one anew: it has named nobody yet.
  void assigner_begins();
  /// When a record of its own was sent; nothing once that is longer ago than a lease.
  [[nodiscard]] std::optional<LocalTime> sent_at(std::uint64_t seq) const;
  [[nodiscard]] const LogProgress& progress(Log which) const { return log(which); }

 private:
  struct Outstanding {
    Log log;
    LocalTime sent = kLongAgo;
    RecordType type = RecordType::claim;
    /// The last record of a batch of renewals; the batch is what the limit of two counts.
    bool ends_batch = false;
    std::vector<Partition> claimed;
    std::vector<PendingRelease> released;
  };

  explicit ClaimProtocol(CoreOptions options);

  // received.cc: what records mean (rules 1 to 4, 6, 10 and 11).
  void on(const Received& event);
  void on_record(const Received& event, const Record& record);
  void on_claim(const Received& event, const Record& record);
  void on_own_claim(Partition partition, const Epoch& epoch, const Received& event,
                    const Record& record);
  void on_foreign_claim(Partition partition, const Epoch& epoch);
  [[nodiscard]] bool is_of_lost_log(const OwnEpoch& own, const Epoch& epoch) const;
  [[nodiscard]] bool is_shown_again(Partition partition, const Epoch& epoch) const;
  void on_renewal(const Received& event, const Record& record);
  void on_own_renewal(Partition partition, const Epoch& epoch, const Record& record);
  bool on_foreign_renewal(Partition partition, const Epoch& epoch, const Received& event,
                          const Record& record);
  void on_release(const Received& event, const Record& record);
  [[nodiscard]] bool since_is_possible(const Record& record, const Received& event) const;
  [[nodiscard]] Reading reading_of(const Received& event, const Record& record) const;
  [[nodiscard]] LocalTime sent_plus_lease(std::uint64_t seq) const;

  // ownership.cc: leading, stopping, graces, barriers, when to claim (rules 1, 4 to 7, 9, 10).
  void evaluate(Partition partition);
  void evaluate_all(Log log);
  void start_or_resume(Partition partition);
  void stop(Partition partition, StopReason reason, LocalTime at);
  void drop(Partition partition);
  void end(Partition partition, StopReason reason);
  void release(Partition partition, const Epoch& epoch);
  void extend(Partition partition, LocalTime until);
  void set_epoch_lease(Partition partition);
  [[nodiscard]] bool may_lead(Partition partition) const;
  [[nodiscard]] LocalTime grace_end(Partition partition) const;
  [[nodiscard]] milliseconds history_bound(const LogState& log) const;
  [[nodiscard]] LocalTime claim_after_history(Partition partition) const;
  [[nodiscard]] LocalTime heard_out_at(const LogState& log) const;
  [[nodiscard]] LocalTime claim_again_at(Partition partition) const;
  [[nodiscard]] LocalTime claim_time(Partition partition) const;
  void on(const BarrierDone& event);
  void announce(TransitionKind kind, Partition partition, const Epoch& epoch);

  // preparing.cc: what the application does before this process leads.
  void on(const Prepared& event);
  void on(const WarmedUp& event);
  [[nodiscard]] LocalTime prepare(Partition partition, LocalTime claim);
  void set_preparation(Partition partition, Preparation preparation);
  void drop_preparation(Partition partition);
  void begin_warming_up(Partition partition);
  void tell_warm_ups();
  void set_warm_until(Partition partition, LocalTime until);
  void serve(Partition partition);

  // serving_on.cc: what is led on while its log is silent ("Serving on").
  [[nodiscard]] bool serves_on() const;
  [[nodiscard]] bool may_serve_on(Partition partition) const;
  [[nodiscard]] LocalTime serving_until(Partition partition) const;
  void set_lease_word(Partition partition);
  void look_at_lease(Partition partition);
  void lapse(Partition partition, LocalTime at);
  void lengthen_words(Log log);
  void tell_stale();
  void tell_leaving_stale();
  [[nodiscard]] bool is_stuck(Log log) const;
  [[nodiscard]] std::uint32_t stale_count() const;
  void note_unanswered(Log log, bool was_stuck);
  void note_flow(const Received& event, bool own);
  [[nodiscard]] bool is_passed_over() const;
  [[nodiscard]] bool serves_awake() const;

  // membership.cc: the group, closing, one configuration (rules 7 and 8).
  void on(const GroupAssigned& event);
  void on(const GroupRevoked& event);
  void on(const CloseRequested& event);
  void revoke(Partition partition);
  void advance_closing();
  void advance_subscription();
  [[nodiscard]] bool history_was_read() const;
  void forget_seniority();
  /// It could say `since` once, though it may have become junior to others.
  [[nodiscard]] bool seniority_told() const { return since_ || since_from_seq_ != 0; }
  void check_agreement();
  void follow_doubt();
  void refuse(Error error, LocalTime drain_until);

  // expediting.cc: learning of an assignment before the next heartbeat.
  void on(const GroupJoined& event);
  void write_greeting();
  void note_member(const Received& event, const Record& record);
  void set_vacant(Partition partition, bool vacant);
  [[nodiscard]] bool may_be_reassigned() const;
  void advance_expedite();

  // tail.cc: how far the logs were read, and gaps (rule 11).
  void on(const TailStarted& event);
  void on(const LogPosition& event);
  void on(const Reread& event);
  void on(const GapFound& event);
  void gap(Log log, GapReason reason);
  void give_up(Log log, GapReason reason);
  void note_answer(Log log);
  void check_silence(Log log);

  void on(const EpochRefused& event);

  // Events that only variation `broadcast`, or a member that assigns, uses.
  void on(const Cordoned&) {}
  void on(const Heard&) {}
  void on(const PartitionsCounted&) {}

  // writing.cc: claims, renewals, releases; what became of them (rules 1 and 3).
  void on(const WriteAcknowledged& event);
  void on(const WriteFailed& event);
  [[nodiscard]] LocalTime next_beat() const;
  void schedule_renewals();
  void write_claims(Log log);
  void note_claim(Partition partition, std::uint64_t seq);
  [[nodiscard]] bool renews(Log which) const;
  void write_renewals(Log log);
  void write_releases(Log log);
  void write(std::uint64_t seq, Outstanding outstanding, std::string value);
  [[nodiscard]] Record header(RecordType type, Log which) const;
  void finish(std::uint64_t seq, bool stored, std::int64_t offset);
  void give_up_claim(std::uint64_t seq, const std::vector<Partition>& claimed);
  void give_up_lost_claims(Log which);
  void give_up_claims_above(Log which, std::int64_t end);
  void note_state_change(Partition partition);

  [[nodiscard]] PartitionState& state(Partition p) { return partitions_[p.value()]; }
  [[nodiscard]] const PartitionState& state(Partition p) const { return partitions_[p.value()]; }
  [[nodiscard]] Log log_of(Partition p) const {
    return neliroute::log_of(p, options_.settings.logs);
  }
  [[nodiscard]] LogPlace place(Log l) const {
    return {l, options_.settings.logs, options_.settings.partitions};
  }
  [[nodiscard]] LogState& log(Log l) { return logs_[l.value()]; }
  [[nodiscard]] const LogState& log(Log l) const { return logs_[l.value()]; }
  [[nodiscard]] bool exclusive() const { return options_.mode == Mode::exclusive; }
  [[nodiscard]] std::uint32_t partition_count() const { return options_.settings.partitions; }
  [[nodiscard]] bool claims_under_way() const;
  [[nodiscard]] bool releases_under_way() const;

  CoreOptions options_;
  std::shared_ptr<LeaseVector> leases_;
  std::vector<PartitionState> partitions_;
  std::vector<LogState> logs_;
  DeadlineTree deadlines_;
  Barriers barriers_;
  ClosingState closing_;
  SettingsAgreement agreement_;
  ClaimCounters counters_;
  Ready ready_;
  LocalTime now_ = kLongAgo;
  std::optional<LocalTime> first_now_;
  LeaseBound lease_bound_;
  std::uint64_t next_seq_ = 1;
  std::map<std::uint64_t, LocalTime> sent_;
  std::map<std::uint64_t, Outstanding> outstanding_;
  /// Until when claims wait, since it is not known which settings are in force.
  std::optional<LocalTime> doubt_until_;
  std::optional<std::int64_t> since_;
  std::uint64_t since_from_seq_ = 0;     ///< own records before it tell no `since` any more
  LocalTime own_read_at_ = kLongAgo;
  Flow flow_;                            ///< of log 0, where it may serve on
  std::optional<Flow::Mark> own_mark_;   ///< at its own last record there
  std::uint32_t stale_beats_ = 0;        ///< in a row with something stale
  bool wrote_ = false;
  bool subscribed_ = false;
  std::uint32_t held_count_ = 0;
  std::uint32_t assigned_count_ = 0;
  std::uint32_t vacant_count_ = 0;
  std::uint32_t preparing_count_ = 0;     ///< preparations and warm-ups under way
  LocalTime prepares_until_ = kLongAgo;   ///< the last of their bounds
  ExpeditePacing pacing_;
  LaneMembers members_;
  bool joined_ = false;
  bool joined_once_ = false;
  bool greeting_due_ = false;
  bool newcomer_ = false;  ///< it may want what this process has
  bool partitions_added_told_ = false;
  std::optional<MemberFields> member_;
  bool renews_first_log_ = false;
  bool renews_every_log_ = false;
  LocalTime released_by_ = kNever;  ///< closing: even if releases are not known to be stored
};

}  // namespace neliroute
