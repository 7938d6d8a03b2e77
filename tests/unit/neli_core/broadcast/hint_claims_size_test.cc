// Claims and renewals that do not fit one record are written as several, and mean the same.
#include <gtest/gtest.h>

#include <set>

#include "neli_core/broadcast/hint_claims.h"
#include "tests/unit/neli_core/broadcast/broadcast_rig.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

constexpr std::uint32_t kPartitions = 40'000;
constexpr milliseconds kBeat{500};

/// Reads back what it wrote, record by record.
class LoneClaimer {
 public:
  LoneClaimer() : beside_(options(), kBeat) {
    beside_.on(tail_at(Log{0}, 0, 0), now_);
    for (std::uint32_t p = 0; p < kPartitions; p += 2) beside_.lead(Partition{p}, now_);
  }
  static CoreOptions options() {
    return broadcast_rig::options_of(Mode::non_exclusive, kPartitions).core;
  }
  /// What is due now, read back at once.
  std::vector<Record> write() {
    now_ = later(now_, kBeat);
    Ready ready;
    beside_.write(ready, now_);
    std::vector<Record> written;
    for (const Write& one : ready.writes) {
      EXPECT_LE(one.value.size(), kRecordBytesMax);
      const Decoded value = decode_record(one.value);
      beside_.on(WriteAcknowledged{one.seq}, now_);
      beside_.on(Received{Log{0}, next_++, BrokerTime{milliseconds{1'700'000'000'000}}, true,
                          &value},
                 now_);
      written.push_back(std::get<Record>(value));
    }
    return written;
  }
  void stop_all() {
    for (std::uint32_t p = 0; p < kPartitions; p += 2) beside_.stop(Partition{p});
  }

 private:
  LocalTime now_{milliseconds{100'000}};
  std::int64_t next_ = 0;
  HintClaims beside_;
};

std::vector<Record> of_type(const std::vector<Record>& records, RecordType type) {
  std::vector<Record> found;
  for (const Record& record : records) {
    if (record.type == type) found.push_back(record);
  }
  return found;
}

TEST(HintClaimsSize, all_is_claimed_renewed_and_released_once) {
  LoneClaimer claimer;
  const auto claims = of_type(claimer.write(), RecordType::claim);
  EXPECT_GT(claims.size(), 1u);
  std::size_t claimed = 0;
  std::set<std::uint64_t> seqs;
  for (const Record& claim : claims) {
    claimed += claim.parts->size();
    seqs.insert(claim.seq);
  }
  EXPECT_EQ(claimed, kPartitions / 2);
  EXPECT_EQ(seqs.size(), claims.size());

  const auto renewals = of_type(claimer.write(), RecordType::renewal);
  EXPECT_GT(renewals.size(), claims.size()) << "a partition stands there twice";
  std::size_t leading = 0;
  std::set<std::int64_t> epochs;
  for (const Record& renewal : renewals) {
    leading += renewal.leading.size();
    for (const EpochParts& named : renewal.epochs) epochs.insert(named.claim_offset);
  }
  EXPECT_EQ(leading, kPartitions / 2);
  EXPECT_EQ(epochs.size(), claims.size());

  claimer.stop_all();
  std::size_t released = 0;
  for (const Record& release : of_type(claimer.write(), RecordType::release)) {
    for (const EpochParts& named : release.epochs) released += named.parts.size();
  }
  EXPECT_EQ(released, kPartitions / 2);
}

}  // namespace
}  // namespace neliroute
