#include "tests/unit/neli_core/assigner/assigned_rig.h"
#include "tests/unit/neli_core/tail_at.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace neliroute::told {

const AssignmentRecord* assignment_in(const Decoded& decoded, AssignmentType type) {
  const auto* record = std::get_if<AssignmentRecord>(&decoded);
  return record != nullptr && record->type == type ? record : nullptr;
}

std::vector<Decoded> Process::batch_with(AssignmentType type) const {
  for (auto batch = batches.rbegin(); batch != batches.rend(); ++batch) {
    for (const Decoded& decoded : *batch) {
      if (assignment_in(decoded, type) != nullptr) return *batch;
    }
  }
  return {};
}

AssignedRig::AssignedRig(AssignedRigOptions rig_options)
    : options(rig_options), logs(rig_options.logs) {}

AssignedOptions AssignedRig::core_options(std::uint64_t id) const {
  const std::string name = "p" + std::to_string(id);
  AssignedOptions assigned;
  assigned.core.id = ProcessId{id};
  assigned.core.mode = options.mode;
  assigned.core.interval = kInterval;
  assigned.core.lease = kLease;
  assigned.core.clock_error = kInterval;
  assigned.core.settings = {"group", options.partitions, options.partitions, options.logs,
                            "xxh3", ""};
  assigned.core.process = {name, name + ":1", {}};
  assigned.session = kSession;
  return assigned;
}

Process& AssignedRig::start(std::uint64_t id, std::int64_t tail_from) {
  return start(core_options(id), tail_from);
}

Process& AssignedRig::start(AssignedOptions assigned, std::int64_t tail_from) {
  auto made = AssignedCore::make(std::move(assigned));
  if (!made) std::abort();
  Process& added = *processes_.emplace_back(std::make_unique<Process>(std::move(*made)));
  added.next.assign(logs.size(), tail_from);
  added.core.tick(now);
  for (std::uint32_t l = 0; l < logs.size(); ++l) {
    step(added, tail_at(Log{l}, tail_from, logs[l].end()));
  }
  settle();
  return added;
}

