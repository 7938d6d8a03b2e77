// The record parser: any bytes. What it accepts is within its limits, and stays itself when it is
// written and read again.
#include "neli_core/record/record.h"

#include <algorithm>

#include "tests/fuzz/bytes.h"

namespace neliroute::fuzz {
namespace {

void check_limits(const Record& record, std::size_t size) {
  std::size_t named = 0;
  for (const EpochParts& epoch : record.epochs) {
    FUZZ_CHECK(epoch.claim_offset >= 0, "an offset");
    named += epoch.parts.size();
  }
  FUZZ_CHECK(named <= kPartitionCountMax, "the cost of a record is bounded");
  for (const auto& lease : {record.lease, record.max_lease}) {
    FUZZ_CHECK(!lease || (lease->count() > 0 && *lease <= kLeaseMax), "a lease");
  }
  FUZZ_CHECK(record.type == RecordType::claim || record.id != kNobody, "whose it is");
  FUZZ_CHECK(record.type == RecordType::claim || !record.parts, "a claim's");
  FUZZ_CHECK(record.type != RecordType::claim || record.epochs.empty(), "not a claim's");
  if (record.member) {
    FUZZ_CHECK(record.member->session >= kMemberSessionMin, "a session");
    FUZZ_CHECK(record.member->session <= kLeaseMax, "a session");
    FUZZ_CHECK(record.member->weight <= kWeightMax, "a weight");
    FUZZ_CHECK(record.member->seat_priority <= kSeatPriorityMax, "a seat priority");
    FUZZ_CHECK(record.member->host.size() <= kPlaceBytesMax, "memory is bounded");
    FUZZ_CHECK(record.member->zone.size() <= kPlaceBytesMax, "memory is bounded");
  }
  FUZZ_CHECK(record.process.name.size() <= size, "memory is bounded");
}

void check_assignment(const AssignmentRecord& record) {
  FUZZ_CHECK(record.id != kNobody, "whose it is");
  std::size_t named = 0;
  for (const Designation& designation : record.designations) {
    FUZZ_CHECK(designation.to != kNobody, "whom it names");
    named += designation.partitions.size();
  }
  FUZZ_CHECK(named <= kPartitionCountMax, "work is bounded");
  FUZZ_CHECK(record.override.name.size() <= kOverrideNameBytesMax, "memory is bounded");
  FUZZ_CHECK(standing_bytes(record.standing) <= kStandingBytesMax, "memory is bounded");
  const Decoded again = decode_record(encode_record(record));
  FUZZ_CHECK(std::holds_alternative<AssignmentRecord>(again), "what was read can be written");
  const auto& same = std::get<AssignmentRecord>(again);
  FUZZ_CHECK(same.override == record.override && same.standing == record.standing,
             "and means the same");
}

}  // namespace

void one_input(std::string_view value) {
  const Decoded decoded = decode_record(value);
  if (const auto* assignment = std::get_if<AssignmentRecord>(&decoded)) {
    return check_assignment(*assignment);
  }
  const auto* record = std::get_if<Record>(&decoded);
  if (record == nullptr) return;
  check_limits(*record, value.size());
  const Decoded again = decode_record(encode_record(*record));
  FUZZ_CHECK(std::holds_alternative<Record>(again), "what was read can be written");
  FUZZ_CHECK(std::get<Record>(again) == *record, "and means the same then");
}

}  // namespace neliroute::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  neliroute::fuzz::one_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
