// Processes of variation `broadcast`, a topic and a group in memory, under one hand-turned clock.
//
// Time is true time, in which the broker's clock is right; each process has a boot clock of its own
// and a wall clock that may be wrong. Everything arrives at once unless a test says otherwise.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "neli_core/broadcast/broadcast.h"
#include "neli_core/roles.h"
#include "tests/world/memory_log.h"

namespace neliroute::broadcast_rig {

inline constexpr Partition kP0{0};

/// Non-exclusive: session 3 s, T 9 s. Exclusive: session 3 s, T 2 s, e 100 ms. Interval 500 ms.
[[nodiscard]] BroadcastOptions options_of(Mode mode = Mode::non_exclusive,
                                          std::uint32_t partitions = 4);

/// The same, and claims travel beside.
[[nodiscard]] BroadcastOptions with_hints(Mode mode = Mode::non_exclusive);

struct Process {
  Process(Broadcast made, milliseconds wall) : core(std::move(made)), wall_error(wall) {}

  Broadcast core;
  milliseconds wall_error;  ///< wall clock minus broker's
  std::vector<Transition> transitions;
  std::vector<Notice> notices;
  std::optional<Error> refused;
  std::uint32_t rebalances_done = 0;
  bool subscribed = false;
  bool left_group = false;
  bool closed = false;
  /// Runs no more, until it is set back: what it should read waits.
  bool stopped = false;
  /// Reads nothing and writes nothing, but runs.
  bool cut = false;
  /// Writes nothing.
  bool mute = false;
  bool keep_barriers = false;
  bool store_stamped = true;
  std::vector<bool> assigned;
  std::vector<std::int64_t> next;  ///< offset of the next record to read, per partition
  std::int64_t tail_next = 0;      ///< the same of the log, which is partition 0
  /// Its claims are stored, but not acknowledged, or not even that.
  bool fail_writes = false;
  bool lose_writes = false;

  [[nodiscard]] std::size_t count(TransitionKind kind) const;
  [[nodiscard]] bool was_told(const std::string& part) const;
};

class World {
 public:
  /// Starts a process; it is not assigned anything yet.
  Process& add(BroadcastOptions options = options_of(), milliseconds wall_error = {});
  /// The group's doings, in true time.
  void assign(Process& process, const std::string& partitions);
  void revoke(Process& process, const std::string& partitions, bool lost = false);
  /// The coordinator gives it away without notifying the process.
  void step(Process& process, const Event& event);
  /// A record of a stranger, or one that was stored long ago.
  void append(Partition partition, BrokerTime stamped, std::string value = {});
  /// The records of `claimed` on the log, in its order; their offset is in `seq`.
  [[nodiscard]] std::vector<Record> beside(RecordType type) const;
  /// Time passes; everything that is due happens.
  void pass(milliseconds time);

  [[nodiscard]] LocalTime now() const { return now_; }
  [[nodiscard]] BrokerTime broker_now() const { return broker_time(now_); }
  [[nodiscard]] bool leads(const Process& process, std::uint32_t partition = 0) const {
    return process.core.leads(Partition{partition}, now_);
  }
  /// Records of a partition, written by anybody.
  [[nodiscard]] std::size_t length(std::uint32_t partition = 0) const {
    return partition < topic_.size() ? topic_[partition].records.size() : 0;
  }

 private:
  void carry_out(Process& process);
  void deliver();
  bool deliver_once();
  bool deliver_log(Process& process);

  LocalTime now_{milliseconds{100'000}};
  std::vector<MemoryLog> topic_;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace neliroute::broadcast_rig
