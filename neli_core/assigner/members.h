// The members of a lane, as their records in log 0 show them: who lives, and what each says of
// itself (rule A1).
//
// A member is taken for dead when a record is read before which the log flowed for its session
// without one of its own (log/flow.h). So every reader comes to the same result at the same record,
// and what one of them reads late or in bursts judges nobody. Where stamps are not the broker's,
// the reader's own time takes their place, and it must have read back a record of its own that it
// sent after the silence: whatever the member wrote before stands before it in the log.
//
// Threads: one (inside Assigner).   Units: LocalTime, std::chrono.   Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <optional>
#include <vector>

#include "neli_core/assigner/flapping.h"
#include "neli_core/log/flow.h"
#include "neli_core/record/record.h"

namespace neliroute {

/// How a record of log 0 was read.
struct Sighting {
  microseconds stamp{0};  ///< the log's time
  LocalTime now;          ///< when it was read
  bool history = false;   ///< it was there when the tail started: its writer may be long gone
  bool again = false;     ///< it had been read before the tail started anew
};

struct Member {
  ProcessId id = kNobody;
  MemberFields fields;
  ProcessInfo process;
  /// Broker time of its first record; no value: it has not read that back yet.
  std::optional<std::int64_t> since;
  Flow::Mark heard;                 ///< its last record
  LocalTime heard_at = kLongAgo;    ///< when that was read
  bool leaving = false;
  bool dead = false;
  bool seen_alive = false;  ///< not only in the history
  LocalTime dead_at = kLongAgo;
  bool counts = false;  ///< its death is counted among many (A9)
  /// It died too often: until then it is given nothing new. kLongAgo: it did not.
  LocalTime probation_until = kLongAgo;

  [[nodiscard]] bool lives() const noexcept { return !dead && !leaving; }
  /// The most senior comes first; of an unknown date last.
  [[nodiscard]] friend bool is_senior(const Member& left, const Member& right) noexcept {
    const auto rank = [](const Member& m) { return m.since.value_or(INT64_MAX); };
    return rank(left) != rank(right) ? rank(left) < rank(right) : left.id < right.id;
  }
  /// Which of them may claim a free seat first (A2).
  [[nodiscard]] friend bool is_preferred(const Member& left, const Member& right) noexcept {
    const std::uint32_t priority = left.fields.seat_priority;
    const std::uint32_t other = right.fields.seat_priority;
    return priority != other ? priority > other : is_senior(left, right);
  }
};

struct MembersOptions {
  ProcessId own = kNobody;
  milliseconds interval{0};
  bool believe_stamps = true;
};

class Members {
 public:
  explicit Members(MembersOptions options) : options_(options) {}

  /// A renewal of a process with this one's settings.
  void read(const Record& record, const Sighting& seen);
  /// Any other record of a member in log 0 is a sign of life.
  void heard(ProcessId id, const Sighting& seen);
  void leave(ProcessId id, const Sighting& seen);
  /// This process leaves, and has not said so yet.
  void leave_own(ProcessId id);
  /// The newest own record that was read back was sent then.
  void read_back(LocalTime sent);
  /// Log 0 is read anew: what lies between is not known.
  void restarted() noexcept;
  void tick(LocalTime now);

  /// Of members' records in log 0.
  [[nodiscard]] const Flow& flow() const noexcept { return flow_; }
  [[nodiscard]] Flow::Mark mark(milliseconds silence) { return flow_.mark(silence); }

  /// Taken for dead since the last call.
  [[nodiscard]] std::vector<ProcessId> take_deaths();
  /// Deaths after `since` of members that were heard of after this process had started, apart from
  /// `except` and those that die again and again.
  [[nodiscard]] std::size_t deaths_after(LocalTime since, ProcessId except) const noexcept;
  /// Somebody's session is over without a record of its own, as far as is known: one that is
  /// written now shows it to everybody. At most four times an interval, however many die.
  [[nodiscard]] bool wants_record(LocalTime now) const noexcept;
  /// Such a record is sent now.
  void asked_for_record(LocalTime now) noexcept { asked_ = now; }
  [[nodiscard]] LocalTime next_deadline() const noexcept;

