// A whole member: the state machine that runs in production, and the directory of owners beside it,
// on logs in memory. What it costs is measured as it runs.
//
// Threads: one.   Units: simulated LocalTime; CPU seconds and bytes of this machine.
// Errors: make() refuses bad options; a member that refuses to go on ends the program.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <vector>

#include "bench/assigner/lane_options.h"
#include "bench/assigner/memory_logs.h"
#include "neli_core/assigner/assigned_core.h"
#include "router/view/directory.h"

namespace neliroute::scale {

class WholeMember {
 public:
  [[nodiscard]] static Result<std::unique_ptr<WholeMember>> make(const LaneOptions& lane,
                                                                 std::uint32_t number,
                                                                 ProcessId id);

  /// Begins to read every log.
  void start(MemoryLogs& logs, LocalTime now);
  /// Reads what can be read, does what is due, writes what that says.
  void turn(MemoryLogs& logs, LocalTime now);
  void die() noexcept { alive_ = false; }

  [[nodiscard]] bool alive() const noexcept { return alive_; }
  [[nodiscard]] bool assigns() const noexcept { return alive_ && core_->seat().held_by_own(); }
  [[nodiscard]] bool leads(Partition partition, LocalTime now) const noexcept {
    return alive_ && core_->leads(partition, now);
  }

  /// All turns together: of the state machine with its writing, and of the directory.
  [[nodiscard]] double core_seconds() const noexcept { return core_seconds_; }
  [[nodiscard]] double directory_seconds() const noexcept { return directory_seconds_; }
  /// The longest turn since the last call.
  [[nodiscard]] double take_longest_turn() noexcept;
  [[nodiscard]] std::int64_t core_bytes() const noexcept { return core_bytes_; }
  [[nodiscard]] std::int64_t directory_bytes() const noexcept { return directory_bytes_; }

 private:
  struct Answer {
    LocalTime due;
    WriteAcknowledged event;
  };

  WholeMember() = default;
  void step(const Event& event, LocalTime now);
  [[nodiscard]] std::vector<Write> take_writes(LocalTime now);
  void append(const std::vector<Write>& writes, MemoryLogs& logs, LocalTime now);
  void look_up(const std::vector<Received>& read, LocalTime now);

  std::unique_ptr<AssignedCore> core_;
  std::unique_ptr<Directory> directory_;
  std::vector<std::int64_t> next_;  ///< per log
  std::deque<Answer> answers_;
  bool alive_ = true;
  bool stepped_ = false;
  double core_seconds_ = 0;
  double directory_seconds_ = 0;
  double longest_turn_ = 0;
  std::int64_t core_bytes_ = 0;
  std::int64_t directory_bytes_ = 0;
};

}  // namespace neliroute::scale
