// Many processes come and go: who is long gone is forgotten, and nobody else.
#include "neli_core/settings_agreement.h"

#include <gtest/gtest.h>

#include "neli_core/options.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;

const LocalTime kStart{milliseconds{1'000'000}};
constexpr BrokerTime kStamp{milliseconds{900}};
const Settings kOurs{"g", 64, 4, 1, "xxh3", "non_exclusive"};

/// What the process of this number says; the smaller, the earlier it came.
Record said_by(std::uint64_t number, std::uint32_t slots) {
  Record record;
  record.type = RecordType::renewal;
  record.id = ProcessId{number};
  record.since = static_cast<std::int64_t>(number);
  record.settings = kOurs;
  record.settings->slots = slots;
  record.process.name = "p" + std::to_string(number);
  return record;
}

TEST(SettingsAgreementTest, the_living_are_remembered_when_the_dead_are_forgotten) {
  SettingsAgreement agreement(kOurs, Lane{0});
  agreement.note(said_by(500, 32), kStamp, 600s, kStart, true);
  for (std::uint64_t n = 1; n <= 60; ++n) agreement.note(said_by(n, 32), kStamp, 1s, kStart, true);
  ASSERT_TRUE(agreement.conflict(std::nullopt, kStart));
  // Enough others, of whom each lives, that all of the dead are looked for.
  for (std::uint64_t n = 1001; n <= 1100; ++n) {
    agreement.note(said_by(n, 64), kStamp, 600s, kStart + 2s, true);
  }
  const auto conflict = agreement.conflict(std::nullopt, kStart + 2s);
  ASSERT_TRUE(conflict) << "the eldest of the living has other settings";
  EXPECT_NE(conflict->message().find("process p500"), std::string::npos) << conflict->message();
  EXPECT_FALSE(agreement.conflict(std::nullopt, kStart + 601s)) << "it is dead, too";
}

TEST(SettingsAgreementTest, who_comes_again_after_it_was_forgotten_counts_again) {
  SettingsAgreement agreement(kOurs, Lane{0});
  for (std::uint64_t n = 1; n <= 64; ++n) agreement.note(said_by(n, 32), kStamp, 1s, kStart, true);
  agreement.note(said_by(65, 64), kStamp, 1s, kStart + 1s, true);  // all others are forgotten
  EXPECT_FALSE(agreement.conflict(std::nullopt, kStart + 1s));
  EXPECT_FALSE(agreement.undecided_until(kStart + 1s));
  agreement.note(said_by(7, 32), kStamp, 1s, kStart + 1s, false);
  EXPECT_EQ(agreement.undecided_until(kStart + 1s), later(kStart + 1s, 1s))
      << "it may be what lay in the log";
  agreement.note(said_by(7, 32), kStamp, 1s, kStart + 1s, true);
  ASSERT_TRUE(agreement.conflict(std::nullopt, kStart + 1s));
  EXPECT_FALSE(agreement.conflict(SettingsAgreement::Seniority{1, ProcessId{1}}, kStart + 1s))
      << "it is junior to who came before it";
}

TEST(SettingsAgreementTest, who_differed_and_is_gone_costs_nothing_any_more) {
  SettingsAgreement agreement(kOurs, Lane{0});
  EXPECT_TRUE(agreement.at_rest(kStart));
  agreement.note(said_by(500, 32), kStamp, 2s, kStart, true);
  EXPECT_FALSE(agreement.at_rest(kStart + 1s));
  EXPECT_TRUE(agreement.conflict(std::nullopt, kStart + 1s));
  EXPECT_TRUE(agreement.at_rest(kStart + 2s)) << "though few others came, and it is not forgotten";
  EXPECT_FALSE(agreement.conflict(std::nullopt, kStart + 2s));
  agreement.note(said_by(500, 32), kStamp, 1s, kStart + 3s, true);
  EXPECT_TRUE(agreement.conflict(std::nullopt, kStart + 3s)) << "it is back";
}

// Else it might lead beside that one until the senior's lease ends (found by the simulator).
TEST(SettingsAgreementTest, who_takes_part_leaves_for_the_most_senior_that_was_heard) {
  SettingsAgreement agreement(kOurs, Lane{0});
  agreement.note(said_by(1, 64), kStamp, 9s, kStart, false);
  agreement.note(said_by(2, 32), kStamp, 9s, kStart, true);
  const SettingsAgreement::Seniority own{3, ProcessId{3}};
  EXPECT_TRUE(agreement.conflict(own, kStart)) << "nobody knows whether p1 lives";
  EXPECT_FALSE(agreement.conflict(std::nullopt, kStart)) << "a newcomer waits for that";
  agreement.note(said_by(1, 64), kStamp, 9s, kStart, true);
  EXPECT_FALSE(agreement.conflict(own, kStart)) << "it does, and p2 is to leave";
}

