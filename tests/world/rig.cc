#include "tests/world/rig.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace neliroute::rig {
namespace {

constexpr int kRoundsMax = 1000;  // more than anything that is not a fault

}  // namespace

std::size_t Process::count(TransitionKind kind) const {
  return static_cast<std::size_t>(std::count_if(
      transitions.begin(), transitions.end(), [&](const auto& t) { return t.kind == kind; }));
}

const Transition* Process::last(TransitionKind kind, std::uint32_t partition) const {
  for (auto it = transitions.rbegin(); it != transitions.rend(); ++it) {
    if (it->kind == kind && it->partition == Partition{partition}) return &*it;
  }
  return nullptr;
}

Fate Process::fate_of(const Write& write) const {
  if (drop_writes) return Fate::lost;
  if (fail_writes) return Fate::refused;
  return hold_writes || cut_off.contains(write.log) ? Fate::held : Fate::stored;
}

Rig::Rig(RigOptions rig_options) : options(rig_options), logs_(rig_options.logs) {}

CoreOptions Rig::core_options(std::uint64_t id, const std::string& name) const {
  CoreOptions core;
  core.id = ProcessId{id};
  core.mode = options.mode;
  core.interval = options.interval;
  core.lease = options.lease;
  core.clock_error = options.clock_error;
  core.believe_broker_time = options.believe_broker_time;
  core.prepare_timeout = options.prepare_timeout;
  core.serve_stale = options.serve_stale;
  core.settings = {"group", options.slots, options.partitions, options.logs, "xxh3", ""};
  core.process = {name, name + ":1", {}};
  return core;
}

Process& Rig::start(std::uint64_t id, const std::string& name, std::int64_t tail_from) {
  return start(core_options(id, name), tail_from);
}

Process& Rig::start(CoreOptions core_options, std::int64_t tail_from) {
  return start(std::move(core_options), std::vector<std::int64_t>(logs_.size(), tail_from));
}

Process& Rig::start(CoreOptions core_options, const std::vector<std::int64_t>& tail_from) {
  const std::string name = core_options.process.name;
  auto made = ClaimProtocol::make(std::move(core_options));
  if (!made) std::abort();
  return start(std::make_unique<Process>(std::make_unique<ClaimProtocol>(std::move(*made)), name),
               tail_from);
}

Process& Rig::start(AssignedOptions assigned, const std::vector<std::int64_t>& tail_from) {
  const std::string name = assigned.core.process.name;
  auto made = AssignedCore::make(std::move(assigned));
  if (!made) std::abort();
  return start(std::make_unique<Process>(std::make_unique<AssignedCore>(std::move(*made)), name),
               tail_from);
}

Process& Rig::start(std::unique_ptr<Process> process, const std::vector<std::int64_t>& tail_from) {
  Process& added = *processes_.emplace_back(std::move(process));
  if (onlooker_) onlooker_->on_start(added);
  added.next = tail_from;
  added.core.tick(now_);
  for (std::uint32_t l = 0; l < logs_.size(); ++l) restart_tail(added, Log{l}, tail_from[l]);
  settle();
  return added;
}

void Rig::restart_tail(Process& process, Log log, std::int64_t from) {
  const std::int64_t end = logs_[log.value()].end();
  process.next[log.value()] = std::min(from, end);
  step(process, tail_at(log, process.next[log.value()], end));
}

void Rig::assign(Process& process, const std::string& partitions) {
  settle();
  step(process, GroupAssigned{*PartitionRanges::parse(partitions)});
  settle();
}

void Rig::revoke(Process& process, const std::string& partitions, bool lost) {
  settle();
  step(process, GroupRevoked{*PartitionRanges::parse(partitions), lost});
  settle();
}

void Rig::step(Process& process, const Event& event) {
  feed(process, event);
  carry_out(process);
}

void Rig::wake(Process& process) {
  process.stopped = false;
  process.core.tick(now_);
  carry_out(process);
  settle();
}

void Rig::skip(microseconds duration) {
  if (onlooker_) onlooker_->on_time(now_, now_ + duration);
  now_ += duration;
}

std::vector<Record> Process::records() const {
  std::vector<Record> all;
  for (const Write& write : written) {
    Decoded decoded = decode_record(write.value);
    if (std::holds_alternative<AssignmentRecord>(decoded)) continue;
    all.push_back(std::get<Record>(std::move(decoded)));
  }
  return all;
}

std::vector<Record> Process::records(RecordType type) const {
  auto some = records();
  std::erase_if(some, [&](const Record& record) { return record.type != type; });
  return some;
}

namespace {

Record record_of(RecordType type, std::uint64_t id) {
  Record record;
  record.type = type;
  record.id = ProcessId{id};
  record.seq = 1;
  record.lease = milliseconds{1000};
  record.max_lease = milliseconds{1000};
  record.process = {"foreign", "foreign:1", {}};
  return record;
}

}  // namespace

