// Which of a ledger's answers make the process leave the group for a while.
#include "ledgers/kafka/group/group_withdrawal.h"
#include "tests/world/memory_log.h"

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <neliroute/clock.h>
#include <optional>
#include <string>
#include <vector>

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;

constexpr ProcessId kSelf{1}, kOther{2};
constexpr Lane kLane{1}, kOtherLane{2};
constexpr Log kGood{0}, kBad{1};
const Decoded kUnreadable = Ignored{};

Decoded record_of(ProcessId id, Lane lane) {
  Record record;
  record.id = id;
  record.lane = lane;
  return record;
}

/// Two logs, of each of which this process is given two partitions. It leads on one of them, and
/// others are in the group. Nobody looks at a clock but to know that an answer is not late.
class GroupWithdrawalTest : public testing::Test {
 protected:
  void SetUp() override { note(GroupAssigned{*PartitionRanges::parse("0-3")}); }
  void note(const Event& event) { withdrawal.note(event, now); }
  void read(Log log, const Decoded& value) {
    note(Received{log, 0, BrokerTime{}, true, &value});
  }
  /// A second, in which the good log gives an own record back and `happens` happens.
  void pass(const std::function<void()>& happens) {
    now += 1s;
    read(kGood, record_of(kSelf, kLane));
    if (happens) happens();
    withdrawal.tick(now);
  }
  /// Whether it leaves within far more than the bound if this happens every second.
  bool leaves(const std::function<void()>& happens = {}) {
    for (int i = 0; i < 60 && pauses.empty(); ++i) pass(happens);
    return !pauses.empty();
  }

  std::shared_ptr<KafkaStatistics> statistics = std::make_shared<KafkaStatistics>();
  std::vector<milliseconds> pauses;
  std::vector<std::string> notices;
  std::optional<std::size_t> others = 1;  ///< none: nobody can tell
  int joins = 0;
  LocalTime now = boot_now();
  GroupWithdrawal withdrawal{
      {kSelf,
       kLane,
       {4, 2, 3000ms, 5000ms},
       statistics,
       [](const auto&) {},
       [this](const auto& answer) { answer(others); },
       [this](milliseconds pause) { pauses.push_back(pause); },
       [this] { ++joins; },
       [this](const Notice& notice) { notices.push_back(notice.text); }}};
};

TEST_F(GroupWithdrawalTest, WhoseWritesAreRefusedLeavesAndSaysOfWhichLog) {
  ASSERT_TRUE(leaves([&] { withdrawal.on_write_refused(kBad, now); }));
  EXPECT_THAT(pauses, SizeIs(1));
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_THAT(notices[0], HasSubstr("log 1: the broker refuses"));
  EXPECT_EQ(statistics->withdrawals(Obstacle::refused), 1u);
  EXPECT_TRUE(statistics->withdrawn());
  withdrawal.on_joined();
  EXPECT_FALSE(statistics->withdrawn());
  withdrawal.on_joined();
  EXPECT_THAT(notices, SizeIs(2)) << "it was back already";
}

// No log gives own records back, so each of them that is refused counts.
TEST_F(GroupWithdrawalTest, ARefusalOfWhateverItWritesIsOneOfEveryLogAndNoOtherIs) {
  const auto told_when_refused = [&](std::optional<Log> log) {
    pauses.clear();
    notices.clear();
    now += 1h;  // older refusals count for nothing
    for (int i = 0; i < 60 && pauses.empty(); ++i) {
      now += 1s;
      withdrawal.on_write_refused(log, now);
      withdrawal.tick(now);
    }
    return notices.empty() ? "" : notices[0];
  };
  EXPECT_THAT(told_when_refused(kGood), HasSubstr("log 0: "));
  withdrawal.on_joined();
  EXPECT_THAT(told_when_refused(std::nullopt), HasSubstr("logs 0, 1: "));
}

// It may be about a group of long ago, in which the others were.
TEST_F(GroupWithdrawalTest, ACountThatTookMinutesToComeDoesNotCount) {
  note(GroupRevoked{*PartitionRanges::parse("0-3"), false});
  now = boot_now() - 10min;
  note(GroupAssigned{*PartitionRanges::parse("0-3")});
  EXPECT_FALSE(leaves([&] { withdrawal.on_write_refused(kBad, now); }));
}

