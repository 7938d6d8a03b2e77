// One of the voters is sick, none answers, or leaders come and go while records are written.
#include <gtest/gtest.h>

#include <algorithm>
#include <neliroute/clock.h>
#include <string>

#include "tests/eventually.h"
#include "tests/unit/ledgers/quorum/acknowledged.h"
#include "tests/unit/ledgers/quorum/pretended_quorum.h"
#include "tests/unit/ledgers/sick_server.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using Script = PretendVoters::Script;

bool said(const Seen& seen, const std::string& text) {
  return std::any_of(seen.notices.begin(), seen.notices.end(), [&](const Notice& notice) {
    return notice.text.find(text) != std::string::npos;
  });
}

class QuorumSickServer : public testing::TestWithParam<Sickness> {
 protected:
  PretendedQuorum voters_;
};

TEST_P(QuorumSickServer, IsLeftForTheNextOne) {
  SickServer sick(GetParam());
  QuorumConnection connection = voters_.connection();
  connection.voters.insert(connection.voters.begin(), "127.0.0.1:" + sick.port());
  LedgerDriver driver;
  voters_.open(driver, connection);
  driver.start_and_read();
  voters_.write_and_read(driver, 1);
  voters_.lead(1);
  voters_.write_and_read(driver, 2);
  EXPECT_GT(sick.asked(), 0);
  EXPECT_LT(sick.asked(), 20) << "or it is asked again and again";
}

INSTANTIATE_TEST_SUITE_P(
    All, QuorumSickServer,
    testing::Values(Sickness{"silent", ""}, Sickness{"closes", "", false},
                    Sickness{"is_a_web_server", "HTTP/1.1 400 Bad Request\r\n\r\n"},
                    Sickness{"talks_without_end", std::string(100'000, '\0')},
                    Sickness{"is_slow", std::string(1000, 'E'), true, 50ms}),
    [](const auto& tested) { return std::string(tested.param.name); });

class QuorumSick : public testing::Test {
 protected:
  [[nodiscard]] int nonsense() {
    return voters_.look([](const Script& script) { return script.nonsense; });
  }

  PretendedQuorum voters_;
  LedgerDriver driver_;
};

TEST_F(QuorumSick, AVoterThatAcceptsAndSaysNothingCostsOneAttempt) {
  voters_.change([](Script& script) {
    script.mute = 0;
    script.leader = 2;
  });
  const LocalTime from = boot_now();
  voters_.open_and_read(driver_);
  EXPECT_LT(boot_now() - from, 5s);
  voters_.write_and_read(driver_, 1);
  EXPECT_EQ(voters_.look([](const Script& script) { return script.greeted[0]; }), 1);
  voters_.change([](Script& script) { script.mute.reset(); });
}

TEST_F(QuorumSick, ALeaderThatFallsSilentIsLeftAndTheOthersAreAskedBeforeIt) {
  voters_.open_and_read(driver_);
  voters_.write_and_read(driver_, 1);
  // The others still say that it leads.
  voters_.change([](Script& script) { script.beats = script.answers = script.stores = false; });
  ASSERT_TRUE(eventually([&] {
    return voters_.look([](const Script& script) {
      return script.greeted[1] > 0 && script.greeted[2] > 0 && script.greeted[0] == 2;
    });
  }));
  voters_.change([](Script& script) { script.beats = script.answers = script.stores = true; });
  write_until_read(driver_, 10);
  EXPECT_TRUE(driver_.seen().gaps.empty());
}

TEST_F(QuorumSick, ALeaderThatAnswersNoQuestionIsLeft) {
  voters_.open_and_read(driver_);
  voters_.write_and_read(driver_, 1);
  voters_.change([](Script& script) { script.answers = false; });
  driver_.run([](Ledger& ledger) { ledger.reread({Log{0}, 7, 1}); });
  ASSERT_TRUE(driver_.wait([](const Seen& seen) {
    return said(seen, "has no leader that answers") && said(seen, "no answer within 1000 ms");
  }));
  EXPECT_TRUE(driver_.seen().rereads.empty());
  voters_.change([](Script& script) { script.answers = true; });
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return !seen.rereads.empty(); }));
  EXPECT_TRUE(driver_.seen().rereads[0].found);
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return said(seen, "leads log 0"); }))
      << "it says that it is over";
}

