// Callers that wait until a slot has an owner, or a newer one.
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "router/reader/completion.h"
#include "tests/unit/router/reader/reader_rig.h"
#include "tests/unit/router/view/allocations.h"

namespace neliroute {
namespace {

using namespace testing_reader;
using namespace testing_records;
using namespace std::chrono_literals;

struct Answered {
  boost::system::error_code error;
  Route route;
};

struct Waiting : testing::Test {
  explicit Waiting(ReaderRigOptions options = {}) : rig(std::move(options)) { rig.start(); }
  /// What it is told, as soon as it is.
  std::shared_ptr<std::optional<Answered>> wait(std::uint32_t slot, const Epoch& after = kNoEpoch,
                                            milliseconds limit = 10s) {
    auto told = std::make_shared<std::optional<Answered>>();
    rig.reader->wait_for_route(rig.reader->next_wait_id(), Slot{slot}, after, limit,
                               [told](boost::system::error_code error, const Route& route) {
                                 EXPECT_FALSE(*told) << "twice";
                                 told->emplace(Answered{error, route});
                               });
    rig.poll();
    return told;
  }
  /// p2 leads partition 0 from the claim at this offset on.
  void leads(std::int64_t claim) { rig.append(0, kB.leads(claim, "0")); }

  ReaderRig rig;
};

TEST_F(Waiting, ends_at_once_where_the_answer_is_there) {
  leads(5);
  const auto told = wait(0);
  ASSERT_TRUE(*told);
  EXPECT_FALSE((*told)->error);
  EXPECT_EQ((*told)->route.owner(), "p2");
  rig.lead_all();
  const auto own = wait(1, epoch(1'000'000));
  ASSERT_TRUE(*own) << "this process leads it, whatever the caller knows";
  EXPECT_EQ((*own)->route.verdict, Verdict::local);
}

// As an executor of several threads would run it: whoever blocks there would hold the strand.
TEST_F(Waiting, is_over_elsewhere_than_on_the_strand) {
  const boost::asio::any_io_executor executor = rig.reader->executors().strand;
  const Strand& strand = *executor.target<Strand>();
  std::vector<bool> inside;
  const auto note = [&](boost::system::error_code) {
    inside.push_back(strand.running_in_this_thread());
  };
  wait_until_ready(*rig.reader, boost::asio::bind_executor(rig.io->get_executor(), note));
  wait_until_ready(*rig.reader, note);
  rig.poll();
  rig.lead_all();
  ASSERT_EQ(inside.size(), 2u);
  EXPECT_TRUE(inside[0] != inside[1]) << "who has no executor is called on the strand";
}

TEST_F(Waiting, of_a_route_that_is_not_stale_no_redirect_is_told) {
  leads(5);
  rig.reader->redirected(Slot{0}, "elsewhere:1", epoch(1'000'000));
  EXPECT_EQ(rig.io->poll(), 0u);
}

// Nothing else may happen before.
TEST_F(Waiting, has_the_timer_set_for_its_limit) {
  const auto told = wait(2, kNoEpoch, 1ms);
  EXPECT_FALSE(*told);
  EXPECT_LE(rig.reader->due(), rig.now + 1ms);
}

// docs/routing.md says so.
TEST_F(Waiting, a_hundred_thousand_may_wait_at_once_and_no_more) {
  int refused = 0;
  for (int i = 0; i < 100'001; ++i) {
    rig.reader->wait_for_route(rig.reader->next_wait_id(), Slot{2}, kNoEpoch, 10s,
                               [&](boost::system::error_code error, const Route&) {
                                 refused += error == Errc::too_many_waiters ? 1 : 0;
                               });
  }
  while (rig.reader->waiters() + rig.reader->meter().count(Count::waits_refused) < 100'001) {
    rig.poll();
  }
  EXPECT_EQ(rig.reader->waiters(), 100'000u);
  EXPECT_EQ(refused, 1);
}

struct FewMayWait : Waiting {
  static ReaderRigOptions one() {
    ReaderRigOptions options;
    options.waiters_max = 1;
    return options;
  }
  FewMayWait() : Waiting(one()) {}
};

TEST_F(FewMayWait, more_are_refused_at_once_and_the_others_wait_on) {
  const auto first = wait(2);
  const auto second = wait(2);
  ASSERT_TRUE(*second);
  EXPECT_EQ((*second)->error, Errc::too_many_waiters);
  EXPECT_EQ(rig.reader->meter().count(Count::waits_refused), 1u);
  EXPECT_FALSE(*first);
}

// admit() would say wait again, and the caller would ask in a circle.
TEST(WaitingExclusive, for_a_greater_epoch_than_this_process_s_own_goes_on) {
  ReaderRig rig({Mode::exclusive});
  rig.start();
  rig.lead_all();
  const Epoch own = rig.route(0).epoch;
  ASSERT_NE(own, kNoEpoch);
  for (const bool greater : {false, true}) {
    bool ended = false;
    rig.reader->wait_for_route(rig.reader->next_wait_id(), Slot{0},
                               {own.incarnation + (greater ? 1 : 0), own.offset}, 300ms,
                               [&](boost::system::error_code error, const Route& route) {
                                 ended = true;
                                 EXPECT_EQ(error == Errc::timed_out, greater) << error;
                                 EXPECT_EQ(route.verdict, Verdict::local);
                               });
    rig.poll();
    EXPECT_EQ(ended, !greater);
    if (greater) rig.pass(400ms, 0);
    EXPECT_TRUE(ended);
  }
}

TEST_F(Waiting, is_woken_by_the_record_that_names_a_newer_owner) {
  leads(5);
  const auto told = wait(0, epoch(5));
  const auto other = wait(2, kNoEpoch);
  EXPECT_FALSE(*told) << "the caller knows that one";
  leads(5);
  EXPECT_FALSE(*told) << "a renewal says nothing new";
  leads(6);
  ASSERT_TRUE(*told);
  EXPECT_EQ((*told)->route.epoch, epoch(6));
  EXPECT_FALSE(*other) << "another partition's";
}

TEST_F(Waiting, is_woken_when_this_process_begins_to_lead) {
  const auto told = wait(3);
  EXPECT_FALSE(*told);
  rig.lead_all();
  ASSERT_TRUE(*told);
  EXPECT_EQ((*told)->route.verdict, Verdict::local);
}

// The application may have to load what callers ask for.
TEST_F(Waiting, is_woken_after_the_application_has_heard_that_it_leads) {
  rig.listen();
  rig.reader->wait_for_route(rig.reader->next_wait_id(), Slot{3}, kNoEpoch, 10s,
                             [&](auto, const Route&) { rig.story.push_back("woken"); });
  rig.lead_all();
  ASSERT_TRUE(rig.told("woken"));
  EXPECT_LT(rig.place("acquired 3 local"), rig.place("woken"));
}

TEST_F(Waiting, ends_with_what_is_known_when_its_time_is_over) {
  leads(5);
  const auto told = wait(0, epoch(5), 300ms);
  const auto later = wait(0, epoch(5), 600ms);
  rig.pass(200ms);
  EXPECT_FALSE(*told);
  rig.pass(200ms);
  ASSERT_TRUE(*told);
  EXPECT_EQ((*told)->error, Errc::timed_out);
  EXPECT_EQ((*told)->route.owner(), "p2");
  EXPECT_FALSE(*later);
  const auto now = wait(0, epoch(5), 0ms);
  ASSERT_TRUE(*now);
  EXPECT_EQ((*now)->error, Errc::timed_out);
}

TEST_F(Waiting, ends_when_the_reader_closes_and_none_begins_then) {
  const auto told = wait(0);
  rig.reader->drain(0ms, [] {});
  rig.poll();
  ASSERT_TRUE(*told);
  EXPECT_EQ((*told)->error, Errc::closed);
  const auto late = wait(0);
  ASSERT_TRUE(*late);
  EXPECT_EQ((*late)->error, Errc::closed);
}

TEST_F(Waiting, is_cancelled_by_its_handlers_slot_once) {
  boost::asio::cancellation_signal signal;
  std::optional<boost::system::error_code> told;
  wait_until_routed(*rig.reader, Slot{0}, kNoEpoch, 10s,
                    boost::asio::bind_executor(
                        *rig.io, boost::asio::bind_cancellation_slot(
                                     signal.slot(), [&](boost::system::error_code error, Route) {
                                       EXPECT_FALSE(told);
                                       told = error;
                                     })));
  rig.poll();
  EXPECT_FALSE(told);
  signal.emit(boost::asio::cancellation_type::terminal);
  rig.poll();
  EXPECT_EQ(told, boost::asio::error::operation_aborted);
  signal.emit(boost::asio::cancellation_type::terminal);
  leads(5);
}

TEST(WaitingUntilReady, is_cancelled_by_its_handlers_slot_once) {
  ReaderRig rig;
  rig.reader->start();  // it has read nothing yet
  rig.poll();
  boost::asio::cancellation_signal signal;
  std::optional<boost::system::error_code> told;
  wait_until_ready(*rig.reader, boost::asio::bind_executor(
                                    *rig.io, boost::asio::bind_cancellation_slot(
                                                 signal.slot(), [&](boost::system::error_code e) {
                                                   EXPECT_FALSE(told);
                                                   told = e;
                                                 })));
  rig.poll();
  EXPECT_FALSE(told);
  signal.emit(boost::asio::cancellation_type::terminal);
  rig.poll();
  EXPECT_EQ(told, boost::asio::error::operation_aborted);
  signal.emit(boost::asio::cancellation_type::terminal);
  for (std::uint32_t l = 0; l < 2; ++l) {
    rig.event(TailStarted{Log{l}, 10, 10, Below::expired});
  }
  rig.lead_all();  // now it would be ready
}

TEST_F(Waiting, is_counted_by_how_it_ended) {
  leads(5);
  static_cast<void>(wait(0));
  static_cast<void>(wait(0, epoch(5), 0ms));
  static_cast<void>(wait(2));
  const RouteWaiters::Id cancelled = rig.reader->next_wait_id();
  rig.reader->wait_for_route(cancelled, Slot{2}, kNoEpoch, 10s, [](auto, const Route&) {});
  rig.poll();
  EXPECT_EQ(rig.reader->waiters(), 2u);
  rig.reader->cancel_wait(cancelled);
  rig.reader->drain(0ms, [] {});
  rig.poll();
  const Meter& meter = rig.reader->meter();
  EXPECT_EQ(meter.count(Count::waits_answered), 1u);
  EXPECT_EQ(meter.count(Count::waits_timed_out), 1u);
  EXPECT_EQ(meter.count(Count::waits_cancelled), 1u);
  EXPECT_EQ(meter.count(Count::waits_closed), 1u);
  EXPECT_EQ(meter.count(Count::waits_refused), 0u);
  EXPECT_EQ(rig.reader->waiters(), 0u);
}

TEST(RouteWaiters, no_more_wait_than_may) {
  RouteWaiters waiters(2);
  waiters.add(1, Partition{0}, {Slot{0}, kNoEpoch, kNever, {}});
  EXPECT_FALSE(waiters.full());
  waiters.add(2, Partition{1}, {Slot{1}, kNoEpoch, kNever, {}});
  EXPECT_TRUE(waiters.full());
  static_cast<void>(waiters.take(1));
  EXPECT_FALSE(waiters.full());
}

TEST(RouteWaiters, the_earliest_deadline_of_those_that_still_wait_counts) {
  RouteWaiters waiters(10);
  EXPECT_EQ(waiters.next_deadline(), kNever);
  for (RouteWaiters::Id id = 1; id <= 3; ++id) {
    waiters.add(id, Partition{0}, {Slot{0}, kNoEpoch, LocalTime{10s - id * 1s}, {}});
  }
  EXPECT_EQ(waiters.next_deadline(), LocalTime{7s});
  static_cast<void>(waiters.take(3));
  EXPECT_EQ(waiters.next_deadline(), LocalTime{8s});
  EXPECT_EQ(waiters.take_late(LocalTime{8s}).size(), 1u);
  EXPECT_EQ(waiters.next_deadline(), LocalTime{9s});
  EXPECT_EQ(waiters.size(), 1u);
}

TEST(RouteWaiters, a_hundred_thousand_come_and_go_and_nothing_stays) {
  RouteWaiters waiters(1'000'000);
  for (RouteWaiters::Id id = 0; id < 100'000; ++id) {
    waiters.add(id, Partition{7}, {Slot{7}, kNoEpoch, LocalTime{(id + 1) * 1s}, {}});
  }
  for (RouteWaiters::Id id = 0; id < 100'000; ++id) {
    EXPECT_EQ(waiters.take(id).slot, Slot{7});
  }
  EXPECT_TRUE(waiters.empty());
  EXPECT_EQ(waiters.next_deadline(), kNever);
  int looked = 0;
  const auto look = [&](Slot) {
    ++looked;
    return Route{};
  };
  EXPECT_TRUE(waiters.take_content(Partition{7}, look).empty());
  EXPECT_EQ(looked, 0);
}

// Their partition never changes, and their deadlines are far away.
TEST(RouteWaiters, those_that_come_and_go_one_by_one_leave_nothing_behind) {
  RouteWaiters waiters(10);
  const std::uint64_t before = testing_allocations::live_bytes();
  for (RouteWaiters::Id id = 0; id < 100'000; ++id) {
    waiters.add(id, Partition{7}, {Slot{7}, kNoEpoch, LocalTime{1h}, {}});
    static_cast<void>(waiters.take(id));
  }
  EXPECT_LT(testing_allocations::live_bytes(), before + 16'384) << "24 bytes each";
}

}  // namespace
}  // namespace neliroute