// Its coordinator is moving, for one.
TEST_F(GroupWithdrawalTest, WhetherThereAreOthersIsAskedAgainIfNobodyCouldTell) {
  const auto refuse = [&] { withdrawal.on_write_refused(kBad, now); };
  others.reset();
  EXPECT_FALSE(leaves(refuse));
  others = 1;
  EXPECT_TRUE(leaves(refuse));
}

TEST_F(GroupWithdrawalTest, AnOwnRecordThatComesBackShowsThatItCanLeadOnThatLog) {
  const Decoded own = record_of(kSelf, kLane);
  EXPECT_FALSE(leaves([&] {
    withdrawal.on_write_refused(kBad, now);
    read(kBad, own);
  }));
}

TEST_F(GroupWithdrawalTest, NobodyElsesRecordShowsIt) {
  for (const Decoded& other :
       {record_of(kOther, kLane), record_of(kSelf, kOtherLane), kUnreadable}) {
    pauses.clear();
    withdrawal.on_joined();
    note(GroupRevoked{*PartitionRanges::parse("0-3")});
    note(GroupAssigned{*PartitionRanges::parse("0-3")});
    EXPECT_TRUE(leaves([&] {
      withdrawal.on_write_refused(kBad, now);
      read(kBad, other);
    }));
  }
}

// Where the broker refuses to let it read, it says so once.
TEST_F(GroupWithdrawalTest, WhoseReadsAreRefusedLeaves) {
  withdrawal.on_read_refused(kBad);
  EXPECT_TRUE(leaves());
}

TEST_F(GroupWithdrawalTest, AnAnswerOfTheLogsLeaderShowsThatItMayRead) {
  const Decoded records[] = {record_of(kOther, kLane), record_of(kSelf, kOtherLane),
                             record_of(kSelf, kLane), kUnreadable};
  std::vector<Event> answers{LogPosition{kBad, 7}, tail_at(kBad, 7, 7), Reread{kBad, 1, 0, {}}};
  for (const Decoded& record : records) {
    answers.push_back(Received{kBad, 0, BrokerTime{}, true, &record});
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    withdrawal.on_read_refused(kBad);
    note(answers[i]);
    EXPECT_FALSE(leaves()) << "answer " << i;
  }
}

TEST_F(GroupWithdrawalTest, WhatAnyBrokerAnswersOfAnEmptyLogDoesNotShowIt) {
  withdrawal.on_read_refused(kBad);
  note(Reread{kBad, 1, -1, {}});
  EXPECT_TRUE(leaves());
}

TEST_F(GroupWithdrawalTest, AnAnswerForAnotherLogDoesNotShowIt) {
  withdrawal.on_read_refused(kBad);
  note(LogPosition{kGood, 7});
  note(tail_at(kGood, 7, 7));
  note(Reread{kGood, 1, 0, {}});
  EXPECT_TRUE(leaves());
}

TEST_F(GroupWithdrawalTest, OnlyWhatTheGroupGivesItCounts) {
  const auto refuse = [&] { withdrawal.on_write_refused(kBad, now); };
  note(GroupRevoked{*PartitionRanges::parse("1,3")});
  EXPECT_FALSE(leaves(refuse));
  note(GroupAssigned{*PartitionRanges::parse("3")});
  EXPECT_TRUE(leaves(refuse));
}

TEST_F(GroupWithdrawalTest, AwayItJoinsBeforeItsTimeWhereNobodyIsInTheGroup) {
  const auto refuse = [&] { withdrawal.on_write_refused(kBad, now); };
  ASSERT_TRUE(leaves(refuse));
  for (int i = 0; i < 10; ++i) pass(refuse);
  EXPECT_EQ(joins, 0);
  others = 0;
  for (int i = 0; i < 10; ++i) pass(refuse);
  EXPECT_GT(joins, 0);
  EXPECT_THAT(notices.back(), HasSubstr("the group is empty"));
}

TEST_F(GroupWithdrawalTest, AloneItStaysAndSaysSo) {
  others = 0;
  EXPECT_FALSE(leaves([&] { withdrawal.on_write_refused(kBad, now); }));
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_THAT(notices[0], HasSubstr("nobody else is in it"));
}

}  // namespace
}  // namespace neliroute
