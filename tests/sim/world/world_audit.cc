// The auditor reads what a run wrote: whatever went wrong, the logs show no broken rule.
#include <string>

#include "audit/audit.h"
#include "tests/sim/world/world.h"

namespace neliroute::sim {

void World::audit() {
  for (std::uint32_t lane = 0; lane < plan_.lanes; ++lane) {
    if (plan_.has(Fault::broadcast_beside) && lane == 1) continue;
    Auditor auditor({Lane{lane}, plan_.timing.clock_error}, [this](const Finding& finding) {
      if (!finding.certain || may_be_found(finding)) return;
      std::string text = "the log shows: " + std::string(to_string(finding.kind)) + " of " +
                         finding.partitions.to_string() + " in log " +
                         std::to_string(finding.log.value());
      for (const Evidence& one : finding.evidence) {
        text += ", " + to_string(one.id) + " " + std::string(to_string(one.says)) + " at " +
                std::to_string(one.offset);
      }
      oracle_.broken(text, now_);
    });
    for (std::uint32_t l = 0; l < logs_.size(); ++l) {
      for (std::int64_t offset = logs_[l].low; offset < logs_[l].end(); ++offset) {
        if (logs_[l].find(offset) != nullptr) auditor.on(logs_[l].received(Log{l}, offset));
      }
    }
    auditor.finish();
    oracle_.count(Judged::audited, auditor.totals().ownerships);
  }
}

// What the logs lost may look like a gap, or a claim that nobody wrote. Non-exclusive: an epoch may
// fall, rarely; and an owner that served on in a silence may have ended in it, and told nobody.
bool World::may_be_found(const Finding& finding) const {
  switch (finding.kind) {
    case FindingKind::false_epoch:
      return loses_records();
    case FindingKind::gap:
      // Somebody says that the lane is non-exclusive.
      if (plan_.exclusive()) return plan_.has(Fault::other_settings);
      return oracle_.gaps() > 0 || loses_records() || plan_.serve_stale.count() > 0;
    case FindingKind::epoch_fell:
      return !plan_.exclusive();
    default:
      return false;
  }
}

}  // namespace neliroute::sim
