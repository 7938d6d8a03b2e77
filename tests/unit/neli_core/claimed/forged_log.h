// A forged log, audited while it is written.
//
// Threads: the test's.   Units: milliseconds.   Errors: they fail the test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "audit/audit.h"
#include "neli_core/options.h"

namespace neliroute::forged {

inline constexpr std::int64_t kBase = 1'700'000'000'000;
/// Later than every record's time, so that a claim's incarnation is what it says.
inline constexpr std::int64_t kInc = kBase + 1'000'000'000;

inline LogParts ranges(const std::string& text, std::uint32_t logs = 1) {
  return LogParts::of(PartitionRanges::parse(text).value().to_vector(), logs);
}

/// One process that writes, honest or not.
struct Forger {
  std::uint64_t id = 1;
  Mode mode = Mode::exclusive;
  milliseconds lease{1000};
  std::uint32_t logs = 1;
  std::uint32_t partitions = 2;
  Lane lane{};
  std::uint64_t seq = 0;
  std::int64_t incarnation = kInc;
  /// 0: as a process of an older version, it does not say.
  milliseconds serve_stale{0};

  Record header(RecordType type) {
    Record record;
    record.type = type;
    record.lane = lane;
    record.id = ProcessId{id};
    record.seq = ++seq;
    record.incarnation = incarnation;
    record.lease = record.max_lease = lease;
    record.process.name = "p" + std::to_string(id);
    record.settings =
        Settings{"g", 16, partitions, logs, "xxh3", std::string(to_string(mode))};
    return record;
  }
  Record claim(const std::string& parts) {
    Record record = header(RecordType::claim);
    record.parts = ranges(parts, logs);
    return record;
  }
  Record renewal(std::int64_t epoch, const std::string& parts, const std::string& leading,
                 const std::string& draining = "") {
    Record record = header(RecordType::renewal);
    record.epochs = {{epoch, ranges(parts, logs)}};
    record.leading = ranges(leading, logs);
    record.draining = ranges(draining, logs);
    record.serve_stale = serve_stale;
    return record;
  }
  /// Leads, some of it though its lease is over.
  Record serves_on(std::int64_t epoch, const std::string& parts, const std::string& stale) {
    Record record = leads(epoch, parts);
    record.stale = ranges(stale, logs);
    return record;
  }
  Record leads(std::int64_t epoch, const std::string& parts) {
    return renewal(epoch, parts, parts);
  }
  Record drains(std::int64_t epoch, const std::string& parts) {
    return renewal(epoch, parts, "", parts);
  }
  Record looks(std::int64_t epoch, const std::string& parts) { return renewal(epoch, parts, ""); }
  Record release(std::int64_t epoch, const std::string& parts) {
    Record record = header(RecordType::release);
    record.epochs = {{epoch, ranges(parts, logs)}};
    return record;
  }
};

/// A log that is written, and audited at once.
class AuditTest : public testing::Test {
 protected:
  /// At this many milliseconds; its offset.
  std::int64_t at(std::int64_t ms, const Record& record) { return at(ms, Decoded{record}); }
  std::int64_t at(std::int64_t ms, const Decoded& value) {
    auditor_.on({log_, next_, BrokerTime{milliseconds{kBase + ms}}, broker_time_, &value});
    return next_++;
  }
  /// Renewals of these partitions every 100 ms, the first at `from`, the last before `to`.
  void lead(Forger& who, std::int64_t epoch, const std::string& parts, std::int64_t from,
            std::int64_t to) {
    for (std::int64_t ms = from; ms < to; ms += 100) at(ms, who.leads(epoch, parts));
  }
  std::vector<FindingKind> certain() const { return kinds(true); }
  std::vector<FindingKind> notes() const { return kinds(false); }
  std::vector<FindingKind> kinds(bool certain) const {
    std::vector<FindingKind> kinds;
    for (const Finding& finding : found_) {
      if (finding.certain == certain) kinds.push_back(finding.kind);
    }
    return kinds;
  }
  const Finding& only() const {
    EXPECT_EQ(found_.size(), 1U);
    return found_.front();
  }
  std::vector<std::int64_t> offsets(const Finding& finding) const {
    std::vector<std::int64_t> offsets;
    for (const Evidence& one : finding.evidence) offsets.push_back(one.offset);
    return offsets;
  }

  Forger a_{1};
  Forger b_{2};
  Log log_{0};
  std::int64_t next_ = 0;
  bool broker_time_ = true;
  std::vector<Finding> found_;
  Auditor auditor_{AuditOptions{Lane{0}, milliseconds{100}},
                   [this](const Finding& finding) { found_.push_back(finding); }};
};

}  // namespace neliroute::forged
