// A rig of members that one of them assigns to.
//
// Whoever asks for Kafka's group here fails the test.
//
// Threads: one.   Units: milliseconds.   Errors: they fail the test.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/neli_core/assigner/told.h"
#include "tests/world/rig.h"

namespace neliroute::told {

/// Its application takes all the time that it has to prepare.
class Process : public rig::Process {
 public:
  Process(std::unique_ptr<AssignedCore> made, std::string called)
      : rig::Process(std::move(made), std::move(called)),
        core(static_cast<AssignedCore&>(rig::Process::core)) {
    keep_prepares = keep_warm_ups = true;
  }

  AssignedCore& core;
  /// Its assignments are not stored, and it is told so.
  bool fail_assignments = false;
  /// Its word that it leaves is lost, and nobody is told.
  bool lose_leave = false;
  /// Logs that it may not write to.
  std::set<std::uint32_t> forbidden;
  /// What each Ready wrote.
  std::vector<std::vector<Decoded>> batches;

  [[nodiscard]] rig::Fate fate_of(const Write& write) const override;
  /// The last batch with a record of that type; empty: none.
  [[nodiscard]] std::vector<Decoded> batch_with(AssignmentType type) const;
};

[[nodiscard]] const AssignmentRecord* assignment_in(const Decoded& decoded, AssignmentType type);

struct AssignedRigOptions {
  Mode mode = Mode::non_exclusive;
  std::uint32_t partitions = 8;
  std::uint32_t logs = 1;
};

class AssignedRig : public rig::Rig, private rig::Onlooker {
 public:
  explicit AssignedRig(AssignedRigOptions options = {});
  AssignedRig(const AssignedRig&) = delete;
  AssignedRig& operator=(const AssignedRig&) = delete;

  [[nodiscard]] AssignedOptions core_options(std::uint64_t id) const;
  Process& start(std::uint64_t id, std::int64_t tail_from = 0);
  Process& start(AssignedOptions options, std::int64_t tail_from = 0);
  /// Processes 1 to `count`, which share everything; the first one assigns.
  std::vector<Process*> start_all(std::uint64_t count);
  void close(Process& process, milliseconds bound) {
    step(process, CloseRequested{now() + bound});
    settle();
  }
  void kill(Process& process) { process.stopped = true; }
  void append(const std::string& value);
  /// Written by an operator. Returns its offset.
  std::int64_t order(Override override);
  /// Its tail of log 0 starts again there.
  void restart_tail(Process& process, std::int64_t from);

  [[nodiscard]] std::size_t led_by(const Process& process) const;
  /// Led by one that lives.
  [[nodiscard]] std::size_t led() const { return led_at(now()); }
  /// All that were written to log 0, of one type, by whomever.
  [[nodiscard]] std::vector<AssignmentRecord> assignments(AssignmentType type) const;
  /// Records by which somebody claims partitions, in all logs.
  [[nodiscard]] std::size_t claims() const;

  /// Moments at which something that had been led by somebody was led by nobody.
  bool watch = false;
  std::size_t unled = 0;
  /// Times that a process asked to be looked at in the past.
  std::size_t overdue = 0;
  std::size_t ticks = 0;

 private:
  void on_ready(rig::Process& process, const Ready& ready) override;
  void on_time(LocalTime from, LocalTime to) override;
  [[nodiscard]] std::size_t led_at(LocalTime time) const;

  std::uint64_t operators_ = 1000;
};

}  // namespace neliroute::told
