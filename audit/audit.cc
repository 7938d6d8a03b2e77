#include "audit/audit.h"

#include <utility>

#include "audit/audit_log.h"

namespace neliroute {

std::string_view to_string(FindingKind kind) noexcept {
  switch (kind) {
    case FindingKind::overlap:
      return "overlap";
    case FindingKind::early_leader:
      return "early_leader";
    case FindingKind::overstay:
      return "overstay";
    case FindingKind::gap:
      return "gap";
    case FindingKind::served_stale:
      return "served_stale";
    case FindingKind::epoch_fell:
      return "epoch_fell";
    case FindingKind::resumed:
      return "resumed";
    case FindingKind::false_epoch:
      return "false_epoch";
    case FindingKind::settings:
      return "settings";
    case FindingKind::hole:
      return "hole";
  }
  return "";
}

std::string_view to_string(Says says) noexcept {
  switch (says) {
    case Says::claims:
      return "claims";
    case Says::looks:
      return "looks";
    case Says::leads:
      return "leads";
    case Says::drains:
      return "drains";
    case Says::releases:
      return "releases";
  }
  return "";
}

Auditor::Auditor(AuditOptions options, Sink sink) : options_(options), sink_(std::move(sink)) {}
Auditor::~Auditor() = default;

void Auditor::on(const Received& event) {
  auto& log = logs_[event.log];
  if (!log) log = std::make_unique<LogAudit>(event.log, options_, totals_, sink_);
  log->on(event);
}

void Auditor::finish() {
  for (const auto& [number, log] : logs_) log->finish();
}

}  // namespace neliroute
