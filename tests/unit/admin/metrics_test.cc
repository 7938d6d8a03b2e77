// Metrics: that they are those of docs/metrics.md, and that their numbers add up.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <neliroute/metrics.h>
#include <new>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/admin/admin_rig.h"
#include "tests/unit/admin/documented_metrics.h"

namespace neliroute {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using testing_admin::AdminRig;
using testing_admin::Client;
using testing_admin::kLongLease;
using testing_admin::writer;

using Values = std::map<std::string, double>;
const std::set<std::string> kCommon{"process", "group", "topic", "lane"};

/// Of one family: the values by the one label that is not common ("" if there is none).
Values values_of(const Metrics& metrics, const std::string& name) {
  Values values;
  for (const MetricFamily& family : metrics.Collect()) {
    if (family.name != "neliroute_" + name) continue;
    for (const ClientMetric& metric : family.metric) {
      std::string key;
      for (const auto& label : metric.label) {
        if (!kCommon.contains(label.name) || name == "process_slots") {
          if (key.empty()) key = label.value;
        }
      }
      const double value = family.type == MetricType::Counter ? metric.counter.value
                           : family.type == MetricType::Gauge ? metric.gauge.value
                           : static_cast<double>(metric.histogram.sample_count);
      EXPECT_TRUE(values.emplace(key, value).second) << name << " " << key << " twice";
    }
  }
  return values;
}

/// Of a histogram.
double sum_of_seconds(const Metrics& metrics, const std::string& name) {
  for (const MetricFamily& family : metrics.Collect()) {
    if (family.name == "neliroute_" + name) return family.metric.at(0).histogram.sample_sum;
  }
  ADD_FAILURE() << "there is no " << name;
  return 0;
}

double sum(const Values& values) {
  return std::accumulate(values.begin(), values.end(), 0.0,
                         [](double all, const auto& one) { return all + one.second; });
}

/// An owner of partition 0, beside others.
struct Measured : AdminRig {
  explicit Measured(bool watcher = false, milliseconds ago = {}) : AdminRig(watcher, {}, ago) {
    metrics = Metrics::make(observable(), {/*per_slot=*/true});
    poll();
    if (!watcher) assign("0");
    append(1, writer(3).leads(9, "1,3"));
  }
  std::shared_ptr<Metrics> metrics;
};

TEST(Metrics, are_those_that_are_documented) {
  const Measured rig;
  // Those of a proxy and of a voter have tests of their own.
  testing_admin::expect_documented(rig.metrics->Collect(), kCommon, "neliroute_",
                                   {"neliroute_proxy_", "neliroute_voter_"});
}

TEST(Metrics, of_a_watcher_are_those_not_marked_as_a_members) {
  std::ifstream file(NELIROUTE_METRICS_DOC);
  std::set<std::string> members;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `neliroute_") && line.find("Member |") != std::string::npos) {
      members.insert(testing_admin::split(line, '|').at(1));
    }
  }
  std::set<std::string> all;
  const Measured owner;
  for (const MetricFamily& family : owner.metrics->Collect()) all.insert(family.name);
  const Measured watcher(/*watcher=*/true);
  for (const MetricFamily& family : watcher.metrics->Collect()) {
    EXPECT_FALSE(members.contains(family.name)) << family.name;
    all.erase(family.name);
  }
  EXPECT_EQ(all, members);
}

TEST(Metrics, sum_up_to_the_number_of_slots) {
  Measured rig;
  const Values view = values_of(*rig.metrics, "view_slots");
  EXPECT_EQ(view, (Values{{"local", 16}, {"remote", 32}, {"unowned", 0}, {"unknown", 16}}));
  EXPECT_EQ(values_of(*rig.metrics, "slots"),
            (Values{{"owned", 16}, {"looking", 0}, {"draining", 0}}));
  EXPECT_EQ(values_of(*rig.metrics, "process_slots"), (Values{{"self", 16}, {"p3", 32}}));
  EXPECT_EQ(sum(values_of(*rig.metrics, "slot_led")), 16);
  EXPECT_EQ(values_of(*rig.metrics, "processes"),
            (Values{{"owning", 2}, {"draining", 0}, {"coming", 0}}));
  EXPECT_EQ(values_of(*rig.metrics, "ready"), (Values{{"", 0}}));
  rig.revoke("0");
  EXPECT_EQ(values_of(*rig.metrics, "slots"),
            (Values{{"owned", 0}, {"looking", 0}, {"draining", 16}}));
  EXPECT_EQ(sum(values_of(*rig.metrics, "view_slots")), 64);
}

TEST(Metrics, tell_what_waits_for_its_claim_as_looking) {
  Measured rig;
  rig.ledger->hold_writes = true;
  rig.assign("2");
  EXPECT_EQ(values_of(*rig.metrics, "slots"),
            (Values{{"owned", 16}, {"looking", 16}, {"draining", 0}}));
}

TEST(Metrics, count_lookups_of_the_application_and_no_others) {
  Measured rig;
  const auto before = values_of(*rig.metrics, "lookups_total");
  EXPECT_EQ(sum(before), 0) << "the admin port, the strand and this scrape look, too";
  static_cast<void>(rig.route(0));
  static_cast<void>(rig.route(1));
  static_cast<void>(rig.route(1));
  static_cast<void>(rig.route(2));
  EXPECT_EQ(values_of(*rig.metrics, "lookups_total"),
            (Values{{"local", 1}, {"remote", 2}, {"unowned", 0}, {"unknown", 1}}));
}

TEST(Metrics, count_admissions_and_callers_that_wait_for_an_owner) {
  Measured rig;
  EXPECT_EQ(sum(values_of(*rig.metrics, "admissions_total")), 0);
  for (const Admit answer : {Admit::serve, Admit::redirect, Admit::redirect, Admit::refuse}) {
    rig.reader->view().count(answer);
  }
  EXPECT_EQ(values_of(*rig.metrics, "admissions_total"),
            (Values{{"serve", 1}, {"redirect", 2}, {"wait", 0}, {"refuse", 1}}));
  for (const std::uint32_t slot : {1U, 2U}) {
    rig.reader->wait_for_route(rig.reader->next_wait_id(), Slot{slot}, kNoEpoch, kLongLease,
                               [](boost::system::error_code, const Route&) {});
  }
  rig.poll();
  EXPECT_EQ(values_of(*rig.metrics, "waiters"), (Values{{"", 1}})) << "the other slot has an owner";
  EXPECT_EQ(values_of(*rig.metrics, "waits_total"),
            (Values{{"answered", 1},
                    {"timed_out", 0},
                    {"cancelled", 0},
                    {"closed", 0},
                    {"refused", 0}}));
}

TEST(Metrics, count_what_the_protocol_does) {
  Measured rig;
  EXPECT_EQ(values_of(*rig.metrics, "acquisitions_total"), (Values{{"", 1}}));
  EXPECT_EQ(values_of(*rig.metrics, "claim_round_trip_seconds"), (Values{{"", 1}}));
  EXPECT_EQ(values_of(*rig.metrics, "rebalances_total"),
            (Values{{"assigned", 1}, {"revoked", 0}, {"lost", 0}}));
  EXPECT_EQ(values_of(*rig.metrics, "writes_total").at("failed"), 0);
  EXPECT_GE(values_of(*rig.metrics, "writes_total").at("stored"), 2) << "claim and renewal";
  EXPECT_GE(values_of(*rig.metrics, "records_total").at("own"), 2);
  EXPECT_EQ(values_of(*rig.metrics, "records_total").at("other"), 1);
  rig.event(WriteFailed{4711});
  EXPECT_EQ(values_of(*rig.metrics, "writes_total").at("failed"), 1);
  const Decoded nonsense = Ignored::not_json;
  rig.event(Received{Log{1}, 11, BrokerTime{milliseconds{testing_records::kInc}}, true, &nonsense});
  const Decoded heartbeat = decode_record({});
  rig.event(
      Received{Log{1}, 12, BrokerTime{milliseconds{testing_records::kInc}}, true, &heartbeat});
  rig.append(0, writer(3).leads(1, "0"));
  const auto ignored = values_of(*rig.metrics, "records_ignored_total");
  EXPECT_EQ(ignored.at("not_json"), 1);
  EXPECT_EQ(ignored.at("empty"), 1) << "a process of variation broadcast writes such";
  EXPECT_EQ(ignored.at("stale"), 1) << "of an epoch below the own";
  rig.event(GapFound{Log{0}, GapReason::truncated});
  EXPECT_EQ(values_of(*rig.metrics, "stops_total").at("gap"), 1);
  EXPECT_EQ(values_of(*rig.metrics, "log_gaps_total"), (Values{{"", 1}}));
}

TEST(Metrics, measure_how_close_a_renewal_came_to_the_end_of_the_lease) {
  Measured rig;
  const auto before = values_of(*rig.metrics, "lease_margin_seconds").at("");
  rig.now += std::chrono::seconds{61};  // the interval is 60 s
  ASSERT_TRUE(rig.run_until([&] {
    rig.event(LogPosition{Log{0}, static_cast<std::int64_t>(rig.ledger->written[0].size())});
    return values_of(*rig.metrics, "lease_margin_seconds").at("") > before;
  }));
}

TEST(Metrics, tell_what_the_group_assigned_and_how_long_that_took) {
  Measured rig;
  EXPECT_EQ(values_of(*rig.metrics, "assigned_partitions"), (Values{{"", 1}}));
  EXPECT_EQ(values_of(*rig.metrics, "rebalance_duration_seconds"), (Values{{"", 1}}));
  const double before = values_of(*rig.metrics, "last_rebalance_timestamp_seconds").at("");
  rig.now += std::chrono::seconds{1};
  rig.keep_tokens = true;
  rig.listen();
  rig.revoke("0");
  EXPECT_EQ(values_of(*rig.metrics, "assigned_partitions"), (Values{{"", 0}}));
  EXPECT_EQ(values_of(*rig.metrics, "rebalance_duration_seconds"), (Values{{"", 1}}))
      << "what is taken back is not waited for";
  EXPECT_NEAR(values_of(*rig.metrics, "last_rebalance_timestamp_seconds").at(""), before + 1, 0.1);
  rig.ledger->hold_writes = true;
  const auto claim = static_cast<std::int64_t>(rig.ledger->written[0].size());
  rig.assign("2");
  EXPECT_EQ(values_of(*rig.metrics, "assigned_partitions"), (Values{{"", 1}}));
  EXPECT_EQ(values_of(*rig.metrics, "rebalance_duration_seconds"), (Values{{"", 1}}));
  const double seconds = sum_of_seconds(*rig.metrics, "rebalance_duration_seconds");
  rig.now += std::chrono::seconds{3};
  rig.ledger->hold_writes = false;
  for (auto offset = claim; offset < static_cast<std::int64_t>(rig.ledger->written[0].size());
       ++offset) {
    rig.read_back(0, offset);
  }
  EXPECT_EQ(values_of(*rig.metrics, "rebalance_duration_seconds"), (Values{{"", 2}}));
  EXPECT_NEAR(sum_of_seconds(*rig.metrics, "rebalance_duration_seconds"), seconds + 3, 0.1);
}

TEST(Metrics, tell_what_librdkafka_tells) {
  const Measured rig;
  EXPECT_EQ(values_of(*rig.metrics, "kafka_requests_total"),
            (Values{{"producer", 7}, {"tail", 7}, {"group", 7}}));
  EXPECT_EQ(values_of(*rig.metrics, "kafka_brokers_up"),
            (Values{{"producer", 1}, {"tail", 1}, {"group", 1}}));
  EXPECT_EQ(values_of(*rig.metrics, "kafka_unsent_records"), (Values{{"", 3}}));
  EXPECT_EQ(values_of(*rig.metrics, "kafka_unread_records"), (Values{{"", 5}}));
  EXPECT_EQ(values_of(*rig.metrics, "kafka_group_joined"), (Values{{"", 1}}));
  EXPECT_EQ(values_of(*rig.metrics, "kafka_round_trip_median_seconds").at("tail"), 0.0005);
  EXPECT_EQ(values_of(*rig.metrics, "kafka_round_trip_p99_seconds").at("group"), 0.0009);
}

TEST(Metrics, tell_how_a_store_does_that_is_no_kafka) {
  const Measured rig;
  EXPECT_EQ(values_of(*rig.metrics, "ledger_requests_total"), (Values{{"", 5}}));
  EXPECT_EQ(values_of(*rig.metrics, "ledger_errors_total"),
            (Values{{"unanswered", 2}, {"refused", 1}}));
  EXPECT_EQ(values_of(*rig.metrics, "ledger_round_trip_seconds"), (Values{{"", 2}}));
  EXPECT_GE(sum_of_seconds(*rig.metrics, "ledger_round_trip_seconds"), 0.04);
  EXPECT_LT(values_of(*rig.metrics, "ledger_silence_seconds").at(""), 3600);
  EXPECT_EQ(values_of(*rig.metrics, "ledger_unsent_records"), (Values{{"", 3}}));
}

TEST(Metrics, tell_when_the_ledger_is_silent) {
  Measured rig;
  EXPECT_EQ(values_of(*rig.metrics, "ledger_answering"), (Values{{"", 1}}));
  // Their clock is the machine's; the reader's was turned back by more than a lease.
  Measured silent(/*watcher=*/true, /*ago=*/testing_admin::kLongLease * 2);
  EXPECT_EQ(values_of(*silent.metrics, "ledger_answering"), (Values{{"", 0}}));
  EXPECT_GE(values_of(*silent.metrics, "view_age_seconds").at(""), 1200);
  EXPECT_EQ(values_of(*silent.metrics, "view_slots").at("unknown"), 64);
}

TEST(Metrics, of_a_watcher_have_the_mode_that_it_has_heard_of) {
  const auto mode_of = [](const Metrics& metrics) -> std::string {
    for (const MetricFamily& family : metrics.Collect()) {
      if (family.name != "neliroute_info") continue;
      for (const auto& label : family.metric.at(0).label) {
        if (label.name == "mode") return label.value;
      }
    }
    return "";
  };
  Measured rig(/*watcher=*/true);
  EXPECT_EQ(mode_of(*rig.metrics), "non_exclusive");
  auto exclusive = writer(4);
  exclusive.mode = Mode::exclusive;
  rig.append(0, exclusive.claim("0"));
  EXPECT_EQ(mode_of(*rig.metrics), "non_exclusive") << "who only claims may have it wrong";
  rig.append(0, exclusive.leads(9, "0"));
  EXPECT_EQ(mode_of(*rig.metrics), "exclusive");
  Record stranger = exclusive.leads(10, "0");
  stranger.settings->mode = "made up";
  rig.append(0, stranger);
  EXPECT_EQ(mode_of(*rig.metrics), "exclusive") << "of which it makes no label";
}

TEST(Metrics, are_served_as_text) {
  Measured rig;
  Client client(rig);
  const auto answer = client.get("/metrics");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.field("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(answer.body.find("# TYPE neliroute_view_slots gauge\n"), std::string::npos);
  EXPECT_NE(answer.body.find(R"(neliroute_process_slots{process="p3",group="group",)"
                             R"(topic="ledger",lane="0"} 32)"),
            std::string::npos)
      << answer.body;
}

TEST(Metrics, stand_beside_what_else_is_to_be_served) {
  struct Another : prometheus::Collectable {
    std::vector<MetricFamily> Collect() const override {
      MetricFamily family;
      family.name = "quotes_total";
      family.type = MetricType::Counter;
      family.metric.emplace_back();
      return {family};
    }
  };
  Measured rig;
  const auto another = std::make_shared<Another>();
  AdminOptions wanted;
  wanted.collectables = {another};
  auto opened = AdminServer::open(rig.io->get_executor(), rig.observable(), wanted);
  ASSERT_TRUE(opened);
  rig.server = std::move(*opened);
  Client client(rig);
  const std::string text = client.get("/metrics").body;
  EXPECT_NE(text.find("\nquotes_total 0\n"), std::string::npos);
  EXPECT_NE(text.find("neliroute_info"), std::string::npos);
}

template <class Thrown>
struct Throwing : prometheus::Collectable {
  std::vector<MetricFamily> Collect() const override { throw Thrown{}; }
};

TEST(Metrics, that_throw_anything_are_answered_with_an_error_and_end_nothing) {
  struct Unknown {};
  Measured rig;
  const std::shared_ptr<prometheus::Collectable> all[] = {
      std::make_shared<Throwing<std::bad_alloc>>(), std::make_shared<Throwing<Unknown>>()};
  for (const auto& throwing : all) {
    AdminOptions wanted;
    wanted.collectables = {throwing};
    auto opened = AdminServer::open(rig.io->get_executor(), rig.observable(), wanted);
    ASSERT_TRUE(opened);
    rig.server = std::move(*opened);
    Client client(rig);
    for (int i = 0; i < 2; ++i) {
      const auto answer = client.get("/metrics");
      EXPECT_EQ(answer.status, 500u);
      EXPECT_NE(answer.json().at("error").as_string().find("could not be answered"),
                std::string::npos);
    }
    EXPECT_EQ(client.get("/healthz").status, 200u);
  }
}

}  // namespace
}  // namespace neliroute
