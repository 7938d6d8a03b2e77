// A router while its ledger is silent ("Serving on" of docs/protocol.md).
#include <gtest/gtest.h>

#include <memory>
#include <neliroute/observer.h>

#include "router/owner/owning_reader.h"
#include "tests/unit/router/reader/reader_rig.h"

namespace neliroute {
namespace {

using namespace testing_reader;
using namespace testing_records;
using namespace std::chrono_literals;

struct Witness : Observer {
  void on_view(const ViewChange& change) override {
    for (const ChangedRoute& one : change.routes) stale[one.partition.value()] = one.route.stale;
  }
  bool stale[4]{};
};

// The ledger stores what is written, and gives nothing of it back.
struct Silent : ReaderRig {
  Silent() : ReaderRig(with_serve_stale()) {
    start();
    lead_all();
    ledger->hold_writes = true;
  }
  static ReaderRigOptions with_serve_stale() {
    ReaderRigOptions made;
    made.serve_stale = 60s;
    return made;
  }
  void wait(milliseconds time) {
    for (const LocalTime end = now + time; now < end;) pass(kLease / 10);
  }
};

TEST(OwnerServesOn, lookups_and_guards_go_on_and_observers_hear_that_it_is_stale) {
  Silent rig;
  const auto witness = std::make_shared<Witness>();
  rig.reader->observe(witness);
  rig.wait(5 * kLease);
  const Route route = rig.route(0);
  EXPECT_EQ(route.verdict, Verdict::local);
  EXPECT_TRUE(route.stale);
  EXPECT_TRUE(rig.owner->work()->begin(kZero, rig.now));
  EXPECT_TRUE(witness->stale[0]);
  EXPECT_EQ(rig.reader->meter().count(Count::stopped_lapsed), 0u);
}

TEST(OwnerServesOn, a_lease_after_it_has_closed_every_answer_is_unknown_all_the_same) {
  Silent rig;
  rig.append(0, kB.leads(90, "0"));
  rig.wait(5 * kLease);
  rig.reader->abandon();
  rig.poll();
  rig.now += kLease;
  for (std::uint32_t p = 0; p < 4; ++p) EXPECT_EQ(rig.verdict(p), Verdict::unknown);
}

}  // namespace
}  // namespace neliroute
