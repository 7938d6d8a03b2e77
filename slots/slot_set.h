// SlotSet: a set of slots, printed as ranges ("0-9,12"), and the difference of two.
//
// Kept as bits: the slots of one partition lie M apart, so ranges would be as many as slots.
//
// Threads: a value; const calls any, the rest one at a time.   Units: slots.   Errors: text that
// is not a list of ranges is nothing; a slot of kSlotCountMax or more aborts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slots/slot.h"

namespace neliroute {

/// The slots first..last, both included.
struct SlotRange {
  Slot first;
  Slot last;

  [[nodiscard]] friend constexpr bool operator==(SlotRange, SlotRange) noexcept = default;
};

class SlotSet {
 public:
  void insert(Slot slot) { insert(SlotRange{slot, slot}); }
  /// Aborts unless first <= last < kSlotCountMax.
  void insert(SlotRange range);

  [[nodiscard]] bool contains(Slot slot) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return words_.empty(); }

  /// Ascending, as few as possible: two ranges never touch.
  [[nodiscard]] std::vector<SlotRange> ranges() const;

  /// The slots that are here and not in the other set.
  [[nodiscard]] SlotSet minus(const SlotSet& other) const;

  [[nodiscard]] friend bool operator==(const SlotSet&, const SlotSet&) noexcept = default;

 private:
  /// The first position at or after `from` that is in the set, or is not; else the end of words_.
  [[nodiscard]] std::uint32_t find(bool member, std::uint32_t from) const noexcept;

  // Bit j % 64 of word j / 64 is slot j. The last word is never 0, so equal sets have equal words.
  std::vector<std::uint64_t> words_;
};

/// "0-9,12"; an empty set is the empty string.
[[nodiscard]] std::string to_string(const SlotSet& set);

/// Numbers and ranges of numbers below `count`, separated by commas without spaces. They may come
/// in any order, and overlap. Nothing if the text is anything else, or a range runs backwards.
[[nodiscard]] std::optional<SlotSet> parse_slot_set(std::string_view text, SlotCount count);

/// What an owner of `before` must take over and give up to become an owner of `after`.
struct SlotDiff {
  SlotSet gained;
  SlotSet lost;

  [[nodiscard]] friend bool operator==(const SlotDiff&, const SlotDiff&) noexcept = default;
};

[[nodiscard]] SlotDiff diff(const SlotSet& before, const SlotSet& after);

}  // namespace neliroute
