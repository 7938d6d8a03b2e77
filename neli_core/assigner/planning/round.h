// What the assigner plans: one plan, from what was read at one moment. Members by their index,
// partitions with who has them or is to have them (rules A5, A7 and A11).
//
// Threads: one (inside Assigner).   Units: LocalTime.   Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <vector>

#include "neli_core/assigner/planning/bans.h"
#include "neli_core/assigner/planning/patience.h"
#include "neli_core/assigner/planning/view.h"
#include "neli_core/ready.h"
#include "placement/plan.h"

namespace neliroute {

/// What a plan would change.
struct WouldMove {
  Partition partition;
  ProcessId from = kNobody;  ///< who leads it; kNobody: nobody that lives
  ProcessId to = kNobody;
  placement::Reason why{};
  friend bool operator==(const WouldMove&, const WouldMove&) = default;
};

class Round {
 public:
  /// `patience`: null: nobody is given up.
  Round(std::uint32_t logs, const AssignerView& view, Bans& bans, const Patience* patience,
        LocalTime now)
      : logs_(logs),
        view_(view),
        bans_(bans),
        patience_(patience),
        now_(now),
        ignored_(logs, kLongAgo),
        living_(view.members.living()) {}

  /// `repeat`: also what was said before and is not carried out.
  [[nodiscard]] std::vector<Designation> designations(bool repeat);
  /// What would move now, and why.
  [[nodiscard]] std::vector<WouldMove> moves();

  // After one of these:
  /// Something is not carried out yet: it is to be said again.
  [[nodiscard]] bool unfinished() const noexcept { return unfinished_; }
  /// Members live, and none of them may own anything.
  [[nodiscard]] bool nobody_takes() const noexcept { return nobody_takes_; }
  /// When the plan may be another one, though nothing new is read.
  [[nodiscard]] LocalTime next() const noexcept { return next_; }
  [[nodiscard]] const std::vector<Notice>& given_up() const noexcept { return given_up_; }

 private:
  using MemberId = placement::MemberId;

  [[nodiscard]] bool stays() const;
  [[nodiscard]] std::vector<placement::Designation> planned() const;
  [[nodiscard]] bool is_awaited(Partition partition) const;
  [[nodiscard]] bool is_silent(Partition partition) const;
  void weigh();
  [[nodiscard]] MemberId index_of(ProcessId id) const;
  void look_at_partitions(bool repeat);
  void find_failures();
  [[nodiscard]] bool leads(Partition partition, const Owner& owner) const;
  [[nodiscard]] bool has_failed(Partition partition) const;
  [[nodiscard]] bool is_banned(Partition partition, ProcessId id) const;
  [[nodiscard]] LocalTime first_if_all_are_banned(Log log) const;
  [[nodiscard]] std::uint32_t others_than_banned(Log log);
  void look_again(LocalTime at) noexcept { next_ = next_ < at ? next_ : at; }
  [[nodiscard]] const StandingOverrides& standing() const { return view_.overrides.standing(); }

  std::uint32_t logs_;
  const AssignerView& view_;
  Bans& bans_;
  const Patience* patience_;
  LocalTime now_;
  std::vector<LocalTime> ignored_;  ///< by log: bans that began by then, as all are banned
  std::vector<const Member*> living_;
  std::map<ProcessId, MemberId> index_;
  std::vector<placement::PlanMember> members_;
  std::vector<placement::PlanPartition> partitions_;
  std::vector<std::vector<MemberId>> pins_;
  std::map<MemberId, std::vector<Partition>> to_;  ///< what is to be said
  bool unfinished_ = false;
  bool nobody_takes_ = false;
  LocalTime next_ = kNever;
  std::vector<Notice> given_up_;
};

}  // namespace neliroute
