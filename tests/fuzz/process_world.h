// One process, and a ledger and a group that keep to no rule: any event in any order; or a ledger
// full of members and assigners that keep to none. Whatever comes, the state machine keeps its word
// to the application, writes no more than it may, and comes to rest.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "neli_core/assigner/assigned_core.h"
#include "neli_core/claimed/claim_protocol.h"
#include "neli_core/record/judgement.h"
#include "router/view/directory.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/stranger.h"

namespace neliroute::fuzz {

inline constexpr ProcessId kOwn{0xaa};
inline constexpr std::size_t kEchoesMax = 16;
inline constexpr std::int64_t kSteps[] = {1, 1, 1, 0, 3};  // offsets come twice, or are left out
/// Where a member assigns: A7 has at most eight plans an interval, and one more when it leaves.
inline constexpr std::size_t kPlansMost = 10;
inline constexpr std::size_t kListsMost = 2;  // one an interval, and one when it leaves

/// The greatest seat that a record can name.
inline constexpr Epoch kGreatest{std::numeric_limits<std::int64_t>::max(),
                                 std::numeric_limits<std::int64_t>::max()};

class Subject {
 public:
  Subject(Bytes bytes, Assigning assigning)
      : bytes_(bytes),
        options_(options_of(bytes_)),
        made_(made(assigning)),
        core_(*made_),
        directory_(directory_options(options_)) {
    acquired_.resize(options_.settings.partitions, kNoEpoch);
    leading_.resize(options_.settings.partitions, false);
    next_.resize(options_.settings.logs, 0);
  }

  void run() {
    tick();
    while (!bytes_.empty() && !core_.closed()) act();
    end();
  }

 private:
  static CoreOptions options_of(Bytes& bytes) {
    CoreOptions options;
    options.id = kOwn;
    options.mode = bytes.flag() ? Mode::exclusive : Mode::non_exclusive;
    options.lease = kLease;
    options.interval = kInterval;
    options.clock_error = kClockError;
    options.believe_broker_time = bytes.flag();
    options.settings = settings_of(1 + bytes.below(6), 1);
    options.settings.logs = 1 + bytes.below(std::min(options.settings.partitions, 2u));
    options.process = {"own", "own:1", {}};
    return options;
  }

  [[nodiscard]] std::unique_ptr<Core> made(Assigning assigning) {
    if (assigning == Assigning::group) {
      auto claims = std::make_unique<ClaimProtocol>(*ClaimProtocol::make(options_));
      claims_ = claims.get();
      return claims;
    }
    AssignedOptions assigned;
    assigned.core = options_;
    assigned.session = kSession;
    auto member = std::make_unique<AssignedCore>(*AssignedCore::make(assigned));
    member_ = member.get();
    claims_ = &member->claims();
    return member;
  }

  void act() {
    const Log log{bytes_.below(options_.settings.logs)};
    switch (bytes_.below(16)) {
      case 0:
        now_ += milliseconds{bytes_.byte()};
        if (member_ && bytes_.below(16) == 15) now_ += std::chrono::hours{1};  // it slept
        return tick();
      case 1:
        now_ += milliseconds{5 * bytes_.byte()};  // an event may come later than a deadline
        return;
      case 2:
        if (core_.next_deadline() != kNever) now_ = std::max(now_, core_.next_deadline());
        return tick();
      case 3:
        return start_tail(log);
      case 4:
        next_[log.value()] += bytes_.below(4);
        return step(LogPosition{log, next_[log.value()] - bytes_.below(2)});
      case 5:
        return reread(log);
      case 6:
        return step(GapFound{log, static_cast<GapReason>(bytes_.below(7))});
      case 7:
        return written(log);
      case 8:
        if (member_) return receive(log, assignment());
        return step(GroupAssigned{partitions_of(bytes_.byte())});
      case 9:
        if (member_) return receive(Log{0}, assignment());
        return step(GroupRevoked{partitions_of(bytes_.byte()), bytes_.flag()});
      case 10:
        return barrier_done();
      case 11:
        if (bytes_.below(8) != 0) return crowd(log);
        return step(CloseRequested{now_ + milliseconds{bytes_.byte() - 100}});
      case 12:
      case 13:
        return echo(log);
      case 14:
        if (member_) return receive(log, renewal());
        [[fallthrough]];
      default:
        return receive(log, forged(bytes_, ids(), epochs_, next_[log.value()]));
    }
  }

  [[nodiscard]] static std::vector<ProcessId> ids() { return {kOwn, ProcessId{1}, ProcessId{2}}; }

  // A seat claim, an assignment or a leave, of anybody, this process's own id included, in this
  // lane or another.
  Decoded assignment() {
    Decoded value = forged_assignment(bytes_, ids(), ids(), seats_);
    auto& record = std::get<AssignmentRecord>(value);
    const std::uint32_t odd = bytes_.below(16);
    if (odd == 15) record.lane = Lane{1};
    if (odd == 14) record.seat = kGreatest;
    if (odd == 13) record.designations.push_back({kOwn, *PartitionRanges::parse("0-65535")});
    return value;
  }