std::vector<Process*> AssignedRig::start_all(std::uint64_t count) {
  std::vector<Process*> all;
  for (std::uint64_t id = 1; id <= count; ++id) {
    all.push_back(&start(id));
    run_for(milliseconds{10});
  }
  EXPECT_TRUE(run_until([&] { return led() == options.partitions; }, milliseconds{10'000}));
  run_for(milliseconds{5000});
  return all;
}

void AssignedRig::step(Process& process, const Event& event) {
  process.core.step(event, now);
  carry_out(process);
}

void AssignedRig::append(const std::string& value) {
  logs[0].append(read_value(value), broker_now());
  settle();
}

std::int64_t AssignedRig::order(Override override) {
  AssignmentRecord record;
  record.type = AssignmentType::override;
  record.id = ProcessId{++operators_};
  record.seq = 1;
  record.override = std::move(override);
  const std::int64_t offset = logs[0].end();
  append(encode_record(record));
  return offset;
}

void AssignedRig::restart_tail(Process& process, std::int64_t from) {
  process.next[0] = from;
  step(process, tail_at(Log{0}, from, logs[0].end()));
  settle();
}

BrokerTime AssignedRig::broker_now() const {
  return BrokerTime{std::chrono::duration_cast<milliseconds>(now.time_since_epoch()) +
                    milliseconds{1'700'000'000'000}};
}

void AssignedRig::write(Process& process, const Write& write) {
  const auto value = read_value(write.value);
  EXPECT_LE(write.value.size(), kRecordBytesMax);
  if (process.fail_assignments && assignment_in(*value, AssignmentType::assign) != nullptr) {
    return process.core.step(WriteFailed{write.seq}, now);
  }
  if (process.forbidden.contains(write.log.value())) {
    return process.core.step(WriteFailed{write.seq}, now);
  }
  if (process.lose_leave && assignment_in(*value, AssignmentType::leave) != nullptr) return;
  const std::int64_t offset = logs[write.log.value()].append(value, broker_now());
  process.core.step(WriteAcknowledged{write.seq, offset}, now);
}

void AssignedRig::carry_out(Process& process) {
  for (int rounds = 0; !process.dead && !process.closed; ++rounds) {
    if (rounds == 1000) {
      ADD_FAILURE() << "a process writes without end";
      return kill(process);
    }
    Ready ready = process.core.take_ready();
    EXPECT_FALSE(ready.subscribe || ready.leave_group || ready.expedite) << "asks for the group";
    EXPECT_EQ(ready.rebalances_done, 0u);
    EXPECT_FALSE(ready.refused) << ready.refused->message();
    EXPECT_TRUE(ready.restart_tails.empty());
    for (Notice& notice : ready.notices) process.notices.push_back(std::move(notice));
    std::vector<Decoded> batch;
    for (const Write& each : ready.writes) batch.push_back(decode_record(each.value));
    if (!batch.empty()) process.batches.push_back(std::move(batch));
    for (const Write& each : ready.writes) write(process, each);
    bool more = !ready.writes.empty();
    for (const RereadRequest& request : ready.rereads) {
      process.core.step(logs[request.log.value()].answer(request), now);
      more = true;
    }
    for (const Transition& t : ready.transitions) {
      if (t.kind != TransitionKind::stopped || process.hold_barriers) continue;
      process.core.step(BarrierDone{t.partition, t.epoch}, now);
      more = true;
    }
    process.closed |= ready.closed;
    if (!more) return;
  }
}

// False: there was nothing.
bool AssignedRig::deliver_one(Process& process, std::uint32_t log, milliseconds late) {
  const StoredRecord* const found = logs[log].find(process.next[log]);
  if (found == nullptr || found->stamped + late > broker_now()) return false;
  const StoredRecord record = *found;  // what it writes may move the log's records
  const std::int64_t offset = process.next[log]++;
  step(process, Received{Log{log}, offset, record.stamped, true, record.value.get()});
  return true;
}

void AssignedRig::read(Process& process, std::uint32_t log, std::size_t count) {
  while (count > 0 && deliver_one(process, log, milliseconds{0})) --count;
}

bool AssignedRig::deliver(Process& process) {
  bool any = false;
  for (std::uint32_t l = 0; l < logs.size(); ++l) {
    while (deliver_one(process, l, process.late)) any = true;
  }
  return any;
}

void AssignedRig::settle() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (auto& process : processes_) {
      if (process->dead || process->closed || process->hold) continue;
      moved |= deliver(*process);
    }
  }
}

void AssignedRig::look() {
  if (watch && led() < options.partitions) ++unled;
}

testing::AssertionResult AssignedRig::run_until(const std::function<bool()>& condition,
                                                milliseconds at_most) {
  if (run(condition, at_most)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "not within " << at_most.count() << " ms:\n" << describe();
}

bool AssignedRig::run(const std::function<bool()>& condition, milliseconds at_most) {
  const LocalTime end = now + at_most;
  while (!condition()) {
    if (now >= end) return false;
    LocalTime next = end;
    for (const auto& process : processes_) {
      if (process->dead || process->closed) continue;
      next = std::min(next, process->core.next_deadline());
    }
    if (next <= now) ++overdue;
    now = std::max(next, now + microseconds{1});
    look();
    ++ticks;
    for (auto& process : processes_) {
      if (process->dead || process->closed) continue;
      process->core.tick(now);
      carry_out(*process);
    }
    settle();
    look();
  }
  return true;
}

std::string AssignedRig::describe() const {
  std::string text;
  std::size_t started = 0;
  for (const auto& process : processes_) {
    text += "process started as number " + std::to_string(++started);
    text += process->dead ? ", dead," : process->closed ? ", closed," : "";
    text += " leads " + std::to_string(led_by(*process)) + " partitions\n";
  }
  return text + newest_of(logs);
}

std::size_t AssignedRig::led_by(const Process& process) const {
  std::size_t count = 0;
  for (std::uint32_t p = 0; p < options.partitions; ++p) {
    count += process.core.leads(Partition{p}, now);
  }
  return count;
}

std::size_t AssignedRig::led() const {
  std::size_t count = 0;
  for (std::uint32_t p = 0; p < options.partitions; ++p) {
    count += std::any_of(processes_.begin(), processes_.end(), [&](const auto& process) {
      return !process->dead && process->core.leads(Partition{p}, now);
    });
  }
  return count;
}

std::vector<AssignmentRecord> AssignedRig::assignments(AssignmentType type) const {
  std::vector<AssignmentRecord> all;
  for (const StoredRecord& stored : logs[0].records) {
    if (const auto* record = assignment_in(*stored.value, type)) all.push_back(*record);
  }
  return all;
}

std::size_t AssignedRig::claims() const {
  std::size_t count = 0;
  for (const MemoryLog& log : logs) {
    for (const StoredRecord& stored : log.records) {
      const Record* record = stored.record();
      count += record != nullptr && record->type == RecordType::claim;
    }
  }
  return count;
}

}  // namespace neliroute::told
