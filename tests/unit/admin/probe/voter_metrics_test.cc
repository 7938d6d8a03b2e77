// A voter's metrics: that they are those of docs/metrics.md, and what becomes of what a voter says.
#include "metrics/voter_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "tests/unit/admin/documented_metrics.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using Values = std::map<std::string, double>;

struct MeasuredVoter {
  /// Of one family, by log; "": of the voter.
  [[nodiscard]] Values values(const std::string& name) const {
    Values values;
    for (const prometheus::MetricFamily& family : VoterMetrics(voter).Collect()) {
      if (family.name != "neliroute_voter_" + name) continue;
      for (const prometheus::ClientMetric& metric : family.metric) {
        std::string log;
        for (const auto& label : metric.label) {
          if (label.name == "log") log = label.value;
        }
        values[log] = family.type == prometheus::MetricType::Counter   ? metric.counter.value
                      : family.type == prometheus::MetricType::Gauge ? metric.gauge.value
                                                                     : metric.histogram.sample_sum;
      }
    }
    return values;
  }

  std::shared_ptr<VoterStatistics> voter =
      std::make_shared<VoterStatistics>("10.0.0.7:7100", "shop", 300ms, 2);
};

TEST(VoterMetrics, are_those_that_are_documented) {
  const MeasuredVoter rig;
  testing_admin::expect_documented(VoterMetrics(rig.voter).Collect(), {"voter", "topic"},
                                   "neliroute_voter_");
}

TEST(VoterMetrics, say_what_the_voter_says) {
  const MeasuredVoter rig;
  LogStatistics& log = rig.voter->logs[1];
  log.leads = log.is_led = log.counts = true;
  log.term = 7;
  log.leaders = 3;
  log.first = 100;
  log.committed = 140;
  log.end = 142;
  log.disk_bytes = 5'000;
  log.overdue = 1;
  log.clock_ahead = microseconds(1'500'000);
  rig.voter->stores.note(20ms);
  rig.voter->peers = 2;
  rig.voter->clients = 9;
  for (const char* name : {"leads", "log_led", "counts", "followers_overdue"}) {
    EXPECT_EQ(rig.values(name), (Values{{"0", 0}, {"1", 1}})) << name;
  }
  EXPECT_EQ(rig.values("term"), (Values{{"0", 0}, {"1", 7}}));
  EXPECT_EQ(rig.values("leader_changes_total"), (Values{{"0", 0}, {"1", 3}}));
  EXPECT_EQ(rig.values("committed_entries"), (Values{{"0", 0}, {"1", 140}}));
  EXPECT_EQ(rig.values("stored_entries"), (Values{{"0", 0}, {"1", 142}}));
  EXPECT_EQ(rig.values("kept_entries"), (Values{{"0", 0}, {"1", 42}}));
  EXPECT_EQ(rig.values("disk_bytes"), (Values{{"0", 0}, {"1", 5'000}}));
  EXPECT_EQ(rig.values("clock_ahead_seconds"), (Values{{"0", 0}, {"1", 1.5}}));
  EXPECT_EQ(rig.values("election_seconds"), (Values{{"", 0.3}}));
  EXPECT_EQ(rig.values("store_seconds"), (Values{{"", 0.02}}));
  EXPECT_EQ(rig.values("peers"), (Values{{"", 2}}));
  EXPECT_EQ(rig.values("clients"), (Values{{"", 9}}));
}

}  // namespace
}  // namespace neliroute
