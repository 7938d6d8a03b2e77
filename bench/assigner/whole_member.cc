#include "bench/assigner/whole_member.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "bench/cpu_clock.h"
#include "bench/assigner/heap_meter.h"

namespace neliroute::scale {

Result<std::unique_ptr<WholeMember>> WholeMember::make(const LaneOptions& lane,
                                                       std::uint32_t number, ProcessId id) {
  std::unique_ptr<WholeMember> member(new WholeMember);
  AssignedOptions options;
  options.session = lane.session;
  options.core = core_options(lane, number, id);
  {
    const HeapScope scope(member->directory_bytes_);
    member->directory_ = std::make_unique<Directory>(directory_options(options.core));
  }
  const HeapScope scope(member->core_bytes_);
  auto made = AssignedCore::make(AssignedOptions(options));
  if (!made) return made.error();
  member->core_ = std::make_unique<AssignedCore>(std::move(*made));
  return member;
}

void WholeMember::start(MemoryLogs& logs, LocalTime now) {
  next_.assign(logs.count(), 0);
  {
    const HeapScope scope(core_bytes_);
    core_->tick(now);
  }
  for (std::uint32_t l = 0; l < logs.count(); ++l) {
    const TailStarted started{Log{l}, 0, logs.end(Log{l}), Below::nothing};
    directory_->on(started, now);
    step(started, now);
  }
  append(take_writes(now), logs, now);
}

void WholeMember::turn(MemoryLogs& logs, LocalTime now) {
  const double began = bench::thread_cpu_seconds();
  std::vector<Received> read;
  for (std::uint32_t l = 0; l < logs.count(); ++l) {
    logs.read(Log{l}, next_[l], now, [&](const Received& event) { read.push_back(event); });
  }
  if (!read.empty()) look_up(read, now);
  const double looked_up = bench::thread_cpu_seconds();
  for (const Received& event : read) step(event, now);
  while (!answers_.empty() && answers_.front().due <= now) {
    step(answers_.front().event, now);
    answers_.pop_front();
  }
  if (core_->next_deadline() <= now) {
    const HeapScope scope(core_bytes_);
    core_->tick(now);
    stepped_ = true;
  }
  std::vector<Write> writes;
  if (std::exchange(stepped_, false)) writes = take_writes(now);
  const double ended = bench::thread_cpu_seconds();
  directory_seconds_ += looked_up - began - bench::cpu_clock_cost();
  core_seconds_ += ended - looked_up - bench::cpu_clock_cost();
  longest_turn_ = std::max(longest_turn_, ended - began);
  append(writes, logs, now);
}

double WholeMember::take_longest_turn() noexcept { return std::exchange(longest_turn_, 0.0); }

void WholeMember::step(const Event& event, LocalTime now) {
  const HeapScope scope(core_bytes_);
  core_->step(event, now);
  stepped_ = true;
}

// The engine takes them after every event; here nobody wants to know.
void WholeMember::look_up(const std::vector<Received>& read, LocalTime now) {
  const HeapScope scope(directory_bytes_);
  for (const Received& event : read) directory_->on(event, now);
  if (directory_->next_expiry() <= now) directory_->tick(now);
  static_cast<void>(directory_->take_changed());
  static_cast<void>(directory_->take_renewed());
  static_cast<void>(directory_->take_gaps());
  static_cast<void>(directory_->take_overlaps());
}

void WholeMember::append(const std::vector<Write>& writes, MemoryLogs& logs, LocalTime now) {
  for (const Write& write : writes) {
    const std::int64_t offset = logs.append(write.log, write.value, now);
    answers_.push_back({now + logs.delay(), {write.seq, offset}});
  }
}

// A barrier ends at once: what its end makes the member write is in the next turn's.
std::vector<Write> WholeMember::take_writes(LocalTime now) {
  std::vector<Write> writes;
  std::optional<Ready> ready;
  {
    const HeapScope scope(core_bytes_);
    ready = core_->take_ready();
  }
  for (const Transition& transition : ready->transitions) {
    if (transition.kind != TransitionKind::stopped) continue;
    step(BarrierDone{transition.partition, transition.epoch}, now);
  }
  for (const RereadRequest& request : ready->rereads) {
    step(Reread{request.log, request.question, request.offset, std::nullopt}, now);
  }
  if (ready->refused) {
    std::fprintf(stderr, "assigner_scale: error: %s\n", ready->refused->message().c_str());
    std::exit(1);
  }
  for (const Write& write : ready->writes) writes.push_back({write.log, write.seq, write.value});
  const HeapScope scope(core_bytes_);
  ready.reset();
  return writes;
}

}  // namespace neliroute::scale
