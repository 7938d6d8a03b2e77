#include "neli_core/settings_agreement.h"

#include <algorithm>
#include <string_view>

#include "neli_core/mutation.h"
#include "neli_core/options.h"
#include "neli_core/record/judgement.h"

namespace neliroute {
namespace {

std::string text_of(const std::string& value) { return value; }
std::string text_of(std::uint32_t value) { return std::to_string(value); }

constexpr std::string_view kPartitionsField = "partitions";

// Ways out for another service; only one lane has to agree on some fields.
constexpr const char* kLogsOfItsOwn =
    ", or, for another service, name another `kafka.topic` or `ledger`";
constexpr const char* kLaneOfItsOwn =
    ", or, for another service, name another `kafka.topic` or `ledger`, or a lane of its own "
    "(`lane` N)";

/// Who assigns, where the variation is `claimed`: it is a part of the variation's name.
std::string assignment_of(const Settings& settings) {
  if (settings.variation == kAssignedVariation) return "assigner";
  return settings.variation == to_string(Variation::claimed) ? "group" : "";
}

}  // namespace

bool is_about_partitions(const Error& conflict) {
  return conflict.code() == Errc::settings_conflict &&
         conflict.detail().starts_with(kPartitionsField);
}

void SettingsAgreement::note(const Record& record, BrokerTime stamped, milliseconds lease,
                             LocalTime read, bool fresh) {
  const auto since = since_told(record, stamped);
  if (!since || !record.settings || record.id == kNobody) return;
  if (record.type == RecordType::release && !fresh) return;  // its writer may be gone
  Seen& seen = seen_[record.id];
  const bool known = seen.seniority.id == record.id && lives(seen, read);
  if (record.since || !known) seen.seniority = {*since, record.id};
  const std::int64_t version = std::min(record.version, kRecordVersion);  // a later one is read
  if (seen.settings != *record.settings || seen.lane != record.lane || seen.version != version) {
    seen.settings = *record.settings;
    seen.lane = record.lane;
    seen.version = version;
    seen.differs = difference(seen).has_value();
  }
  if (seen.name != record.process.name) seen.name = record.process.name;
  seen.live_until = later(read, lease);
  if (const auto told = readable(stamped)) {
    seen.stamped_until = std::max(seen.stamped_until, *told + lease);
  }
  if (seen.differs) differing_until_ = std::max(differing_until_, seen.live_until);
  // Who died since it was heard may be read of once more, where the tail started anew.
  seen.fresh = fresh || (known && seen.fresh);
  if (seen_.size() > forget_at_) forget(read);
}

void SettingsAgreement::forget(LocalTime now) {
  for (auto it = seen_.begin(); it != seen_.end();) {
    it = it->second.live_until > now ? std::next(it) : seen_.erase(it);
  }
  forget_at_ = std::max<std::size_t>(64, 2 * seen_.size());
}

const SettingsAgreement::Seen* SettingsAgreement::senior(bool same_lane, LocalTime now,
                                                         Counting counting) const {
  const Seen* first = nullptr;
  for (const auto& [id, seen] : seen_) {
    if (!lives(seen, now) || (seen.lane == lane_) != same_lane) continue;
    if (counting == Counting::heard && !seen.fresh) continue;
    if (first == nullptr || seen.seniority < first->seniority) first = &seen;
  }
  return first;
}

std::optional<Error> SettingsAgreement::difference(const Seen& seen) const {
  if (seen.version < kRecordVersion) {
    return Error{Errc::settings_conflict,
                 "the version of records is " + std::to_string(kRecordVersion) + " here, but " +
                     std::to_string(seen.version) + " in the running group (process " +
                     seen.name + "); stop all of its processes first, or start the program that "
                     "they run"};
  }
  const auto differ = [&](std::string_view field, const auto& theirs, const auto& mine,
                          const char* option,
                          const char* way_out = kLogsOfItsOwn) -> std::optional<Error> {
    if (theirs == mine) return std::nullopt;
    return Error{Errc::settings_conflict,
                 std::string(field) + " is " + text_of(mine) + " here, but " + text_of(theirs) +
                     " in the running group (process " + seen.name + "); start with " + option +
                     " " + text_of(theirs) + ", or stop all of its processes first" + way_out};
  };
  const Settings& theirs = seen.settings;
  // First, as with an assigner `partitions` are free, and the topic's with a group.
  const bool comparable = !assignment_of(theirs).empty() && !assignment_of(own_).empty();
  if (member_ && seen.lane == lane_ && comparable) {
    if (auto e = differ("assignment", assignment_of(theirs), assignment_of(own_), "`assignment`",
                        kLaneOfItsOwn)) {
      return e;
    }
  }
  if (auto e = differ("slots", theirs.slots, own_.slots, "`slots`")) return e;
  if (auto e = differ(kPartitionsField, theirs.partitions, own_.partitions, "`partitions`")) {
    return e;
  }
  if (auto e = differ("logs", theirs.logs, own_.logs, "`logs`")) return e;
  if (auto e = differ("hash", theirs.hash, own_.hash, "`hash`")) return e;
  if (seen.lane != lane_ || !member_) return std::nullopt;
  if (auto e = differ("group", theirs.group, own_.group, "`group`", kLaneOfItsOwn)) return e;
  if (auto e = differ("variation", theirs.variation, own_.variation, "`variation`",
                      kLaneOfItsOwn)) {
    return e;
  }
  return differ("mode", theirs.mode, own_.mode, "`mode`", kLaneOfItsOwn);
}

// A newcomer waits until it knows whether the senior lives. Who takes part already may lead beside
// a junior of that one that differs, and leaves, unless the senior was heard.
std::optional<Error> SettingsAgreement::conflict(const std::optional<Seniority>& own,
                                                 LocalTime now) const {
  if (at_rest(now) || mutated(Mutation::settings_ignored)) return std::nullopt;
  for (const bool same_lane : {true, false}) {
    const Seen* first = senior(same_lane, now, own ? Counting::heard : Counting::all);
    if (first == nullptr || !first->fresh) continue;
    if (own && *own < first->seniority) continue;
    if (auto error = difference(*first)) return error;
  }
  return std::nullopt;
}

// A senior that agrees may be long gone as well; then another process's settings are in force,
// perhaps of another mode, and a process that takes part meanwhile could lead beside it.
std::optional<LocalTime> SettingsAgreement::undecided_until(LocalTime now) const {
  std::optional<LocalTime> until;
  if (at_rest(now)) return until;
  for (const bool same_lane : {true, false}) {
    const Seen* first = senior(same_lane, now, Counting::all);
    if (first == nullptr || first->fresh || !somebody_differs(same_lane, now)) continue;
    until = std::max(until.value_or(kLongAgo), first->live_until);
  }
  return until;
}

bool SettingsAgreement::somebody_differs(bool same_lane, LocalTime now) const {
  return std::any_of(seen_.begin(), seen_.end(), [&](const auto& entry) {
    const Seen& seen = entry.second;
    return seen.differs && lives(seen, now) && (seen.lane == lane_) == same_lane;
  });
}

}  // namespace neliroute
