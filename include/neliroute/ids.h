// Strong types for the protocol's numbers: slots, partitions, logs, lanes, process ids and epochs.
//
// Slots, partitions, logs and lanes are all small integers. They convert explicitly only, both
// ways, so that mixing them up does not compile.
//
// Threads: values, any.   Units: none.   Errors: an impossible slot count aborts; use
// SlotCount::make for counts that come from outside.
// Paper: "Protocol definition" (partitions M_i, roles R_j, processes P), "Consistent hashing" (a
// fixed number of notional hash slots).
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

// Clang 14 crashes on some calls of immediate functions; there a wrong constant aborts.
#if defined(__clang__) && __clang_major__ < 15
#define NELIROUTE_CONSTEVAL constexpr
#else
#define NELIROUTE_CONSTEVAL consteval
#endif

namespace neliroute {

/// An integer with one meaning.
template <class Tag, class Integer>
class StrongId {
 public:
  using integer_type = Integer;
  constexpr StrongId() noexcept = default;
  constexpr explicit StrongId(Integer value) noexcept : value_(value) {}
  [[nodiscard]] constexpr Integer value() const noexcept { return value_; }
  [[nodiscard]] friend constexpr auto operator<=>(StrongId, StrongId) noexcept = default;

 private:
  Integer value_ = 0;
};

/// As a number.
template <class Tag, class Integer>
std::ostream& operator<<(std::ostream& out, StrongId<Tag, Integer> id) {
  return out << id.value();
}

/// One slot, 0..S-1: what keys are hashed to. The SlotSpace knows S.
using Slot = StrongId<struct SlotTag, std::uint32_t>;
/// Kafka partition 0..M-1 of the ledger topic; what the group assigns and what a process owns.
using Partition = StrongId<struct PartitionTag, std::uint32_t>;
/// Topic partition (p mod L) in which the records about partition p are written.
using Log = StrongId<struct LogTag, std::uint32_t>;
/// One of several disjoint process groups over the same slots.
using Lane = StrongId<struct LaneTag, std::uint32_t>;

/// R_0 .. R_{N-1}: a task of the process that leads it. A slot is a role that keys are hashed to.
using Role = StrongId<struct RoleTag, std::uint32_t>;

/// Far above any useful number (Redis Cluster has 16384), and low enough that a table with an
/// entry for every slot stays cheap.
inline constexpr std::uint32_t kSlotCountMax = std::uint32_t{1} << 20;

/// How many slots there are: S, 1..kSlotCountMax. It has no default: every process of a group
/// must agree on it, so it must be chosen.
class SlotCount {
 public:
  /// A constant converts implicitly, as in `options.slots = 4096`; one that cannot be a slot count
  /// does not compile. Use make() for counts that come from outside.
  template <std::same_as<int> Constant>
  NELIROUTE_CONSTEVAL SlotCount(Constant value)  // NOLINT: implicit on purpose
      : SlotCount(static_cast<std::uint32_t>(value)) {}
  constexpr explicit SlotCount(std::uint32_t value) noexcept : value_(value) {
    if (!is_possible(value)) abort_for(value);
  }

  /// nullopt unless 1 <= value <= kSlotCountMax.
  [[nodiscard]] static constexpr std::optional<SlotCount> make(std::uint64_t value) noexcept {
    if (!is_possible(value)) return std::nullopt;
    return SlotCount{static_cast<std::uint32_t>(value)};
  }

  [[nodiscard]] constexpr std::uint32_t value() const noexcept { return value_; }
  [[nodiscard]] constexpr bool contains(Slot slot) const noexcept { return slot.value() < value_; }
  [[nodiscard]] friend constexpr auto operator<=>(SlotCount, SlotCount) noexcept = default;

 private:
  [[nodiscard]] static constexpr bool is_possible(std::uint64_t value) noexcept {
    return value >= 1 && value <= kSlotCountMax;
  }
  /// Not constexpr, so an impossible constant does not compile.
  [[noreturn, gnu::cold]] static void abort_for(std::uint32_t value) noexcept;

  std::uint32_t value_;
};

/// 64 random bits drawn at every start of a core. "Own" means this id, never a name.
using ProcessId = StrongId<struct ProcessIdTag, std::uint64_t>;

/// The id of a record that names no process. No process has it.
inline constexpr ProcessId kNobody{0};

/// An id as records and event logs write it: 16 hexadecimal digits.
[[nodiscard]] std::string to_string(ProcessId id);
std::ostream& operator<<(std::ostream& out, ProcessId id);

inline constexpr std::uint32_t kPartitionCountMax = 65536;
inline constexpr std::uint32_t kLogCountMax = 1024;
inline constexpr std::uint32_t kLaneMax = 1023;

/// The log that carries the records about a partition.
[[nodiscard]] constexpr Log log_of(Partition partition, std::uint32_t log_count) noexcept {
  return Log{partition.value() % log_count};
}

/// Fencing number of one ownership of a partition and lane. Totally ordered; a store that keeps
/// the greatest epoch it has seen can refuse the writes of every earlier owner.
struct Epoch {
  /// The later of the claim's broker time and the greatest incarnation that its writer knew, in
  /// milliseconds: keeps epochs rising when the topic is recreated and its offsets start over.
  std::int64_t incarnation = 0;
  /// Offset of the claim record in its log.
  std::int64_t offset = -1;

  [[nodiscard]] friend constexpr auto operator<=>(const Epoch&, const Epoch&) noexcept = default;
};

/// Smaller than every epoch that a claim can have.
inline constexpr Epoch kNoEpoch{std::numeric_limits<std::int64_t>::min(), -1};

/// "1763690000123:4711": incarnation and offset.
[[nodiscard]] std::string to_string(const Epoch& epoch);
/// Parses what to_string() wrote; nullopt for anything else.
[[nodiscard]] std::optional<Epoch> parse_epoch(std::string_view text) noexcept;
std::ostream& operator<<(std::ostream& out, const Epoch& epoch);

}  // namespace neliroute

template <class Tag, class Integer>
struct std::hash<neliroute::StrongId<Tag, Integer>> {
  std::size_t operator()(neliroute::StrongId<Tag, Integer> id) const noexcept {
    return std::hash<Integer>{}(id.value());
  }
};