  /// A reader that has no interval of its own takes one from what it reads.
  void set_interval(milliseconds interval) noexcept { options_.interval = interval; }

  /// Of each that is remembered, living or not.
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    for (const auto& [id, member] : members_) visit(member);
  }
  [[nodiscard]] const Member* find(ProcessId id) const;
  [[nodiscard]] bool lives(ProcessId id) const;
  /// In order of seniority.
  [[nodiscard]] std::vector<const Member*> living() const;
  /// The same, and those that leave.
  [[nodiscard]] std::vector<const Member*> present() const;
  /// How many of the living may claim a free seat before it (A2); no value: it does not live.
  [[nodiscard]] std::optional<std::size_t> rank_of(ProcessId id) const;
  [[nodiscard]] std::size_t living_count() const noexcept;
  /// Of these, those that may own something, overrides included, apart from `except`.
  [[nodiscard]] std::size_t takers_besides(ProcessId except,
                                           const StandingOverrides& standing) const;
  /// Of the living.
  [[nodiscard]] milliseconds longest_session() const noexcept;
  /// As of the last look at all of them.
  [[nodiscard]] milliseconds shortest_session() const noexcept { return shortest_; }
  /// Some other living member's last renewal says that it reads its own records in time.
  [[nodiscard]] bool others_read(ProcessId except) const noexcept;
  /// It died too often to be given anything new, and no other of its name and endpoint lives.
  [[nodiscard]] bool on_probation(const Member& member) const;
  /// When a member was first heard of last.
  [[nodiscard]] LocalTime last_newcomer() const noexcept { return last_newcomer_; }
  /// Times that a member was taken for dead and was heard again.
  [[nodiscard]] std::uint64_t false_deaths() const noexcept { return false_deaths_; }
  /// Bumped by whatever may change a plan.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  /// Bumped when what a member prepares for changes, which changes no plan.
  [[nodiscard]] std::uint64_t prepare_version() const noexcept { return prepare_version_; }

 private:
  void note(Member& member, const Sighting& seen, bool revives);
  void note_own(const Member& heard);
  [[nodiscard]] bool is_silent(const Member& member) const;
  [[nodiscard]] bool is_taken_for_dead(const Member& member) const;
  void begin_life(Member& member, LocalTime now);
  void look(LocalTime now);
  void begin_to_leave(Member& member);
  void judge(Member& member);
  void die(Member& member);
  [[nodiscard]] bool is_shared(const Member& member) const;
  [[nodiscard]] bool is_proven(const Member& member) const noexcept;
  [[nodiscard]] bool has_room();
  [[nodiscard]] LocalTime record_due() const noexcept;
  [[nodiscard]] LocalTime ask_at() const noexcept;

  MembersOptions options_;
  std::map<ProcessId, Member> members_;
  std::size_t dead_ = 0;  ///< of these
  std::vector<ProcessId> deaths_;
  Flow flow_;
  Flapping flapping_;
  bool own_silent_ = false;           ///< for a session: others take this process for dead
  bool again_ = false;                ///< what was read last had been read before
  LocalTime last_read_ = kLongAgo;    ///< of a member's record
  LocalTime proven_ = kLongAgo;  ///< everything in log 0 before that was read
  LocalTime asked_ = kLongAgo;   ///< when a record was last sent to show a silence
  /// Nobody is dead before the log has flowed so far, or changes by itself before that time: a
  /// record costs no look at every member.
  microseconds look_flow_{0};
  LocalTime look_at_ = kNever;
  bool looked_ = false;  ///< since a member was heard
  milliseconds shortest_ = kLeaseMax;
  LocalTime last_newcomer_ = kLongAgo;
  std::uint64_t false_deaths_ = 0;
  std::uint64_t version_ = 1;
  std::uint64_t prepare_version_ = 0;
  /// Counted once for each version: it is asked for with every step.
  mutable std::uint64_t counted_ = 0;
  mutable std::size_t living_ = 0;
};

}  // namespace neliroute
