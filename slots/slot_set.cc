#include "slots/slot_set.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <system_error>

#include "slots/check.h"

namespace neliroute {
namespace {

constexpr std::uint32_t kWordBits = 64;
constexpr std::uint64_t kAllBits = ~std::uint64_t{0};

/// A number below `count` and nothing else: no sign, no space, no empty text.
std::optional<Slot> parse_slot(std::string_view text, SlotCount count) noexcept {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end || !count.contains(Slot{value})) {
    return std::nullopt;
  }
  return Slot{value};
}

/// "7" or "7-9".
std::optional<SlotRange> parse_range(std::string_view text, SlotCount count) noexcept {
  const std::size_t dash = text.find('-');
  const std::optional<Slot> first = parse_slot(text.substr(0, dash), count);
  const std::optional<Slot> last =
      dash == std::string_view::npos ? first : parse_slot(text.substr(dash + 1), count);
  if (!first || !last || *first > *last) {
    return std::nullopt;
  }
  return SlotRange{*first, *last};
}

}  // namespace

void SlotSet::insert(SlotRange range) {
  const std::uint32_t first = range.first.value();
  const std::uint32_t last = range.last.value();
  detail::slots_check(first <= last, "a slot range must not run backwards");
  detail::slots_check(last < kSlotCountMax, "a slot must be below 1048576");
  const std::size_t first_word = first / kWordBits;
  const std::size_t last_word = last / kWordBits;
  words_.resize(std::max(words_.size(), last_word + 1));
  for (std::size_t word = first_word; word <= last_word; ++word) {
    std::uint64_t bits = kAllBits;
    if (word == first_word) {
      bits &= kAllBits << (first % kWordBits);
    }
    if (word == last_word) {
      bits &= kAllBits >> (kWordBits - 1 - last % kWordBits);
    }
    words_[word] |= bits;
  }
}

bool SlotSet::contains(Slot slot) const noexcept {
  const std::size_t word = slot.value() / kWordBits;
  return word < words_.size() && ((words_[word] >> (slot.value() % kWordBits)) & 1) != 0;
}

std::size_t SlotSet::size() const noexcept {
  std::size_t members = 0;
  for (const std::uint64_t word : words_) {
    members += static_cast<std::size_t>(std::popcount(word));
  }
  return members;
}

std::uint32_t SlotSet::find(bool member, std::uint32_t from) const noexcept {
  const auto words = static_cast<std::uint32_t>(words_.size());
  std::uint64_t wanted = kAllBits << (from % kWordBits);
  for (std::uint32_t word = from / kWordBits; word < words; ++word) {
    const std::uint64_t found = (member ? words_[word] : ~words_[word]) & wanted;
    if (found != 0) {
      return word * kWordBits + static_cast<std::uint32_t>(std::countr_zero(found));
    }
    wanted = kAllBits;
  }
  return words * kWordBits;
}

std::vector<SlotRange> SlotSet::ranges() const {
  std::vector<SlotRange> found;
  const auto end = static_cast<std::uint32_t>(words_.size()) * kWordBits;
  for (std::uint32_t first = find(true, 0); first < end;) {
    const std::uint32_t past = find(false, first);
    found.push_back(SlotRange{Slot{first}, Slot{past - 1}});
    first = find(true, past);
  }
  return found;
}

SlotSet SlotSet::minus(const SlotSet& other) const {
  SlotSet rest = *this;
  const std::size_t shared = std::min(words_.size(), other.words_.size());
  for (std::size_t word = 0; word < shared; ++word) {
    rest.words_[word] &= ~other.words_[word];
  }
  while (!rest.words_.empty() && rest.words_.back() == 0) {
    rest.words_.pop_back();
  }
  return rest;
}

std::string to_string(const SlotSet& set) {
  std::string text;
  for (const SlotRange range : set.ranges()) {
    if (!text.empty()) {
      text += ',';
    }
    text += std::to_string(range.first.value());
    if (range.last != range.first) {
      text += '-';
      text += std::to_string(range.last.value());
    }
  }
  return text;
}

std::optional<SlotSet> parse_slot_set(std::string_view text, SlotCount count) {
  SlotSet set;
  if (text.empty()) {
    return set;
  }
  // An empty element, also one behind a last comma, is refused like any other that is no range.
  for (std::size_t start = 0;;) {
    const std::size_t comma = text.find(',', start);
    const std::optional<SlotRange> range = parse_range(text.substr(start, comma - start), count);
    if (!range) {
      return std::nullopt;
    }
    set.insert(*range);
    if (comma == std::string_view::npos) {
      return set;
    }
    start = comma + 1;
  }
}

SlotDiff diff(const SlotSet& before, const SlotSet& after) {
  return SlotDiff{after.minus(before), before.minus(after)};
}

}  // namespace neliroute