Record claim_of(std::uint64_t id, const std::string& parts, std::int64_t incarnation) {
  Record record = record_of(RecordType::claim, id);
  record.parts = LogParts::parse(parts);
  record.incarnation = incarnation;
  return record;
}

Record renewal_of(std::uint64_t id, const Epoch& epoch, const std::string& parts,
                  const std::string& leading, const std::string& draining) {
  Record record = record_of(RecordType::renewal, id);
  record.incarnation = epoch.incarnation;
  record.epochs = {{epoch.offset, *LogParts::parse(parts)}};
  record.leading = *LogParts::parse(leading);
  record.draining = *LogParts::parse(draining);
  return record;
}

Record release_of(std::uint64_t id, const Epoch& epoch, const std::string& parts) {
  Record record = record_of(RecordType::release, id);
  record.incarnation = epoch.incarnation;
  record.epochs = {{epoch.offset, *LogParts::parse(parts)}};
  return record;
}

std::int64_t Rig::append(Log log, const Record& record) {
  return append(log, encode_record(record));
}

Epoch Rig::append_claim(Log log, const Record& record) {
  const std::int64_t incarnation =
      std::max(record.incarnation, broker_now().time_since_epoch().count());
  return {incarnation, append(log, record)};
}

BrokerTime Rig::broker_now() const {
  return BrokerTime{std::chrono::duration_cast<milliseconds>(now_.time_since_epoch()) +
                    broker_offset};
}

std::int64_t Rig::append(Log log, const std::string& value) {
  return store(nullptr, log, value);
}

std::int64_t Rig::store(const Process* writer, Log log, const std::string& value) {
  const std::int64_t offset =
      logs_[log.value()].append(read_value(value), broker_now(), options.store_stamped);
  if (onlooker_) onlooker_->on_append(writer, log, offset);
  return offset;
}

void Rig::feed(Process& process, const Event& event) {
  if (onlooker_) onlooker_->on_event(process, event);
  process.core.step(event, now_);
}

void Rig::write(Process& process, const Write& write) {
  process.written.push_back(write);
  const Fate fate = process.fate_of(write);
  if (fate == Fate::refused) return feed(process, WriteFailed{write.seq});
  if (fate == Fate::held) return process.in_flight.push_back({write, now_});
  const std::int64_t offset =
      fate == Fate::stored ? store(&process, write.log, write.value) : -1;
  if (fate == Fate::lost || process.keep_acks) return process.unanswered.push_back(write.seq);
  feed(process, WriteAcknowledged{write.seq, offset});
}

void Rig::arrive(Process& process) {
  while (!process.in_flight.empty()) {
    const Write write = std::move(process.in_flight.front().write);
    process.in_flight.pop_front();
    const std::int64_t offset = store(&process, write.log, write.value);
    step(process, WriteAcknowledged{write.seq, offset});
  }
  settle();
}

void Rig::fail_overdue_writes(Process& process) {
  while (!process.in_flight.empty() && now_ - process.in_flight.front().written >= options.lease) {
    const std::uint64_t seq = process.in_flight.front().write.seq;
    process.in_flight.pop_front();
    step(process, WriteFailed{seq});
  }
}

void Rig::reread(Process& process, const RereadRequest& request) {
  process.rereads.push_back(request);
  if (!process.answer_rereads) return;
  if (process.hold || process.cut_off.contains(request.log)) {
    return process.owed_rereads.push_back(request);
  }
  feed(process, logs_[request.log.value()].answer(request));
}

void Rig::release_hold(Process& process) {
  process.hold = false;
  for (const RereadRequest& request : std::exchange(process.owed_rereads, {})) {
    reread(process, request);
  }
  carry_out(process);
  settle();
}

void Rig::carry_out(Process& process) {
  if (process.steps_only) return;
  int rounds = 0;
  while (carry_out_once(process)) {
    if (++rounds < kRoundsMax) continue;
    ADD_FAILURE() << process.name << " writes without end";
    process.stopped = true;
    return;
  }
}

// Returns whether that made more to carry out.
bool Rig::carry_out_once(Process& process) {
  Ready ready = process.core.take_ready();
  if (onlooker_) onlooker_->on_ready(process, ready);
  std::vector<BarrierDone> barriers;
  for (const Transition& t : ready.transitions) {
    process.transitions.push_back(t);
    if (t.kind == TransitionKind::stopped) barriers.push_back({t.partition, t.epoch});
  }
  process.rebalances_done += ready.rebalances_done;
  for (const Write& each : ready.writes) write(process, each);
  for (const Log log : ready.restart_tails) process.restarts.push_back(log);
  for (const RereadRequest& request : ready.rereads) reread(process, request);
  process.subscribed |= ready.subscribe;
  process.left_group |= ready.leave_group;
  if (ready.expedite) process.expedites.emplace_back(now_, *ready.expedite);
  for (Notice& notice : ready.notices) process.notices.push_back(std::move(notice));
  if (ready.refused) process.refused = ready.refused;
  process.closed |= ready.closed;
  if (!process.keep_barriers) {
    for (const BarrierDone& done : barriers) feed(process, done);
  }
  const bool prepared = let_prepare(process, ready);
  return prepared || !ready.writes.empty() || !ready.rereads.empty() || !barriers.empty();
}

