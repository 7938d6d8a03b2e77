// A ledger in memory and a few processes on it, under one hand-turned clock.
//
// Everything arrives in order and at once unless a test says otherwise (hold, cut, drop_writes), so
// a clause test reads as a story. The simulator proper (tests/sim) is for everything at random.
//
// Threads: one.   Units: LocalTime.   Errors: they fail the test, or abort.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "neli_core/assigner/assigned_core.h"
#include "neli_core/claimed/claim_protocol.h"
#include "tests/world/memory_log.h"

namespace neliroute::rig {

/// What most stories happen on.
inline constexpr Log kLog{0};
inline constexpr Partition kP0{0};

inline LocalTime at_ms(std::int64_t ms) { return LocalTime{milliseconds{ms}}; }

/// A record that its producer holds: on its way, not yet in the log.
struct InFlight {
  Write write;
  LocalTime written;
};

/// What becomes of a write.
enum class Fate {
  stored,
  refused,  ///< and reported so
  lost,     ///< and nobody says so, unless the test does
  held,     ///< stays with its producer
};

class Process {
  std::unique_ptr<Core> made_;

 public:
  Process(std::unique_ptr<ClaimProtocol> made, std::string called)
      : made_(std::move(made)),
        core(*made_),
        claims(static_cast<const ClaimProtocol&>(core)),
        name(std::move(called)) {}
  Process(std::unique_ptr<AssignedCore> made, std::string called)
      : made_(std::move(made)),
        core(*made_),
        assigned(static_cast<const AssignedCore*>(made_.get())),
        claims(assigned->claims()),
        name(std::move(called)) {}
  virtual ~Process() = default;

  Core& core;
  /// Null: the group assigns to it.
  const AssignedCore* assigned = nullptr;
  const ClaimProtocol& claims;
  std::string name;
  std::vector<Transition> transitions;
  std::vector<Notice> notices;
  std::vector<RereadRequest> rereads;
  std::vector<Log> restarts;
  std::optional<Error> refused;
  bool subscribed = false;
  /// When it requested an early heartbeat, and the delay that it allowed.
  std::vector<std::pair<LocalTime, milliseconds>> expedites;
  bool left_group = false;
  bool closed = false;
  std::uint32_t rebalances_done = 0;
  /// Delivery to this process waits; the process itself runs.
  bool hold = false;
  /// It steps through what comes, and what follows waits: so a driver does with what it read at
  /// once.
  bool steps_only = false;
  /// It reads what was stored so long ago, and nothing newer.
  milliseconds late{0};
  /// The process is stopped: nothing reaches it, its clock is not looked at.
  bool stopped = false;
  /// Its writes reach nobody and are reported failed only when the test says so.
  bool drop_writes = false;
  bool fail_writes = false;
  /// Barriers are answered at once unless this is set.
  bool keep_barriers = false;
  bool answer_rereads = true;
  /// What the application prepared and warmed up for, and what it prepared in vain. It has done so
  /// at once unless these are set.
  std::vector<Partition> prepares;
  std::vector<Transition> warm_ups;
  std::vector<Partition> unprepared;
  bool keep_prepares = false;
  bool keep_warm_ups = false;
  /// What it asked for while `hold`: a ledger owes the answer, and gives it when it can.
  std::vector<RereadRequest> owed_rereads;
  /// Its writes are stored, but the answers wait in `unanswered`.
  bool keep_acks = false;
  std::vector<std::uint64_t> unanswered;
  /// Its writes stay with the producer until Rig::arrive(), or fail when they are T old.
  bool hold_writes = false;
  std::deque<InFlight> in_flight;
  /// Logs that it neither reads nor writes, for now.
  std::set<Log> cut_off;
  std::vector<std::int64_t> next;  ///< per log
  std::vector<Write> written;

  [[nodiscard]] bool leads(std::uint32_t p, LocalTime now) const {
    return core.leads(Partition{p}, now);
  }
  [[nodiscard]] virtual Fate fate_of(const Write& write) const;
  /// A member that is closed would go on to say that it lives. A process ends then.
  [[nodiscard]] bool ended() const { return assigned != nullptr && closed; }
  [[nodiscard]] std::size_t count(TransitionKind kind) const;
  [[nodiscard]] const Transition* last(TransitionKind kind, std::uint32_t partition) const;
  /// What it wrote of the claims protocol's, decoded; all of it, or one type.
  [[nodiscard]] std::vector<Record> records() const;
  [[nodiscard]] std::vector<Record> records(RecordType type) const;
};

/// What leads() answers; what the lease word keeps is rounded down to this.
inline constexpr microseconds kGrain{16};

/// A record of somebody who is not in the rig, with a lease of 1000 ms and the rig's settings.
[[nodiscard]] Record claim_of(std::uint64_t id, const std::string& parts,
                              std::int64_t incarnation = 0);
[[nodiscard]] Record renewal_of(std::uint64_t id, const Epoch& epoch, const std::string& parts,
                                const std::string& leading = "",
                                const std::string& draining = "");
[[nodiscard]] Record release_of(std::uint64_t id, const Epoch& epoch, const std::string& parts);

/// Told of everything in the order in which it happens: for traces, and for what lives beside the
/// cores on the same clock.
class Onlooker {
 public:
  virtual ~Onlooker() = default;
  virtual void on_start(Process&) {}
  virtual void on_event(Process&, const Event&) {}
  /// Before anything in it is carried out.
  virtual void on_ready(Process&, const Ready&) {}
  /// `writer` is null for a stranger.
  virtual void on_append(const Process* /*writer*/, Log, std::int64_t /*offset*/) {}
  /// The clock is about to move.
  virtual void on_time(LocalTime /*from*/, LocalTime /*to*/) {}
  virtual void tick(LocalTime) {}
  [[nodiscard]] virtual LocalTime next_deadline() const { return kNever; }
};

struct RigOptions {
  Mode mode = Mode::non_exclusive;
  std::uint32_t slots = 16;
  std::uint32_t partitions = 4;
  std::uint32_t logs = 1;
  milliseconds interval{100};
  milliseconds lease{1000};
  milliseconds clock_error{100};
  bool believe_broker_time = true;
  bool store_stamped = true;
  milliseconds prepare_timeout{0};
  milliseconds serve_stale{0};
};

[[nodiscard]] inline RigOptions exclusive() {
  RigOptions options;
  options.mode = Mode::exclusive;
  return options;
}

class Rig {
 public:
  explicit Rig(RigOptions options = {});

