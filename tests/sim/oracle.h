// What must hold, judged in true time from what leads() would answer: the lease vectors, not what
// the state machines say about themselves.
//
// A part is one partition of one lane: each lane is judged for itself.
//
// Exclusive: never two leaders of a partition, and nobody leads while the application of who led
// before has not finished and its lease runs; epochs rise from one acquisition to the next.
// Non-exclusive: a led partition becomes unowned only if who led it was disturbed (crashed, paused;
// cut off, if it does not serve on), or its log lost records.
// Both: no longer than a take-over takes, counted from the last
// disturbance of anything (the classic protocol: and as long again for each further rebalance), in
// exclusive mode and the longest lease where anything was wrong; less where a member assigns and
// nothing but crashes was wrong; a bounded time after everything healed, who should lead does, and
// goes on.
//
// Threads: one.   Units: true time.   Errors: broken() says what and when.
#pragma once

#include <array>
#include <cstdint>
#include <neliroute/ids.h>
#include <string>
#include <vector>

#include "tests/sim/judged.h"
#include "tests/sim/plan.h"
#include "tests/sim/world/node.h"

namespace neliroute::sim {

inline constexpr std::size_t kNodesMax = 16;
inline constexpr std::size_t kLanesMax = 2;
inline constexpr std::size_t kPartsMax = kLanesMax * kPartitionsMax;

class Oracle {
 public:
  explicit Oracle(const Plan& plan) : plan_(plan) { ends_.fill({}); }

  /// Time passes up to just before `now`: leases end by themselves.
  void advance(Time now) {
    now_ = now;
    if (now > next_end_) find_gaps(now);
  }
  /// The process leads the partition from now until then (or not, if that is not after now).
  void leads(std::uint8_t node, std::uint32_t part, Time until, Time now);
  /// A record of it that says so is stored now, however long ago it was decided on.
  void says_that_it_leads(std::uint8_t node, std::uint32_t part, Time now) {
    said_[part][node] = now;
  }
  void died(std::uint8_t node, Time now);
  /// Its application has not finished yet; nobody else leads before `until` (`broadcast`: it does
  /// not lead again itself). 0: it has finished.
  void occupies(std::uint8_t node, std::uint32_t part, Time until, Time now);
  void starts(std::uint8_t node, Time now);
  /// As it was told to: a running configuration of the other mode may be what newcomers find.
  void runs_in(std::uint8_t node, Mode mode) { mode_[node] = mode; }
  void leaves(std::uint8_t node, Time now);
  /// It was killed, or is to leave: others take over from now on.
  void departs(std::uint8_t node, Time now) { departed_[node % plan_.lanes] = now; }
  /// The group gives it the part.
  void assigned(std::uint8_t node, std::uint32_t part, Time now) {
    taken_[part] = false;
    if (assignee_[part].node == node) return;
    assignee_before_[part] = assignee_[part].node;
    assignee_[part] = {node, now};
  }
  /// Until the group gives it to somebody again.
  void taken(std::uint8_t node, std::uint32_t part) {
    taken_[part] = taken_[part] || assignee_[part].node == node;
  }
  void acquired(Node& node, Partition partition, const Epoch& epoch, Time now);

  /// Something is wrong with it until then: what it led may become unowned.
  void disturb_node(std::uint8_t node, Time until) {
    node_until_[node] = std::max(node_until_[node], until);
    node_stops_until_[node] = std::max(node_stops_until_[node], until);
    wrong(until);
  }
  /// It does not read, or is not read: no reason to stop where owners serve on.
  void cut_node(std::uint8_t node, Time until) {
    if (!plan_.serves_on()) return disturb_node(node, until);
    cut(node_since_[node], node_until_[node], until);
  }
  /// The same, but others must lead what it led as soon as if all were well after `limit`.
  void hangs(std::uint8_t node, Time until, Time limit) {
    node_until_[node] = std::max(node_until_[node], until);
    node_stops_until_[node] = std::max(node_stops_until_[node], until);
    faults_until_ = std::max(faults_until_, until);
    wrong(limit);
  }
  /// It is sick for good: no reason why others should take longer to lead in its place.
  /// `claims_late`: how long its claims are on their way.
  void sickens(std::uint8_t node, Time until, Time claims_late) {
    node_until_[node] = node_stops_until_[node] = until;
    claims_late_ = claims_late;
  }
  /// It ends at once: what it led is to be led again soon.
  void crashed(std::uint8_t node, Time now);
  void disturb_log(std::uint32_t log, Time until) {
    log_until_[log] = std::max(log_until_[log], until);
    log_stops_until_[log] = std::max(log_stops_until_[log], until);
    wrong(until);
  }
  /// It is away, and loses nothing.
  void cut_log(std::uint32_t log, Time until) {
    if (!plan_.serves_on()) return disturb_log(log, until);
    cut(log_since_[log], log_until_[log], until);
  }
  /// It assigns nothing, or its assignees are not notified.
  void disturb_group(Time until) {
    group_until_ = std::max(group_until_, until);
    wrong(until);
  }
  /// No reason for a led partition to become unowned either, and more than a planned move.
  void wrong(Time until) {
    wrong_until_ = std::max(wrong_until_, until);
    faults_until_ = std::max(faults_until_, until);
    disturb(until);
  }
  /// No reason for a led partition to become unowned, but for it to stay so for longer.
  void disturb(Time until) { disturbed_until_ = std::max(disturbed_until_, until); }

