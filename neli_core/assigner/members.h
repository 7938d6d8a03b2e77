// The members of a lane, as their records in log 0 show them: who lives, and what each says of
// itself (rule A1).
//
// A member is taken for dead when it was silent for its own session and this process has then read
// a record of its own that was sent after that: whatever the member wrote before stands before it
// in the log, and was read. A process that reads nothing of log 0 judges nobody.
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

#include "neli_core/record/record.h"

namespace neliroute {

struct Member {
  ProcessId id = kNobody;
  MemberFields fields;
  ProcessInfo process;
  /// Broker time of its first record; no value: it has not read that back yet.
  std::optional<std::int64_t> since;
  /// When its last record was read, or its silence began anew.
  LocalTime silent_since = kLongAgo;
  bool leaving = false;
  bool dead = false;
  bool seen_alive = false;  ///< not only in the history
  LocalTime dead_at = kLongAgo;
  /// Until when its application may prepare for what it is named for, or when it was done.
  LocalTime prepares_until = kLongAgo;
  /// It was taken for dead and heard again: until then it is given nothing.
  LocalTime cordoned_until = kLongAgo;
  milliseconds penalty{0};

  [[nodiscard]] bool lives() const noexcept { return !dead && !leaving; }
  [[nodiscard]] LocalTime silent_until() const noexcept {
    return later(silent_since, with_drift(fields.session));
  }
  /// The most senior comes first; of an unknown date last.
  [[nodiscard]] friend bool is_senior(const Member& left, const Member& right) noexcept {
    const auto rank = [](const Member& m) { return m.since.value_or(INT64_MAX); };
    return rank(left) != rank(right) ? rank(left) < rank(right) : left.id < right.id;
  }
};

struct MembersOptions {
  ProcessId own = kNobody;
  milliseconds interval{0};
  milliseconds lease{0};
};

class Members {
 public:
  explicit Members(MembersOptions options) : options_(options) {}

  /// A record of log 0, of whichever type and writer, was read. Returns by how much all silence is
  /// excused: not zero where nothing had been read for a while.
  microseconds note_read(LocalTime now);
  /// A renewal of a process with this one's settings; `history`: its writer may be long gone.
  void read(const Record& record, bool history, LocalTime now);
  /// Any other record of a member in log 0 is a sign of life.
  void heard(ProcessId id, LocalTime now);
  void leave(ProcessId id, LocalTime now);
  /// The newest own record that was read back was sent then.
  void read_back(LocalTime sent);
  /// Log 0 is read anew: what lies between is not known, so nobody is judged by it.
  void restarted(LocalTime now);
  void tick(LocalTime now);

  /// Taken for dead since the last call.
  [[nodiscard]] std::vector<ProcessId> take_deaths();
  /// Deaths after `since` of members that were heard of after this process had started, apart from
  /// `except`.
  [[nodiscard]] std::size_t deaths_after(LocalTime since, ProcessId except) const noexcept;
  /// Somebody has been silent for its session, and nothing that was sent since is on its way: an
  /// own record that is sent now and read back would show whether it is dead. At most four times an
  /// interval, however many die.
  [[nodiscard]] bool wants_proof(LocalTime now) const noexcept;
  /// Whether it has been silent for its session, dead or not.
  [[nodiscard]] bool is_silent(ProcessId id, LocalTime now) const;
  /// Such a record is sent now.
  void asked_for_proof(LocalTime now) noexcept { asked_ = now; }
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
  /// How many of the living are senior to it; no value: it does not live.
  [[nodiscard]] std::optional<std::size_t> rank_of(ProcessId id) const;
  [[nodiscard]] std::size_t living_count() const noexcept;
  /// Of these, those that may own something, as they say and as is wished, apart from `except`.
  [[nodiscard]] std::size_t takers_besides(ProcessId except, const StandingWishes& standing) const;
  /// Of the living.
  [[nodiscard]] milliseconds longest_session() const noexcept;
  /// When a member was first heard of last.
  [[nodiscard]] LocalTime last_newcomer() const noexcept { return last_newcomer_; }
  /// Times that a member was taken for dead and was heard again.
  [[nodiscard]] std::uint64_t false_deaths() const noexcept { return false_deaths_; }
  /// Whether it reads log 0 at all.
  [[nodiscard]] bool blind(LocalTime now) const noexcept;
  /// Bumped by whatever may change a plan.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  /// Bumped when a member starts or stops preparing, which changes no plan.
  [[nodiscard]] std::uint64_t prepare_version() const noexcept { return prepare_version_; }

 private:
  void revive(Member& member, LocalTime now);
  void look(LocalTime now);
  void judge(Member& member, LocalTime now);
  [[nodiscard]] bool has_room(LocalTime now);
  [[nodiscard]] LocalTime asked_next() const noexcept;

  MembersOptions options_;
  std::map<ProcessId, Member> members_;
  std::size_t dead_ = 0;  ///< of these
  std::vector<ProcessId> deaths_;
  LocalTime last_read_ = kLongAgo;
  LocalTime proven_ = kLongAgo;  ///< everything in log 0 before that was read
  LocalTime asked_ = kLongAgo;   ///< when a proof of silence was last sent
  /// Nothing changes by itself before that: a record costs no look at every member.
  LocalTime look_at_ = kLongAgo;
  /// The last end of a session of those that are silent and not proven dead; kLongAgo: nobody is.
  LocalTime unproven_ = kLongAgo;
  LocalTime last_newcomer_ = kLongAgo;
  std::uint64_t false_deaths_ = 0;
  std::uint64_t version_ = 1;
  std::uint64_t prepare_version_ = 0;
  /// Counted once for each version: it is asked for with every step.
  mutable std::uint64_t counted_ = 0;
  mutable std::size_t living_ = 0;
};

}  // namespace neliroute
