// A ledger on the real voters of a quorum, in this process, some of which stop or are slow.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <neliroute/clock.h>
#include <string>
#include <thread>
#include <utility>

#include "ledgers/quorum/prepared_quorum.h"
#include "ledgers/quorum/quorum_ledger.h"
#include "tests/unit/ledgers/ledger_driver.h"
#include "tests/unit/ledgers/quorum/acknowledged.h"
#include "tests/unit/net/certificates.h"
#include "tests/unit/voter/server_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;

class QuorumVotersTest : public testing::Test {
 protected:
  explicit QuorumVotersTest(ServerRig::Change change = {}) : voters_(3, std::move(change)) {
    voters_.start_all();
  }
  [[nodiscard]] QuorumConnection connection() const {
    QuorumConnection connection;
    const VoterServerOptions options = voters_.options(0);
    connection.voters = options.voters;
    connection.name = options.name;
    connection.key = options.key;
    connection.shown = "quorum://real";
    connection.timeout = 20s;
    return connection;
  }
  /// A record that is not stored within half a lease has failed.
  void open_and_read(LedgerDriver& driver, std::chrono::seconds lease = 4s) {
    driver.open(1, [&](boost::asio::any_io_executor strand) {
      QuorumLedgerOptions options;
      options.lease = lease;
      options.clock_error = 100ms;
      return make_quorum_ledger(std::move(strand), connection(), nullptr, options).ledger;
    });
    driver.start_and_read();
  }
  void expect_all_written(std::uint64_t count) {
    ASSERT_TRUE(driver_.wait([&](const Seen& seen) {
      return seen.acknowledged.size() + seen.failed.size() == count;
    }));
    write_until_read(driver_, 1'000'000);
    expect_acknowledged_once_and_read(driver_.seen());
    EXPECT_TRUE(driver_.seen().gaps.empty());
    EXPECT_EQ(driver_.seen().started.size(), 1U);
  }

  /// How often the leaders have changed whose votes count.
  [[nodiscard]] int configurations() {
    quorum::Ask question;
    question.entries = 64;
    const auto answer = voters_.ask(question);
    if (!answer) return 0;
    return static_cast<int>(std::count_if(
        answer->entries.begin(), answer->entries.end(), [](const quorum::Entry& entry) {
          return std::holds_alternative<quorum::Configuration>(entry.what);
        }));
  }

  ServerRig voters_;
  LedgerDriver driver_;
};

TEST_F(QuorumVotersTest, LeadersStopWhileRecordsAreWritten) {
  // Time enough for an election on a machine that does much else.
  open_and_read(driver_, 30s);
  constexpr std::uint64_t kEach = 40;
  constexpr int kTurns = 5;
  for (int turn = 0; turn < kTurns; ++turn) {
    const int leader = voters_.leader();
    const std::uint64_t before = static_cast<std::uint64_t>(turn) * kEach;
    for (std::uint64_t one = 1; one <= kEach; ++one) driver_.write(Log{0}, before + one);
    voters_.stop(leader);
    ASSERT_TRUE(driver_.wait([&](const Seen& seen) {
      return seen.acknowledged.size() + seen.failed.size() == before + kEach;
    }));
    voters_.start(leader);
  }
  expect_all_written(kTurns * kEach);
  EXPECT_TRUE(driver_.seen().failed.empty()) << "another one leads in time";
}

TEST_F(QuorumVotersTest, ALeaderWhoseDiskHangsIsLeft) {
  open_and_read(driver_);
  const int leader = voters_.leader();
  voters_.slow_down(leader, 3s);
  constexpr std::uint64_t kCount = 20;
  for (std::uint64_t seq = 1; seq <= kCount; ++seq) driver_.write(Log{0}, seq);
  expect_all_written(kCount);
  EXPECT_NE(voters_.leader(), leader);
  voters_.slow_down(leader, 0ms);
}

TEST_F(QuorumVotersTest, WithoutAMajorityNothingIsWrittenAndThenItGoesOn) {
  open_and_read(driver_);
  write_until_read(driver_, 1);
  const int leader = voters_.leader();
  for (int other = 0; other < 3; ++other) {
    if (other != leader) voters_.stop(other);
  }
  driver_.write(Log{0}, 100);
  ASSERT_TRUE(driver_.wait([](const Seen& seen) {
    return !seen.failed.empty() && seen.failed.back() == 100;
  }));
  voters_.start_all();
  write_until_read(driver_, 200);
  EXPECT_TRUE(driver_.seen().gaps.empty());
}

TEST_F(QuorumVotersTest, OneThatLostItsFolderIsNoGap) {
  open_and_read(driver_);
  write_until_read(driver_, 1);
  for (int turn = 0; turn < 2; ++turn) {
    const int before = configurations();
    const int leader = voters_.leader();
    voters_.stop(leader);
    voters_.wipe(leader);
    voters_.start(leader);
    write_until_read(driver_, 100 * static_cast<std::uint64_t>(turn + 1));
    // Its vote counts again when it has copied all of it: the one that it was is removed, and then
    // it is let in.
    ASSERT_TRUE(ServerRig::wait([&] { return configurations() >= before + 2; }));
  }
  EXPECT_TRUE(driver_.seen().gaps.empty());
}

