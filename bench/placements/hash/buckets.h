// What anchor, dx and memento have in common: members sit in numbered buckets, an item finds a
// bucket in use, and a joining member takes the bucket that was left last.
//
// Threads: one at a time.   Units: buckets.   Errors: see placement.h.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "bench/placements/hash/mix.h"
#include "bench/placements/placement.h"

namespace neliroute::placement {

/// State has: uint32 add(), the bucket; remove(uint32); uint32 find(uint64 hash) const; memory().
template <class State>
class InBuckets final : public Placement {
 public:
  InBuckets(const Setting& setting, State state)
      : Placement(setting),
        state_(std::move(state)),
        bucket_of_(setting.roster.size()),
        hashes_(setting.items) {
    for (std::uint32_t item = 0; item < setting.items; ++item) {
      hashes_[item] = item_hash(item, setting.seed);
    }
  }

 private:
  void update(std::span<const MemberId> leaving, std::span<const MemberId> joining) override {
    for (const MemberId member : leaving) state_.remove(bucket_of_[member]);
    for (const MemberId member : joining) {
      const std::uint32_t bucket = state_.add();
      bucket_of_[member] = bucket;
      if (bucket >= member_in_.size()) member_in_.resize(bucket + 1, kNobody);
      member_in_[bucket] = member;
    }
    if (members().empty()) return;
    for (std::uint32_t item = 0; item < setting().items; ++item) {
      owners_[item] = member_in_[state_.find(hashes_[item])];
    }
  }

  [[nodiscard]] std::size_t own_memory() const override {
    return state_.memory() + bytes_of(bucket_of_) + bytes_of(member_in_) + bytes_of(hashes_);
  }

  State state_;
  std::vector<std::uint32_t> bucket_of_;  // by roster
  std::vector<MemberId> member_in_;       // by bucket
  std::vector<std::uint64_t> hashes_;     // by item
};

}  // namespace neliroute::placement
