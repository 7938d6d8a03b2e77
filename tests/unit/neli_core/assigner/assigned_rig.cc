#include "tests/unit/neli_core/assigner/assigned_rig.h"

#include <algorithm>
#include <cstdlib>

namespace neliroute::told {

const AssignmentRecord* assignment_in(const Decoded& decoded, AssignmentType type) {
  const auto* record = std::get_if<AssignmentRecord>(&decoded);
  return record != nullptr && record->type == type ? record : nullptr;
}

rig::Fate Process::fate_of(const Write& write) const {
  const Decoded decoded = decode_record(write.value);
  const auto is = [&](AssignmentType type) { return assignment_in(decoded, type) != nullptr; };
  if (fail_assignments && is(AssignmentType::assign)) return rig::Fate::refused;
  if (forbidden.contains(write.log.value())) return rig::Fate::refused;
  return lose_leave && is(AssignmentType::leave) ? rig::Fate::lost : rig::Fate::stored;
}

std::vector<Decoded> Process::batch_with(AssignmentType type) const {
  for (auto batch = batches.rbegin(); batch != batches.rend(); ++batch) {
    for (const Decoded& decoded : *batch) {
      if (assignment_in(decoded, type) != nullptr) return *batch;
    }
  }
  return {};
}

AssignedRig::AssignedRig(AssignedRigOptions of)
    : Rig({.mode = of.mode, .slots = of.partitions, .partitions = of.partitions, .logs = of.logs}) {
  set_onlooker(this);
}

AssignedOptions AssignedRig::core_options(std::uint64_t id) const {
  AssignedOptions assigned;
  assigned.core = Rig::core_options(id, "p" + std::to_string(id));
  assigned.session = kSession;
  return assigned;
}

Process& AssignedRig::start(std::uint64_t id, std::int64_t tail_from) {
  return start(core_options(id), tail_from);
}

Process& AssignedRig::start(AssignedOptions assigned, std::int64_t tail_from) {
  const std::string name = assigned.core.process.name;
  auto made = AssignedCore::make(std::move(assigned));
  if (!made) std::abort();
  auto process =
      std::make_unique<Process>(std::make_unique<AssignedCore>(std::move(*made)), name);
  return static_cast<Process&>(
      Rig::start(std::move(process), std::vector<std::int64_t>(options.logs, tail_from)));
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

void AssignedRig::append(const std::string& value) {
  Rig::append(Log{0}, value);
  settle();
}

std::int64_t AssignedRig::order(Override override) {
  AssignmentRecord record;
  record.type = AssignmentType::override;
  record.id = ProcessId{++operators_};
  record.seq = 1;
  record.override = std::move(override);
  const std::int64_t offset = log(0).end();
  append(encode_record(record));
  return offset;
}

void AssignedRig::restart_tail(Process& process, std::int64_t from) {
  Rig::restart_tail(process, Log{0}, from);
  settle();
}

void AssignedRig::on_ready(rig::Process& process, const Ready& ready) {
  EXPECT_FALSE(ready.subscribe || ready.leave_group || ready.expedite) << "asks for the group";
  EXPECT_EQ(ready.rebalances_done, 0u);
  EXPECT_FALSE(ready.refused) << ready.refused->message();
  EXPECT_TRUE(ready.restart_tails.empty());
  std::vector<Decoded> batch;
  for (const Write& write : ready.writes) {
    EXPECT_LE(write.value.size(), kRecordBytesMax);
    batch.push_back(decode_record(write.value));
  }
  if (!batch.empty()) static_cast<Process&>(process).batches.push_back(std::move(batch));
}

void AssignedRig::on_time(LocalTime from, LocalTime to) {
  const auto is_overdue = [&](const auto& process) {
    return !process->stopped && !process->ended() && process->core.next_deadline() <= from;
  };
  if (std::any_of(processes().begin(), processes().end(), is_overdue)) ++overdue;
  if (watch && led_at(to) < options.partitions) ++unled;
  ++ticks;
}

std::size_t AssignedRig::led_by(const Process& process) const {
  std::size_t count = 0;
  for (std::uint32_t p = 0; p < options.partitions; ++p) count += process.leads(p, now());
  return count;
}

std::size_t AssignedRig::led_at(LocalTime time) const {
  std::size_t count = 0;
  for (std::uint32_t p = 0; p < options.partitions; ++p) {
    count += std::any_of(processes().begin(), processes().end(), [&](const auto& process) {
      return !process->stopped && process->leads(p, time);
    });
  }
  return count;
}

std::vector<AssignmentRecord> AssignedRig::assignments(AssignmentType type) const {
  std::vector<AssignmentRecord> all;
  for (const StoredRecord& stored : log(0).records) {
    if (const auto* record = assignment_in(*stored.value, type)) all.push_back(*record);
  }
  return all;
}

std::size_t AssignedRig::claims() const {
  std::size_t count = 0;
  for (std::uint32_t l = 0; l < options.logs; ++l) {
    for (const StoredRecord& stored : log(l).records) {
      const Record* record = stored.record();
      count += record != nullptr && record->type == RecordType::claim;
    }
  }
  return count;
}

}  // namespace neliroute::told
