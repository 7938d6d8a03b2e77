// A few members in exclusive mode on a ledger that is honest but slow, lossy and out of step, and a
// stranger who writes what he likes under ids of his own, or writes again what members wrote
// before. A group assigns what it likes; or a member assigns, and the stranger, too. Never do two
// lead.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "neli_core/assigner/assigned_core.h"
#include "neli_core/claimed/claim_protocol.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/stranger.h"
#include "tests/world/memory_log.h"

namespace neliroute::fuzz {

inline constexpr std::uint32_t kPartitions = 2;
inline constexpr std::size_t kMembers = 3;
inline constexpr std::size_t kRecordsMax = 2000;

struct Sent {
  Write write;
  std::shared_ptr<const Decoded> value;
};

struct Member {
  std::unique_ptr<Core> core;
  milliseconds lease{0};
  microseconds clock{0};            ///< its clock is this much ahead of true time
  std::vector<bool> reads;          ///< per log: its tail runs
  std::vector<std::int64_t> next;   ///< per log
  std::deque<Sent> sent;            ///< on their way
  std::deque<RereadRequest> asked;
  std::deque<BarrierDone> barriers;
};

class World {
 public:
  World(Bytes bytes, Assigning assigning) : bytes_(bytes), assigning_(assigning) {
    logs_.resize(1 + bytes_.below(2));
    believe_broker_time_ = bytes_.below(4) != 0;
    members_.resize(2 + bytes_.below(kMembers - 1));
    for (Member& member : members_) start(member);
  }

  void run() {
    while (!bytes_.empty() && records() < kRecordsMax) act();
  }

 private:
  void act() {
    const std::uint32_t what = bytes_.byte();
    Member& member = members_[(what >> 4) % members_.size()];
    const std::uint32_t log = (what >> 6) % static_cast<std::uint32_t>(logs_.size());
    switch (what & 15) {
      case 0:
        return wait(microseconds{1000 * (1 + bytes_.byte())});
      case 1:
        return tick(member);
      case 2:
        return read(member, log, 1 + bytes_.below(4));
      case 3:
        return answer(member, log);
      case 4:
        return land(member, Fate::stored);
      case 5:
        return land(member, static_cast<Fate>(bytes_.below(4)));
      case 6:
        return assign(member, true);
      case 7:
        return assign(member, false);
      case 8:
        return reread(member);
      case 9:
        return finish_barrier(member);
      case 10:
        return intrude(log);
      case 11:
        return append_again(log);
      case 12:
        return odd(member, log);
      case 13:
        return run_well(member);
      default:
        for (Member& each : members_) run_well(each);
        return;
    }
  }

  // --- Time and members -------------------------------------------------------------------------

  [[nodiscard]] LocalTime now(const Member& member) const {
    return LocalTime{microseconds{now_} + member.clock};
  }

  void start(Member& member) {
    CoreOptions options;
    options.id = ProcessId{0xa0 + ++started_};
    options.mode = Mode::exclusive;
    options.lease = bytes_.flag() ? kLease : 2 * kLease;
    options.interval = kInterval;
    options.clock_error = kClockError;
    options.believe_broker_time = believe_broker_time_;
    options.settings = settings_of(kPartitions, static_cast<std::uint32_t>(logs_.size()));
    options.process = {"member", "member:1", {}};
    member = Member{};
    member.lease = options.lease;
    member.core = made(options);
    member.clock = microseconds{1'000'000 * (1 + bytes_.byte())};
    member.reads.resize(logs_.size(), false);
    member.next.resize(logs_.size(), 0);
    tick(member);
    for (std::uint32_t log = 0; log < logs_.size(); ++log) start_tail(member, log);
  }

  [[nodiscard]] std::unique_ptr<Core> made(const CoreOptions& options) const {
    if (assigning_ == Assigning::group) {
      return std::make_unique<ClaimProtocol>(*ClaimProtocol::make(options));
    }
    AssignedOptions assigned;
    assigned.core = options;
    assigned.session = kSession;
    return std::make_unique<AssignedCore>(*AssignedCore::make(assigned));
  }

