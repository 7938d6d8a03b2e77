// A client that lost all its brokers is re-bootstrapped; any other client is left alone.
#include "ledgers/kafka/client/rebootstrap.h"

#include <gtest/gtest.h>

#include "ledgers/kafka/client/rdkafka_ptr.h"
#include "tests/unit/ledgers/kafka/ledger/ledger_rig.h"

namespace neliroute {
namespace {

constexpr LocalTime kLost{milliseconds{1000}};
constexpr LocalTime kSoon = later(kLost, Rebootstrap::kFirst);
constexpr milliseconds kMoment{100};
constexpr const char* kNobody = "127.0.0.1:1";
[[maybe_unused]] constexpr int kSoonMs = 300;
[[maybe_unused]] constexpr int kLongMs = 30'000;

/// What librdkafka leaves behind when it dropped its last broker: a client that knows none.
class RebootstrapTest : public testing::Test {
 protected:
  void SetUp() override {
    handle_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), nullptr, 0));
    ASSERT_NE(handle_, nullptr);
  }
  [[nodiscard]] bool finds_the_cluster(int within_ms) const {
    const rd_kafka_metadata_t* metadata = nullptr;
    const auto error = rd_kafka_metadata(handle_.get(), 0, nullptr, &metadata, within_ms);
    if (metadata != nullptr) rd_kafka_metadata_destroy(metadata);
    return error == RD_KAFKA_RESP_ERR_NO_ERROR;
  }

  rdkafka::HandlePtr handle_;
};

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

TEST_F(RebootstrapTest, WhoLostAllBrokersFindsThemAgain) {
  LedgerRig rig;
  rig.open_broker();
  Rebootstrap names{rig.address()};
  EXPECT_FALSE(names.rebootstrap_if_due(ClientKind::group, handle_.get(), kLost))
      << "nothing was lost";
  names.note_all_down(ClientKind::group, kLost, kLongAgo);
  EXPECT_FALSE(names.rebootstrap_if_due(ClientKind::group, handle_.get(), kSoon));
  EXPECT_FALSE(finds_the_cluster(kSoonMs)) << "else this proves nothing";
  EXPECT_TRUE(names.rebootstrap_if_due(ClientKind::group, handle_.get(), later(kSoon, kMoment)));
  EXPECT_TRUE(finds_the_cluster(kLongMs));
  EXPECT_FALSE(
      names.rebootstrap_if_due(ClientKind::group, handle_.get(), later(kSoon, 2 * kMoment)))
      << "once is enough";
}

#endif

TEST_F(RebootstrapTest, EachWordOfItPostpones) {
  Rebootstrap names{kNobody};
  names.note_all_down(ClientKind::group, kLost, kLongAgo);
  names.note_all_down(ClientKind::group, kSoon, kLongAgo);
  EXPECT_FALSE(names.rebootstrap_if_due(ClientKind::group, handle_.get(), later(kSoon, kMoment)));
  const LocalTime due = later(kSoon, Rebootstrap::kFirst + kMoment);
  EXPECT_TRUE(names.rebootstrap_if_due(ClientKind::group, handle_.get(), due));
}

TEST_F(RebootstrapTest, EachClientHasItsOwnTime) {
  Rebootstrap names{kNobody};
  names.note_all_down(ClientKind::tail, kLost, kLongAgo);
  const LocalTime due = later(kSoon, kMoment);
  EXPECT_FALSE(names.rebootstrap_if_due(ClientKind::group, handle_.get(), due));
  EXPECT_FALSE(names.rebootstrap_if_due(ClientKind::tail, nullptr, due)) << "it is being replaced";
  EXPECT_FALSE(names.rebootstrap_if_due(ClientKind::tail, handle_.get(), later(due, kMoment)))
      << "its successor knows them";
}

/// How often a client is re-bootstrapped that fails to connect every `pause` for an hour.
int told_in_an_hour(Rebootstrap& names, rd_kafka_t* handle, milliseconds pause,
                    bool others_are_answered) {
  int told = 0;
  LocalTime failed = kLost;
  const LocalTime end = later(kLost, std::chrono::hours{1});
  for (LocalTime now = kLost; now < end; now = later(now, kMoment)) {
    if (now >= later(failed, pause)) {
      failed = now;
      names.note_all_down(ClientKind::producer, now, others_are_answered ? now : kLongAgo);
    }
    if (names.rebootstrap_if_due(ClientKind::producer, handle, now)) ++told;
  }
  return told;
}

TEST_F(RebootstrapTest, AClientThatGoesOnLookingIsNotToldForEver) {
  for (const milliseconds pause : {milliseconds{12}, milliseconds{500}, milliseconds{30'000}}) {
    Rebootstrap names{kNobody};
    EXPECT_LE(told_in_an_hour(names, handle_.get(), pause, false), 8) << pause.count();
  }
  Rebootstrap names{kNobody};
  EXPECT_LE(told_in_an_hour(names, handle_.get(), milliseconds{500}, true), 8)
      << "only this one is refused";
}

TEST_F(RebootstrapTest, AfterAnAnswerAnotherOutageBegins) {
  Rebootstrap names{kNobody};
  told_in_an_hour(names, handle_.get(), milliseconds{30'000}, false);
  const LocalTime next = later(kLost, std::chrono::hours{2});
  const LocalTime due = later(next, Rebootstrap::kFirst + kMoment);
  names.note_all_down(ClientKind::producer, next, kLongAgo);
  EXPECT_FALSE(names.rebootstrap_if_due(ClientKind::producer, handle_.get(), due))
      << "the same outage";
  const LocalTime other = later(next, Rebootstrap::kCalm);
  names.note_all_down(ClientKind::producer, other, due);
  EXPECT_TRUE(names.rebootstrap_if_due(ClientKind::producer, handle_.get(),
                                later(other, Rebootstrap::kFirst + kMoment)));
}

}  // namespace
}  // namespace neliroute
