// Callers that could not reach an owner, and lookups after they said so.
#include "router/reader/suspects.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/router/reader/reader_rig.h"

namespace neliroute {
namespace {

using namespace testing_reader;
using namespace testing_records;
using namespace std::chrono_literals;

using Endpoints = Suspects::Endpoints;

TEST(Suspects, are_taken_all_at_once_and_now_and_then) {
  Suspects suspects;
  EXPECT_EQ(suspects.due(), kNever);
  EXPECT_FALSE(suspects.add("", at_ms(1000))) << "nobody's";
  EXPECT_TRUE(suspects.add("a:1", at_ms(1000)));
  EXPECT_FALSE(suspects.add("b:1", at_ms(1001))) << "the strand was told";
  EXPECT_FALSE(suspects.add("a:1", at_ms(1002)));
  EXPECT_EQ(suspects.due(), at_ms(1000));
  EXPECT_EQ(suspects.take(at_ms(1003)), (Endpoints{"a:1", "b:1"}));
  EXPECT_EQ(suspects.due(), kNever);
  EXPECT_TRUE(suspects.add("a:1", at_ms(1004)));
  EXPECT_EQ(suspects.due(), at_ms(1103));
  EXPECT_EQ(suspects.take(at_ms(1102)), Endpoints{});
  EXPECT_FALSE(suspects.add("c:1", at_ms(1102))) << "and is to come again";
  EXPECT_EQ(suspects.take(at_ms(1103)), (Endpoints{"a:1", "c:1"}));
  EXPECT_EQ(suspects.take(at_ms(9000)), Endpoints{});
  EXPECT_TRUE(suspects.add("a:1", at_ms(9001)));
  EXPECT_EQ(suspects.due(), at_ms(9001)) << "long after the last ones: at once";
}

TEST(Suspects, no_more_endpoints_are_kept_than_there_may_be) {
  Suspects suspects;
  for (std::size_t i = 0; i <= Suspects::kMost; ++i) {
    static_cast<void>(suspects.add(std::to_string(i), at_ms(1000)));
  }
  EXPECT_EQ(suspects.take(at_ms(1000)).size(), Suspects::kMost);
  EXPECT_TRUE(suspects.add("one more", at_ms(1001)));
}

TEST(SuspectedOwners, are_marked_in_lookups_until_a_record_of_theirs_is_read) {
  ReaderRig rig({.watcher = true});
  rig.start();
  rig.append(0, kB.leads(9, "0"));
  EXPECT_FALSE(rig.route(0).suspected);
  rig.reader->suspect("p2:7000");
  rig.poll();
  EXPECT_EQ(rig.verdict(0), Verdict::remote) << "it may own the slot all the same";
  EXPECT_TRUE(rig.route(0).suspected);
  EXPECT_TRUE(rig.route(0).copy().suspected);
  rig.append(0, kB.leads(9, "0"));
  EXPECT_FALSE(rig.route(0).suspected);
}

/// p2 leads 0 and p3 leads 2. The first was reported, and soon afterwards the other.
struct ReportedSoonAfter : ReaderRig {
  ReportedSoonAfter() : ReaderRig({.watcher = true}) {
    start();
    append(0, kB.leads(9, "0"));
    append(0, Writer{3}.leads(30, "2"));
    for (const char* endpoint : {"p2:7000", "p3:7000"}) {
      reader->suspect(endpoint);
      poll();
    }
  }
};

// To look for what they own takes a look at each partition.
TEST(SuspectedOwners, that_are_reported_soon_after_others_are_marked_a_moment_later) {
  ReportedSoonAfter rig;
  EXPECT_TRUE(rig.route(0).suspected);
  EXPECT_FALSE(rig.route(2).suspected);
  rig.pass(Suspects::kQuiet);
  EXPECT_TRUE(rig.route(2).suspected);
}

// And where nothing else happens, a timer does.
TEST(SuspectedOwners, that_are_reported_soon_after_others_are_marked_without_an_event) {
  ReportedSoonAfter rig;
  rig.now += Suspects::kQuiet;
  EXPECT_TRUE(rig.run_until([&] { return rig.route(2).suspected; }));
}

TEST(SuspectedOwners, wake_nobody_who_waits_for_another_one) {
  ReaderRig rig({.watcher = true});
  rig.start();
  rig.append(0, kB.leads(9, "0"));
  int told = 0;
  rig.reader->wait_for_route(rig.reader->next_wait_id(), Slot{0}, epoch(9), 10s,
                             [&](boost::system::error_code, const Route&) { ++told; });
  rig.poll();
  rig.reader->suspect("p2:7000");
  rig.poll();
  EXPECT_EQ(told, 0);
  rig.append(0, Writer{3}.leads(30, "0"));
  EXPECT_EQ(told, 1);
}

TEST(SuspectedOwners, are_never_this_process) {
  ReaderRig rig;
  rig.start();
  rig.lead_all();
  rig.reader->suspect("self:7000");
  rig.poll();
  EXPECT_EQ(rig.verdict(0), Verdict::local);
  EXPECT_FALSE(rig.route(0).suspected);
}

TEST(SuspectedOwners, may_be_reported_after_the_reader_closed) {
  ReaderRig rig;
  rig.start();
  rig.reader->drain(0ms, [] {});
  rig.poll();
  rig.reader->suspect("p2:7000");
  rig.poll();
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
}

TEST(SuspectedOwners, that_are_reached_are_not_any_more_nor_become_it_by_an_earlier_report) {
  ReportedSoonAfter rig;
  for (const char* endpoint : {"p2:7000", "p3:7000"}) {
    rig.reader->reached(endpoint);
    rig.poll();
  }
  EXPECT_FALSE(rig.route(0).suspected);
  rig.pass(Suspects::kQuiet);
  EXPECT_FALSE(rig.route(2).suspected) << "it was reported before";
}

/// Nothing is read any more, and p2, the last owner of slot 0, says that p3 leads it.
struct ToldOfAnother : ReaderRig {
  ToldOfAnother() : ReaderRig(options_here()) {
    start();
    for (Record record : {kB.leads(9, "0"), Writer{3}.leads(30, "2")}) {
      record.serve_stale = 60s;
      append(0, record);
    }
    for (int i = 0; i < 10; ++i) pass(kLease / 4);
  }
  static ReaderRigOptions options_here() {
    ReaderRigOptions made;
    made.watcher = true;
    made.serve_stale = 60s;
    return made;
  }
};

TEST(StaleRoutes, are_moved_by_a_redirect_which_wakes_who_waits_for_another_owner) {
  ToldOfAnother rig;
  ASSERT_TRUE(rig.route(0).stale);
  Route told;
  rig.reader->wait_for_route(rig.reader->next_wait_id(), Slot{0}, epoch(9), 10s,
                             [&](boost::system::error_code, const Route& route) { told = route; });
  rig.poll();
  rig.reader->redirected(Slot{0}, "p3:7000", epoch(40));
  rig.poll();
  EXPECT_EQ(told.endpoint(), "p3:7000");
  EXPECT_EQ(told.epoch, epoch(40));
  EXPECT_TRUE(told.stale);
  EXPECT_EQ(rig.route(2).epoch, epoch(30)) << "what p3 owns by the log stays";
  rig.append(0, kB.leads(9, "0"));
  EXPECT_EQ(rig.route(0).endpoint(), "p2:7000") << "a record decides again";
  EXPECT_EQ(rig.route(0).epoch, epoch(9));
  EXPECT_FALSE(rig.route(0).stale);
}

TEST(StaleRoutes, may_be_redirected_and_reached_after_the_reader_closed) {
  ToldOfAnother rig;
  rig.reader->drain(0ms, [] {});
  rig.poll();
  rig.reader->redirected(Slot{0}, "p3:7000", epoch(40));
  rig.reader->reached("p2:7000");
  rig.poll();
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
}

}  // namespace
}  // namespace neliroute
