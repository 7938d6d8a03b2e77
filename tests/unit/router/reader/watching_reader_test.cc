// The reader of a process that owns nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "router/owner/owning_reader.h"
#include "tests/world/memory_log.h"
#include "tests/unit/router/reader/reader_rig.h"

namespace neliroute {
namespace {

using namespace testing_reader;
using namespace testing_records;
using namespace std::chrono_literals;

struct Watching : ReaderRig {
  explicit Watching(milliseconds lease = kLease)
      : ReaderRig({Mode::non_exclusive, /*watcher=*/true, lease}) {
    start();
  }
  std::int64_t next(std::uint32_t log) const {
    return static_cast<std::int64_t>(ledger->written[log].size());
  }
};

TEST(WatchingReader, sees_owners_and_writes_nothing) {
  Watching rig;
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
  const std::int64_t claim = rig.append(0, kB.claim("0"));
  rig.append(0, kB.leads(claim, "0"));
  EXPECT_EQ(rig.route(0).owner(), "p2");
  EXPECT_EQ(rig.route(0).epoch, epoch(claim));
  rig.pass(999ms);
  EXPECT_EQ(rig.verdict(0), Verdict::remote);
  rig.pass(1ms, 0);
  EXPECT_EQ(rig.verdict(0), Verdict::unowned);
  EXPECT_EQ(rig.route(0).unowned_since, rig.now);
  EXPECT_EQ(rig.verdict(2), Verdict::unowned) << "T* has passed, and the log answers";
  EXPECT_EQ(rig.story, Story{});
}

TEST(WatchingReader, says_which_partitions_changed_after_readers_can_see_it) {
  Watching rig;
  Story changes;
  rig.watching->set_change_handler([&](Partition p) {
    changes.push_back(std::to_string(p.value()) + " " + std::string(rig.route(p.value()).owner()));
  });
  rig.poll();
  EXPECT_EQ(changes, (Story{"0 ", "1 ", "2 ", "3 "})) << "what holds when it begins to listen";
  changes.clear();
  rig.append(0, kB.leads(9, "0,2"));
  rig.append(0, kB.leads(9, "0,2"));
  rig.append(0, kB.release(9, "2"));
  EXPECT_EQ(changes, (Story{"0 p2", "2 p2", "2 "}));
}

TEST(WatchingReader, says_so_when_time_alone_changes_the_answer) {
  Watching rig;
  std::set<std::uint32_t> changes;
  rig.append(0, kB.leads(9, "0"));
  rig.watching->set_change_handler([&](Partition p) { changes.insert(p.value()); });
  rig.poll();
  EXPECT_EQ(rig.verdict(2), Verdict::unknown);
  rig.pass(900ms);
  rig.append(0, kB.leads(9, "0"));
  changes.clear();
  rig.pass(100ms, 0);
  EXPECT_EQ(rig.verdict(2), Verdict::unowned) << "T has passed, and nobody spoke of it";
  EXPECT_EQ(changes, (std::set<std::uint32_t>{1, 2, 3})) << "0 has an owner";
  changes.clear();
  rig.now += 1001ms;
  EXPECT_TRUE(rig.run_until([&] { return changes.size() == 4; }));
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
  EXPECT_EQ(rig.verdict(2), Verdict::unknown);
}

TEST(WatchingReader, restarts_the_tail_after_a_gap) {
  Watching rig;
  rig.append(0, kB.leads(9, "0"));
  rig.append(1, kB.leads(9, "1"));
  rig.event(GapFound{Log{0}, GapReason::replaced});
  EXPECT_TRUE(rig.told("restart_tail 0"));
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
  EXPECT_EQ(rig.verdict(1), Verdict::remote);
  ASSERT_EQ(rig.notices.size(), 1u);
  EXPECT_EQ(rig.notices[0].severity, Severity::error);
  EXPECT_EQ(rig.notices[0].text.find("log 0: another log is in its place"), 0u);
  rig.event(tail_at(Log{0}, 11, 11));
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
  rig.append(0, kB.leads(9, "0"));
  EXPECT_EQ(rig.verdict(0), Verdict::remote);
}

TEST(WatchingReader, asks_a_silent_log_early_enough_for_the_answer_to_come_in_time) {
  Watching rig;
  rig.pass(1s, 0);
  rig.pass(0ms, 1);
  rig.ledger->rereads.clear();
  // Log 1 chatters, log 0 is idle; every question is answered 200 ms later.
  std::deque<std::pair<LocalTime, RereadRequest>> asked;
  int questions = 0;
  for (int step = 0; step < 1000; ++step) {
    rig.pass(7ms, 1);
    for (const RereadRequest& request : std::exchange(rig.ledger->rereads, {})) {
      EXPECT_EQ(request.log, Log{0});
      EXPECT_EQ(request.offset, -1);
      asked.emplace_back(rig.now + 200ms, request);
      ++questions;
    }
    while (!asked.empty() && asked.front().first <= rig.now) {
      const RereadRequest request = asked.front().second;
      asked.pop_front();
      rig.event(Reread{request.log, request.question, -1, std::nullopt});
    }
    ASSERT_EQ(rig.verdict(0), Verdict::unowned) << "step " << step;
  }
  EXPECT_LE(questions, 15) << "about two in T";
}

TEST(WatchingReader, asks_by_its_timer_too_and_a_log_that_does_not_answer_becomes_unknown) {
  Watching rig;
  rig.pass(1s, 0);
  EXPECT_EQ(rig.verdict(0), Verdict::unowned);
  rig.now += 600ms;
  EXPECT_TRUE(rig.run_until([&] { return !rig.ledger->rereads.empty(); }));
  EXPECT_EQ(rig.verdict(0), Verdict::unowned);
  rig.now += 400ms;
  EXPECT_EQ(rig.verdict(0), Verdict::unknown) << "T without an answer";
  rig.event(Reread{Log{0}, rig.ledger->rereads.back().question, -1, std::nullopt});
  EXPECT_EQ(rig.verdict(0), Verdict::unowned);
}

TEST(WatchingReader, does_not_ask_a_log_whose_tail_has_not_started) {
  Watching rig;
  rig.event(GapFound{Log{0}, GapReason::missing});
  rig.ledger->rereads.clear();
  for (int step = 0; step < 20; ++step) rig.pass(100ms, 1);
  EXPECT_TRUE(std::none_of(rig.ledger->rereads.begin(), rig.ledger->rereads.end(),
                           [](const RereadRequest& r) { return r.log == Log{0}; }));
}

// Owners' settings, and what a watcher with other ones says and answers.
struct Differing : Watching {
  struct Witness : Observer {
    void on_view(const ViewChange& change) override {
      for (const ChangedRoute& one : change.routes) {
        seen[one.partition.value()] = one.route.verdict;
        next[one.partition.value()] = one.route.next ? one.route.next->info.name : "nobody";
      }
    }
    void on_failure(const Error&) override { failing = true; }
    void on_recovery() override { failing = false; }
    std::map<std::uint32_t, Verdict> seen;
    std::map<std::uint32_t, std::string> next;
    bool failing = false;
  };
  Differing() {
    watching->set_failure_handler([this](const Error& error) {
      heard.push_back(error.message());
      EXPECT_EQ(verdict(0), Verdict::unknown) << "readers see it before it is told";
    });
    watching->set_change_handler([this](Partition p) { changed.insert(p.value()); });
    reader->observe(witness);
    poll();
    changed.clear();
  }
  /// Who came first, with other slots.
  void first_comes() {
    Record other = Writer{1}.leads(9, "2");
    other.settings->slots = 32;
    append(0, other);
  }
  std::vector<std::string> heard;
  std::set<std::uint32_t> changed;
  std::shared_ptr<Witness> witness = std::make_shared<Witness>();
};

TEST(WatchingReader, a_watcher_may_stand_by_with_any_group_and_mode) {
  Differing rig;
  Record other = kB.leads(9, "0");
  other.settings->group = "another";
  other.settings->mode = "exclusive";
  rig.append(0, other);
  EXPECT_TRUE(rig.heard.empty());
  EXPECT_EQ(rig.route(0).owner(), "p2");
}

TEST(WatchingReader, with_settings_that_differ_nobody_waits_in_vain) {
  Differing rig;
  std::vector<boost::system::error_code> told;
  const auto wait = [&] {
    rig.reader->wait_for_route(
        rig.reader->next_wait_id(), Slot{0}, kNoEpoch, milliseconds{10'000},
        [&](boost::system::error_code error, const Route&) { told.push_back(error); });
    rig.poll();
  };
  wait();
  EXPECT_TRUE(told.empty());
  rig.first_comes();
  rig.poll();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0], Errc::settings_conflict);
  wait();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1], Errc::settings_conflict);
}

