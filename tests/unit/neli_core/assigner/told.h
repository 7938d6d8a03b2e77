// What members say in log 0, as the tests of an assigner's parts make it up.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "neli_core/assigner/members.h"
#include "neli_core/record/record.h"

namespace neliroute::told {

inline constexpr milliseconds kInterval{100};
inline constexpr milliseconds kSession{500};
inline constexpr milliseconds kLease{1000};

/// The process whose knowledge is tested, and another one.
inline constexpr ProcessId kOwn{1};
inline constexpr ProcessId kOther{2};

/// The only log of a topic, with all partitions.
inline constexpr LogPlace kPlace{Log{0}, 1, 8};

/// Two epochs of the seat.
inline constexpr Epoch kFirst{1'000, 5};
inline constexpr Epoch kSecond{1'001, 9};

inline LocalTime at_ms(std::int64_t ms) { return LocalTime{milliseconds{ms}}; }
inline PartitionRanges ranges(const std::string& text) { return *PartitionRanges::parse(text); }

/// A record that is stamped and read now.
inline Sighting seen(LocalTime now, bool history = false) {
  return {now.time_since_epoch(), now, history, false};
}

/// A renewal that holds nothing, of a member that came `id` ms after the first one.
inline Record renewal(std::uint64_t id, milliseconds session = kSession) {
  Record record;
  record.type = RecordType::renewal;
  record.id = ProcessId{id};
  record.since = static_cast<std::int64_t>(id);
  record.lease = kLease;
  record.process.name = "p" + std::to_string(id);
  record.member = MemberFields{};
  record.member->session = session;
  return record;
}

/// A renewal that holds these partitions of a topic with one log, under one epoch.
inline Record holding(std::uint64_t id, const Epoch& epoch, const std::string& parts,
                      const std::string& leading, const std::string& draining = "") {
  Record record = renewal(id);
  record.incarnation = epoch.incarnation;
  record.epochs = {{epoch.offset, *LogParts::parse(parts)}};
  record.leading = *LogParts::parse(leading);
  record.draining = *LogParts::parse(draining);
  return record;
}

inline AssignmentRecord assign(
    std::uint64_t by, const Epoch& seat,
    const std::vector<std::pair<std::uint64_t, std::string>>& designations) {
  AssignmentRecord record;
  record.type = AssignmentType::assign;
  record.id = ProcessId{by};
  record.seat = seat;
  for (const auto& [to, partitions] : designations) {
    record.designations.push_back({ProcessId{to}, ranges(partitions)});
  }
  return record;
}

/// `replaces`: the seat claim that its writer takes for the newest.
inline AssignmentRecord seat_claim(ProcessId by, const Epoch& replaces = kNoEpoch) {
  AssignmentRecord record;
  record.type = AssignmentType::seat_claim;
  record.id = by;
  record.seat = replaces;
  return record;
}

}  // namespace neliroute::told
