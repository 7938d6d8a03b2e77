// A member of the group that is lost, dropped, withdraws or leaves: what it had, and its end.
#include <gmock/gmock.h>
#include <librdkafka/rdkafka.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <neliroute/clock.h>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ledgers/kafka/group/group_member.h"
#include "tests/eventually.h"
#include "tests/unit/embedded_broker/threads.h"
#include "tests/unit/ledgers/kafka/client/client_on_broker.h"
#include "tests/unit/ledgers/kafka/librdkafka_calls.h"

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

namespace neliroute {
namespace {

using std::chrono::seconds;

/// How many clients of librdkafka live in this process, by the thread that each has.
std::size_t clients() { return threads_named("rdk:main").size(); }

/// A member, and what was reported to it.
struct NotedMember {
  NotedMember(const ClientSettings& settings, QueueWakeup& wakeup)
      : member(
            settings, wakeup,
            [this](const Event& event) {
              if (const auto* given = std::get_if<GroupAssigned>(&event)) {
                assigned.push_back(given->partitions.to_string());
              }
              if (const auto* taken = std::get_if<GroupRevoked>(&event)) revoked.push_back(*taken);
            },
            [this](const Notice& notice) { notices.push_back(notice); }) {}
  std::vector<std::string> assigned;
  std::vector<GroupRevoked> revoked;
  std::vector<Notice> notices;
  GroupMember member;
};

struct LostMember : ClientOnBroker {
  /// It is assigned everything, and that is dealt with.
  [[nodiscard]] bool joins(NotedMember& noted) {
    if (!noted.member.join().has_value()) return false;
    if (!serve_until(noted.member, [&] { return !noted.assigned.empty(); })) return false;
    noted.member.finish();
    return true;
  }
};

TEST_F(LostMember, AMemberLosesWhatItHadAndJoinsAgainAfterAPause) {
  NotedMember noted(settings(), *wakeup_);
  auto& assigned = noted.assigned;
  auto& revoked = noted.revoked;
  GroupMember& member = noted.member;
  ASSERT_TRUE(member.join().has_value());
  ASSERT_TRUE(serve_until(member, [&] { return !assigned.empty(); }));
  EXPECT_EQ(assigned[0], "0-3");
  member.finish();

  ASSERT_EQ(rd_kafka_test_fatal_error(member.handle(), RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID,
                                      "a test"),
            RD_KAFKA_RESP_ERR_NO_ERROR);
  ASSERT_TRUE(serve_until(member, [&] { return !revoked.empty(); }));
  EXPECT_EQ(revoked[0].partitions.to_string(), "0-3");
  EXPECT_TRUE(revoked[0].lost);
  EXPECT_TRUE(member.gone());
  member.finish();

  member.rejoin_if_due(boot_now());
  EXPECT_TRUE(member.gone()) << "not in a loop";
  member.rejoin_if_due(later(boot_now(), seconds{1}));
  ASSERT_TRUE(serve_until(member, [&] { return assigned.size() > 1; }));
  EXPECT_EQ(assigned[1], "0-3");
  EXPECT_EQ(revoked.size(), 1U);
}

// As one whose right was taken away.
TEST_F(LostMember, AMemberThatIsLostAgainAndAgainJoinsMoreAndMoreRarely) {
  NotedMember noted(settings(), *wakeup_);
  GroupMember& member = noted.member;
  close_broker();  // so that nothing is assigned
  ASSERT_TRUE(member.join().has_value());
  for (const seconds pause : {seconds{1}, seconds{2}, seconds{4}}) {
    ASSERT_EQ(rd_kafka_test_fatal_error(member.handle(), RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID,
                                        "a test"),
              RD_KAFKA_RESP_ERR_NO_ERROR);
    ASSERT_TRUE(serve_until(member, [&] { return member.gone(); }));
    member.finish();
    EXPECT_FALSE(member.rejoin_if_due(later(boot_now(), pause / 2))) << pause.count();
    EXPECT_TRUE(member.rejoin_if_due(later(boot_now(), pause))) << pause.count();
  }
}

TEST_F(LostMember, AMemberThatLeavesAfterAFatalErrorIsGone) {
  NotedMember noted(settings(), *wakeup_);
  ASSERT_TRUE(joins(noted));
  ASSERT_EQ(rd_kafka_test_fatal_error(noted.member.handle(), RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID,
                                      "a test"),
            RD_KAFKA_RESP_ERR_NO_ERROR);
  noted.member.leave();  // and nobody served the error
  EXPECT_TRUE(serve_until(noted.member, [&] { return noted.member.gone(); }));
}

// librdkafka and the group would wait for the answer for ever.
TEST_F(LostMember, AMemberWhoseAssignmentTheLibraryRefusesJoinsAnew) {
  int calls = 0;
  librdkafka_calls::Watching watching;
  watching.assign = [&] {
    return ++calls == 1 ? RD_KAFKA_RESP_ERR__STATE : RD_KAFKA_RESP_ERR_NO_ERROR;
  };
  const librdkafka_calls::Watch watch(std::move(watching));
  const std::size_t others = 1;  // the embedded broker's; those of an earlier test may end late
  ASSERT_TRUE(eventually([&] { return clients() == others; }));
  NotedMember noted(settings(), *wakeup_);
  auto& assigned = noted.assigned;
  auto& revoked = noted.revoked;
  GroupMember& member = noted.member;
  ASSERT_TRUE(joins(noted));
  EXPECT_TRUE(revoked.empty()) << "never from inside the call that answers an event";
  member.announce_next();
  ASSERT_EQ(revoked.size(), 1U);
  EXPECT_EQ(revoked[0].partitions.to_string(), "0-3");
  EXPECT_TRUE(revoked[0].lost);
  ASSERT_EQ(noted.notices.size(), 1U);
  EXPECT_THAT(noted.notices[0].text, testing::HasSubstr("_STATE"));
  EXPECT_TRUE(member.gone());
  EXPECT_TRUE(eventually([&] { return clients() == others; }, seconds{10}))
      << "it ends, and keeps no core busy";
  member.finish();

  EXPECT_FALSE(member.rejoin_if_due(boot_now())) << "not in a loop";
  EXPECT_TRUE(member.rejoin_if_due(later(boot_now(), seconds{1})));
  ASSERT_TRUE(serve_until(member, [&] { return assigned.size() > 1; }));
  EXPECT_EQ(assigned[1], "0-3");
  member.finish();
  member.announce_next();
  EXPECT_EQ(revoked.size(), 1U);
  EXPECT_EQ(calls, 3) << "one took the place of that which was refused";
}

// Nor would the client of one that is dropped.
TEST_F(LostMember, AMemberThatIsDroppedWithARebalanceInItsQueueEnds) {
  const std::size_t others = 1;  // the embedded broker's; those of an earlier test may end late
  ASSERT_TRUE(eventually([&] { return clients() == others; }));
  std::optional<NotedMember> noted;
  noted.emplace(settings(), *wakeup_);
  ASSERT_TRUE(joins(*noted));
  NotedMember second(settings(), *wakeup_);
  const auto queued = [&] {
    const rdkafka::QueuePtr queue{rd_kafka_queue_get_consumer(noted->member.handle())};
    return rd_kafka_queue_length(queue.get());
  };
  ASSERT_TRUE(serve_until(noted->member, [&] { return queued() == 0; }));
  ASSERT_TRUE(second.member.join().has_value());
  ASSERT_TRUE(eventually([&] { return queued() > 0; }));
  noted.reset();
  EXPECT_TRUE(eventually([&] { return clients() == others + 1; }));
}

// The reason comes from its other clients: the member is only given when, and for how long.
TEST_F(LostMember, AMemberThatWithdrawsLeavesAndJoinsAgainAfterThePause) {
  NotedMember noted(settings(), *wakeup_);
  auto& assigned = noted.assigned;
  auto& revoked = noted.revoked;
  GroupMember& member = noted.member;
  ASSERT_TRUE(joins(noted));
  const LocalTime before = boot_now();
  member.withdraw(seconds{30});
  ASSERT_EQ(revoked.size(), 1U);
  EXPECT_EQ(revoked[0].partitions.to_string(), "0-3");
  EXPECT_FALSE(revoked[0].lost) << "it hands over";
  member.finish();
  ASSERT_TRUE(serve_until(member, [&] { return member.gone(); }));
  EXPECT_FALSE(member.rejoin_if_due(later(before, seconds{29})));
  EXPECT_EQ(member.handle(), nullptr) << "nothing of the old one is kept";
  EXPECT_TRUE(member.rejoin_if_due(later(boot_now(), seconds{30})));
  ASSERT_TRUE(serve_until(member, [&] { return assigned.size() > 1; }));
  EXPECT_EQ(assigned[1], "0-3");
  member.finish();

  member.withdraw(seconds{30});
  member.finish();
  ASSERT_TRUE(serve_until(member, [&] { return member.gone(); }));
  member.join_soon();  // the group is empty
  EXPECT_TRUE(member.rejoin_if_due(boot_now()));
  ASSERT_TRUE(serve_until(member, [&] { return assigned.size() > 2; }));
  member.finish();

  member.withdraw(seconds{30});
  member.leave();  // for good
  ASSERT_TRUE(serve_until(member, [&] { return member.gone(); }));
  EXPECT_FALSE(member.rejoin_if_due(later(boot_now(), seconds{60})));
}

// librdkafka may never answer who acknowledges while it leaves.
TEST_F(LostMember, AMemberThatLeavesAcknowledgesNothingOnTheStrand) {
  std::atomic<int> here = 0;
  std::atomic<int> elsewhere = 0;
  librdkafka_calls::Watching watching;
  watching.unassign = [&, strand = std::this_thread::get_id()] {
    ++(std::this_thread::get_id() == strand ? here : elsewhere);
  };
  const librdkafka_calls::Watch watch(std::move(watching));
  NotedMember noted(settings(), *wakeup_);
  ASSERT_TRUE(joins(noted));
  noted.member.leave();
  ASSERT_TRUE(serve_until(noted.member, [&] { return noted.member.gone(); }));
  EXPECT_EQ(here, 0);
  EXPECT_GE(elsewhere, 1) << "what the library revokes on leaving";
}

TEST_F(LostMember, AMemberThatWithdrawsUnansweredJoinsAgainAsAnotherFiveSecondsAfterThePause) {
  std::atomic<int> left = 0;  // 1: destroyed before it had heard that it left; 2: after
  librdkafka_calls::Watching watching;
  watching.destroy = [&](rd_kafka_t* handle) {
    left = rd_kafka_consumer_closed(handle) == 0 ? 1 : 2;
  };
  const librdkafka_calls::Watch watch(std::move(watching));
  NotedMember noted(settings(), *wakeup_);
  GroupMember& member = noted.member;
  ASSERT_TRUE(joins(noted));
  // The mock names members by their address, which another one may get.
  const std::string client = rd_kafka_name(member.handle());
  {
    const Hang hang(broker_io_);
    const LocalTime before = boot_now();
    member.withdraw(seconds{30});
    const LocalTime after = boot_now();
    member.finish();
    EXPECT_FALSE(member.rejoin_if_due(later(before, seconds{35} - milliseconds{1})));
    EXPECT_FALSE(member.gone()) << "it has not heard that it left";
    EXPECT_TRUE(member.rejoin_if_due(later(after, seconds{35})));
    EXPECT_TRUE(eventually([&] { return left > 0; }, seconds{10}));
  }
  EXPECT_EQ(left, 2) << "librdkafka might wait for the group's answer for ever, at full speed";
  ASSERT_TRUE(serve_until(member, [&] { return noted.assigned.size() > 1; }));
  EXPECT_EQ(noted.assigned[1], "0-3");
  EXPECT_NE(rd_kafka_name(member.handle()), client);
  EXPECT_EQ(noted.revoked.size(), 1U) << "of another one's end it is told nothing";
}

}  // namespace
}  // namespace neliroute

#endif
