// What observers are notified of, beside the application.

#include <gtest/gtest.h>

#include <memory>
#include <neliroute/observable.h>
#include <neliroute/observer.h>
#include <string>
#include <vector>

#include "router/owner/owning_reader.h"
#include "tests/unit/router/reader/reader_rig.h"

namespace neliroute {
namespace {

using namespace testing_reader;
using namespace testing_records;
using namespace std::chrono_literals;

/// Keeps the view as it was reported, and a line for every call.
struct Witness : Observer {
  void on_view(const ViewChange& change) override {
    std::string line = "view";
    for (const ChangedRoute& one : change.routes) {
      routes[one.partition.value()] = one.route;
      line += " " + std::to_string(one.partition.value());
    }
    story.push_back(line);
    EXPECT_GE(change.version, version);
    version = change.version;
    digest = change.digest;
  }
  void on_transition(const Transition& t) override {
    story.push_back(std::string(to_string(t.kind)) + " " + std::to_string(t.partition.value()));
  }
  void on_failure(const Error& error) override { story.push_back(error.message()); }

  ObservedRoute routes[4];
  Story story;
  std::uint64_t version = 0;
  std::uint64_t digest = 0;
};

struct Watched : ReaderRig {
  explicit Watched(ReaderRigOptions of = {Mode::non_exclusive, /*watcher=*/true}) : ReaderRig(of) {
    start();
  }
  std::shared_ptr<Witness> join() {
    auto witness = std::make_shared<Witness>();
    reader->observe(witness);
    poll();
    return witness;
  }
  Observable observable() const {
    return {reader, {{}, std::nullopt, "t", Lane{}, settings(), SlotSpace(SlotCount{4}),
                     std::nullopt, kLease}};
  }
};

TEST(Observer, hears_of_everything_and_then_of_what_changes_in_one_call_each) {
  Watched rig;
  rig.append(0, kB.leads(9, "0"));
  const auto witness = rig.join();
  EXPECT_EQ(witness->story, Story{"view 0 1 2 3"});
  EXPECT_EQ(witness->routes[0].verdict, Verdict::remote);
  ASSERT_TRUE(witness->routes[0].owner);
  EXPECT_EQ(witness->routes[0].owner->id, ProcessId{2});
  EXPECT_EQ(witness->routes[0].epoch, epoch(9));
  EXPECT_EQ(witness->routes[0].lease, kLease);
  EXPECT_EQ(witness->routes[0].since, kLongAgo) << "it may have led for long";
  EXPECT_EQ(witness->routes[2].verdict, Verdict::unknown);
  rig.append(0, kB.leads(9, "0,2"));
  rig.append(0, kB.leads(9, "0,2"));
  EXPECT_EQ(witness->story, (Story{"view 0 1 2 3", "view 2"})) << "a renewal changes nothing";
  rig.append(0, kB.drains(9, "0,2"));
  EXPECT_EQ(witness->story.back(), "view 0 2");
  EXPECT_TRUE(witness->routes[2].draining);
}

TEST(Observer, knows_since_when_an_owner_is) {
  Watched rig;
  rig.append(0, kB.leads(9, "0"));
  const auto witness = rig.join();
  rig.now += 100ms;
  const std::int64_t claim = rig.append(0, Writer{3}.claim("0"));
  rig.append(0, Writer{3}.leads(claim, "0"));
  EXPECT_EQ(witness->routes[0].owner->id, ProcessId{3});
  EXPECT_EQ(witness->routes[0].since, rig.now);
  const LocalTime moved = rig.now;
  rig.now += 100ms;
  rig.append(0, Writer{3}.drains(claim, "0"));
  EXPECT_EQ(witness->routes[0].since, moved);
  rig.append(0, Writer{3}.release(claim, "0"));
  EXPECT_FALSE(witness->routes[0].owner);
  EXPECT_EQ(witness->routes[0].since, rig.now) << "nobody leads since then";
}

TEST(Observer, is_one_of_several_and_stands_beside_the_application) {
  Watched rig{ReaderRigOptions{}};
  auto first = rig.join();
  const auto second = rig.join();
  rig.listen();
  rig.assign("0");
  EXPECT_TRUE(rig.told("acquired 0 local"));
  EXPECT_EQ(first->routes[0].verdict, Verdict::local);
  EXPECT_EQ(first->routes[0].owner->id, ProcessId{kOwnId});
  EXPECT_EQ(first->routes[0].since, rig.now) << "of itself it knows";
  EXPECT_EQ(first->story, second->story);
  EXPECT_NE(std::find(first->story.begin(), first->story.end(), "acquired 0"),
            first->story.end());
  const std::weak_ptr<Witness> gone = first;
  first.reset();
  EXPECT_TRUE(gone.expired()) << "the reader keeps nobody";
  rig.revoke("0");
  EXPECT_TRUE(second->routes[0].draining);
}

TEST(Observer, of_an_owner_hears_that_a_log_fell_silent) {
  Watched rig{ReaderRigOptions{}};
  const auto witness = rig.join();
  rig.pass(kLease, 0);
  rig.pass(0ms, 1);
  EXPECT_EQ(witness->routes[1].verdict, Verdict::unowned);
  rig.now += kLease;
  EXPECT_TRUE(rig.run_until([&] { return witness->routes[1].verdict == Verdict::unknown; }));
  EXPECT_EQ(witness->routes[1].since, kLongAgo);
}

TEST(Observer, digests_are_equal_where_owners_and_epochs_are) {
  Watched one;
  Watched other{ReaderRigOptions{}};  // an owner that owns nothing
  const auto left = one.join();
  const auto right = other.join();
  EXPECT_EQ(left->digest, right->digest);
  const std::uint64_t empty = left->digest;
  one.append(0, kB.leads(9, "0,2"));
  other.append(0, kB.leads(9, "2"));
  EXPECT_NE(left->digest, right->digest);
  other.append(0, kB.leads(9, "0"));
  EXPECT_EQ(left->digest, right->digest) << "whatever the way there";
  other.append(0, kB.leads(8, "0"));
  EXPECT_EQ(left->digest, right->digest) << "stale";
  other.append(0, kB.release(9, "0,2"));
  EXPECT_EQ(right->digest, empty);
}

TEST(Observer, hears_why_the_process_gave_up_however_late_it_joins) {
  Watched rig;
  const auto early = rig.join();
  Record record = kB.leads(9, "0");
  record.settings->slots = 99;
  rig.append(0, record);
  ASSERT_EQ(early->story.size(), 2u) << "nobody is named while settings differ";
  EXPECT_NE(early->story[1].find("99"), std::string::npos) << early->story[1];
  const auto late = rig.join();
  EXPECT_EQ(late->story, (Story{"view 0 1 2 3", early->story[1]}));
}

TEST(Observable, tells_the_age_of_the_most_silent_log) {
  Watched rig;
  const Observable observable = rig.observable();
  EXPECT_EQ(observable.age(rig.now), 0ms);
  rig.pass(300ms, 0);
  EXPECT_EQ(observable.age(rig.now), 300ms) << "log 1 has not answered since";
  EXPECT_TRUE(observable.ledger_answers(rig.now));
  rig.pass(0ms, 1);
  EXPECT_EQ(observable.age(rig.now + 20ms), 20ms);
  rig.pass(kLease, 0);
  EXPECT_FALSE(observable.ledger_answers(rig.now));
}

TEST(Observable, tells_when_the_strand_does_not_run) {
  Watched rig;
  const Observable observable = rig.observable();
  rig.append(0, kB.leads(9, "0"));
  EXPECT_EQ(observable.overdue(rig.now), 0ms);
  EXPECT_EQ(observable.overdue(rig.now + kLease + 7s), 7s + kLease / 2) << "it was to ask at T/2";
  EXPECT_TRUE(observable.at_work(rig.now + kLease / 2 + 5s - 1us));
  EXPECT_FALSE(observable.at_work(rig.now + kLease / 2 + 5s));
  rig.let_go();
  rig.poll();
  EXPECT_TRUE(observable.closed());
  EXPECT_EQ(observable.overdue(rig.now + 1h), 0ms);
  EXPECT_FALSE(observable.at_work(rig.now));
}

TEST(Observable, looks_without_letting_go_of_what_a_caller_holds) {
  Watched rig;
  rig.append(0, kB.leads(9, "0"));
  const Observable observable = rig.observable();
  const Route held = rig.route(0);
  rig.append(0, Writer{3}.leads(99, "0"));
  EXPECT_EQ(observable.route(Slot{0}, rig.now).owner(), "p3");
  EXPECT_EQ(observable.route(Slot{0}, rig.now).epoch, epoch(99));
  EXPECT_EQ(held.owner(), "p2");
}

}  // namespace
}  // namespace neliroute