TEST(WatchingReader, with_settings_that_differ_it_says_so_and_names_nobody) {
  Differing rig;
  rig.append(0, kB.leads(9, "0"));
  rig.append(1, kB.claim("1"));
  ASSERT_EQ(rig.route(0).owner(), "p2");
  ASSERT_EQ(rig.route(1).next_owner(), "p2");
  ASSERT_EQ(rig.witness->next[1], "p2");
  rig.changed.clear();
  std::optional<boost::system::error_code> waited;
  rig.reader->when_ready(1, [&](boost::system::error_code error) { waited = error; });
  rig.poll();
  EXPECT_FALSE(waited) << "of 2 and 3 nobody spoke yet";
  rig.first_comes();
  EXPECT_EQ(waited, make_error_code(Errc::settings_conflict));
  for (std::uint32_t p = 0; p < 4; ++p) {
    EXPECT_EQ(rig.verdict(p), Verdict::unknown);
    EXPECT_EQ(rig.route(p).next_owner(), "");
    EXPECT_EQ(rig.witness->seen[p], Verdict::unknown);
    EXPECT_EQ(rig.witness->next[p], "nobody");
  }
  EXPECT_TRUE(rig.changed.contains(0));
  EXPECT_TRUE(rig.witness->failing);
  ASSERT_EQ(rig.heard.size(), 1u);
  ASSERT_EQ(rig.notices.size(), 1u) << "who has no on_failure() must be told, too";
  EXPECT_EQ(rig.notices[0].severity, Severity::error);
  for (const char* words : {"slots is 64 here, but 32", "`slots` 32", "unknown"}) {
    EXPECT_NE(rig.notices[0].text.find(words), std::string::npos) << rig.notices[0].text;
  }
  std::optional<boost::system::error_code> ready;
  rig.reader->when_ready(2, [&](boost::system::error_code error) { ready = error; });
  rig.poll();
  EXPECT_EQ(ready, make_error_code(Errc::settings_conflict));
  rig.pass(500ms, 0);
  rig.first_comes();
  rig.append(0, kB.leads(9, "0"));
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
  EXPECT_EQ(rig.verdict(3), Verdict::unknown);
  EXPECT_EQ(rig.heard.size(), 1u);
  EXPECT_EQ(rig.notices.size(), 1u) << "it is told once";
}

