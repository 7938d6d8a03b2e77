#include "tests/scenarios/tell.h"

#include <cstdio>

namespace neliroute::scenario {
namespace {

PartitionRanges partitions_of(const LogParts& parts, const LogPlace& place) {
  PartitionRanges partitions;
  parts.for_each(place, [&](Partition p) { partitions.insert(p); });
  return partitions;
}

PartitionRanges all_of(const Record& record, const LogPlace& place) {
  PartitionRanges all;
  for (const EpochParts& named : record.epochs) {
    named.parts.for_each(place, [&](Partition p) { all.insert(p); });
  }
  return all;
}

PartitionRanges looking_of(const Record& renewal, const LogPlace& place) {
  PartitionRanges looking;
  all_of(renewal, place).for_each(place.partitions, [&](Partition p) {
    const bool leads = renewal.leading.contains(p, place.logs);
    if (!leads && !renewal.draining.contains(p, place.logs)) looking.insert(p);
  });
  return looking;
}

std::string claims_of(const Record& record) {
  std::string text;
  for (const EpochParts& named : record.epochs) {
    text += (text.empty() ? "" : ", ") + text_of(epoch_of(record, named));
  }
  return text;
}

bool alike(const Transition& a, const Transition& b) {
  return a.kind == b.kind && a.epoch == b.epoch && a.at == b.at && a.reason == b.reason &&
         a.barrier_deadline == b.barrier_deadline;
}

std::string transition_text(const Transition& t, const PartitionRanges& parts, LocalTime now) {
  std::string text =
      std::string(to_string(t.kind)) + " " + parts.to_string() + " of epoch " + text_of(t.epoch);
  if (t.kind != TransitionKind::stopped) return text;
  text += ", " + std::string(to_string(t.reason));
  if (t.at != now) text += " at " + text_of(t.at);
  return text;
}

}  // namespace

std::string text_of(LocalTime time) {
  const auto us = (time - kStoryBegins).count();
  std::string text = std::to_string(us / 1000);
  if (us % 1000 == 0) return text;
  char rest[8];
  std::snprintf(rest, sizeof rest, ".%03d", static_cast<int>(us % 1000));
  return text + rest;
}

std::string text_of(const Epoch& epoch) {
  return std::to_string(epoch.incarnation - kStoryBeginsAtBroker) + "#" +
         std::to_string(epoch.offset);
}

std::string text_of(milliseconds duration) { return std::to_string(duration.count()) + " ms"; }

std::string text_of(const Record& record, const LogPlace& place) {
  switch (record.type) {
    case RecordType::claim:
      return "claim " + (record.parts ? partitions_of(*record.parts, place).to_string()
                                      : "that nobody can read");
    case RecordType::release:
      return "release " + all_of(record, place).to_string() + " of epoch " + claims_of(record);
    case RecordType::renewal:
      break;
  }
  std::string text = record.epochs.empty() ? "renewal that holds nothing"
                                           : "renewal of epoch " + claims_of(record) + ":";
  const PartitionRanges leading = partitions_of(record.leading, place);
  const PartitionRanges draining = partitions_of(record.draining, place);
  const PartitionRanges looking = looking_of(record, place);
  if (!leading.empty()) text += " leading " + leading.to_string();
  if (!draining.empty()) text += " draining " + draining.to_string();
  if (!looking.empty()) text += " looking " + looking.to_string();
  if (record.member && record.member->assigning) text += ", assigning";
  if (record.member && record.member->leaving) text += ", leaving";
  return text;
}

std::string text_of(const AssignmentRecord& record,
                    const std::function<std::string(ProcessId)>& name) {
  if (record.type == AssignmentType::seat_claim) return "seat claim";
  if (record.type == AssignmentType::leave) return "leave";
  if (record.type == AssignmentType::yield) return "yields the seat to " + name(record.yields_to);
  std::string text;
  for (const Designation& named : record.designations) {
    text +=
        (text.empty() ? "assign " : ", ") + named.partitions.to_string() + " to " + name(named.to);
  }
  return text;
}

std::vector<std::string> lines_of(const std::vector<Transition>& transitions, LocalTime now) {
  std::vector<std::string> lines;
  std::vector<bool> told(transitions.size(), false);
  for (std::size_t i = 0; i < transitions.size(); ++i) {
    if (told[i]) continue;
    PartitionRanges parts;
    for (std::size_t j = i; j < transitions.size(); ++j) {
      if (!alike(transitions[i], transitions[j])) continue;
      parts.insert(transitions[j].partition);
      told[j] = true;
    }
    lines.push_back(transition_text(transitions[i], parts, now));
  }
  return lines;
}

std::string event_line(LocalTime now, const std::string& who, const std::string& what) {
  const std::string time = text_of(now);
  const std::size_t whole = std::min(time.find('.'), time.size());
  std::string line = std::string(8 - std::min<std::size_t>(8, whole), ' ') + time;
  line.resize(std::max<std::size_t>(line.size(), 13), ' ');
  line += who;
  line.resize(std::max<std::size_t>(line.size(), 17), ' ');
  return line + (line.back() == ' ' ? "" : " ") + what;
}

}  // namespace neliroute::scenario
