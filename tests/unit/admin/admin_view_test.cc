// The view's JSON: how long it is, and what strangers write into it.
#include "admin/admin_view.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <memory>
#include <neliroute/clock.h>
#include <string>

#include "tests/unit/router/reader/reader_rig.h"

namespace neliroute::admin {
namespace {

using testing_reader::ReaderRig;

/// A view of any size, on a reader that is not asked.
struct Sized {
  Sized(std::uint32_t slots, std::uint32_t partitions)
      : view(Observable(rig.reader,
                        {{"self", "self:1", {}}, std::nullopt, "ledger", Lane{},
                         {"group", slots, partitions, 4, "xxh3", "non_exclusive"},
                         SlotSpace(SlotCount{slots}), std::nullopt, milliseconds{1000}})) {}

  /// Partition p is led by owner p % owners.
  void lead(std::uint32_t partitions, std::uint64_t owners, std::int64_t offset) {
    KeptChange change{1, 2, boot_now(), {}};
    for (std::uint32_t p = 0; p < partitions; ++p) {
      const std::uint64_t id = 1 + p % owners;
      ObservedRoute route;
      route.verdict = Verdict::remote;
      route.owner = std::make_shared<const Peer>(
          Peer{ProcessId{id}, {"process-" + std::to_string(id), "10.0.0.1:8080", {}}});
      route.epoch = {1'700'000'000'000, offset + p};
      route.since = boot_now();
      change.routes.push_back({Partition{p}, std::move(route)});
    }
    view.take(change);
  }

  ReaderRig rig;
  AdminView view;
};

TEST(AdminView, of_100000_slots_on_250_partitions_is_short) {
  Sized big(100'000, 250);
  big.lead(250, 10, 1'000'000'000);
  const std::string whole = big.view.whole(boot_now());
  EXPECT_LT(whole.size(), 16u * 1024);
  const auto json = boost::json::parse(whole).as_object();
  EXPECT_EQ(json.at("view").as_array().size(), 250u);
  EXPECT_EQ(json.at("processes").as_array().size(), 10u);
  EXPECT_EQ(json.at("ready"), true);
  const auto processes = boost::json::parse(big.view.processes(boot_now())).as_object();
  std::int64_t slots = 0;
  for (const auto& one : processes.at("processes").as_array()) {
    slots += one.as_object().at("slots").to_number<std::int64_t>();
    EXPECT_EQ(one.as_object().at("fair_slots").to_number<double>(), 10'000);
  }
  EXPECT_EQ(slots, 100'000);
}

TEST(AdminView, is_ready_once_no_slot_is_unknown) {
  Sized odd(10, 4);
  odd.lead(3, 1, 7);
  EXPECT_FALSE(odd.view.ready(boot_now()));
  EXPECT_EQ(boost::json::parse(odd.view.readiness(boot_now())).as_object().at("unknown"), 2)
      << "partition 3 carries slots 3 and 7";
  odd.lead(4, 1, 7);
  EXPECT_TRUE(odd.view.ready(boot_now()));
}

TEST(AdminView, quotes_what_processes_call_themselves) {
  Sized small(4, 4);
  const Peer odd{ProcessId{7}, {"a\"\xff", "</script>\n\n", {{"zone", "\xfe"}, {"\xff", "x"}}}};
  ObservedRoute route;
  route.verdict = Verdict::remote;
  route.owner = std::make_shared<const Peer>(odd);
  route.epoch = {1, 2};
  small.view.take({1, 2, boot_now(), {{Partition{1}, route}}});
  const std::string text = small.view.changes(boot_now());
  EXPECT_EQ(text.find('\n'), std::string::npos) << "which would end an event's line";
  const auto json = boost::json::parse(text).as_object();
  const auto process = json.at("processes").as_array()[0].as_object();
  EXPECT_EQ(process.at("name_base64"), "YSL/");
  EXPECT_EQ(process.at("endpoint"), "</script>\n\n");
  EXPECT_EQ(process.at("tags").as_object().at("zone_base64"), "/g==");
  EXPECT_FALSE(process.contains("name"));
}

TEST(AdminView, tells_again_who_says_something_new_of_itself) {
  Sized small(4, 4);
  small.lead(4, 2, 7);
  small.view.settle();
  EXPECT_FALSE(small.view.has_changed());
  ObservedRoute route;
  route.verdict = Verdict::remote;
  route.owner = std::make_shared<const Peer>(Peer{ProcessId{2}, {"new name", "b:1", {}}});
  small.view.take({3, 4, boot_now(), {{Partition{1}, route}}});
  const auto changed = boost::json::parse(small.view.changes(boot_now())).as_object();
  ASSERT_EQ(changed.at("processes").as_array().size(), 1u);
  EXPECT_EQ(changed.at("processes").as_array()[0].as_object().at("index"), 1);
  EXPECT_EQ(changed.at("processes").as_array()[0].as_object().at("name"), "new name");
}

}  // namespace
}  // namespace neliroute::admin
