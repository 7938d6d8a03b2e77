// What is done with a request, for each row of docs/routing.md's table.
#include "router/view/admissions.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "tests/unit/router/view/records.h"

namespace neliroute {
namespace {

using namespace testing_records;
using namespace std::chrono_literals;

constexpr LocalTime kNow{10s};
constexpr Slot kLed{0};
constexpr Slot kRemote{1};
constexpr Slot kUnowned{2};
constexpr std::uint32_t kHopLimit = 3;

/// Four partitions: this process leads 0 with epoch 7, another one leads 1 with epoch 9.
struct Admitting : testing::TestWithParam<Mode> {
  Admitting() {
    view.set_log(Log{0}, kNow + 1h, kNow - 1h);
    leases->set(Partition{0}, kNow + 1h, 1);
    view.set_local(Partition{0}, epoch(7), 1);
    gate->open(Partition{0}, epoch(7));
    hint.owner = std::make_shared<const Peer>(Peer{ProcessId{2}, {"other", "h:2", {}}});
    hint.epoch = epoch(9);
    hint.until = kNow + 1h;
    hint.generation = 1;
    view.set_hint(Partition{1}, hint);
    view.publish(kNow);
    view.set_hint_until(Partition{1}, hint);
  }
  ~Admitting() override { gate->retire(); }
  [[nodiscard]] Admission admit(Slot slot, const Epoch& asked = kNoEpoch,
                                std::uint32_t hops = 0) const {
    return Admissions(view, *gate, GetParam(), kHopLimit).admit(slot, {asked, hops}, kNow);
  }
  void suspect_remote() {
    hint.suspected = true;
    view.set_hint(Partition{1}, hint);
    view.publish(kNow);
  }
  [[nodiscard]] std::uint64_t counted(Admit answer) const {
    return view.admissions()[static_cast<std::size_t>(answer)];
  }

