// The stage on which stories happen: a few production state machines on the rig's ledger, their
// directories, and whoever watches. What happens is told line by line.
//
// The group's coordinator is the story itself: `assign`, `revoke` and `lost` are what it says. Or
// one of the processes assigns. Everything else follows from the protocol. Messages take no time
// unless a story holds them.
//
// Threads: one.   Units: LocalTime.   Errors: a command that makes no sense is an Error.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "neli_core/timing.h"
#include "tests/scenarios/lookup.h"
#include "tests/world/rig.h"

namespace neliroute::scenario {

using Lines = std::vector<std::string>;

/// What all processes of a story share unless they say otherwise.
struct StageOptions {
  rig::RigOptions rig;
  milliseconds session{3000};
  Assignment assignment = Assignment::group;
  /// Exclusive: a story in which two lead at once must say that it means to show this.
  bool overlap_expected = false;
};

/// What a profile gives in a mode, with the consumer group protocol.
[[nodiscard]] StageOptions options_for(Mode mode, Profile profile = Profile::balanced,
                                       Assignment assignment = Assignment::group);

/// How long nobody, and more than one, led a partition since somebody first did.
struct Tally {
  bool led = false;
  microseconds unowned{0};
  microseconds shared{0};
  friend bool operator==(const Tally&, const Tally&) = default;
};

/// A process on stage, or a watcher, which has no state machine.
struct Actor {
  std::string name;
  Lane lane;
  rig::Process* process = nullptr;
  std::unique_ptr<Lookup> lookup;
  bool crashed = false;
  bool coordinator_cut = false;
  /// What it said in its last renewal of each log: one that says the same again is not told.
  std::map<Log, std::string> last_renewal;
  /// Where a member assigns: whom it takes for dead, and what it refused to obey.
  std::set<ProcessId> dead;
  std::uint64_t refused = 0;
};

class Stage final : private rig::Onlooker {
 public:
  explicit Stage(StageOptions options);

  /// `weight`: of a member, where one assigns. `cut_off`: logs that it does not reach from the
  /// start.
  void start(const std::string& name, CoreOptions options, std::uint32_t weight = 1,
             std::set<Log> cut_off = {});
  void watch(const std::string& name, Lane lane);
  void run_for(milliseconds duration) { rig_.run_for(duration); }
  void crash(Actor& actor);
  /// No record reaches it, and what it writes stays with its producer, until healed.
  void cut_log(Actor& actor);
  /// The same for one log alone.
  void cut_log(Actor& actor, Log log) { actor.process->cut_off.insert(log); }
  void hold_writes(Actor& actor) { actor.process->hold_writes = true; }
  void heal(Actor& actor);
  void delete_topic();
  void create_topic();

  [[nodiscard]] Lines who() const;
  [[nodiscard]] Tally tally(Partition partition, Lane lane = Lane{0}) const;
  /// And restarts.
  [[nodiscard]] Lines take_tally();
  [[nodiscard]] Lines log(Log log, std::size_t from, bool json);
  [[nodiscard]] Lines route(const Actor& actor, Slot slot) const;
  /// What was told since the last call.
  [[nodiscard]] Lines take_told() { return std::exchange(told_, {}); }
  void tell(const std::string& who, const std::string& what);

  [[nodiscard]] Actor* find(const std::string& name);
  [[nodiscard]] const std::vector<std::unique_ptr<Actor>>& actors() const { return actors_; }
  [[nodiscard]] LogPlace place_of(Log log) const {
    return {log, options_.rig.logs, options_.rig.partitions};
  }
  [[nodiscard]] rig::Rig& rig() { return rig_; }
  [[nodiscard]] const StageOptions& options() const { return options_; }
  [[nodiscard]] bool topic_exists() const { return topic_exists_; }
  /// Two led at once in exclusive mode, and the story did not say that it shows this.
  [[nodiscard]] bool overlapped() const { return overlapped_; }
  [[nodiscard]] std::uint64_t next_id() { return ++last_id_; }

 private:
  void on_start(rig::Process& process) override;
  void on_event(rig::Process& process, const Event& event) override;
  void on_ready(rig::Process& process, const Ready& ready) override;
  void on_append(const rig::Process* writer, Log log, std::int64_t offset) override;
  void on_time(LocalTime from, LocalTime to) override;
  void tick(LocalTime now) override;
  [[nodiscard]] LocalTime next_deadline() const override;

  [[nodiscard]] Actor* actor_of(const rig::Process* process);
  [[nodiscard]] std::string called(ProcessId id) const;
  [[nodiscard]] std::string text_of_stored(const StoredRecord& stored, Log log) const;
  void tell_of_members(Actor& actor);
  [[nodiscard]] DirectoryOptions directory_options(Lane lane) const;
  [[nodiscard]] std::int64_t horizon(Log log) const;
  void restart_tails(Actor& actor);
  void count_time(Lane lane, Partition partition, LocalTime from, LocalTime to);
  [[nodiscard]] std::string leader_text(const Actor& actor, Partition partition) const;
  [[nodiscard]] std::string assigner_text() const;
  [[nodiscard]] std::string leaders_text(Lane lane, Partition partition) const;

  StageOptions options_;
  rig::Rig rig_;
  std::vector<std::unique_ptr<Actor>> actors_;
  Actor* starting_ = nullptr;
  std::set<Log> starting_cut_off_;
  std::map<std::pair<Lane, Partition>, Tally> tallies_;
  Lines told_;
  bool topic_exists_ = true;
  bool overlapped_ = false;
  std::uint64_t last_id_ = 0;
};

}  // namespace neliroute::scenario
