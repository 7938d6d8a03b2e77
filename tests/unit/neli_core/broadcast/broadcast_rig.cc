#include "tests/unit/neli_core/broadcast/broadcast_rig.h"

#include <algorithm>
#include <utility>

namespace neliroute::broadcast_rig {

BroadcastOptions options_of(Mode mode, std::uint32_t partitions) {
  BroadcastOptions options;
  options.core.id = ProcessId{1};
  options.core.mode = mode;
  options.core.interval = milliseconds{500};
  options.core.lease = milliseconds{mode == Mode::exclusive ? 2000 : 9000};
  options.core.settings.group = "g";
  options.core.settings.slots = 64;
  options.core.settings.partitions = partitions;
  options.core.settings.logs = 1;
  options.core.settings.hash = "xxh3";
  options.core.process.name = "alpha";
  options.session = milliseconds{3000};
  options.local_clock_error = milliseconds{100};
  return options;
}

BroadcastOptions with_hints(Mode mode) {
  BroadcastOptions options = options_of(mode);
  options.hints = true;
  return options;
}

std::size_t Process::count(TransitionKind kind) const {
  return static_cast<std::size_t>(
      std::count_if(transitions.begin(), transitions.end(),
                    [&](const Transition& t) { return t.kind == kind; }));
}

bool Process::was_told(const std::string& part) const {
  return std::any_of(notices.begin(), notices.end(), [&](const Notice& n) {
    return n.text.find(part) != std::string::npos;
  });
}

Process& World::add(BroadcastOptions options, milliseconds wall_error) {
  options.core.id = ProcessId{processes_.size() + 1};
  const std::uint32_t partitions = options.core.settings.partitions;
  topic_.resize(std::max<std::size_t>(topic_.size(), partitions));
  auto made = Broadcast::make(std::move(options));
  processes_.push_back(std::make_unique<Process>(std::move(made.value()), wall_error));
  Process& process = *processes_.back();
  process.assigned.assign(partitions, false);
  process.next.assign(partitions, 0);
  process.core.tick(now_);
  carry_out(process);
  step(process, tail_at(Log{0}, 0, topic_[0].end()));
  return process;
}

void World::step(Process& process, const Event& event) {
  process.core.step(event, now_);
  carry_out(process);
  deliver();
}

void World::assign(Process& process, const std::string& partitions) {
  const PartitionRanges ranges = *PartitionRanges::parse(partitions);
  ranges.for_each(static_cast<std::uint32_t>(process.assigned.size()), [&](Partition p) {
    process.assigned[p.value()] = true;
    process.next[p.value()] = topic_[p.value()].end();  // from there on
  });
  step(process, GroupAssigned{ranges});
}

void World::revoke(Process& process, const std::string& partitions, bool lost) {
  const PartitionRanges ranges = *PartitionRanges::parse(partitions);
  ranges.for_each(static_cast<std::uint32_t>(process.assigned.size()),
                  [&](Partition p) { process.assigned[p.value()] = false; });
  step(process, GroupRevoked{ranges, lost});
}

void World::append(Partition partition, BrokerTime stamped, std::string value) {
  topic_[partition.value()].append(read_value(value), stamped);
  deliver();
}

std::vector<Record> World::beside(RecordType type) const {
  std::vector<Record> found;
  for (const StoredRecord& stored : topic_[0].records) {
    const Record* record = stored.record();
    if (record != nullptr && record->type == type) found.push_back(*record);
  }
  return found;
}

void World::carry_out(Process& process) {
  Ready ready = process.core.take_ready();
  for (const Transition& t : ready.transitions) process.transitions.push_back(t);
  process.rebalances_done += ready.rebalances_done;
  if (ready.broadcast && !process.cut && !process.mute) {
    for (std::size_t p = 0; p < process.assigned.size(); ++p) {
      topic_[p].append(read_value({}), broker_now());
    }
  }
  for (const Write& write : ready.writes) {
    if (process.lose_writes) continue;
    if (process.fail_writes || process.cut) {
      process.core.step(WriteFailed{write.seq}, now_);
    } else {
      topic_[write.log.value()].append(read_value(write.value), broker_now());
      process.core.step(WriteAcknowledged{write.seq}, now_);
    }
  }
  process.subscribed |= ready.subscribe;
  process.left_group |= ready.leave_group;
  if (ready.leave_group) process.assigned.assign(process.assigned.size(), false);
  for (const Notice& n : ready.notices) process.notices.push_back(n);
  if (ready.refused) process.refused = ready.refused;
  process.closed |= ready.closed;
  for (const Transition& t : ready.transitions) {
    if (t.kind == TransitionKind::stopped && !process.keep_barriers) {
      step(process, BarrierDone{t.partition, t.epoch});
    }
  }
}

void World::deliver() {
  while (deliver_once()) {
  }
}

bool World::deliver_once() {
  bool any = false;
  for (const auto& process : processes_) {
    if (process->stopped || process->cut || process->closed) continue;
    any |= deliver_log(*process);
    for (std::size_t p = 0; p < process->next.size(); ++p) {
      while (process->assigned[p] && process->next[p] < topic_[p].end()) {
        const std::int64_t offset = process->next[p]++;
        const WallTime wall{broker_now().time_since_epoch() + process->wall_error};
        const BrokerTime stamped = topic_[p].find(offset)->stamped;
        const Partition partition{static_cast<std::uint32_t>(p)};
        process->core.step(
            Heard{partition, offset, stamped, process->store_stamped, now_, wall}, now_);
        carry_out(*process);
        any = true;
      }
    }
  }
  return any;
}

bool World::deliver_log(Process& process) {
  bool any = false;
  while (process.tail_next < topic_[0].end()) {
    const std::int64_t offset = process.tail_next++;
    process.core.step(topic_[0].received(Log{0}, offset), now_);
    carry_out(process);
    any = true;
  }
  return any;
}

void World::pass(milliseconds time) {
  const LocalTime end = now_ + time;
  while (true) {
    LocalTime next = end;
    for (const auto& process : processes_) {
      if (!process->stopped) next = std::min(next, process->core.next_deadline());
    }
    now_ = std::max(now_, next);
    for (const auto& process : processes_) {
      if (process->stopped) continue;
      process->core.tick(now_);
      carry_out(*process);
    }
    deliver();
    if (now_ >= end) return;
  }
}

}  // namespace neliroute::broadcast_rig