TEST_F(QuorumSick, ALeaderThatStoresNothingIsLeft) {
  voters_.open_and_read(driver_);
  voters_.write_and_read(driver_, 1);
  voters_.change([](Script& script) { script.stores = false; });
  const LocalTime from = boot_now();
  driver_.write(Log{0}, 2);
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.failed.size() == 1; }));
  EXPECT_LT(boot_now() - from, 2s);
  EXPECT_TRUE(eventually([&] {
    return voters_.look([](const Script& script) { return script.greeted[1] > 0; });
  })) << "another one may lead by now";
  EXPECT_TRUE(driver_.wait([](const Seen& seen) {
    return said(seen, "a record was not stored within 1000 ms");
  }));
  voters_.change([](Script& script) { script.stores = true; });
  write_until_read(driver_, 3);
}

TEST_F(QuorumSick, WhereNoneLeadsTheTextNamesEachVoter) {
  voters_.lead(std::nullopt);
  voters_.change([](Script& script) { script.mute = 1; });
  QuorumConnection connection = voters_.connection();
  voters_.open(driver_, connection);
  driver_.start();
  const auto& at = connection.voters;
  ASSERT_TRUE(driver_.wait([&](const Seen& seen) {
    return said(seen, at[0] + ": it knows no leader; " + at[1] + ": ");
  }));
  const auto says = driver_.seen().notices.at(0);
  EXPECT_NE(says.text.find("; " + at[2] + ": it knows no leader"), std::string::npos) << says.text;
  EXPECT_EQ(says.severity, Severity::error);
  voters_.change([](Script& script) { script.mute.reset(); });
  voters_.lead(1);
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.started.size() == 1; }));
}

TEST_F(QuorumSick, ALeaderThatTookThePlaceOfAnotherVoterIsFoundByItsName) {
  voters_.lead(2);
  QuorumConnection connection = voters_.connection();
  connection.voters.pop_back();
  voters_.open(driver_, connection);
  driver_.start_and_read();
  voters_.write_and_read(driver_, 1);
}

TEST_F(QuorumSick, AStrangerWhoIsNamedCostsOneAttempt) {
  SickServer stranger({"stranger", ""});
  voters_.change([&](Script& script) {
    script.leader = 2;
    script.says_leads = "127.0.0.1:" + stranger.port();
  });
  voters_.open_and_read(driver_);
  voters_.write_and_read(driver_, 1);
  EXPECT_EQ(stranger.asked(), 1);
}

TEST_F(QuorumSick, ALeaderThatAVoterNamesIsAskedNext) {
  voters_.lead(2);
  voters_.open_and_read(driver_);
  EXPECT_EQ(voters_.look([](const Script& script) { return script.greeted; }),
            (std::vector<int>{1, 0, 1}));
}

TEST_F(QuorumSick, ARecordThatIsTooLargeFailsAndTheOthersAreWritten) {
  voters_.open_and_read(driver_);
  const std::string text = "{\"x\":\"" + std::string(quorum::kRecordBytesMax, 'x') + "\"}";
  driver_.run([&](Ledger& ledger) {
    ledger.write({Log{0}, 1, claim_text(1, 1s)});
    ledger.write({Log{0}, 2, text});
    ledger.write({Log{0}, 3, claim_text(3, 1s)});
  });
  ASSERT_TRUE(driver_.wait([](const Seen& seen) {
    return seen.acknowledged == std::vector<std::uint64_t>{1, 3} &&
           seen.failed == std::vector<std::uint64_t>{2};
  }));
  EXPECT_TRUE(driver_.wait([](const Seen& seen) { return said(seen, "bytes cannot be written"); }));
  EXPECT_EQ(nonsense(), 0);
}

TEST_F(QuorumSick, LeadersChangeWhileRecordsAreWritten) {
  voters_.open_and_read(driver_);
  constexpr std::uint64_t kEach = 30;
  constexpr std::uint64_t kTurns = 8;
  for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
    for (std::uint64_t one = 1; one <= kEach; ++one) driver_.write(Log{0}, turn * kEach + one);
    voters_.lead((turn + 1) % 3);
  }
  ASSERT_TRUE(driver_.wait([&](const Seen& seen) {
    return seen.acknowledged.size() + seen.failed.size() == kTurns * kEach;
  }));
  write_until_read(driver_, 1'000'000);
  const Seen seen = driver_.seen();
  EXPECT_TRUE(seen.gaps.empty());
  EXPECT_TRUE(seen.failed.empty());
  expect_acknowledged_once_and_read(seen);
  EXPECT_EQ(nonsense(), 0);
}

TEST_F(QuorumSick, IsClosedAtOnceWhileItLooksForALeader) {
  voters_.lead(std::nullopt);
  voters_.open(driver_, voters_.connection());
  driver_.start();
  driver_.write(Log{0}, 1);
  const LocalTime from = boot_now();
  driver_.close(10s);
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.closed; }));
  EXPECT_LT(boot_now() - from, 3s) << "what was never sent has failed by then";
  driver_.destroy();
  driver_.join_thread();
}

}  // namespace
}  // namespace neliroute
