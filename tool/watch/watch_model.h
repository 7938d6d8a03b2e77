// What the screen of `watch` shows: the view, what each owner has, and the last moves. Pure: it
// gets what observers get, and how long ago partitions' owners were read.
//
// A move is a change of owner: from an owner to another one, or to nobody and from there to the
// next. Those of one moment and direction are one row. An owner that is read for the first time has
// not moved, and neither has one that is back after a silence of the ledger.
//
// Threads: one.   Units: partitions, slots, LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <neliroute/ids.h>
#include <neliroute/observer.h>
#include <optional>
#include <vector>

#include "neli_core/record/partition_ranges.h"
#include "tool/watch/request_rates.h"

namespace neliroute::tool {

struct PartitionRow {
  ObservedRoute route;
  std::uint32_t slots = 0;
  microseconds heard{0};  ///< how long ago the owner was read; owned only
  PeerPtr last_owner;     ///< the one now, or the one before; null: none is known
  LocalTime lost_at = kLongAgo;  ///< when that one lost it; kLongAgo: it has it, or not known
};

struct OwnerRow {
  PeerPtr peer;
  std::uint32_t partitions = 0;
  std::uint64_t slots = 0;
  std::uint32_t draining = 0;  ///< partitions that it hands over
  std::uint32_t coming = 0;    ///< partitions that it claimed and does not lead yet
  LocalTime since = kLongAgo;  ///< when it last gained one; kLongAgo: before anybody watched
  Epoch newest_epoch = kNoEpoch;
  microseconds heard{0};  ///< of its partition that was read longest ago
  std::uint32_t designated = 0;  ///< partitions that it is to have
  /// Another one that lives states the same, so callers reach only one of the two.
  bool endpoint_shared = false;
  /// What it says of itself, where a member assigns.
  std::optional<ObservedMember> member = std::nullopt;
};

struct MoveRow {
  LocalTime at;
  PeerPtr from;
  PeerPtr to;  ///< null: nobody
  PartitionRanges partitions;
  std::uint64_t slots = 0;
  microseconds unowned{0};  ///< how long nobody led the one that had to wait longest
};

class WatchModel {
 public:
  static constexpr std::size_t kMovesKept = 1000;

  WatchModel(SlotCount slots, std::uint32_t partitions);

  void take(const ViewChange& change);
  void take(const AssignmentNews& news);
  /// Of the processes that are asked for their requests, all of them.
  void take(const std::vector<RequestRow>& requests);
  /// heard[p]: how long ago the owner of p was read. One for each partition.
  void hear(const std::vector<microseconds>& heard);

  [[nodiscard]] const std::vector<PartitionRow>& partitions() const noexcept { return rows_; }
  /// By name, then id: the processes that own partitions or are about to; where a member assigns,
  /// every member, too.
  [[nodiscard]] const std::vector<OwnerRow>& owners() const;
  /// The newest first.
  [[nodiscard]] const std::deque<MoveRow>& moves() const noexcept { return moves_; }
  /// Empty: none was asked.
  [[nodiscard]] const std::vector<RequestRow>& requests() const noexcept { return requests_; }
  [[nodiscard]] SlotCount slots() const noexcept { return slots_; }
  /// Slots by verdict.
  [[nodiscard]] std::uint64_t slots_of(Verdict verdict) const;
  /// Slots that are handed over.
  [[nodiscard]] std::uint64_t draining_slots() const;
  /// What each owner would have if all had the same.
  [[nodiscard]] double fair_slots() const;
  /// The same of one: where a member assigns, by its weight among those that are to own something.
  [[nodiscard]] double fair_slots(const OwnerRow& owner) const;
  /// How many own partitions or are about to.
  [[nodiscard]] std::size_t sharing() const;

  /// Whether a member assigns, and not a group, as far as is known.
  [[nodiscard]] bool assigned() const noexcept { return assigned_; }
  /// Null: nobody, as far as is known.
  [[nodiscard]] const PeerPtr& assigner() const noexcept { return assigner_; }
  [[nodiscard]] const std::map<ProcessId, ObservedMember>& members() const noexcept {
    return members_;
  }
  /// Null: no override stands.
  [[nodiscard]] const std::shared_ptr<const ObservedOverrides>& overrides() const noexcept {
    return overrides_;
  }
  /// Partitions that are named for another process than their owner.
  [[nodiscard]] std::uint32_t moving() const;
  /// Grows with every change of the above.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

 private:
  void note_move(PartitionRow& row, Partition partition, const ObservedRoute& now, LocalTime at);
  void add_move(Partition partition, MoveRow move);
  void sum_up() const;

  SlotCount slots_;
  std::vector<PartitionRow> rows_;
  std::deque<MoveRow> moves_;
  std::vector<RequestRow> requests_;
  std::map<ProcessId, ObservedMember> members_;
  PeerPtr assigner_;
  std::shared_ptr<const ObservedOverrides> overrides_;
  bool assigned_ = false;
  std::uint64_t version_ = 1;
  // What sum_up() computes from the rows, on request.
  mutable std::vector<OwnerRow> owners_;
  mutable std::uint64_t by_verdict_[4]{};
  mutable std::uint64_t draining_ = 0;
  mutable std::uint64_t weights_ = 0;  ///< of the members that are to own something
  mutable std::uint32_t moving_ = 0;
  mutable std::size_t sharing_ = 0;
  mutable std::uint64_t summed_up_ = 0;  ///< the version that it was made of
};

}  // namespace neliroute::tool
