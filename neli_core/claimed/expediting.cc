// ClaimProtocol: learning of an assignment before the next heartbeat ("Expedite" of
// docs/protocol.md).
#include <algorithm>
#include <utility>

#include "neli_core/claimed/claim_protocol.h"
#include "neli_core/record/judgement.h"

namespace neliroute {

// A process that has joined an existing group gets nothing before the others give something up,
// which they learn only at their next heartbeat. So it writes a greeting to notify them.
void ClaimProtocol::on(const GroupJoined&) {
  if (closing_.begun()) return;
  joined_ = true;
  // A first claim says it as well. A process that joins again is known, so its claim says nothing
  // new.
  greeting_due_ = std::exchange(joined_once_, true) || assigned_count_ == 0;
}

void ClaimProtocol::write_greeting() {
  if (!greeting_due_) return;
  if (closing_.begun()) {
    greeting_due_ = false;
    return;
  }
  const Log first{0};
  const LogState& l = log(first);
  // A process whose settings may differ from the group's writes nothing.
  if (!history_was_read() || !l.caught_up() || l.check_pending ||
      agreement_.undecided_until(now_)) {
    return;
  }
  greeting_due_ = false;
  Record record = header(RecordType::renewal, first);
  record.seq = next_seq_++;
  Outstanding outstanding;
  outstanding.log = first;
  outstanding.type = RecordType::renewal;
  // It does not make its writer senior to anybody: it would not repeat what it learns later.
  const bool wrote = wrote_;
  std::string value = encode_record(record);
  write(record.seq, std::move(outstanding), std::move(value));
  wrote_ = wrote;
}

void ClaimProtocol::note_member(const Received& event, const Record& record) {
  const bool known = members_.note(record, record.lease.value_or(lease_bound()), now_);
  if (log(event.log).is_history(event.offset)) return;
  const bool first = !known && record.type == RecordType::claim;
  if (!first && !is_greeting(record)) return;
  newcomer_ = true;
  pacing_.begin(now_);
}

// Given up by the newest epoch's owner, and claimed by nobody yet.
void ClaimProtocol::set_vacant(Partition partition, bool vacant) {
  PartitionState& p = state(partition);
  if (p.vacant == vacant) return;
  p.vacant = vacant;
  vacant ? ++vacant_count_ : --vacant_count_;
  if (vacant && log(log_of(partition)).caught_up()) pacing_.begin(now_);
}

// When in doubt, request: the answer costs one small request.
bool ClaimProtocol::may_be_reassigned() const {
  const std::uint32_t count = partition_count();
  if (newcomer_ && assigned_count_ > count / (members_.living(now_) + 1)) return true;
  if (vacant_count_ == 0) return false;
  // A process that renews does so each interval. The members of a group may have different
  // settings.
  const LocalTime since = now_ - std::min<microseconds>(3 * options_.interval, options_.lease);
  const std::uint32_t members = members_.staying(since) + 1;
  return assigned_count_ < (count + members - 1) / members;
}

void ClaimProtocol::advance_expedite() {
  if (now_ < pacing_.due()) return;
  if (!joined_ || closing_.begun() || !may_be_reassigned()) {
    newcomer_ = false;
    return pacing_.end();
  }
  // A millisecond each, so that the answers to all do not come due at once.
  const milliseconds spread{members_.living(now_) + 1};
  if (pacing_.take(now_, spread)) ready_.expedite = spread;
  if (pacing_.due() == kNever) newcomer_ = false;
}

}  // namespace neliroute