  // Of one that takes part, or seems to.
  Decoded renewal(std::optional<ProcessId> id = std::nullopt) {
    Record record;
    record.type = RecordType::renewal;
    record.id = id ? *id : ids()[bytes_.below(3)];
    record.lane = Lane{bytes_.below(16) == 15 ? 1u : 0u};
    record.since = bytes_.flag() ? kBrokerEpochMs + bytes_.byte() : bytes_.wide();
    record.lease = bytes_.flag() ? kLease : kLeaseMax;
    record.settings = claims_->options().settings;
    if (!epochs_.empty() && bytes_.flag()) {
      const Epoch& epoch = epochs_[epochs_.size() - 1 - bytes_.byte() % epochs_.size()];
      record.incarnation = epoch.incarnation;
      record.epochs.push_back({epoch.offset, parts_of(bytes_.byte())});
      record.leading = parts_of(bytes_.byte());
      record.draining = parts_of(bytes_.byte());
    }
    record.member = forged_member(bytes_, ids(), seats_);
    if (bytes_.below(8) == 7) record.member->seat = kGreatest;
    record.process.name = "member";
    return record;
  }

  void written(Log log) {
    const std::uint64_t which = seq();
    if (!bytes_.flag()) return step(WriteFailed{which});
    step(WriteAcknowledged{which, next_[log.value()] + bytes_.below(8) - 4});
  }

  std::uint64_t seq() { return bytes_.flag() ? last_seq_ - bytes_.below(8) : bytes_.byte(); }

  void start_tail(Log log) {
    TailStarted event{log, bytes_.below(8), 0};
    if (bytes_.flag()) event.start = next_[log.value()];
    event.end = event.start + bytes_.below(4);
    event.below = event.start == 0 ? Below::nothing : Below::older;
    next_[log.value()] = event.start;
    step(event);
  }

  BrokerTime stamp() {
    const auto local = std::chrono::duration_cast<milliseconds>(now_.time_since_epoch());
    return BrokerTime{local + milliseconds{kBrokerEpochMs + bytes_.byte() - 128}};
  }

  void receive(Log log, const Decoded& value) {
    std::int64_t& next = next_[log.value()];
    const std::int64_t offset = std::max<std::int64_t>(next - 1 + bytes_.one_of(kSteps), 0);
    next = std::max(next, offset + 1);
    Received event{log, offset, stamp(), bytes_.below(4) != 0, &value};
    // Whoever writes chooses the stamp where the broker does not.
    if (!event.store_stamped && bytes_.flag()) {
      event.stamped = BrokerTime{milliseconds{bytes_.wide()}};
    }
    step(event);
  }

  // More claims than a process keeps apart; or so many members that come at once.
  void crowd(Log log) {
    if (member_ && bytes_.flag()) {
      for (std::uint32_t left = 30 + bytes_.below(8); left > 0; --left) {
        receive(Log{0}, renewal(ProcessId{100u + crowd_++}));
      }
      return;
    }
    Record claim;
    claim.type = RecordType::claim;
    claim.id = ProcessId{1u + bytes_.below(2)};
    claim.incarnation = bytes_.flag() ? kBrokerEpochMs : 0;
    claim.max_incarnation = claim.incarnation;
    claim.parts = parts_of(bytes_.byte());
    claim.lease = bytes_.flag() ? kLease : kLeaseMax;
    for (std::uint32_t left = 30 + bytes_.below(8); left > 0; --left) receive(log, claim);
  }

  // An own record comes back, perhaps late, perhaps again.
  void echo(Log log) {
    if (member_ && !assigned_.empty() && bytes_.flag()) {
      const AssignmentRecord& record = assigned_[bytes_.byte() % assigned_.size()];
      return receive(bytes_.below(16) == 15 ? log : Log{0}, Decoded(record));
    }
    if (echoes_.empty()) return;
    const auto& [written_to, value] = echoes_[bytes_.byte() % echoes_.size()];
    receive(bytes_.below(16) == 15 ? log : written_to, Decoded(value));
  }

  void reread(Log log) {
    Reread event{log, question_, asked_offset_, std::nullopt};
    if (bytes_.below(4) == 0) event.question = bytes_.byte();
    if (bytes_.flag()) event.found = RecordIdentity{kOwn, seq(), stamp()};
    if (bytes_.flag()) event.found = last_read_;
    step(event);
  }

