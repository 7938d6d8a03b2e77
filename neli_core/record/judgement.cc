#include "neli_core/record/judgement.h"

#include <algorithm>

#include "neli_core/mutation.h"

namespace neliroute {
namespace {

// Incarnations belong to one lane, but each lane repeats what the others knew: if all processes of
// a lane have gone, their records are soon before where a newcomer starts reading.
std::int64_t incarnation_of_other_lane(const Record& record, BrokerTime stamped,
                                       std::int64_t offset) noexcept {
  if (!names_possible_epochs(record, stamped)) return 0;
  // A process that knows an incarnation also says so in max_incarnation: this record was written by
  // none of ours, and its number may be anything.
  if (greatest_named_incarnation(record) > record.max_incarnation) return 0;
  const std::int64_t said = greatest_incarnation_in(record, stamped);
  if (record.type != RecordType::claim) return said;
  return std::max(said, claim_epoch(record, stamped, offset).incarnation);
}

}  // namespace

Judgement judge(const Record& record, BrokerTime stamped, Lane lane) noexcept {
  if (record.lane != lane) return Judgement::other_lane;
  return names_possible_epochs(record, stamped) ? Judgement::heeded : Judgement::impossible_epoch;
}

std::int64_t incarnation_told(const Record& record, Judgement judged, BrokerTime stamped,
                              std::int64_t offset) noexcept {
  switch (judged) {
    case Judgement::heeded:
      return greatest_incarnation_in(record, stamped);
    case Judgement::other_lane:
      return incarnation_of_other_lane(record, stamped, offset);
    case Judgement::impossible_epoch:
      break;
  }
  return 0;
}

const Settings* readable_settings(const Record& record) noexcept {
  return record.settings && record.version == kRecordVersion ? &*record.settings : nullptr;
}

const Settings* settings_in_force(const Record& record) noexcept {
  if (record.leading.empty() && record.draining.empty()) return nullptr;
  return readable_settings(record);
}

bool is_greeting(const Record& record) noexcept {
  return record.type == RecordType::renewal && record.epochs.empty();
}

std::optional<std::int64_t> since_told(const Record& record, BrokerTime stamped) noexcept {
  if (record.since || is_greeting(record)) return record.since;
  return stamped.time_since_epoch().count();
}

std::int64_t incarnation_limit(BrokerTime stamped) noexcept {
  const std::int64_t stamp = stamped.time_since_epoch().count();
  return std::clamp<std::int64_t>(stamp, 0, kIncarnationMax - kIncarnationAhead) +
         kIncarnationAhead;
}

std::int64_t greatest_named_incarnation(const Record& record) noexcept {
  std::int64_t greatest = record.incarnation;
  for (const EpochParts& named : record.epochs) {
    greatest = std::max(greatest, named.incarnation.value_or(record.incarnation));
  }
  return greatest;
}

bool names_possible_epochs(const Record& record, BrokerTime stamped) noexcept {
  return record.type == RecordType::claim ||
         greatest_named_incarnation(record) <= incarnation_limit(stamped);
}

std::int64_t greatest_incarnation_in(const Record& record, BrokerTime stamped) noexcept {
  std::int64_t greatest = 0;
  for (const std::int64_t incarnation :
       {greatest_named_incarnation(record), record.max_incarnation}) {
    if (incarnation <= incarnation_limit(stamped)) greatest = std::max(greatest, incarnation);
  }
  return greatest;
}

Epoch claim_epoch(const Record& record, BrokerTime stamped, std::int64_t offset) noexcept {
  const std::int64_t said =
      record.incarnation <= incarnation_limit(stamped) ? record.incarnation : 0;
  if (mutated(Mutation::incarnation_as_written)) return {said, offset};
  const std::int64_t stamp = stamped.time_since_epoch().count();
  // A writer may stamp what it likes. Beyond this, no claim that repeats it would be believed.
  return {std::max(said, std::clamp<std::int64_t>(stamp, 0, kIncarnationAhead)), offset};
}

}  // namespace neliroute