TEST(WatchingReader, who_asks_late_hears_that_settings_differ) {
  Differing rig;
  rig.first_comes();
  std::vector<Errc> late;
  rig.watching->set_failure_handler([&](const Error& error) { late.push_back(error.code()); });
  rig.poll();
  EXPECT_EQ(late, std::vector{Errc::settings_conflict});
}

TEST(WatchingReader, once_abandoned_no_handler_is_called) {
  Differing rig;
  rig.append(0, kB.leads(9, "0"));
  ASSERT_TRUE(rig.changed.contains(0));
  rig.changed.clear();
  // It waits in the executor when the Watcher is destroyed, and runs before the end does.
  const Event gap = GapFound{Log{0}, GapReason::truncated};
  boost::asio::post(*rig.io, [&] { rig.ledger->events(gap, rig.now); });
  rig.let_go();
  rig.poll();
  EXPECT_TRUE(rig.ledger->closed);
  EXPECT_TRUE(rig.changed.empty());
  EXPECT_TRUE(rig.heard.empty());
}

TEST(WatchingReader, once_abandoned_it_tells_no_failure) {
  Differing rig;
  Record other = Writer{1}.leads(9, "2");
  other.settings->slots = 32;
  const Decoded value = other;
  const auto offset = static_cast<std::int64_t>(rig.ledger->written[0].size());
  boost::asio::post(*rig.io, [&] {
    rig.ledger->events(Received{Log{0}, offset, rig.stamp(), true, &value}, rig.now);
  });
  rig.let_go();
  rig.poll();
  EXPECT_TRUE(rig.ledger->closed);
  EXPECT_TRUE(rig.heard.empty());
}

// A group that was stopped and started again with other settings is not two groups.
TEST(WatchingReader, settings_of_who_wrote_before_it_started_count_for_nothing) {
  ReaderRig rig({Mode::non_exclusive, /*watcher=*/true});
  rig.reader->start();
  rig.poll();
  Record gone = Writer{1}.leads(9, "2");
  gone.settings->slots = 32;
  for (std::uint32_t l = 0; l < 2; ++l) rig.event(tail_at(Log{l}, 10, 11));
  EXPECT_EQ(rig.append(0, gone), 10) << "in the history";
  rig.append(0, kB.leads(9, "0"));
  EXPECT_EQ(rig.route(0).owner(), "p2");
  EXPECT_TRUE(rig.notices.empty());
}