  void barrier_done() {
    tick();  // an overdue barrier is told so first
    const Partition partition{bytes_.below(options_.settings.partitions)};
    const auto barrier = barriers_.find(partition.value());
    Epoch epoch{bytes_.byte(), bytes_.byte()};
    if (barrier != barriers_.end()) {
      epoch = barrier->second;
      barriers_.erase(barrier);
    }
    step(BarrierDone{partition, epoch});
  }

  void step(const Event& event) {
    if (const auto* received = std::get_if<Received>(&event)) {
      note_claims(*received);
      last_read_ = identity_of(*received->value, received->stamped);
      const auto* record = std::get_if<Record>(received->value);
      const bool claim = record != nullptr && record->type == RecordType::claim;
      if (claim) epochs_.push_back(claim_epoch(*record, received->stamped, received->offset));
      const auto* seat = std::get_if<AssignmentRecord>(received->value);
      if (seat != nullptr && seat->type == AssignmentType::seat_claim) {
        seats_.push_back(seat_at(received->stamped, received->offset));
      }
    }
    std::visit([this](const auto& e) { directory_.on(e, now_); }, event);
    core_.step(event, now_);
    // What became of an assignment leaves all else that is due to the tick, which comes at once.
    if (member_ && core_.next_deadline() <= now_) core_.tick(now_);
    take();
  }

  // Claims of its own id, whoever wrote them.
  void note_claims(const Received& event) {
    const auto* record = std::get_if<Record>(event.value);
    if (record == nullptr || record->type != RecordType::claim || record->id != kOwn) return;
    claimed_.insert({event.log.value(), claim_epoch(*record, event.stamped, event.offset)});
  }

  void tick() {
    directory_.tick(now_);
    FUZZ_CHECK(directory_.next_expiry() > now_, "hints that are over are gone");
    core_.tick(now_);
    take();
  }

  void take() {
    const Ready ready = core_.take_ready();
    for (const Transition& transition : ready.transitions) note(transition);
    for (const Write& write : ready.writes) note(write);
    for (const RereadRequest& request : ready.rereads) {
      question_ = request.question;
      asked_offset_ = request.offset;
    }
    const Ready more = core_.take_ready();
    FUZZ_CHECK(more.transitions.empty() && more.writes.empty() && more.rereads.empty(),
               "take_ready() makes no work");
    FUZZ_CHECK(core_.next_deadline() > now_, "it would be asked for ever");
    for (std::uint32_t p = 0; p < options_.settings.partitions; ++p) {
      const bool leads = core_.leads(Partition{p}, now_);
      FUZZ_CHECK(!leads || leading_[p], "leads, and the application was not told");
      FUZZ_CHECK(!core_.leads(Partition{p}, now_ + kLease), "a lease longer than T");
    }
    FUZZ_CHECK(!ready.closed || claims_->held_count() == 0, "closed with nothing held");
    if (member_) check_member(ready);
  }

  void check_member(const Ready& ready) {
    FUZZ_CHECK(!ready.subscribe && !ready.leave_group && !ready.expedite, "asks for the group");
    FUZZ_CHECK(ready.rebalances_done == 0, "acknowledges nobody's rebalance");
    const std::size_t living = member_->members().living_count();
    FUZZ_CHECK(living <= 3 + crowd_, "nobody lives who was never heard of");
    FUZZ_CHECK(!member_->seat().held_by_own() || member_->seat().known(), "knows what it holds");
  }

  void note(const Transition& transition) {
    const std::uint32_t p = transition.partition.value();
    switch (transition.kind) {
      case TransitionKind::acquired:
        FUZZ_CHECK(!barriers_.contains(p), "leads on while the old epoch is being finished");
        FUZZ_CHECK(transition.epoch >= acquired_[p], "an epoch fell");
        FUZZ_CHECK(claimed_.contains({p % options_.settings.logs, transition.epoch}),
                   "leads by a claim of its own that it has read");
        acquired_[p] = transition.epoch;
        leading_[p] = true;
        break;
      case TransitionKind::draining:
        FUZZ_CHECK(leading_[p], "drains what it leads");
        break;
      case TransitionKind::stopped:
        FUZZ_CHECK(leading_[p] && transition.epoch == acquired_[p], "stops what it led");
        FUZZ_CHECK(transition.at <= now_ && transition.reason != StopReason::none, "when, why");
        leading_[p] = false;
        barriers_[p] = transition.epoch;
        break;
      case TransitionKind::barrier_overdue:
        FUZZ_CHECK(barriers_.contains(p), "a barrier that runs");
        break;
      case TransitionKind::released:
        // A claim that came too late is released under a greater epoch, which never led.
        FUZZ_CHECK(!leading_[p] || transition.epoch != acquired_[p], "released, and led on");
        break;
    }
  }

