#include "neli_core/event.h"

namespace neliroute {

RecordIdentity identity_of(const Decoded& value, BrokerTime stamped) noexcept {
  RecordIdentity identity;
  identity.stamped = stamped;
  if (const auto* record = std::get_if<Record>(&value)) {
    identity.id = record->id;
    identity.seq = record->seq;
  } else if (const auto* assignment = std::get_if<AssignmentRecord>(&value)) {
    identity.id = assignment->id;
    identity.seq = assignment->seq;
  }
  return identity;
}

const char* to_string(GapReason reason) noexcept {
  switch (reason) {
    case GapReason::out_of_range:
      return "the next position is outside the log";
    case GapReason::truncated:
      return "the log was truncated";
    case GapReason::replaced:
      return "another log is in its place";
    case GapReason::missing:
      return "the ledger does not know it any more";
    case GapReason::restarted:
      return "the tail did not restart at its next position";
    case GapReason::changed:
      return "the last record read is gone";
    case GapReason::unread:
      return "it did not answer for a lease before anything of it was read";
    case GapReason::unread_claim:
      return "a record names a claim that was never read";
  }
  return "";
}

}  // namespace neliroute