TEST_F(QuorumVotersTest, IsPreparedAndReadForAnAudit) {
  const auto prepared = prepare_quorum(connection(), {}, {}, {});
  ASSERT_TRUE(prepared) << prepared.error().message();
  EXPECT_EQ((*prepared)->facts().logs, 1U);
  open_and_read(driver_);
  constexpr std::uint64_t kCount = 150;
  for (std::uint64_t seq = 1; seq <= kCount; ++seq) driver_.write(Log{0}, seq);
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.acknowledged.size() == kCount; }));
  std::uint64_t last = 0;
  const auto read = read_quorum(connection(), std::nullopt, [&](const Received& received) {
    const auto* record = std::get_if<Record>(received.value);
    ASSERT_NE(record, nullptr);
    EXPECT_EQ(record->seq, ++last);
  });
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(last, kCount);
  EXPECT_FALSE(read->at(0).cut_short);
}

class QuorumFullTest : public QuorumVotersTest {
 protected:
  QuorumFullTest()
      : QuorumVotersTest([](VoterServerOptions& options) {
          options.log_bytes_max = 20'000;
          options.kept = 3s;
        }) {}
};

TEST_F(QuorumFullTest, WhatALogHasNoRoomForFailsInItsTimeAndThenItGoesOn) {
  open_and_read(driver_);
  constexpr std::uint64_t kCount = 200;
  for (std::uint64_t seq = 1; seq <= kCount; ++seq) driver_.write(Log{0}, seq);
  ASSERT_TRUE(driver_.wait([](const Seen& seen) {
    return seen.acknowledged.size() + seen.failed.size() == kCount;
  }));
  EXPECT_FALSE(driver_.seen().acknowledged.empty());
  EXPECT_FALSE(driver_.seen().failed.empty());
  const auto notices = driver_.seen().notices;
  EXPECT_TRUE(std::ranges::any_of(notices, [](const Notice& notice) {
    return notice.text.find("the log is full") != std::string::npos;
  }));
  write_until_read(driver_, 1'000);
  EXPECT_TRUE(driver_.seen().gaps.empty());
}

class QuorumWithKeyTest : public QuorumVotersTest {
 protected:
  QuorumWithKeyTest()
      : QuorumVotersTest([](VoterServerOptions& options) { options.key = "0123456789abcdef"; }) {}
};

TEST_F(QuorumWithKeyTest, WhoHasTheKeyReadsAndWrites) {
  open_and_read(driver_);
  write_until_read(driver_, 1);
  QuorumConnection without = connection();
  without.key.clear();
  without.timeout = 300ms;
  const auto prepared = prepare_quorum(without, {}, {}, {});
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.error().message().find("key"), std::string::npos)
      << prepared.error().message();
}

/// Everybody has a certificate that one authority signed.
class QuorumWithTlsTest : public testing::Test {
 protected:
  QuorumWithTlsTest() {
    net_test::Authority authority("ours", folder_ / "ca.pem");
    authority.sign("voter", folder_ / "crt.pem", folder_ / "key.pem", "IP:127.0.0.1");
    net_test::Authority stranger("theirs", folder_ / "other-ca.pem");
    stranger.sign("voter", folder_ / "other.pem", folder_ / "other-key.pem", "IP:127.0.0.1");
    voters_.start_all();
    const VoterServerOptions options = voters_.options(0);
    connection_.voters = options.voters;
    connection_.name = options.name;
    connection_.shown = "quorums://real";
    connection_.timeout = 20s;
    connection_.tls = true;
    connection_.authorities = options.authorities;
    connection_.certificate = options.certificate;
    connection_.private_key = options.private_key;
  }
  [[nodiscard]] std::string why_not(milliseconds within) {
    connection_.timeout = within;
    const auto prepared = prepare_quorum(connection_, {}, {}, {});
    return prepared ? "" : prepared.error().message();
  }

  net_test::Folder folder_;
  ServerRig voters_{3, [this](VoterServerOptions& options) {
                      options.tls = true;
                      options.authorities = folder_ / "ca.pem";
                      options.certificate = folder_ / "crt.pem";
                      options.private_key = folder_ / "key.pem";
                    }};
  QuorumConnection connection_;
};

TEST_F(QuorumWithTlsTest, WhoHasACertificateOfTheirsReadsAndNobodyElse) {
  EXPECT_EQ(why_not(20s), "");
  connection_.certificate = folder_ / "other.pem";
  connection_.private_key = folder_ / "other-key.pem";
  EXPECT_NE(why_not(500ms), "");
  connection_.certificate.clear();
  connection_.private_key.clear();
  EXPECT_NE(why_not(500ms), "");
  connection_.authorities = folder_ / "other-ca.pem";
  const std::string untrusted = why_not(500ms);
  EXPECT_NE(untrusted.find("TLS"), std::string::npos) << untrusted;
  connection_.tls = false;
  EXPECT_NE(why_not(500ms), "");
}

}  // namespace
}  // namespace neliroute
