#include "neli_core/options.h"

#include <algorithm>

namespace neliroute {
namespace {

Error unfit(std::string text) { return {Errc::bad_option, std::move(text)}; }

}  // namespace

std::string_view to_string(Mode mode) noexcept {
  return mode == Mode::exclusive ? "exclusive" : "non_exclusive";
}

std::string_view to_string(Variation variation) noexcept {
  return variation == Variation::broadcast ? "broadcast" : "claimed";
}

std::string_view to_string(Assignment assignment) noexcept {
  return assignment == Assignment::assigner ? "assigner" : "group";
}

Record CoreOptions::header(RecordType type, milliseconds lease_bound,
                           std::int64_t greatest_incarnation,
                           std::optional<std::int64_t> since) const {
  Record record;
  record.type = type;
  record.lane = lane;
  record.id = id;
  record.lease = lease;
  record.max_lease = lease_bound;
  record.incarnation = record.max_incarnation = greatest_incarnation;
  record.since = since;
  record.process = process;
  record.settings = settings;
  if (type == RecordType::renewal) record.serve_stale = serve_stale;
  return record;
}

Result<void> CoreOptions::validate() const {
  const Settings& s = settings;
  if (id == kNobody) return unfit("id 0 means nobody; draw 64 random bits");
  if (s.group.empty()) return unfit("group must not be empty");
  if (s.hash.empty()) return unfit("hash must not be empty; it is xxh3, crc16 or murmur2");
  if (s.slots == 0) return unfit("slots 0: expected at least 1");
  if (s.partitions == 0 || s.partitions > kPartitionCountMax) {
    return unfit("partitions " + std::to_string(s.partitions) + ": expected 1 to " +
                 std::to_string(kPartitionCountMax));
  }
  if (s.slots < s.partitions) {
    return unfit("slots " + std::to_string(s.slots) + " are fewer than partitions " +
                 std::to_string(s.partitions) + "; raise `slots` or lower `partitions`");
  }
  if (s.logs == 0 || s.logs > s.partitions || s.logs > kLogCountMax) {
    return unfit("logs " + std::to_string(s.logs) + ": expected 1 to " +
                 std::to_string(std::min(s.partitions, kLogCountMax)) +
                 ", as each log is a partition of the topic");
  }
  if (lane.value() > kLaneMax) {
    return unfit("lane " + std::to_string(lane.value()) + ": expected 0 to " +
                 std::to_string(kLaneMax));
  }
  if (interval.count() <= 0) return unfit("interval must be above 0 ms");
  if (lease > kLeaseMax) {
    return unfit("lease " + std::to_string(lease.count()) + " ms is above the limit of " +
                 std::to_string(kLeaseMax.count()) + " ms; lower `timing.lease`");
  }
  if (interval > lease / 3) {
    return unfit("3 x interval of " + std::to_string(interval.count()) +
                 " ms is above the lease of " + std::to_string(lease.count()) +
                 " ms; lower `timing.interval` or raise `timing.lease`");
  }
  if (clock_error.count() < 0 || clock_error > kLeaseMax) {
    return unfit("clock_error " + std::to_string(clock_error.count()) + " ms: expected 0 to " +
                 std::to_string(kLeaseMax.count()) + " ms");
  }
  if (prepare_timeout.count() < 0 || prepare_timeout > kLeaseMax) {
    return unfit("prepare_timeout " + std::to_string(prepare_timeout.count()) +
                 " ms: expected 0 to " + std::to_string(kLeaseMax.count()) + " ms");
  }
  if (serve_stale.count() < 0 || serve_stale > kServeStaleMax) {
    return unfit("serve_stale " + std::to_string(serve_stale.count()) + " ms: expected 0 to " +
                 std::to_string(kServeStaleMax.count()) + " ms");
  }
  if (serve_stale.count() > 0 && mode == Mode::exclusive) {
    return unfit("serve_stale is of non-exclusive mode only: in exclusive mode nobody leads beyond "
                 "a lease; leave it out");
  }
  Record largest;
  largest.settings = settings;
  largest.process = process;
  const std::size_t bytes = encode_record(largest).size();
  // Half is left for the partitions; a process that cannot fit them there writes several records.
  if (bytes > kRecordBytesMax / 2) {
    return unfit("name, endpoint, group and tags take " + std::to_string(bytes) +
                 " bytes in a record, the limit is " + std::to_string(kRecordBytesMax / 2) +
                 "; shorten them");
  }
  return {};
}

}  // namespace neliroute
