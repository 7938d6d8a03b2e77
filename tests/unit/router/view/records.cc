#include "tests/unit/router/view/records.h"

namespace neliroute::testing_records {
namespace {

// Of partitions, of which those of the other log than the record's are nobody's concern.
LogParts ranges(const std::string& text) {
  return LogParts::of(PartitionRanges::parse(text).value().to_vector(), 2);
}

}  // namespace

Settings settings(Mode mode) {
  return {"group", 64, 4, 2, "xxh3", std::string(to_string(mode))};
}

Record Writer::header(RecordType type) const {
  Record record;
  record.type = type;
  record.lane = lane;
  record.id = ProcessId{id};
  record.lease = lease;
  record.max_lease = lease;
  record.since = kInc + static_cast<std::int64_t>(id);
  record.process = {name, name + ":7000", {}};
  record.settings = settings(mode);
  return record;
}

Record Writer::claim(const std::string& parts) const {
  Record record = header(RecordType::claim);
  record.incarnation = kInc;
  record.parts = ranges(parts);
  return record;
}

Record Writer::renewal(std::int64_t claim, const std::string& parts, const std::string& leading,
                       const std::string& draining) const {
  Record record = header(RecordType::renewal);
  record.incarnation = kInc;
  record.epochs.push_back({claim, ranges(parts)});
  record.leading = ranges(leading);
  record.draining = ranges(draining);
  return record;
}

Record Writer::release(std::int64_t claim, const std::string& parts) const {
  Record record = header(RecordType::release);
  record.incarnation = kInc;
  record.epochs.push_back({claim, ranges(parts)});
  return record;
}

}  // namespace neliroute::testing_records
