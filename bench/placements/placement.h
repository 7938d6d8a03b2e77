// Placement: which member owns which item, kept up to date as members come and go.
//
// One interface for every algorithm of this folder, so that a simulation can compare them. A change
// is one event, however many leave and join in it: an assignor of Kafka sees one rebalance.
// Deterministic by roster, seed and the changes: no clock, no I/O, no other randomness.
//
// Threads: one at a time.   Units: items.
// Errors: an impossible change (a member joins twice, a stranger leaves) aborts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/placements/roster.h"

namespace neliroute::placement {

/// What every placement is constructed with.
struct Setting {
  std::uint32_t items = 0;
  std::uint64_t seed = 0;
  /// All members that there will ever be. It must outlive the placement.
  std::span<const Member> roster;
  /// How many will be members at once, at most.
  std::uint32_t most_members = 0;
};

class Placement {
 public:
  virtual ~Placement() = default;
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  /// Some leave, then some join.
  void change(std::span<const MemberId> leaving, std::span<const MemberId> joining);
  void join(MemberId member) { change({}, {&member, 1}); }
  void leave(MemberId member) { change({&member, 1}, {}); }

  /// By item; kNobody as long as there is no member.
  [[nodiscard]] std::span<const MemberId> owners() const noexcept { return owners_; }
  /// In the order in which they joined.
  [[nodiscard]] const std::vector<MemberId>& members() const noexcept { return members_; }
  [[nodiscard]] bool is_member(MemberId member) const noexcept { return present_[member] != 0; }
  /// What it keeps from one change to the next, in bytes.
  [[nodiscard]] std::size_t memory() const;

 protected:
  explicit Placement(const Setting& setting);

  /// members() is already the new set; owners_ is still the old result. With no member left,
  /// owners_ need not be changed.
  virtual void update(std::span<const MemberId> leaving, std::span<const MemberId> joining) = 0;
  /// Besides the owners and the members.
  [[nodiscard]] virtual std::size_t own_memory() const = 0;

  [[nodiscard]] const Setting& setting() const noexcept { return setting_; }
  [[nodiscard]] std::uint32_t weight_of(MemberId member) const noexcept {
    return setting_.roster[member].weight;
  }
  [[nodiscard]] std::uint64_t hash_of(MemberId member) const noexcept { return hashes_[member]; }
  /// members() in the order of their names' bytes.
  [[nodiscard]] std::vector<MemberId> sorted_by_name() const;

  std::vector<MemberId> owners_;

 private:
  Setting setting_;
  std::vector<MemberId> members_;
  std::vector<std::uint8_t> present_;   // by roster
  std::vector<std::uint64_t> hashes_;   // by roster
};

/// The bytes that a vector holds.
template <class T>
[[nodiscard]] std::size_t bytes_of(const std::vector<T>& held) noexcept {
  return held.capacity() * sizeof(T);
}

}  // namespace neliroute::placement
