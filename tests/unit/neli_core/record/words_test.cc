// What the core says in words, to people and in JSON, and what it leaves to whoever has more to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/system/system_error.hpp>

#include "audit/audit.h"
#include "neli_core/record/record.h"
#include "neli_core/roles.h"
#include "tests/world/rig.h"

namespace neliroute {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

TEST(AuditWords, are_those_of_the_operating_guide) {
  EXPECT_EQ(to_string(FindingKind::overlap), "overlap");
  EXPECT_EQ(to_string(FindingKind::early_leader), "early_leader");
  EXPECT_EQ(to_string(FindingKind::overstay), "overstay");
  EXPECT_EQ(to_string(FindingKind::gap), "gap");
  EXPECT_EQ(to_string(FindingKind::served_stale), "served_stale");
  EXPECT_EQ(to_string(FindingKind::epoch_fell), "epoch_fell");
  EXPECT_EQ(to_string(FindingKind::resumed), "resumed");
  EXPECT_EQ(to_string(FindingKind::false_epoch), "false_epoch");
  EXPECT_EQ(to_string(FindingKind::settings), "settings");
  EXPECT_EQ(to_string(FindingKind::hole), "hole");
  EXPECT_EQ(to_string(Says::claims), "claims");
  EXPECT_EQ(to_string(Says::looks), "looks");
  EXPECT_EQ(to_string(Says::leads), "leads");
  EXPECT_EQ(to_string(Says::drains), "drains");
  EXPECT_EQ(to_string(Says::releases), "releases");
}

TEST(ErrorWords, who_takes_the_value_of_a_failure_throws_its_code_and_its_detail) {
  const Result<int> bad = Error(Errc::ledger_unfit, "topic shop is compacted");
  try {
    static_cast<void>(bad.value());
    FAIL() << "there is no value";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(error.code(), Errc::ledger_unfit);
    EXPECT_THAT(error.what(), HasSubstr("topic shop is compacted"));
  }
  EXPECT_EQ(make_error_code(Error(Errc::closed, "why")), make_error_code(Errc::closed));
}

TEST(ErrorWords, a_code_of_another_version_is_shown_by_its_number) {
  EXPECT_EQ(error_category().message(99), "unknown neliroute error 99");
}

TEST(Invariants, a_broken_one_ends_the_process_with_what_it_is) {
  EXPECT_DEATH(Roles(std::make_shared<LeaseVector>(1), 0), "broken invariant: .*one role");
}

TEST(ClaimProtocol, what_is_of_the_other_variation_changes_nothing) {
  rig::Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-3");
  const std::size_t told = a.transitions.size();
  const std::size_t claims = a.records(RecordType::claim).size();
  rig.step(a, PartitionsCounted{1});
  rig.step(a, Heard{Partition{0}, 7, BrokerTime{}, true, rig.now(), WallTime{}});
  EXPECT_EQ(a.transitions.size(), told);
  EXPECT_EQ(a.records(RecordType::claim).size(), claims);
  EXPECT_FALSE(a.refused);
  for (std::uint32_t p = 0; p < 4; ++p) EXPECT_TRUE(a.leads(p, rig.now()));
}

TEST(Record, an_integer_that_nobody_can_hold_is_unreadable) {
  const std::string head = R"({"v":2,"t":"renewal","lane":0,"id":"00000000000000ab","lparts":{},)";
  const auto decoded = [&](const std::string& incarnation) {
    return decode_record(head + R"("seq":1,"lease_ms":1000,"max_ms":1000,"inc":)" + incarnation +
                         "}");
  };
  EXPECT_TRUE(std::holds_alternative<Record>(decoded("9007199254740991")));
  for (const char* incarnation :
       {"9223372036854775808", "18446744073709551615", "1e300", "-1e300"}) {
    EXPECT_EQ(std::get<Ignored>(decoded(incarnation)), Ignored::malformed) << incarnation;
  }
}

}  // namespace
}  // namespace neliroute
