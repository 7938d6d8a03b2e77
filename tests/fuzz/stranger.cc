#include "tests/fuzz/stranger.h"

#include "neli_core/assigner/overrides.h"

namespace neliroute::fuzz {
namespace {

// What decode_record() can return at most, and what an honest record has.
std::int64_t incarnation_of(Bytes& bytes) {
  static constexpr std::int64_t kIncs[] = {0, kBrokerEpochMs + 10'000, kBrokerEpochMs, 1, -1,
                                           (1LL << 53) - 1, INT64_MIN};
  return bytes.one_of(kIncs) + bytes.below(4) * (bytes.flag() ? 0 : 1);
}

std::optional<milliseconds> lease_of(Bytes& bytes) {
  static constexpr milliseconds kLeases[] = {kLease, milliseconds{1}, kLeaseMax, 2 * kLease};
  if (bytes.below(5) == 0) return std::nullopt;
  return bytes.one_of(kLeases);
}

std::int64_t offset_of(Bytes& bytes, std::int64_t next) {
  const std::int64_t back = bytes.byte();
  return back == 255 ? INT64_MAX : std::max<std::int64_t>(next + 2 - back, 0);
}

}  // namespace

PartitionRanges partitions_of(std::uint32_t bits) {
  PartitionRanges partitions;
  for (std::uint32_t p = 0; p < 8; ++p) {
    if ((bits >> p & 1) != 0) partitions.insert(Partition{p});
  }
  return partitions;
}

LogParts parts_of(std::uint32_t bits) { return LogParts::of(partitions_of(bits).to_vector(), 1); }

Decoded forged(Bytes& bytes, const std::vector<ProcessId>& ids, const std::vector<Epoch>& epochs,
               std::int64_t next) {
  const std::uint32_t kind = bytes.below(16);
  if (kind == 15) return static_cast<Ignored>(bytes.below(5));
  Record record;
  record.type = static_cast<RecordType>(kind % 3);
  record.lane = Lane{bytes.below(16) == 15 ? 1u : 0u};
  record.id = ids[bytes.below(static_cast<std::uint32_t>(ids.size()))];
  record.seq = bytes.flag() ? bytes.byte() : static_cast<std::uint64_t>(bytes.wide());
  record.incarnation = std::min(incarnation_of(bytes), (std::int64_t{1} << 53) - 1);
  record.max_incarnation =
      bytes.flag() ? std::min(incarnation_of(bytes), (std::int64_t{1} << 53) - 1) : 0;
  if (record.type == RecordType::claim) {
    if (bytes.below(4) != 0) record.parts = parts_of(bytes.byte());
    if (bytes.below(8) == 0) record.id = kNobody;
  } else if (!epochs.empty() && bytes.flag()) {
    const auto back = 1 + std::min<std::size_t>(bytes.below(8), epochs.size() - 1);
    const Epoch& epoch = epochs[epochs.size() - back];
    record.incarnation = epoch.incarnation;
    record.epochs.push_back({epoch.offset, parts_of(1 + bytes.below(3))});
  } else {
    for (std::uint32_t i = bytes.below(4); i > 0; --i) {
      record.epochs.push_back({offset_of(bytes, next), parts_of(bytes.byte())});
      if (bytes.below(4) == 0) {
        record.epochs.back().incarnation =
            std::min(incarnation_of(bytes), (std::int64_t{1} << 53) - 1);
      }
    }
  }
  if (record.type == RecordType::renewal) {
    record.leading = parts_of(bytes.byte());
    record.draining = parts_of(bytes.byte());
  }
  record.lease = lease_of(bytes);
  record.max_lease = lease_of(bytes);
  if (bytes.below(4) == 0) {
    record.since = bytes.flag() ? bytes.wide() : kBrokerEpochMs + 10'000;
    record.settings = settings_of(bytes.flag() ? 4 : 1 + bytes.below(8), 1 + bytes.below(2));
    record.settings->mode = bytes.flag() ? "exclusive" : "quorum";
  }
  record.process.name = "stranger";
  return record;
}

MemberFields forged_member(Bytes& bytes, const std::vector<ProcessId>& members,
                           const std::vector<Epoch>& seats) {
  static constexpr milliseconds kSessions[] = {kSession, kLeaseMax, kMemberSessionMin};
  MemberFields member;
  member.session = bytes.one_of(kSessions);
  member.weight = bytes.flag() ? 1 : bytes.below(2) * kWeightMax;
  member.cordoned = bytes.below(4) == 0;
  if (!seats.empty() && bytes.flag()) member.seat = seats.back();
  member.seat_by = members[bytes.below(static_cast<std::uint32_t>(members.size()))];
  member.upto = bytes.flag() ? bytes.byte() : INT64_MAX;
  member.assigning = bytes.flag();
  member.leaving = bytes.below(4) == 0;
  if (bytes.below(4) == 0) member.preparing = bytes.one_of(kSessions);
  return member;
}

Override forged_override(Bytes& bytes) {
  Override override;
  override.verb = static_cast<OverrideVerb>(bytes.below(8));
  override.name = bytes.flag() ? "member" : "other";
  override.partitions = partitions_of(bytes.byte() | 1U);
  override.weight = bytes.below(3) * kWeightMax / 2;
  return override;
}

Decoded forged_assignment(Bytes& bytes, const std::vector<ProcessId>& ids,
                          const std::vector<ProcessId>& members, const std::vector<Epoch>& seats) {
  const auto one_of = [&](const auto& all) {
    return all[bytes.below(static_cast<std::uint32_t>(all.size()))];
  };
  AssignmentRecord record;
  record.type = static_cast<AssignmentType>(bytes.below(5));
  record.id = bytes.below(4) == 0 ? one_of(members) : one_of(ids);
  record.seq = bytes.byte();
  if (record.type == AssignmentType::override) {
    record.override = forged_override(bytes);
    return record;
  }
  const bool is_list = record.type == AssignmentType::overrides;
  if (record.type != AssignmentType::assign && !is_list) return record;
  record.seat = seats.empty() ? Epoch{1, bytes.byte()} : seats.back();
  if (!seats.empty() && bytes.below(4) == 0) record.seat = one_of(seats);
  if (is_list) {
    record.upto = bytes.flag() ? bytes.byte() : INT64_MAX;
    for (std::uint32_t i = bytes.below(4); i > 0; --i) {
      apply(forged_override(bytes), record.standing);
    }
    return record;
  }
  for (std::uint32_t i = bytes.below(4); i > 0; --i) {
    const ProcessId to = bytes.below(4) == 0 ? one_of(ids) : one_of(members);
    record.designations.push_back({to, partitions_of(bytes.byte())});
  }
  return record;
}

}  // namespace neliroute::fuzz
