// Renewals, releases and claims: what they name, in which unit, and with which incarnation.
#include "neli_core/record/packed_records.h"

#include <gtest/gtest.h>

#include <set>

namespace neliroute {
namespace {

Record header() {
  Record record;
  record.type = RecordType::renewal;
  record.id = ProcessId{1};
  return record;
}

std::vector<Record> records_of(const std::vector<NamedEpoch>& named, std::uint32_t logs = 1) {
  std::uint64_t seq = 5;
  std::vector<Record> all;
  for (const PackedRecord& one : epoch_records(header(), named, logs, seq)) {
    EXPECT_LE(one.value.size(), kRecordBytesMax);
    all.push_back(std::get<Record>(decode_record(one.value)));
    EXPECT_EQ(all.back().seq, one.seq);
  }
  EXPECT_EQ(seq, 5 + all.size());
  return all;
}

TEST(LogPartsTest, of_a_log_are_neighbours_and_come_back_as_partitions) {
  LogParts parts = LogParts::of({Partition{1}, Partition{5}, Partition{9}}, 4);
  EXPECT_EQ(parts.to_string(), "0-2");
  parts.insert(Partition{17}, 4);
  EXPECT_EQ(parts.to_string(), "0-2,4");
  EXPECT_TRUE(parts.contains(Partition{9}, 4));
  EXPECT_FALSE(parts.contains(Partition{13}, 4));
  const auto within = [&](const LogPlace& place) {
    std::vector<std::uint32_t> found;
    parts.for_each(place, [&](Partition p) { found.push_back(p.value()); });
    return found;
  };
  EXPECT_EQ(within({Log{1}, 4, 18}), (std::vector<std::uint32_t>{1, 5, 9, 17}));
  EXPECT_EQ(within({Log{1}, 4, 17}), (std::vector<std::uint32_t>{1, 5, 9})) << "M is 17";
  EXPECT_EQ(within({Log{3}, 4, 18}), (std::vector<std::uint32_t>{3, 7, 11})) << "another log";
  EXPECT_TRUE(within({Log{3}, 4, 3}).empty());
  EXPECT_EQ(LogParts::parse("65535")->size(), 1u);
  std::size_t visited = 0;
  LogParts::parse("65535")->for_each({Log{1023}, 1024, kPartitionCountMax},
                                     [&](Partition) { ++visited; });
  EXPECT_EQ(visited, 0u);
}

TEST(EpochRecords, one_record_names_epochs_of_any_incarnation) {
  const auto records = records_of({{Partition{2}, {7, 30}, true, false},
                                   {Partition{6}, {9, 40}, false, true},
                                   {Partition{10}, {7, 30}, false, false}}, 4);
  ASSERT_EQ(records.size(), 1u);
  const Record& record = records[0];
  EXPECT_EQ(record.incarnation, 9) << "the greatest";
  ASSERT_EQ(record.epochs.size(), 2u);
  EXPECT_EQ(epoch_of(record, record.epochs[0]), (Epoch{7, 30}));
  EXPECT_EQ(record.epochs[0].parts.to_string(), "0,2");
  EXPECT_EQ(epoch_of(record, record.epochs[1]), (Epoch{9, 40}));
  EXPECT_FALSE(record.epochs[1].incarnation) << "the record's";
  EXPECT_EQ(record.leading.to_string(), "0");
  EXPECT_EQ(record.draining.to_string(), "1");
  EXPECT_TRUE(records_of({}).empty());
}

// What was released of the former topic, and what is held in this one.
TEST(EpochRecords, one_offset_with_two_incarnations_takes_two_records) {
  const auto records = records_of({{Partition{0}, {7, 30}}, {Partition{1}, {9, 30}},
                                   {Partition{2}, {9, 31}}, {Partition{3}, {7, 30}}});
  ASSERT_EQ(records.size(), 2u);
  std::set<std::pair<Epoch, std::string>> named;
  for (const Record& record : records) {
    for (const EpochParts& one : record.epochs) {
      named.emplace(epoch_of(record, one), one.parts.to_string());
    }
  }
  EXPECT_EQ(named, (std::set<std::pair<Epoch, std::string>>{
                       {{7, 30}, "0,3"}, {{9, 30}, "1"}, {{9, 31}, "2"}}));
}

TEST(EpochRecords, what_does_not_fit_one_record_takes_several) {
  std::vector<NamedEpoch> named;
  for (std::uint32_t p = 0; p < 40'000; p += 2) {
    named.push_back({Partition{p}, {9, p}, true, false});
  }
  std::size_t parts = 0;
  const auto records = records_of(named);
  for (const Record& record : records) parts += record.leading.size();
  EXPECT_EQ(parts, named.size());
  EXPECT_GT(records.size(), 3u);
}

TEST(ClaimRecords, what_does_not_fit_one_record_takes_several_which_name_each_partition_once) {
  Record claim = header();
  claim.type = RecordType::claim;
  std::vector<Partition> partitions;
  for (std::uint32_t p = 1; p < 4'000; p += 4) partitions.push_back(Partition{p});
  std::uint64_t seq = 5;
  PartitionRanges claimed;
  const auto records = claim_records(claim, partitions, 2, seq, 2'000);
  for (const PackedRecord& one : records) {
    EXPECT_LE(one.value.size(), 2'000u);
    const auto record = std::get<Record>(decode_record(one.value));
    EXPECT_EQ(record.seq, one.seq);
    EXPECT_EQ(record.parts->size(), one.named.size());
    record.parts->for_each({Log{1}, 2, 4'000}, [&](Partition p) { claimed.insert(p); });
  }
  EXPECT_EQ(claimed, PartitionRanges::of(partitions));
  EXPECT_GT(records.size(), 3u);
  EXPECT_EQ(seq, 5 + records.size());
}

TEST(ClaimRecords, one_partition_is_claimed_however_long_the_record_is) {
  std::uint64_t seq = 5;
  EXPECT_EQ(claim_records(header(), {Partition{1}, Partition{2}}, 1, seq, 1).size(), 2u);
  EXPECT_TRUE(claim_records(header(), {}, 1, seq).empty());
}

}  // namespace
}  // namespace neliroute
