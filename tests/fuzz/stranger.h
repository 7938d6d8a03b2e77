// Records of somebody who keeps to no rule: any field may be anything that the parser lets through.
#pragma once

#include <vector>

#include "neli_core/record/record.h"
#include "tests/fuzz/bytes.h"

namespace neliroute::fuzz {

/// Who assigns.
enum class Assigning { group, member };

inline constexpr milliseconds kLease{300};
inline constexpr milliseconds kInterval{100};
inline constexpr milliseconds kSession{300};
inline constexpr milliseconds kClockError{40};
inline constexpr std::int64_t kBrokerEpochMs = 1'700'000'000'000;

/// The settings that members of the fuzzed groups share.
[[nodiscard]] inline Settings settings_of(std::uint32_t partitions, std::uint32_t logs) {
  return {"g", 8, partitions, logs, "xxh3", ""};
}

/// A set of partitions, one bit each: as the group names them, and by p / L, as records do.
[[nodiscard]] PartitionRanges partitions_of(std::uint32_t bits);
[[nodiscard]] LogParts parts_of(std::uint32_t bits);

/// What a stranger writes: under one of these ids, about these epochs, or offsets up to a little
/// above `next`.
[[nodiscard]] Decoded forged(Bytes& bytes, const std::vector<ProcessId>& ids,
                             const std::vector<Epoch>& epochs, std::int64_t next);

/// What it says of itself, to be taken for a member.
[[nodiscard]] MemberFields forged_member(Bytes& bytes, const std::vector<ProcessId>& members,
                                         const std::vector<Epoch>& seats);
/// What an operator may order, for members or others.
[[nodiscard]] Override forged_override(Bytes& bytes);
/// What a stranger writes to be obeyed: under one of these ids, for these members, under these
/// seats or others.
[[nodiscard]] Decoded forged_assignment(Bytes& bytes, const std::vector<ProcessId>& ids,
                                        const std::vector<ProcessId>& members,
                                        const std::vector<Epoch>& seats);

}  // namespace neliroute::fuzz
