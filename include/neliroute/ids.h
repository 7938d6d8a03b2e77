// Strong types for the numbers of the protocol: partitions, logs, lanes, process ids and epochs.
//
// A partition, a log and a lane are all small integers. They convert explicitly only, both ways, so
// that mixing them up does not compile.
//
// Threads: values, any.   Units: none.   Errors: none.
// Paper: "Protocol definition" (partitions M_i, roles R_j, processes P).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

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

/// Kafka partition 0..M-1 of the ledger topic; what the group assigns and what a process owns.
using Partition = StrongId<struct PartitionTag, std::uint32_t>;
/// Topic partition (p mod L) in which the records about partition p are written.
using Log = StrongId<struct LogTag, std::uint32_t>;
/// One of several disjoint process groups over the same slots.
using Lane = StrongId<struct LaneTag, std::uint32_t>;

/// R_0 .. R_{N-1}: a task of the process that leads it. A slot is a role that keys are hashed to.
using Role = StrongId<struct RoleTag, std::uint32_t>;

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