  std::shared_ptr<LeaseVector> leases = std::make_shared<LeaseVector>(4);
  Hint hint;
  RouteView view{Peer{ProcessId{1}, {"self", "h:1", {}}}, leases, 1, SlotSpace{64}};
  std::shared_ptr<WorkGate> gate = WorkGate::make(leases, [] {});
};

TEST_P(Admitting, who_is_stale_serves_but_not_what_a_greater_epoch_sent) {
  leases->set(Partition{0}, kNow + 1h, 1, /*stale=*/true);
  EXPECT_EQ(admit(kLed, epoch(7)).answer(), Admit::serve);
  EXPECT_TRUE(admit(kLed).stale());
  EXPECT_EQ(admit(kLed, epoch(8)).answer(), Admit::wait);
}

TEST_P(Admitting, who_leads_serves_and_the_guard_lives_as_long_as_the_admission) {
  {
    Admission served = admit(kLed);
    ASSERT_TRUE(served);
    EXPECT_EQ(served.answer(), Admit::serve);
    EXPECT_EQ(served.epoch(), epoch(7));
    EXPECT_EQ(served.partition(), Partition{0});
    EXPECT_TRUE(served.work());
    gate->close(Partition{0});
    gate->settle();
    EXPECT_EQ(gate->under_way(Partition{0}), 1u);
    const Admission moved = std::move(served);
    EXPECT_EQ(gate->under_way(Partition{0}), 1u);
  }
  EXPECT_EQ(gate->under_way(Partition{0}), 0u);
}

TEST_P(Admitting, who_leads_serves_what_its_epoch_or_an_older_one_sent) {
  EXPECT_TRUE(admit(kLed, epoch(6)));
  EXPECT_TRUE(admit(kLed, epoch(7)));
  EXPECT_TRUE(admit(kLed, epoch(7), 99)) << "it has arrived, however often it was sent on";
}

TEST_P(Admitting, who_leads_waits_in_exclusive_mode_when_a_newer_epoch_sent_the_request) {
  const Admission admitted = admit(kLed, epoch(8));
  EXPECT_EQ(admitted.answer(), GetParam() == Mode::exclusive ? Admit::wait : Admit::serve);
  gate->close(Partition{0});
  gate->settle();
  EXPECT_EQ(gate->under_way(Partition{0}), GetParam() == Mode::exclusive ? 0u : 1u)
      << "who waits holds up no barrier";
}

TEST_P(Admitting, who_knows_a_newer_owner_sends_the_request_there) {
  for (const Epoch& asked : {kNoEpoch, epoch(8)}) {
    const Admission sent = admit(kRemote, asked, kHopLimit - 1);
    EXPECT_FALSE(sent);
    ASSERT_EQ(sent.answer(), Admit::redirect);
    EXPECT_EQ(sent.owner(), "other");
    EXPECT_EQ(sent.endpoint(), "h:2");
    EXPECT_EQ(sent.epoch(), epoch(9));
    EXPECT_GT(sent.epoch(), asked) << "so a request cannot come back for the same reason";
  }
}

TEST_P(Admitting, whether_a_caller_could_not_reach_that_owner_is_told) {
  EXPECT_FALSE(admit(kRemote).suspected());
  suspect_remote();
  EXPECT_TRUE(admit(kRemote).suspected());
  EXPECT_FALSE(admit(kLed).suspected());
  EXPECT_FALSE(admit(kUnowned).suspected());
}

TEST_P(Admitting, who_knows_nothing_newer_than_the_caller_waits) {
  EXPECT_EQ(admit(kRemote, epoch(9)).answer(), Admit::wait) << "or it would be sent in a circle";
  EXPECT_EQ(admit(kRemote, epoch(10)).answer(), Admit::wait);
  EXPECT_EQ(admit(kUnowned).answer(), Admit::wait);
  EXPECT_EQ(admit(kUnowned).endpoint(), "");
  view.set_log(Log{0}, kNow, kNow - 1h);
  EXPECT_EQ(admit(kUnowned, epoch(3)).answer(), Admit::wait) << "unknown";
}

TEST_P(Admitting, between_its_lease_and_its_guards_it_waits) {
  gate->close(Partition{0});
  EXPECT_EQ(admit(kLed).answer(), Admit::wait);
}

TEST_P(Admitting, what_was_sent_on_too_often_is_refused_and_not_sent_on) {
  EXPECT_EQ(admit(kRemote, kNoEpoch, kHopLimit).answer(), Admit::refuse);
  EXPECT_EQ(admit(kRemote, epoch(9), kHopLimit).answer(), Admit::wait)
      << "it may still be served here";
}

TEST_P(Admitting, who_has_closed_refuses) {
  gate->close_all();
  view.set_closed();
  for (const Slot slot : {kLed, kRemote, kUnowned}) {
    EXPECT_EQ(admit(slot).answer(), Admit::refuse) << slot;
  }
}

TEST_P(Admitting, each_answer_is_counted_and_none_is_a_lookup) {
  static_cast<void>(admit(kLed));
  static_cast<void>(admit(kLed));
  static_cast<void>(admit(kRemote));
  static_cast<void>(admit(kUnowned));
  static_cast<void>(admit(kRemote, kNoEpoch, kHopLimit));
  EXPECT_EQ(counted(Admit::serve), 2u);
  EXPECT_EQ(counted(Admit::redirect), 1u);
  EXPECT_EQ(counted(Admit::wait), 1u);
  EXPECT_EQ(counted(Admit::refuse), 1u);
  EXPECT_EQ(view.lookups(), LookupCounts{});
}

INSTANTIATE_TEST_SUITE_P(
    , Admitting, testing::Values(Mode::exclusive, Mode::non_exclusive),
    [](const auto& mode) { return std::string(to_string(mode.param)); });

TEST(AdmitText, names_each_answer) {
  std::ostringstream text;
  text << Admit::serve << ' ' << Admit::redirect << ' ' << Admit::wait << ' ' << Admit::refuse;
  EXPECT_EQ(text.str(), "serve redirect wait refuse");
}

}  // namespace
}  // namespace neliroute
