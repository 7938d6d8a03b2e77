// A ledger in memory and a few members on it that one of them assigns to, under one clock.
//
// Everything arrives in order and at once, unless a test says otherwise. Whoever asks for Kafka's
// group here fails the test.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "neli_core/assigner/assigned_core.h"
#include "tests/memory_log.h"
#include "tests/unit/neli_core/assigner/told.h"

namespace neliroute::told {

class Process {
 public:
  explicit Process(AssignedCore made) : core(std::move(made)) {}

  AssignedCore core;
  bool dead = false;
  /// It reads nothing; what it writes is stored.
  bool hold = false;
  /// It reads what was stored so long ago, and nothing newer.
  milliseconds late{0};
  bool closed = false;
  /// Its assignments are not stored, and it is told so.
  bool fail_assignments = false;
  /// Its word that it leaves is lost, and nobody is told.
  bool lose_leave = false;
  /// Logs that it may not write to.
  std::set<std::uint32_t> forbidden;
  /// Of what stops, the application does not finish.
  bool hold_barriers = false;
  std::vector<std::int64_t> next;
  std::vector<Notice> notices;
  /// What each Ready wrote.
  std::vector<std::vector<Decoded>> batches;

  /// The last batch with a record of that type; empty: none.
  [[nodiscard]] std::vector<Decoded> batch_with(AssignmentType type) const;
};

[[nodiscard]] const AssignmentRecord* assignment_in(const Decoded& decoded, AssignmentType type);

struct AssignedRigOptions {
  Mode mode = Mode::non_exclusive;
  std::uint32_t partitions = 8;
  std::uint32_t logs = 1;
};

class AssignedRig {
 public:
  explicit AssignedRig(AssignedRigOptions options = {});

  [[nodiscard]] AssignedOptions core_options(std::uint64_t id) const;
  Process& start(std::uint64_t id, std::int64_t tail_from = 0);
  Process& start(AssignedOptions options, std::int64_t tail_from = 0);
  /// Processes 1 to `count`, which share everything; the first one assigns.
  std::vector<Process*> start_all(std::uint64_t count);
  void step(Process& process, const Event& event);
  void close(Process& process, milliseconds bound) {
    step(process, CloseRequested{now + bound});
    settle();
  }
  void kill(Process& process) { process.dead = true; }
  void append(const std::string& value);
  /// Written by an operator. Returns its offset.
  std::int64_t order(Override override);
  /// Its tail of log 0 starts again there.
  void restart_tail(Process& process, std::int64_t from);
  /// One that is held reads so many records of a log all the same.
  void read(Process& process, std::uint32_t log, std::size_t count);

  void run_for(milliseconds duration) {
    run([] { return false; }, duration);
  }
  /// Whether the condition came to hold, and what was there instead.
  testing::AssertionResult run_until(const std::function<bool()>& condition, milliseconds at_most);
  void settle();

  [[nodiscard]] std::size_t led_by(const Process& process) const;
  /// Led by one that lives.
  [[nodiscard]] std::size_t led() const;
  /// All that were written to log 0, of one type, by whomever.
  [[nodiscard]] std::vector<AssignmentRecord> assignments(AssignmentType type) const;
  /// Records by which somebody claims partitions, in all logs.
  [[nodiscard]] std::size_t claims() const;
  [[nodiscard]] BrokerTime broker_now() const;
  /// Who lives and how much it leads, and the last records.
  [[nodiscard]] std::string describe() const;

  AssignedRigOptions options;
  LocalTime now = at_ms(10'000);
  std::vector<MemoryLog> logs;
  /// Moments at which something that had been led by somebody was led by nobody.
  bool watch = false;
  std::size_t unled = 0;
  /// Times that a process asked to be looked at in the past.
  std::size_t overdue = 0;
  std::size_t ticks = 0;

 private:
  bool run(const std::function<bool()>& condition, milliseconds at_most);
  void carry_out(Process& process);
  void write(Process& process, const Write& write);
  bool deliver(Process& process);
  bool deliver_one(Process& process, std::uint32_t log, milliseconds late);
  void look();

  std::uint64_t operators_ = 1000;
  std::deque<std::unique_ptr<Process>> processes_;
};

}  // namespace neliroute::told