  [[nodiscard]] CoreOptions core_options(std::uint64_t id, const std::string& name) const;
  /// Starts a process; its tail starts at `tail_from` (or the beginning) of every log.
  Process& start(std::uint64_t id, const std::string& name, std::int64_t tail_from = 0);
  Process& start(CoreOptions options, std::int64_t tail_from = 0);
  Process& start(CoreOptions options, const std::vector<std::int64_t>& tail_from);
  /// One of which a member assigns.
  Process& start(AssignedOptions options, const std::vector<std::int64_t>& tail_from);
  void assign(Process& process, const std::string& partitions);
  void revoke(Process& process, const std::string& partitions, bool lost = false);
  void step(Process& process, const Event& event);

  /// Appends as if somebody had written it.
  std::int64_t append(Log log, const std::string& value);
  std::int64_t append(Log log, const Record& record);
  /// Appends a claim; the epoch that it makes.
  Epoch append_claim(Log log, const Record& record);
  /// Lets time pass, every deadline served on the way.
  void run_for(milliseconds duration);
  /// Whether the condition came to hold, and what was there instead.
  testing::AssertionResult run_until(const std::function<bool()>& condition, milliseconds at_most);
  /// Up to this time, every deadline served on the way, the last ones too.
  void run_to(LocalTime time) { run_for_us(time - now_); }
  /// Only the clock moves: no process is notified.
  void skip(microseconds duration);
  /// Delivers everything that is due now.
  void settle();
  /// Gives a process its backlog (after hold or stopped).
  void deliver(Process& process);
  /// At most so many records of one log, whatever holds the process back.
  void read(Process& process, std::uint32_t log, std::size_t count);
  void restart_tail(Process& process, Log log, std::int64_t from);
  /// What the process wrote while `hold_writes` gets through.
  void arrive(Process& process);
  /// The end of `hold`: rereads are answered first, as the tail seeks back before it goes on.
  void release_hold(Process& process);
  /// After `stopped`: it looks at its clock first, then at its backlog.
  void wake(Process& process);
  void set_onlooker(Onlooker* onlooker) { onlooker_ = onlooker; }

  [[nodiscard]] LocalTime now() const { return now_; }
  [[nodiscard]] BrokerTime broker_now() const;
  /// How long it still takes until the process reads the next record of that log; none: kNever.
  [[nodiscard]] LocalTime reads_next_at(const Process& process, std::uint32_t log) const;
  [[nodiscard]] MemoryLog& log(std::uint32_t l) { return logs_[l]; }
  [[nodiscard]] const MemoryLog& log(std::uint32_t l) const { return logs_[l]; }
  [[nodiscard]] const std::deque<std::unique_ptr<Process>>& processes() const {
    return processes_;
  }
  /// How many processes answer yes for the partition now.
  [[nodiscard]] std::size_t leaders(std::uint32_t partition) const;
  /// Who leads what, and the last records.
  [[nodiscard]] std::string describe() const;
  /// Offset between the broker's clock and the local one.
  milliseconds broker_offset{1'700'000'000'000};
  RigOptions options;

 protected:
  Process& start(std::unique_ptr<Process> process, const std::vector<std::int64_t>& tail_from);

 private:
  void carry_out(Process& process);
  [[nodiscard]] bool carry_out_once(Process& process);
  [[nodiscard]] bool let_prepare(Process& process, const Ready& ready);
  void write(Process& process, const Write& write);
  void reread(Process& process, const RereadRequest& request);
  void feed(Process& process, const Event& event);
  void fail_overdue_writes(Process& process);
  std::int64_t store(const Process* writer, Log log, const std::string& value);
  bool run(const std::function<bool()>& condition, microseconds at_most);
  void run_for_us(microseconds duration) {
    run([] { return false; }, duration);
  }
  [[nodiscard]] LocalTime next_deadline() const;

  LocalTime now_ = at_ms(10'000);
  std::vector<MemoryLog> logs_;
  std::deque<std::unique_ptr<Process>> processes_;
  Onlooker* onlooker_ = nullptr;
};

/// Starts a process that then leads partition 0, and has for a while.
Process& leader_of_0(Rig& rig, std::uint64_t id = 1);

}  // namespace neliroute::rig
