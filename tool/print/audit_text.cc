#include "tool/print/audit_text.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <chrono>

#include "tool/command_line/values.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

/// What the records show, in a sentence, with the rule's number in docs/protocol.md.
std::string_view meaning_of(const Finding& finding) {
  switch (finding.kind) {
    case FindingKind::overlap:
      return finding.certain
                 ? "says that it leads an epoch after the owner of a newer one said so (rules 4, 6)"
                 : "says that it leads an epoch after a newer owner's record; it may have been "
                   "written before, and delayed";
    case FindingKind::early_leader:
      return "leads before an older epoch was released or its lease could have ended (rule 6)";
    case FindingKind::overstay:
      return "leads on after a newer claim: it had read that, or its lease must have ended "
             "(rules 4, 5)";
    case FindingKind::gap:
      return finding.certain ? "nobody was entitled to lead, though a living process led others"
                             : "nobody was entitled to lead; nothing shows that any process "
                               "lived, or that the log could be written to";
    case FindingKind::served_stale:
      return "its owner served on while the log was silent, without a lease, as --serve-stale "
             "allows";
    case FindingKind::epoch_fell:
      return "led under an epoch that is not greater than an earlier owner's";
    case FindingKind::resumed:
      return "an epoch is renewed after its release, which is final (rules 3, 10)";
    case FindingKind::false_epoch:
      return finding.certain ? "names an epoch that it did not claim in this log (rule 2)"
                             : "names an epoch that this log does not have: left over from a topic "
                               "that was recreated, or forged";
    case FindingKind::settings:
      return "slots, partitions or logs differ from here on; earlier records are not compared";
    case FindingKind::hole:
      return "records are missing before this one; earlier records are not compared";
  }
  return "";
}

std::string line_of(const Evidence& one) {
  std::string text = fmt::format("\n    offset {:<10} ", one.offset);
  text += one.stamped.time_since_epoch().count() > 0 ? time_text(one.stamped) : "";
  if (one.id == kNobody && one.name.empty() && one.epoch == kNoEpoch) return text;
  text += fmt::format("  {} ({}) {}", one.name.empty() ? "?" : shown(one.name),
                      neliroute::to_string(one.id), neliroute::to_string(one.says));
  if (one.epoch != kNoEpoch) text += "  epoch " + neliroute::to_string(one.epoch);
  return text;
}

}  // namespace

std::string time_text(BrokerTime time) {
  const std::chrono::sys_time<milliseconds> when{time.time_since_epoch()};
  const auto day = std::chrono::floor<std::chrono::days>(when);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{when - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::string text_of(const Finding& finding) {
  std::string text =
      fmt::format("{} {}  log {}", finding.certain ? "finding" : "note",
                  neliroute::to_string(finding.kind), finding.log.value());
  if (!finding.partitions.empty()) text += "  partitions " + finding.partitions.to_string();
  if (finding.at_least) text += "  at least " + text_of(*finding.at_least);
  text += fmt::format("\n  {}", meaning_of(finding));
  for (const Evidence& one : finding.evidence) text += line_of(one);
  return text;
}

boost::json::object json_of(const Finding& finding) {
  boost::json::array evidence;
  for (const Evidence& one : finding.evidence) {
    boost::json::object row{{"offset", one.offset},
                            {"at_ms", one.stamped.time_since_epoch().count()},
                            {"id", neliroute::to_string(one.id)},
                            {"says", neliroute::to_string(one.says)}};
    put_text(row, "owner", one.name);
    if (one.epoch != kNoEpoch) row["epoch"] = json_of(one.epoch);
    evidence.push_back(std::move(row));
  }
  boost::json::object row{{finding.certain ? "finding" : "note",
                           neliroute::to_string(finding.kind)},
                          {"log", finding.log.value()},
                          {"partitions", finding.partitions.to_string()}};
  if (finding.at_least) row["at_least_ms"] = finding.at_least->count();
  row["text"] = meaning_of(finding);
  row["evidence"] = std::move(evidence);
  return row;
}

std::string text_of(const LogRead& log) {
  std::string text = fmt::format("log {}: ", log.log.value());
  if (log.first) {
    text += fmt::format("offsets {} to {}, {} to {}", log.start, log.end - 1,
                        time_text(*log.first), time_text(*log.last));
  } else {
    text += "nothing was written";
  }
  if (log.cut_short) {
    text += fmt::format("; retention cut it short: nothing before offset {} is left", log.low);
  }
  return text;
}

boost::json::object json_of(const LogRead& log) {
  boost::json::object row{{"log", log.log.value()},
                          {"low", log.low},
                          {"start", log.start},
                          {"end", log.end},
                          {"cut_short", log.cut_short}};
  if (log.first) row["first_ms"] = log.first->time_since_epoch().count();
  if (log.last) row["last_ms"] = log.last->time_since_epoch().count();
  return row;
}

std::string text_of(const AuditTotals& totals) {
  std::string text = fmt::format(
      "{} records of {} processes, {} ownerships; {} findings, {} notes", text_of(totals.records),
      text_of(std::uint64_t{totals.processes.size()}), text_of(totals.ownerships),
      text_of(totals.findings), text_of(totals.notes));
  if (totals.gaps > 0) {
    text += fmt::format("; {} times nobody was entitled to a partition, the longest at least {}",
                        text_of(totals.gaps), text_of(totals.longest_gap));
  }
  if (totals.served_stale > 0) {
    text += fmt::format("; {} times an owner served a partition without a lease, the longest at "
                        "least {}",
                        text_of(totals.served_stale), text_of(totals.longest_stale));
  }
  if (totals.assignments > 0) {
    text += fmt::format("; {} records of assigners, leavers and operators",
                        text_of(totals.assignments));
  }
  if (totals.ignored > 0) text += fmt::format("; {} records ignored", text_of(totals.ignored));
  if (!totals.broker_time && totals.records > 0) {
    text += "\nthe records do not carry the store's time (on Kafka: LogAppendTime): only their "
            "order was compared, so early leaders and lapsed leases are not detected";
  }
  return text;
}

boost::json::object json_of(const AuditTotals& totals) {
  return {{"records", totals.records},
          {"processes", totals.processes.size()},
          {"ownerships", totals.ownerships},
          {"findings", totals.findings},
          {"notes", totals.notes},
          {"gaps", totals.gaps},
          {"longest_gap_ms", totals.longest_gap.count()},
          {"served_stale", totals.served_stale},
          {"longest_stale_ms", totals.longest_stale.count()},
          {"assignments", totals.assignments},
          {"other_lanes", totals.other_lanes},
          {"ignored", totals.ignored},
          {"broker_time", totals.broker_time}};
}

}  // namespace neliroute::tool