TEST(SettingsAgreementTest, who_had_been_silent_for_its_lease_is_gone_whenever_it_is_read) {
  SettingsAgreement agreement(kOurs, Lane{0});
  const SettingsAgreement::Seniority own{3, ProcessId{3}};
  agreement.note(said_by(1, 64), kStamp, 1s, kStart, true);
  agreement.note(said_by(1, 64), kStamp - 100ms, 1s, kStart, true);  // of a log that lags behind
  agreement.note(said_by(2, 32), kStamp + 1s, 1s, kStart, true);
  EXPECT_FALSE(agreement.conflict(own, kStart)) << "a topic whose stamps are its writers'";
  agreement.note_time(kStamp + 999ms);
  EXPECT_FALSE(agreement.conflict(own, kStart)) << "p1 is the senior, and p2 is to leave";
  agreement.note_time(kStamp + 1s);
  EXPECT_TRUE(agreement.conflict(own, kStart)) << "p1 was gone by then";
  EXPECT_FALSE(agreement.undecided_until(kStart)) << "nor does anybody wait for it";
  agreement.note(said_by(1, 64), kStamp + 1s, 1s, kStart, true);
  EXPECT_FALSE(agreement.conflict(own, kStart)) << "it was not";
  agreement.note_time(kStamp + 2s);
  EXPECT_FALSE(agreement.conflict(own, kStart)) << "p2 is gone, too";
}

TEST(SettingsAgreementTest, who_was_gone_and_returns_is_junior_to_who_began_meanwhile) {
  SettingsAgreement agreement(kOurs, Lane{0});
  agreement.note(said_by(1, 32), kStamp, 1s, kStart, true);
  Record returned = said_by(1, 32);
  returned.since.reset();
  returned.epochs.push_back({1, *LogParts::parse("0")});
  agreement.note_time(kStamp + 2s);
  agreement.note(returned, kStamp + 2s, 1s, kStart, true);
  const SettingsAgreement::Seniority began{2000, ProcessId{3}};
  EXPECT_FALSE(agreement.conflict(began, kStart));
  EXPECT_TRUE(agreement.conflict(SettingsAgreement::Seniority{3000, ProcessId{3}}, kStart));
}

TEST(SettingsAgreementTest, a_record_that_no_broker_stamped_shows_no_time) {
  SettingsAgreement agreement(kOurs, Lane{0});
  const SettingsAgreement::Seniority own{3, ProcessId{3}};
  agreement.note_time(kStamp + 9s);
  agreement.note_time(std::nullopt);
  agreement.note(said_by(1, 32), kStamp, 1s, kStart, true);
  EXPECT_TRUE(agreement.conflict(own, kStart));
}

// An older process that differs, and is gone, keeps no newcomer waiting.
TEST(SettingsAgreementTest, who_differs_and_was_gone_leaves_no_doubt) {
  SettingsAgreement agreement(kOurs, Lane{0});
  agreement.note(said_by(1, 64), kStamp + 5s, 1s, kStart, false);
  agreement.note(said_by(2, 32), kStamp, 1s, kStart, false);
  EXPECT_TRUE(agreement.undecided_until(kStart));
  agreement.note_time(kStamp + 5s);
  EXPECT_FALSE(agreement.undecided_until(kStart));
}

// A tail that starts anew may start far back (found by the simulator).
TEST(SettingsAgreementTest, who_died_since_it_was_heard_and_is_read_once_more_does_not_count) {
  SettingsAgreement agreement(kOurs, Lane{0});
  const SettingsAgreement::Seniority own{900, ProcessId{2}};
  agreement.note(said_by(1, 32), kStamp, 1s, kStart, true);
  ASSERT_TRUE(agreement.conflict(own, kStart));
  const LocalTime anew = kStart + 10s;
  agreement.note(said_by(1, 32), kStamp, 1s, anew, false);
  EXPECT_FALSE(agreement.conflict(own, anew));
  agreement.note(said_by(1, 32), kStamp + 10s, 1s, anew, true);
  EXPECT_TRUE(agreement.conflict(own, anew)) << "it lives after all";
}