  void intrude(std::uint32_t log) {
    Decoded value = forged(bytes_, {ProcessId{1}, ProcessId{2}}, epochs(log), logs_[log].end());
    auto* record = std::get_if<Record>(&value);
    const bool may_be_member = assigning_ == Assigning::member && record != nullptr;
    if (may_be_member && record->type == RecordType::renewal && bytes_.flag()) {
      record->member = forged_member(bytes_, ids(), seats());
      record->settings = settings_of(kPartitions, static_cast<std::uint32_t>(logs_.size()));
      record->settings->mode = "exclusive";
      record->settings->variation = kAssignedVariation;
    }
    append(log, std::make_shared<const Decoded>(std::move(value)));
  }

  // The group's word, or a record of a stranger that claims the seat, or holds it, or does not.
  void assign(Member& member, bool given) {
    if (assigning_ == Assigning::member) {
      return append(0, std::make_shared<const Decoded>(forged_assignment(
                           bytes_, {ProcessId{1}, ProcessId{2}}, ids(), seats())));
    }
    const PartitionRanges partitions = partitions_of(1 + bytes_.below(3));
    if (given) return step(member, GroupAssigned{partitions});
    step(member, GroupRevoked{partitions, bytes_.flag()});
  }

  void wait(microseconds time) {
    now_ += time;
    check();
  }

  // Everything works for an instant, for this one.
  void run_well(Member& member) {
    wait(milliseconds{5});
    if (member.core->next_deadline() <= now(member)) tick(member);
    while (!member.sent.empty()) land(member, Fate::stored);
    while (!member.asked.empty()) reread(member);
    while (!member.barriers.empty()) finish_barrier(member);
    for (std::uint32_t log = 0; log < logs_.size(); ++log) {
      if (!member.reads[log]) start_tail(member, log);
      read(member, log, 50);
      answer(member, log);
    }
  }

  void tick(Member& member) {
    member.core->tick(now(member));
    take(member);
  }

  void step(Member& member, const Event& event) {
    member.core->step(event, now(member));
    take(member);
  }

  void take(Member& member) {
    Ready ready = member.core->take_ready();
    for (const Transition& transition : ready.transitions) {
      if (transition.kind != TransitionKind::stopped) continue;
      member.barriers.push_back({transition.partition, transition.epoch});
    }
    for (Write& write : ready.writes) {
      auto value = read_value(write.value);
      member.sent.push_back({std::move(write), std::move(value)});
    }
    for (const Log log : ready.restart_tails) member.reads[log.value()] = false;
    for (const RereadRequest& request : ready.rereads) member.asked.push_back(request);
    check();
  }

  void check() const {
    for (std::uint32_t p = 0; p < kPartitions; ++p) {
      int leaders = 0;
      for (const Member& member : members_) {
        if (member.core && member.core->leads(Partition{p}, now(member))) ++leaders;
      }
      FUZZ_CHECK(leaders <= 1, "two lead");
    }
  }

  void finish_barrier(Member& member) {
    if (member.barriers.empty()) return;
    const BarrierDone done = member.barriers.front();
    member.barriers.pop_front();
    step(member, done);
  }

  // What is rare: it is killed and restarted, its tail is, or it begins to leave.
  void odd(Member& member, std::uint32_t log) {
    switch (bytes_.below(8)) {
      case 0:
        return start(member);
      case 1:
        return step(member, CloseRequested{now(member) + milliseconds{bytes_.byte()}});
      case 2:
        return step(member, GapFound{Log{log}, GapReason::out_of_range});
      default:
        if (!member.reads[log]) start_tail(member, log);
    }
  }

  // --- The ledger -------------------------------------------------------------------------------

  enum class Fate { stored, stored_unheard, stored_twice, lost };