TEST(WatchingReader, it_answers_again_by_itself_when_settings_agree) {
  Differing rig;
  rig.first_comes();
  rig.pass(999ms, 0);
  rig.append(0, kB.leads(9, "0"));
  EXPECT_EQ(rig.verdict(0), Verdict::unknown) << "who came first may live yet";
  rig.changed.clear();
  rig.pass(1ms, 0);
  EXPECT_EQ(rig.route(0).owner(), "p2");
  EXPECT_EQ(rig.verdict(2), Verdict::unowned);
  EXPECT_EQ(rig.witness->seen[0], Verdict::remote);
  EXPECT_TRUE(rig.changed.contains(0));
  EXPECT_FALSE(rig.witness->failing);
  ASSERT_EQ(rig.notices.size(), 2u);
  EXPECT_EQ(rig.notices[1].severity, Severity::info);
  std::optional<boost::system::error_code> ready;
  rig.reader->when_ready(1, [&](boost::system::error_code error) { ready = error; });
  rig.poll();
  EXPECT_FALSE(ready) << "log 1 has not been heard for long enough";
  rig.pass(0ms, 1);
  EXPECT_EQ(ready, boost::system::error_code{});
  rig.first_comes();
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
  EXPECT_EQ(rig.heard.size(), 2u);
}

TEST(WatchingReader, takes_the_lease_from_the_owners) {
  Watching rig(9s);
  EXPECT_EQ(rig.reader->lease(), 9s) << "until one of them tells it";
  rig.pass(1s, 0);
  rig.ledger->rereads.clear();
  rig.append(0, Writer{2, "p2", Mode::non_exclusive, 400ms}.leads(9, "0"));
  EXPECT_EQ(rig.reader->lease(), 400ms);
  EXPECT_EQ(rig.verdict(2), Verdict::unowned) << "followed for longer than that";
  ASSERT_EQ(rig.ledger->rereads.size(), 1u) << "and is asked by the new measure";
  EXPECT_EQ(rig.ledger->rereads[0].log, Log{1});
  rig.now += 399ms;
  EXPECT_EQ(rig.verdict(2), Verdict::unowned);
  rig.now += 1ms;
  EXPECT_EQ(rig.verdict(2), Verdict::unknown) << "no answer for T";
}

// A record that is wrong, or made up.
TEST(WatchingReader, a_lease_of_a_millisecond_makes_it_ask_no_more_often_than_one_of_100) {
  Watching rig;
  rig.append(0, Writer{2, "p2", Mode::non_exclusive, 1ms}.leads(9, "0"));
  EXPECT_EQ(rig.reader->lease(), 100ms);
  rig.ledger->rereads.clear();
  for (int ms = 0; ms < 1000; ++ms) rig.pass(1ms, 0);
  EXPECT_LE(rig.ledger->rereads.size(), 2u * 1000 / 50);
  EXPECT_GT(rig.ledger->rereads.size(), 0u);
}

TEST(WatchingReader, waits_for_the_longest_lease_that_owners_know_of) {
  Watching rig(9s);
  Record record = Writer{2, "p2", Mode::non_exclusive, 400ms}.leads(9, "0");
  record.max_lease = 2s;
  rig.append(0, record);
  rig.pass(1999ms, 0);
  EXPECT_EQ(rig.verdict(2), Verdict::unknown);
  rig.pass(1ms, 0);
  EXPECT_EQ(rig.verdict(2), Verdict::unowned);
}

TEST(WatchingReader, of_owners_leases_the_longest_counts_while_it_is_told) {
  Watching rig;
  const Writer shorter{2, "p2", Mode::non_exclusive, 400ms};
  const Writer longer{3, "p3", Mode::non_exclusive, 3s};
  rig.append(0, shorter.leads(9, "0"));
  rig.append(0, longer.leads(9, "2"));
  EXPECT_EQ(rig.reader->lease(), 3s);
  rig.pass(2999ms, 0);
  rig.append(0, shorter.leads(9, "0"));
  EXPECT_EQ(rig.reader->lease(), 3s);
  rig.pass(1ms, 0);
  rig.append(0, shorter.claim("1"));
  rig.append(0, shorter.looks(9, "0"));
  EXPECT_EQ(rig.reader->lease(), 3s) << "who does not lead yet may have it wrong";
  rig.append(0, shorter.leads(9, "0"));
  EXPECT_EQ(rig.reader->lease(), 400ms);
}

TEST(WatchingReader, closes_and_is_let_go) {
  Watching rig;
  rig.append(0, kB.leads(9, "0"));
  bool closed = false;
  rig.reader->drain(0ms, [&] { closed = true; });
  EXPECT_TRUE(rig.run_until([&] { return closed; }));
  EXPECT_EQ(rig.verdict(0), Verdict::unknown);
  EXPECT_EQ(rig.story, Story{"close"});
  rig.let_go();
  rig.poll();
  EXPECT_TRUE(rig.watched.expired());
  EXPECT_TRUE(rig.ledger->destroyed);
}

}  // namespace
}  // namespace neliroute