  /// The group has chosen assignees again.
  void rebalanced(std::size_t lane, Time now) { rebalances_[lane].push_back(now); }
  /// A member named the process for it, again perhaps.
  void named(std::uint8_t node, std::uint32_t part, Time now) {
    designee_[part] = {node, now};
    for (std::uint8_t n = 0; n < plan_.processes; ++n) {
      Namings& known = namings_[part][n];
      if (n == node) {
        known.it = now;
      } else {
        if (known.first_other <= since_[part][n]) known.first_other = now;
        known.last_other = now;
      }
    }
  }
  /// The assigner said that it reads nothing of the log, or begins to assign.
  void unread(std::size_t lane, std::uint32_t log, Time now) { unread_[lane][log] = now; }
  /// A member named another process for it.
  void renamed(std::uint32_t part, Time now) { renamed_[part] = now; }
  /// A second process was given it, beside the one that has it.
  void given_twice(std::uint32_t part, Time now) { given_twice_[part] = now; }
  /// A store that may know more than all processes refused what it serves on: it stops at once.
  void refused(std::uint8_t node, std::uint32_t part, Time now) { refused_[part][node] = now; }

  void broken(const std::string& what, Time now);
  /// What holds only under the assumptions of the protocol: counted where one does not.
  void broken_if_assumed(const std::string& what, Time now) {
    if (!plan_.beyond_claimed()) return broken(what, now);
    count(Judged::beyond);
  }
  [[nodiscard]] const std::string& broken() const noexcept { return broken_; }
  [[nodiscard]] bool led(std::uint8_t node, std::uint32_t part, Time now) const {
    return ends_[part][node] > now;
  }
  [[nodiscard]] Time wrong_until() const noexcept { return wrong_until_; }
  [[nodiscard]] Time node_disturbed_until(std::uint8_t node) const { return node_until_[node]; }
  [[nodiscard]] Time log_disturbed_until(std::uint32_t log) const { return log_until_[log]; }
  /// `now`: it leads; 0: it never did.
  [[nodiscard]] Time last_led(std::uint8_t node, std::uint32_t part, Time now) const {
    return std::min(ends_[part][node], now);
  }
  /// INT64_MAX: it does not lead.
  [[nodiscard]] Time led_since(std::uint8_t node, std::uint32_t part, Time now) const {
    return led(node, part, now) ? since_[part][node] : INT64_MAX / 2;
  }
  /// The process's last acquisition of the part, counted among everybody's.
  [[nodiscard]] std::uint64_t ownership(std::uint32_t part, std::uint8_t node) const {
    return ownership_[part][node];
  }
  /// Until when the process, or any log, was disturbed last.
  [[nodiscard]] Time disturbed_until(std::uint8_t node) const;
  /// Acquisitions by another process than the one before.
  [[nodiscard]] std::uint64_t transitions() const noexcept { return transitions_; }
  [[nodiscard]] Time longest_gap() const noexcept { return longest_gap_; }
  [[nodiscard]] std::uint64_t gaps() const noexcept { return gaps_; }
  /// Up to `now`, where the run ends.
  [[nodiscard]] JudgedCounts judged(Time now);
  void count(Judged what, std::uint64_t times = 1) noexcept {
    judged_[static_cast<std::size_t>(what)] += times;
  }

