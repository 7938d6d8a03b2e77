// What `watch` shows: the view, what each owner has, and the last moves. Pure: it gets what
// observers get, and how long ago partitions' owners were read.
//
// A move is a change of owner: from an owner to another one, or to nobody and from there to the
// next. Those of one moment and direction are one row. An owner that is read for the first time has
// not moved, and neither has one that is back after a silence of the ledger.
//
// Threads: one.   Units: partitions, slots, LocalTime.   Errors: none.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/observer.h>
#include <optional>
#include <string>
#include <vector>

#include "neli_core/record/partition_ranges.h"

namespace neliroute::tool {

struct PartitionRow {
  ObservedRoute route;
  microseconds heard{0};  ///< how long ago the owner was read; owned only
  PeerPtr last_owner;     ///< the one now, or the one before; null: none is known
  LocalTime lost_at = kLongAgo;  ///< when that one lost it; kLongAgo: it has it, or not known
};

struct OwnerRow {
  PeerPtr peer;
  PartitionRanges partitions;
  std::uint64_t slots = 0;
  std::uint32_t coming = 0;   ///< partitions that it claimed or was named for, and does not lead
  std::uint32_t handing = 0;  ///< partitions that it drains, or that are another one's to be
  Epoch newest_epoch = kNoEpoch;
  microseconds heard{0};  ///< of its partition that was read longest ago
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
  microseconds unowned{0};  ///< how long nobody led the one that had to wait longest
};

/// What the rows of all partitions and members add up to.
struct WatchSummary {
  /// The one with most slots first, then by name: the processes that own partitions or are about
  /// to; where a member assigns, every member, too.
  std::vector<OwnerRow> owners;
  std::array<std::uint64_t, 4> slots{};  ///< by verdict
  std::uint32_t moving = 0;   ///< partitions that somebody is to hand over, or to take
  std::uint32_t sharing = 0;  ///< how many own partitions or are about to
};

/// A partition's owner to be: who claimed it, or else is named to claim it; null: nobody.
[[nodiscard]] const PeerPtr& next_of(const ObservedRoute& route);
[[nodiscard]] bool is_owned(const ObservedRoute& route);

class WatchModel : public Observer {
 public:
  static constexpr std::size_t kMovesKept = 1000;

  WatchModel(SlotCount slots, std::uint32_t partitions) : slots_(slots), rows_(partitions) {}

  void on_view(const ViewChange& change) override;
  void on_assignment(const AssignmentNews& news) override;
  /// heard[p]: how long ago the owner of p was read. One for each partition.
  void hear(const std::vector<microseconds>& heard);

  [[nodiscard]] const std::vector<PartitionRow>& partitions() const noexcept { return rows_; }
  /// The newest first.
  [[nodiscard]] const std::deque<MoveRow>& moves() const noexcept { return moves_; }
  [[nodiscard]] const WatchSummary& summary() const;
  [[nodiscard]] SlotCount slots() const noexcept { return slots_; }

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
  /// Grows with every change of the above; 0: it was told of nothing yet.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

 private:
  void note_move(PartitionRow& row, Partition partition, const ObservedRoute& now, LocalTime at);
  void add_move(Partition partition, MoveRow move);
  [[nodiscard]] WatchSummary sum_up() const;

  SlotCount slots_;
  std::vector<PartitionRow> rows_;
  std::deque<MoveRow> moves_;
  std::map<ProcessId, ObservedMember> members_;
  PeerPtr assigner_;
  std::shared_ptr<const ObservedOverrides> overrides_;
  bool assigned_ = false;
  std::uint64_t version_ = 0;
  mutable WatchSummary summary_;
  mutable std::optional<std::uint64_t> summed_up_;  ///< the version that the summary is of
};

}  // namespace neliroute::tool