// Returns whether the application was done at once with anything.
bool Rig::let_prepare(Process& process, const Ready& ready) {
  PartitionRanges warm;
  for (const Transition& t : ready.warm_ups) {
    process.warm_ups.push_back(t);
    warm.insert(t.partition);
  }
  const auto append = [](std::vector<Partition>& to, const std::vector<Partition>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  append(process.prepares, ready.prepares);
  append(process.unprepared, ready.unprepared);
  const bool prepared = !ready.prepares.empty() && !process.keep_prepares;
  const bool warmed = !warm.empty() && !process.keep_warm_ups;
  if (prepared) feed(process, Prepared{PartitionRanges::of(ready.prepares)});
  if (warmed) feed(process, WarmedUp{warm});
  return prepared || warmed;
}

void Rig::deliver(Process& process) {
  for (std::uint32_t l = 0; l < logs_.size(); ++l) {
    if (process.cut_off.contains(Log{l})) continue;
    while (reads_next_at(process, l) <= now_) read(process, l, 1);
  }
}

void Rig::read(Process& process, std::uint32_t log, std::size_t count) {
  for (; count > 0 && logs_[log].find(process.next[log]) != nullptr; --count) {
    step(process, logs_[log].received(Log{log}, process.next[log]++));
  }
}

LocalTime Rig::reads_next_at(const Process& process, std::uint32_t log) const {
  const StoredRecord* const found = logs_[log].find(process.next[log]);
  if (found == nullptr) return kNever;
  if (process.late.count() == 0) return kLongAgo;
  return now_ + (found->stamped + process.late - broker_now());
}

void Rig::settle() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (auto& process : processes_) {
      if (process->hold || process->stopped || process->ended()) continue;
      for (std::uint32_t l = 0; l < logs_.size(); ++l) {
        moved |= !process->cut_off.contains(Log{l}) && reads_next_at(*process, l) <= now_;
      }
      deliver(*process);
    }
  }
}

LocalTime Rig::next_deadline() const {
  LocalTime next = onlooker_ ? onlooker_->next_deadline() : kNever;
  for (const auto& process : processes_) {
    if (process->stopped || process->ended()) continue;
    next = std::min(next, process->core.next_deadline());
    for (std::uint32_t l = 0; l < logs_.size() && process->late.count() > 0; ++l) {
      if (!process->cut_off.contains(Log{l})) next = std::min(next, reads_next_at(*process, l));
    }
    if (process->in_flight.empty()) continue;
    next = std::min(next, later(process->in_flight.front().written, options.lease));
  }
  return next;
}

void Rig::run_for(milliseconds duration) {
  run([] { return false; }, duration);
}

testing::AssertionResult Rig::run_until(const std::function<bool()>& condition,
                                        milliseconds at_most) {
  if (run(condition, at_most)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "not within " << at_most.count() << " ms:\n" << describe();
}

bool Rig::run(const std::function<bool()>& condition, microseconds at_most) {
  const LocalTime end = now_ + at_most;
  while (true) {
    if (condition()) return true;
    const LocalTime next = std::min(next_deadline(), end);
    skip(std::max(next - now_, microseconds{next > now_ ? 0 : 1}));
    for (auto& process : processes_) {
      if (process->stopped || process->ended()) continue;
      process->core.tick(now_);
      carry_out(*process);
      fail_overdue_writes(*process);
    }
    if (onlooker_) onlooker_->tick(now_);
    settle();
    if (now_ >= end) return condition();
  }
}

std::size_t Rig::leaders(std::uint32_t partition) const {
  return static_cast<std::size_t>(
      std::count_if(processes_.begin(), processes_.end(), [&](const auto& process) {
        return process->leads(partition, now_);
      }));
}

std::string Rig::describe() const {
  std::string text;
  for (const auto& process : processes_) {
    text += process->name + (process->ended() ? ", ended," : process->stopped ? ", stopped," : "");
    text += " leads";
    for (std::uint32_t p = 0; p < options.partitions; ++p) {
      if (process->leads(p, now_)) text += " " + std::to_string(p);
    }
    text += '\n';
  }
  return text + newest_of(logs_);
}

Process& leader_of_0(Rig& rig, std::uint64_t id) {
  Process& process = rig.start(id, "leader");
  rig.assign(process, "0");
  rig.run_for(milliseconds{1500});
  return process;
}

}  // namespace neliroute::rig
