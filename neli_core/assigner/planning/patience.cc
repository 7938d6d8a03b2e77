#include "neli_core/assigner/planning/patience.h"

#include <algorithm>

#include "neli_core/mutation.h"

namespace neliroute {
namespace {

/// Of the time that a designee leads, so small a part is excused anew.
constexpr int kExcusesReturn = 8;

}  // namespace

bool Patience::read(const Record& record, const LogPlace& place, microseconds stamp) {
  Flow& flow = flows_[place.log.value()];
  const std::uint64_t gaps = flow.gaps(session_);
  flow.read(stamp);
  note(record, place);
  return flow.gaps(session_) != gaps;
}

void Patience::note(const Record& record, const LogPlace& place) {
  if (record.member && record.member->preparing.count() > 0) excuse(record);
  if (record.type == RecordType::claim) return;
  for_each_named(record, place, [&](Partition partition, const Epoch&) {
    Wait& wait = waits_[partition.value()];
    if (wait.designee != record.id) return;
    // Who writes and does not read its records back is replaced.
    const bool stale = record.stale.contains(partition, place.logs);
    const bool leads = (record.leading.contains(partition, place.logs) && !stale) ||
                       (mutated(Mutation::drainers_lead) &&
                        record.draining.contains(partition, place.logs));
    if (!leads && wait.covered == microseconds{0}) return;
    settle(partition, true);
    // Half of a session, as a member is not silent before: its next word comes sooner.
    wait.covered = leads ? microseconds{session_} / 2 : microseconds{0};
  });
}

// What its application needs to prepare for a partition is not its failure. A member of an older
// version does not name what it prepares for.
void Patience::excuse(const Record& record) {
  if (mutated(Mutation::preparing_fails)) return;
  const auto& parts = record.member->preparing_parts;
  const auto excuse_one = [&](Partition partition) {
    if (waits_[partition.value()].designee == record.id) {
      excuse(partition, record.member->preparing);
    }
  };
  const auto count = static_cast<std::uint32_t>(waits_.size());
  if (parts && !mutated(Mutation::preparing_shields_all)) {
    return parts->for_each(count, excuse_one);
  }
  for (std::uint32_t p = 0; p < count; ++p) excuse_one(Partition{p});
}

// It prepares before it claims, and warms up before it leads. One that loses its lease again and
// again warms up each time.
void Patience::excuse(Partition partition, microseconds preparing) {
  Wait& wait = waits_[partition.value()];
  wait.excuse = std::max(wait.excuse, 2 * preparing + microseconds{session_});
  const microseconds passed = since_settled(partition);
  const bool excused =
      wait.excused + passed <= wait.excuse || mutated(Mutation::prepares_for_ever);
  if (excused) wait.excused += passed;
  settle(partition, !excused);
}

void Patience::settle(Partition partition, bool counts) {
  Wait& wait = waits_[partition.value()];
  if (counts) {
    wait.excused = std::max(wait.excused - led(partition) / kExcusesReturn, microseconds{0});
    wait.missed = missed(partition);
  }
  wait.from = flow_of(partition).mark(session_);
}

void Patience::name(Partition partition, ProcessId designee, microseconds limit) {
  Wait& wait = waits_[partition.value()];
  wait.limit = limit;
  if (wait.designee == designee) return;
  wait = {designee, limit, flow_of(partition).mark(session_)};
}

void Patience::begin_anew() {
  for (Wait& wait : waits_) wait = {};
}

microseconds Patience::since_settled(Partition partition) const {
  return flows_[partition.value() % flows_.size()].since(waits_[partition.value()].from);
}

microseconds Patience::led(Partition partition) const {
  return std::min(since_settled(partition), waits_[partition.value()].covered);
}

microseconds Patience::missed(Partition partition) const {
  const Wait& wait = waits_[partition.value()];
  if (wait.designee == kNobody) return microseconds{0};  // no clock is kept for it
  const microseconds covered = led(partition);
  const microseconds before =
      mutated(Mutation::moments_reset) && covered > microseconds{0}
          ? microseconds{0}
          : std::max(wait.missed - covered, microseconds{0});
  // Who leads again has not failed.
  return std::min(before + since_settled(partition) - covered, wait.limit);
}

}  // namespace neliroute
