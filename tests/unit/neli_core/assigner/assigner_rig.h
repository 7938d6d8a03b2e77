// A lane as its assigner sees it: members that renew and obey, or do not, and what it decides.
//
// Process 1 assigns. All is read at once; time goes on in steps of half an interval and by the
// assigner's own deadlines.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "neli_core/assigner/planning/assigner.h"
#include "tests/unit/neli_core/assigner/told.h"
#include "tests/world/memory_log.h"

namespace neliroute::told {

/// 2 sessions + 4 intervals, and what clocks may drift apart in that.
inline constexpr milliseconds kPatience{1402};

struct Decision {
  LocalTime at;
  std::vector<Designation> designations;
};

class AssignerRig {
 public:
  explicit AssignerRig(std::uint32_t partition_count, std::uint32_t log_count = 1)
      : partitions(partition_count),
        logs(log_count),
        owners(partition_count),
        designations(partition_count),
        assigner({log_count, partition_count, Mode::non_exclusive, kInterval, kSession}),
        leaders_(partition_count) {
    overrides.tail_started(tail_at(Log{0}, 0, 0), now);
  }

  /// Its first renewal is read now, and one each half interval from now on.
  void join(std::uint64_t id, std::uint32_t weight = 1, bool cordoned = false) {
    Record record = renewal(id);
    record.member->weight = weight;
    record.member->cordoned = cordoned;
    said_[id] = record;
    read_renewals();
  }
  /// An operator's record is read now.
  OverrideEffect order(OverrideVerb verb, const std::string& name = "",
                       const std::string& parts = "", std::uint32_t weight = 0) {
    return overrides.read(override_offset++, {verb, name, ranges(parts), weight});
  }
  void rename(std::uint64_t id, const std::string& name) {
    said_.at(id).process.name = name;
    read_renewals();
  }
  void kill(std::uint64_t id) { said_.erase(id); }
  MemberFields& fields(std::uint64_t id) { return *said_.at(id).member; }
  void begin(std::uint64_t predecessor = 0) { assigner.begin(ProcessId{predecessor}, now); }

  void run_for(milliseconds duration) {
    for (const LocalTime end = now + duration; now < end;) {
      const LocalTime due = assigner.next_deadline();
      now = std::min({end, now + kInterval / 2, due > now ? due : end});
      read_renewals();
      decide();
    }
  }
  void decide() {
    overrides.tick(now);
    std::vector<Designation> made =
        assigner.decide({members, owners, designations, longest_lease, overrides, silent()}, now);
    ++asked;
    for (Notice& notice : assigner.take_notices()) notices.push_back(std::move(notice));
    if (made.empty()) return;
    decisions.push_back({now, made});
    if (lose) return;
    AssignmentRecord record;
    record.designations = made;
    designations.read(record, ProcessId{1}, now);
    assigner.settled();
    carry_out();
  }

  /// Who is designated now: "1:0-3 2:4-7".
  [[nodiscard]] std::string named() const {
    std::map<std::uint64_t, std::vector<Partition>> by;
    for (std::uint32_t p = 0; p < partitions; ++p) {
      by[designations.at(Partition{p}).id.value()].push_back(Partition{p});
    }
    return text_of(by);
  }
  [[nodiscard]] std::size_t named_count(std::uint64_t id) const {
    std::size_t count = 0;
    for (std::uint32_t p = 0; p < partitions; ++p) {
      count += designations.at(Partition{p}).id == ProcessId{id};
    }
    return count;
  }
  /// Of one decision.
  [[nodiscard]] static std::string text(const Decision& decision) {
    std::map<std::uint64_t, std::vector<Partition>> by;
    for (const Designation& one : decision.designations) {
      by[one.to.value()] = one.partitions.to_vector();
    }
    return text_of(by);
  }

  const std::uint32_t partitions;
  const std::uint32_t logs;
  LocalTime now = at_ms(10'000);
  Members members{{ProcessId{1}, kInterval}};
  Owners owners;
  Designations designations;
  Overrides overrides{kLease};
  Assigner assigner;
  std::vector<Decision> decisions;
  std::vector<Notice> notices;
  milliseconds longest_lease = kLease;
  std::int64_t override_offset = 0;
  std::set<std::uint64_t> draining;                      ///< members that lead until others do
  std::size_t asked = 0;                                 ///< times that it could decide
  bool lose = false;                                     ///< what is decided reaches nobody
  std::set<std::pair<std::uint64_t, std::uint32_t>> idle;  ///< {member, log}: does not obey there
  std::set<std::uint32_t> unread;                        ///< logs of which nothing is read
  /// Members that prepare, and for what.
  std::map<std::uint64_t, std::optional<PartitionRanges>> preparing;
  milliseconds may_prepare{60'000};  ///< as their records say

 private:
  static std::string text_of(const std::map<std::uint64_t, std::vector<Partition>>& by) {
    std::string text;
    for (const auto& [id, partitions] : by) {
      if (!text.empty()) text += ' ';
      text += std::to_string(id) + ':' + PartitionRanges::of(partitions).to_string();
    }
    return text;
  }

  void carry_out() {
    for (std::uint32_t p = 0; p < partitions; ++p) {
      const std::uint64_t id = designations.at(Partition{p}).id.value();
      if (!said_.contains(id) || idle.contains({id, p % logs})) continue;
      if (leaders_[p].first != id) leaders_[p] = {id, ++epochs_};
    }
    read_renewals();
  }

  void read_renewals() {
    for (auto& [id, record] : said_) {
      record.member->preparing = preparing.contains(id) ? may_prepare : milliseconds{0};
      record.member->preparing_parts =
          preparing.contains(id) ? preparing.at(id) : std::nullopt;
      members.read(record, seen(now));
      members.tick(now);
      for (std::uint32_t l = 0; l < logs; ++l) {
        if (!unread.contains(l)) read_owned(id, l);
      }
    }
  }

  PartitionRanges silent() const {
    std::vector<Partition> numbers;
    for (const std::uint32_t log : unread) numbers.push_back(Partition{log});
    return PartitionRanges::of(numbers);
  }

  void read_owned(std::uint64_t id, std::uint32_t l) {
    Record record = said_.at(id);
    if (l != 0) record.member.reset();
    for (std::uint32_t p = l; p < partitions; p += logs) {
      if (leaders_[p].first != id || idle.contains({id, l})) continue;
      record.epochs.push_back({leaders_[p].second, LogParts::of({Partition{p}}, logs)});
      (draining.contains(id) ? record.draining : record.leading).insert(Partition{p}, logs);
    }
    const LogPlace place{Log{l}, logs, partitions};
    owners.read(record, place, kLease, now);
    assigner.read(record, place, now.time_since_epoch(), now);
  }

  std::map<std::uint64_t, Record> said_;
  std::vector<std::pair<std::uint64_t, std::int64_t>> leaders_;  ///< and the epoch's offset
  std::int64_t epochs_ = 0;
};

/// So many members own everything in equal shares.
inline AssignerRig settled(std::uint64_t members, std::uint32_t partitions,
                           std::uint32_t logs = 1) {
  AssignerRig rig(partitions, logs);
  for (std::uint64_t id = 1; id <= members; ++id) rig.join(id);
  rig.begin();
  rig.run_for(milliseconds{1000});
  EXPECT_EQ(rig.decisions.size(), 1u);
  rig.decisions.clear();
  return rig;
}

}  // namespace neliroute::told
