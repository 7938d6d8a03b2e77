// The auditor on what honest processes write: after a random walk, with all its faults, the log
// shows no broken rule.
#include <gtest/gtest.h>

#include <string>

#include "audit/audit.h"
#include "tests/sanitized.h"
#include "tests/unit/neli_core/claimed/walk.h"

namespace neliroute::walk {

void Walk::audit(Auditor& auditor) const {
  for (std::uint32_t log = 0; log < logs_.size(); ++log) {
    std::int64_t offset = 0;
    for (const auto& stored : logs_[log].records) {
      auditor.on({Log{log}, offset++, stored.stamped, true, stored.value.get()});
    }
  }
  auditor.finish();
}

namespace {

constexpr std::uint64_t kAuditSeeds = kSanitized ? 12 : kOptimized ? 300 : 100;

std::string shown(const Finding& finding) {
  std::string text = std::string(to_string(finding.kind)) + " of " +
                     finding.partitions.to_string() + " in log " +
                     std::to_string(finding.log.value());
  for (const Evidence& one : finding.evidence) {
    text += ", " + to_string(one.id) + " " + std::string(to_string(one.says)) + " at " +
            std::to_string(one.offset);
  }
  return text;
}

void audit_walks(WalkOptions options, const std::function<bool(const Finding&)>& allowed) {
  const char* only = std::getenv("NELIROUTE_WALK_SEED");
  const char* many = std::getenv("NELIROUTE_WALK_SEEDS");
  const std::uint64_t first = only == nullptr ? 1 : std::strtoull(only, nullptr, 10);
  const std::uint64_t count =
      only != nullptr ? 1 : many != nullptr ? std::strtoull(many, nullptr, 10) : kAuditSeeds;
  options.verbose = only != nullptr;
  std::uint64_t ownerships = 0;
  for (options.seed = first; options.seed < first + count; ++options.seed) {
    Walk walk(options);
    ASSERT_EQ(walk.run(), "");
    Auditor auditor({Lane{0}, milliseconds{40}}, [&](const Finding& finding) {
      if (!finding.certain || allowed(finding)) return;
      ADD_FAILURE() << shown(finding) << "; again with NELIROUTE_WALK_SEED=" << options.seed;
    });
    walk.audit(auditor);
    ownerships += auditor.totals().ownerships;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(ownerships, count) << "walks that lead nothing show nothing";
}

bool none(const Finding&) { return false; }
// Crashes, cuts and pauses leave gaps, and are in no record. An epoch may fall, rarely, as
// random_walk_test.cc says.
bool faults(const Finding& finding) {
  return finding.kind == FindingKind::gap || finding.kind == FindingKind::epoch_fell;
}

TEST(AuditWalk, exclusive_walks_break_no_rule) { audit_walks({.mode = Mode::exclusive}, none); }

TEST(AuditWalk, exclusive_walks_break_no_rule_when_topics_are_made_again) {
  audit_walks({.mode = Mode::exclusive, .topic_made_again = true}, none);
}

TEST(AuditWalk, non_exclusive_walks_show_nothing_but_gaps) {
  audit_walks({.mode = Mode::non_exclusive, .topic_made_again = true}, faults);
}

TEST(AuditWalk, planned_moves_show_nothing_in_non_exclusive_mode) {
  audit_walks({.mode = Mode::non_exclusive, .calm = true}, none);
}

TEST(AuditWalk, planned_moves_show_nothing_in_exclusive_mode) {
  audit_walks({.mode = Mode::exclusive, .calm = true}, none);
}

}  // namespace
}  // namespace neliroute::walk