// It may lead by its claim already, long before it can say since when (found by the simulator).
TEST(SettingsAgreementTest, who_has_only_claimed_came_with_that_claim) {
  SettingsAgreement agreement(kOurs, Lane{0});
  Record record = said_by(1, 32);
  record.since.reset();
  agreement.note(record, kStamp, 1s, kStart, true);
  EXPECT_FALSE(agreement.conflict(std::nullopt, kStart)) << "it has only greeted";
  record.type = RecordType::claim;
  agreement.note(record, kStamp, 1s, kStart, true);
  agreement.note(record, kStamp + 50ms, 1s, kStart, true);
  const auto conflicts = [&](std::int64_t own_since) {
    const SettingsAgreement::Seniority own{own_since, ProcessId{2}};
    return agreement.conflict(own, kStart).has_value();
  };
  EXPECT_TRUE(conflicts(901)) << "its first claim counts";
  EXPECT_FALSE(conflicts(899)) << "it came later";
  EXPECT_TRUE(agreement.conflict(std::nullopt, kStart));
  record.since = 800;
  agreement.note(record, kStamp, 1s, kStart, true);
  EXPECT_TRUE(conflicts(899)) << "what it says itself counts more";
}

TEST(SettingsAgreementTest, who_writes_records_of_version_1_differs) {
  SettingsAgreement agreement(kOurs, Lane{0});
  Record newer = said_by(2, 64);
  newer.version = kRecordVersion + 1;
  agreement.note(newer, kStamp, 1s, kStart, true);
  EXPECT_FALSE(agreement.conflict(std::nullopt, kStart)) << "it can be read";
  Record older = said_by(1, 64);
  older.version = 1;
  agreement.note(older, kStamp, 1s, kStart, true);
  const auto conflict = agreement.conflict(std::nullopt, kStart);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->code(), Errc::settings_conflict);
  EXPECT_NE(conflict->message().find("version of records is 2 here, but 1 in the running group "
                                     "(process p1)"),
            std::string::npos)
      << conflict->message();
  agreement.note(said_by(1, 64), kStamp, 1s, kStart, true);  // the same one, updated
  EXPECT_FALSE(agreement.conflict(std::nullopt, kStart));
}

// `partitions` differ for the same reason, and an option for them would not help.
TEST(SettingsAgreementTest, a_group_and_an_assigner_do_not_mix_in_a_lane) {
  Record member = said_by(1, 64);
  member.settings->variation = kAssignedVariation;
  member.settings->partitions = 64;
  SettingsAgreement grouped(kOurs, Lane{0});
  grouped.note(member, kStamp, 1s, kStart, true);
  const auto refused = grouped.conflict(std::nullopt, kStart);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->message(),
            "assignment is group here, but assigner in the running group (process p1); start with "
            "`assignment` assigner, or stop all of its processes first, or, for another service, "
            "name another `kafka.topic` or `ledger`, or a lane of its own (`lane` N)");
  Settings own = *member.settings;
  SettingsAgreement assigned(own, Lane{0});
  assigned.note(member, kStamp, 1s, kStart, true);
  EXPECT_FALSE(assigned.conflict(std::nullopt, kStart));
  SettingsAgreement newcomer(own, Lane{0});
  newcomer.note(said_by(2, 64), kStamp, 1s, kStart, true);
  const auto turned = newcomer.conflict(std::nullopt, kStart);
  ASSERT_TRUE(turned);
  EXPECT_NE(turned->message().find("start with `assignment` group"), std::string::npos);
}

TEST(SettingsAgreementTest, a_member_with_another_number_of_partitions_is_refused) {
  Settings own = kOurs;
  own.variation = kAssignedVariation;
  SettingsAgreement assigned(own, Lane{0});
  Record other = said_by(1, 64);
  other.settings = own;
  other.settings->partitions = 64;
  assigned.note(other, kStamp, 1s, kStart, true);
  const auto refused = assigned.conflict(std::nullopt, kStart);
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->message().find("partitions is 4 here, but 64 in the running group"),
            std::string::npos)
      << refused->message();
  EXPECT_EQ(refused->message().find("lane of its own"), std::string::npos) << "it would not help";
  EXPECT_NE(refused->message().find("another `kafka.topic`"), std::string::npos);
  EXPECT_TRUE(is_about_partitions(*refused));
  other.settings->slots *= 2;  // no other number of partitions would do
  SettingsAgreement differing(own, Lane{0});
  differing.note(other, kStamp, 1s, kStart, true);
  const auto of_slots = differing.conflict(std::nullopt, kStart);
  ASSERT_TRUE(of_slots);
  EXPECT_FALSE(is_about_partitions(*of_slots));
}

}  // namespace
}  // namespace neliroute
