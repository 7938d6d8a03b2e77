// How many partitions a process runs with: the topic's, or with an assigner the group's own.
#include "ledgers/kafka/topic/last_settings.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "neli_core/options.h"
#include "tests/unit/embedded_broker/clients.h"
#include "tests/unit/ledgers/kafka/ledger/ledger_rig.h"
#include "tests/unit/ledgers/kafka/librdkafka_calls.h"

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

namespace neliroute {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LastSettingsTest : public testing::Test {
 protected:
  void SetUp() override {
    rig_.open_broker();
    options_.brokers = rig_.address();
    options_.assignment = Assignment::assigner;
  }
  /// A renewal of a process that runs with so many; `leads`: it leads one of them.
  static std::string record(std::uint32_t partitions, bool leads,
                            std::string_view variation = kAssignedVariation) {
    Record record;
    record.type = RecordType::renewal;
    record.id = ProcessId{partitions};
    record.lease = record.max_lease = milliseconds{1500};
    record.process.name = "p";
    record.settings = Settings{"g", 65536, partitions, 4, "xxh3", "non_exclusive"};
    record.settings->variation = variation;
    if (leads) {
      record.incarnation = 1;
      record.epochs.push_back({0, LogParts::of({Partition{0}}, 4)});
      record.leading = LogParts::of({Partition{0}}, 4);
    }
    return encode_record(record);
  }
  void write(const std::vector<std::string>& values) {
    produce(rig_.address(), options_.topic, 0, values);
  }
  TopicFacts facts() {
    auto found = prepare_topic(options_);
    EXPECT_TRUE(found.has_value()) << found.error().message();
    if (!found) return {};
    const auto learned = learn_partitions(options_, *found);
    EXPECT_TRUE(learned.has_value()) << learned.error().message();
    return *found;
  }

  LedgerRig rig_;
  KafkaOptions options_;
};

TEST_F(LastSettingsTest, WithAnAssignerTheTopicsNumberIsNobodysConcern) {
  EXPECT_EQ(facts().partitions, kPartitionsDefault);
  EXPECT_EQ(facts().logs, LedgerRig::kPartitions);
  EXPECT_EQ(needed_partitions(facts()), LedgerRig::kPartitions);
  options_.partitions = kPartitionCountMax;
  options_.logs = 3;
  EXPECT_EQ(facts().partitions, kPartitionCountMax);
  EXPECT_EQ(facts().logs, 3U);
  EXPECT_EQ(needed_partitions(facts()), 3U);
  options_.logs = 5;
  const auto refused = prepare_topic(options_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("`logs` 5"), HasSubstr("4 partitions")));
}

TEST_F(LastSettingsTest, WhoIsNotToldTheNumberLearnsItFromRecords) {
  write({record(1000, true), record(2000, true), record(500, false), "no record"});
  EXPECT_EQ(facts().partitions, 2000U) << "of who leads; another may be refused yet";
  EXPECT_EQ(facts().logs, 4U);
  options_.partitions = 64;
  EXPECT_EQ(facts().partitions, 64U) << "what is said counts, and is compared later";
}

TEST_F(LastSettingsTest, AWatcherDoesSoWhoeverAssigns) {
  options_.watcher = true;
  options_.assignment = Assignment::group;
  EXPECT_EQ(facts().partitions, LedgerRig::kPartitions);
  write({record(700, false)});
  EXPECT_EQ(facts().partitions, 700U);
  std::vector<std::string> others(300, "no record");
  write(others);
  EXPECT_EQ(facts().partitions, LedgerRig::kPartitions) << "it reads a little way back only";
}

TEST_F(LastSettingsTest, AWatcherThatIsToldAnotherNumberThanAGroupsTopicHasIsRefused) {
  options_.watcher = true;
  options_.assignment = Assignment::group;
  options_.partitions = 64;
  EXPECT_EQ(facts().partitions, 64U) << "nobody says who assigns yet";
  write({record(4, true, "claimed")});
  auto found = prepare_topic(options_);
  ASSERT_TRUE(found.has_value());
  const auto refused = learn_partitions(options_, *found);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Errc::bad_option);
  EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("`partitions` 64"), HasSubstr("has 4")));
  // An assigner's lane may have been stopped, to start with another number.
  write({record(700, true)});
  EXPECT_EQ(facts().partitions, 64U);
}

// The marker of a stranger's transaction, for one, is no record.
TEST_F(LastSettingsTest, ALogWhoseLastOffsetHasNoRecordIsReadToItsEnd) {
  write({"no record"});
  librdkafka_calls::Watching watching;
  watching.queried_end = [](std::int64_t end) { return end + 1; };
  const librdkafka_calls::Watch watch(std::move(watching));
  const TopicFacts found = facts();
  for (const Notice& notice : found.notices) {
    EXPECT_THAT(notice.text, testing::Not(HasSubstr("cannot be read")));
  }
}

// They are old: the topic was altered since.
TEST_F(LastSettingsTest, AGroupsRecordsDoNotSayTheNumber) {
  write({record(2, true, "claimed")});
  options_.watcher = true;
  options_.assignment = Assignment::group;
  EXPECT_EQ(facts().partitions, LedgerRig::kPartitions);
  options_.watcher = false;
  options_.assignment = Assignment::assigner;
  EXPECT_EQ(facts().partitions, kPartitionsDefault);
}

TEST_F(LastSettingsTest, AGroupsMemberHasTheTopics) {
  write({record(700, true)});
  options_.assignment = Assignment::group;
  EXPECT_EQ(facts().partitions, LedgerRig::kPartitions);
}

}  // namespace
}  // namespace neliroute

#endif