  void note(const Write& write) {
    FUZZ_CHECK(write.value.size() <= kRecordBytesMax, "fits");
    const Decoded decoded = decode_record(write.value);
    if (const auto* assignment = std::get_if<AssignmentRecord>(&decoded)) {
      return note(write, *assignment);
    }
    FUZZ_CHECK(write.seq > last_seq_, "seqs rise");
    last_seq_ = write.seq;
    const auto* record = std::get_if<Record>(&decoded);
    FUZZ_CHECK(record != nullptr && record->id == kOwn, "it can be read");
    FUZZ_CHECK(record->seq == write.seq && record->lease == kLease, "as it was meant");
    const auto in_log = [&](std::uint32_t number) {
      const Settings& s = options_.settings;
      FUZZ_CHECK(number * s.logs + write.log.value() < s.partitions, "that there is");
    };
    if (record->parts) record->parts->for_each_number(in_log);
    for (const EpochParts& epoch : record->epochs) epoch.parts.for_each_number(in_log);
    if (echoes_.size() == kEchoesMax) echoes_.erase(echoes_.begin());
    echoes_.emplace_back(write.log, *record);
  }

  // What it assigns. It is few: whatever others write, it plans and claims the seat now and then.
  void note(const Write& write, const AssignmentRecord& record) {
    FUZZ_CHECK(member_ && record.id == kOwn && write.log == Log{0}, "in log 0, as itself");
    FUZZ_CHECK(record.seq == write.seq && record.seq > last_assignment_, "seqs rise");
    FUZZ_CHECK(record.lane == options_.lane, "in its lane");
    last_assignment_ = record.seq;
    if (record.type == AssignmentType::assign) {
      FUZZ_CHECK(member_->seat().held_by_own(), "under a seat that it holds");
      FUZZ_CHECK(record.seat == member_->seat().epoch(), "and under this one");
      for (const Designation& named : record.designations) {
        named.partitions.for_each(kPartitionCountMax, [&](Partition p) {
          FUZZ_CHECK(p.value() < options_.settings.partitions, "that there is");
        });
        FUZZ_CHECK(member_->members().find(named.to) != nullptr, "somebody that it has heard of");
      }
      plans_.push_back(now_);
      while (now_ - plans_.front() >= kInterval) plans_.pop_front();
      FUZZ_CHECK(plans_.size() <= kPlansMost, "plans without end");
    } else if (record.type == AssignmentType::seat_claim) {
      FUZZ_CHECK(now_ >= later(seat_claimed_, 2 * kInterval), "claims the seat without end");
      FUZZ_CHECK(!left_, "claims the seat after it left");
      seat_claimed_ = now_;
    } else if (record.type == AssignmentType::overrides) {
      FUZZ_CHECK(member_->seat().held_by_own() && !left_, "lists under a seat that it holds");
      FUZZ_CHECK(record.seat == member_->seat().epoch(), "and under this one");
      lists_.push_back(now_);
      while (now_ - lists_.front() >= kInterval) lists_.pop_front();
      FUZZ_CHECK(lists_.size() <= kListsMost, "lists without end");
    } else {
      FUZZ_CHECK(record.type == AssignmentType::leave, "no process writes an override");
      FUZZ_CHECK(!std::exchange(left_, true), "leaves once");
    }
    if (assigned_.size() == kEchoesMax) assigned_.erase(assigned_.begin());
    assigned_.push_back(record);
  }

  // Whatever was fed, and whatever never answers, it ends when it is closed.
  void end() {
    step(CloseRequested{now_});
    for (int i = 0; !core_.closed(); ++i) {
      FUZZ_CHECK(i < 1000 && core_.next_deadline() != kNever, "closing comes to an end");
      now_ = core_.next_deadline();
      tick();
    }
  }

  Bytes bytes_;
  CoreOptions options_;
  const AssignedCore* member_ = nullptr;  ///< null: a group assigns
  const ClaimProtocol* claims_ = nullptr;
  std::unique_ptr<Core> made_;
  Core& core_;
  Directory directory_;
  LocalTime now_{milliseconds{10'000}};
  std::vector<Epoch> acquired_;
  std::vector<bool> leading_;
  std::map<std::uint32_t, Epoch> barriers_;
  std::vector<std::int64_t> next_;
  std::vector<std::pair<Log, Record>> echoes_;
  std::vector<Epoch> epochs_;
  std::set<std::pair<std::uint32_t, Epoch>> claimed_;  ///< by log: own ones that it has read
  std::vector<Epoch> seats_;
  std::vector<AssignmentRecord> assigned_;  ///< its own, that may come back
  std::deque<LocalTime> plans_;
  std::deque<LocalTime> lists_;
  LocalTime seat_claimed_ = kLongAgo;
  std::uint64_t last_assignment_ = 0;
  std::uint32_t crowd_ = 0;
  bool left_ = false;
  RecordIdentity last_read_;
  std::uint64_t last_seq_ = 0;
  std::uint64_t question_ = 0;
  std::int64_t asked_offset_ = -1;
};

}  // namespace neliroute::fuzz