  [[nodiscard]] std::size_t records() const {
    std::size_t all = 0;
    for (const MemoryLog& log : logs_) all += log.records.size();
    return all;
  }

  [[nodiscard]] std::vector<Epoch> epochs(std::uint32_t log) const {
    std::vector<Epoch> made;
    std::int64_t offset = 0;
    for (const StoredRecord& stored : logs_[log].records) {
      const Record* record = stored.record();
      const bool claims = record != nullptr && record->type == RecordType::claim;
      if (claims) made.push_back(claim_epoch(*record, stored.stamped, offset));
      ++offset;
    }
    return made;
  }

  /// Of all that there were.
  [[nodiscard]] std::vector<ProcessId> ids() const {
    std::vector<ProcessId> all;
    for (std::uint64_t i = 1; i <= started_; ++i) all.push_back(ProcessId{0xa0 + i});
    return all;
  }

  [[nodiscard]] std::vector<Epoch> seats() const {
    std::vector<Epoch> claimed;
    std::int64_t offset = 0;
    for (const StoredRecord& stored : logs_[0].records) {
      const auto* record = std::get_if<AssignmentRecord>(stored.value.get());
      const bool claims = record != nullptr && record->type == AssignmentType::seat_claim;
      if (claims) claimed.push_back(seat_at(stored.stamped, offset));
      ++offset;
    }
    return claimed;
  }

  void append(std::uint32_t log, std::shared_ptr<const Decoded> value) {
    // Two brokers' clocks, at most clock_error apart.
    const auto most = static_cast<std::uint32_t>(kClockError.count());
    const BrokerTime time = broker_time(LocalTime{now_}) + milliseconds{bytes_.below(most + 1)};
    logs_[log].append(std::move(value), time, believe_broker_time_);
  }

  void append_again(std::uint32_t log) {
    const auto& records = logs_[log].records;
    if (records.empty()) return;
    const auto back = 1 + static_cast<std::size_t>(bytes_.byte()) % records.size();
    append(log, records[records.size() - back].value);
  }

  void land(Member& member, Fate fate) {
    if (member.sent.empty()) return;
    const Sent sent = std::move(member.sent.front());
    member.sent.pop_front();
    const std::uint32_t log = sent.write.log.value();
    if (fate != Fate::lost) append(log, sent.value);
    if (fate == Fate::stored_twice) append(log, sent.value);
    if (fate == Fate::stored || fate == Fate::stored_twice) {
      step(member, WriteAcknowledged{sent.write.seq, logs_[log].end() - 1});
    } else {
      step(member, WriteFailed{sent.write.seq});
    }
  }

  // From the beginning, or as far back as rule 6 asks, at least one record.
  void start_tail(Member& member, std::uint32_t log) {
    const std::int64_t end = logs_[log].end();
    const bool whole = bytes_.flag() || !believe_broker_time_;
    const std::int64_t from = whole ? 0 : logs_[log].history_start(member.lease, kClockError);
    member.reads[log] = true;
    member.next[log] = from;
    step(member, tail_at(Log{log}, from, end));
  }

  void read(Member& member, std::uint32_t log, std::uint32_t most) {
    for (; most > 0 && member.reads[log] && member.next[log] < logs_[log].end(); --most) {
      step(member, logs_[log].received(Log{log}, member.next[log]++));
    }
  }

  void answer(Member& member, std::uint32_t log) {
    if (!member.reads[log] || member.next[log] != logs_[log].end()) return;
    step(member, LogPosition{Log{log}, logs_[log].end()});
  }

  void reread(Member& member) {
    if (member.asked.empty()) return;
    const RereadRequest request = member.asked.front();
    member.asked.pop_front();
    step(member, logs_[request.log.value()].answer(request));
  }

  Bytes bytes_;
  Assigning assigning_;
  microseconds now_{10'000'000};
  std::vector<MemoryLog> logs_;
  std::vector<Member> members_;
  std::uint64_t started_ = 0;
  bool believe_broker_time_ = true;
};

}  // namespace neliroute::fuzz