 private:
  struct Acquisition {
    Epoch epoch = kNoEpoch;
    ProcessId id = kNobody;
  };
  static std::array<Time, kNodesMax> never() {
    std::array<Time, kNodesMax> times{};
    times.fill(INT64_MAX);
    return times;
  }
  void find_gaps(Time now);
  void open_gap(std::uint32_t part, Time start);
  void close_gap(std::uint32_t part, Time now);
  void cover(std::uint32_t part, Time now);
  void cut(Time& since, Time& until, Time to) {
    if (until + plan_.known_by() < now_) since = now_;
    until = std::max(until, to);
    wrong(to);
  }
  [[nodiscard]] bool may_have_stopped(std::uint8_t node, std::uint32_t part, Time start) const;
  [[nodiscard]] bool stopped_by_store(std::uint8_t node, std::uint32_t part, Time start) const;
  [[nodiscard]] Time unread(std::uint32_t part) const;
  [[nodiscard]] bool may_have_read_of_others(std::uint8_t node, std::uint32_t part,
                                             Time start) const;
  [[nodiscard]] bool is_planned(Time start) const {
    return wrong_until_ + plan_.settled() < start;
  }
  [[nodiscard]] std::uint32_t crashes_before(std::uint32_t part, Time start) const;
  [[nodiscard]] bool only_crashes(std::uint32_t part, Time start) const;
  [[nodiscard]] Time last_start(std::uint32_t part, Time now) const;
  [[nodiscard]] std::uint32_t newcomers(std::uint32_t part, Time start, Time now) const;
  void note_nothing_lives(std::uint8_t node, Time now);
  [[nodiscard]] bool leads_on(std::uint32_t part, Time start, Time now) const;
  [[nodiscard]] std::uint32_t parts() const { return plan_.lanes * plan_.partitions; }
  [[nodiscard]] std::string name_of(std::uint32_t part) const;
  [[nodiscard]] Time further_rebalances(std::uint32_t part, Time since) const;
  [[nodiscard]] bool somebody_stayed(std::uint32_t part, Time until) const;
  [[nodiscard]] bool waits_for_the_dead(std::uint32_t part, Time start) const;
  [[nodiscard]] bool reads_of_longer_leases(std::uint32_t part, Time start) const;
  [[nodiscard]] Time allowed_gap(std::uint32_t part, Time start, Time since) const;
  [[nodiscard]] bool may_both_lead(std::uint8_t node, std::uint8_t other) const;

  const Plan& plan_;
  std::array<std::array<Time, kNodesMax>, kPartsMax> ends_{};
  std::array<std::array<Time, kNodesMax>, kPartsMax> since_{};
  std::array<std::array<Time, kNodesMax>, kPartsMax> said_{};  ///< last, that it leads
  std::array<std::array<Time, kNodesMax>, kPartsMax> occupied_{};
  std::array<std::array<std::uint64_t, kNodesMax>, kPartsMax> ownership_{};
  std::array<Time, kPartsMax> covered_since_{};
  std::array<Time, kPartsMax> covered_until_{};  ///< 0: not led
  std::array<Time, kPartsMax> gap_since_{};      ///< 0: none
  std::array<Time, kPartsMax> given_twice_{};
  std::array<std::array<Time, kNodesMax>, kPartsMax> refused_{};
  std::array<Time, kPartsMax> renamed_{};
  std::array<Acquisition, kPartsMax> last_{};
  struct Assigned {
    std::uint8_t node = 0;
    Time at = 0;
  };
  std::array<Assigned, kPartsMax> assignee_{};  ///< the last one
  std::array<bool, kPartsMax> taken_{};
  Time claims_late_ = 0;
  std::array<Assigned, kPartsMax> designee_{};  ///< the same where a member assigns
  /// Who was named for a part, as one process sees it.
  struct Namings {
    Time it = 0;           ///< last
    Time first_other = 0;  ///< since it led
    Time last_other = 0;
  };
  std::array<std::array<Namings, kNodesMax>, kPartsMax> namings_{};
  std::array<std::array<Time, kLogsMax>, kLanesMax> unread_{};
  std::array<std::uint8_t, kPartsMax> assignee_before_{};
  std::array<Mode, kNodesMax> mode_{};
  std::array<Time, kNodesMax> present_since_ = never();
  Time now_ = 0;
  std::array<Time, kNodesMax> node_until_{};
  std::array<Time, kLogsMax> log_until_{};
  std::array<Time, kNodesMax> node_since_{};  ///< it is cut off, without a pause
  std::array<Time, kLogsMax> log_since_{};
  /// The same, where that is a reason to stop.
  std::array<Time, kNodesMax> node_stops_until_{};
  std::array<Time, kLogsMax> log_stops_until_{};
  Time group_until_ = 0;
  Time disturbed_until_ = 0;
  Time wrong_until_ = 0;
  Time faults_until_ = 0;  ///< the same, without crashes
  std::array<std::vector<Time>, kLanesMax> crashes_;
  std::array<Time, kLanesMax> departed_{};  ///< when a process crashed, or was to leave
  std::array<Time, kLanesMax> nothing_lives_{};  ///< when last nobody owned anything, nor was named
  std::array<std::vector<Time>, kLanesMax> rebalances_;
  Time next_end_ = INT64_MAX;
  Time longest_gap_ = 0;
  std::uint64_t gaps_ = 0;
  std::uint64_t transitions_ = 0;
  std::uint64_t ownerships_ = 0;
  Time led_ = 0;
  JudgedCounts judged_{};
  std::string broken_;
};

[[nodiscard]] std::string clock_text(Time now);

}  // namespace neliroute::sim
