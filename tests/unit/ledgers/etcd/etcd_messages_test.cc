// What is stored in an etcd, under which keys, and how its gateway's answers are read.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>

#include "base/base64.h"
#include "ledgers/etcd/etcd_identity.h"
#include "ledgers/etcd/etcd_json.h"
#include "ledgers/etcd/etcd_keys.h"
#include "neli_core/record/record.h"

namespace neliroute {
namespace {

using namespace std::string_literals;

boost::json::object object_of(const std::string& text) {
  return boost::json::parse(text).as_object();
}

TEST(EtcdKeysTest, NewerRecordsOfAKindTakeThePlaceOfOlderOnes) {
  const EtcdKeys keys("shop");
  EXPECT_EQ(keys.identity(), "shop/id");
  EXPECT_EQ(keys.begun(Log{3}), "shop/begun/3");
  EXPECT_EQ(keys.writer(ProcessId{0xab}), "shop/writer/00000000000000ab");
  EXPECT_EQ(keys.record(Log{3}, ProcessId{0xab}, "renewal", 1),
            "shop/log/3/00000000000000ab/renewal/1");
  EXPECT_EQ(keys.lasting_record(Log{3}, ProcessId{0xab}, "override", 7),
            "shop/log/3/00000000000000ab/override/n7");
  EXPECT_TRUE(keys.record(Log{3}, ProcessId{1}, "claim", 0).starts_with(keys.records(Log{3})));
  EXPECT_FALSE(keys.records(Log{31}).starts_with(keys.records(Log{3}))) << "or one reads both";
}

TEST(EtcdKeysTest, AnOverrideAndASeatClaimAreReplacedByNone) {
  AssignmentRecord record;
  record.id = ProcessId{1};
  record.seat = Epoch{1, 1};
  record.yields_to = ProcessId{2};
  record.upto = 0;
  for (const AssignmentType type :
       {AssignmentType::seat_claim, AssignmentType::assign, AssignmentType::yield,
        AssignmentType::leave, AssignmentType::override, AssignmentType::overrides}) {
    record.type = type;
    const bool lasting = type == AssignmentType::seat_claim || type == AssignmentType::override;
    EXPECT_EQ(record_kind(encode_record(record)).lasting, lasting) << static_cast<int>(type);
  }
  Record claim;
  claim.id = ProcessId{1};
  EXPECT_FALSE(record_kind(encode_record(claim)).lasting);
  EXPECT_EQ(record_kind(encode_record(claim)).type, "claim");
  EXPECT_TRUE(record_kind("no record of ours").lasting);
}

TEST(EtcdKeysTest, ARangeEndsWhereThePrefixDoes) {
  EXPECT_EQ(end_of_prefix("a/"), "a0");
  EXPECT_EQ(end_of_prefix("a\xff"), "b");
  EXPECT_EQ(end_of_prefix("\xff\xff"), "\0"s) << "all keys";
}

TEST(EtcdKeysTest, AValueHasItsWritersStampBeforeIt) {
  EXPECT_EQ(stamped_value("1732941234567 {\"v\":2}").first,
            BrokerTime{milliseconds{1732941234567}});
  EXPECT_EQ(stamped_value("1732941234567 {\"v\":2}").second, "{\"v\":2}");
  EXPECT_EQ(with_stamp(BrokerTime{milliseconds{12}}, "{}"), "12 {}");
  for (const char* text :
       {"", " ", "x", "{}", "12", "12x {}", "-1 {}", "99999999999999999999 {}"}) {
    EXPECT_EQ(stamped_value(text).first, BrokerTime{}) << text;
    EXPECT_EQ(stamped_value(text).second, text);
  }
}

TEST(EtcdIdentityTest, SaysHowManyLogsThereAre) {
  EXPECT_EQ(logs_in(R"({"id":"ab","logs":4})"), 4U);
  for (const char* text : {"", "4", "{}", R"({"logs":0})", R"({"logs":-1})", R"({"logs":1025})",
                           R"({"logs":"x"})", R"({"logs":[1]})"}) {
    EXPECT_EQ(logs_in(text), std::nullopt) << text;
  }
}

TEST(EtcdJsonTest, ARangeSaysOnlyWhatIsAsked) {
  EtcdRange range;
  range.key = "a";
  EXPECT_EQ(boost::json::serialize(json_of(range)),
            R"({"key":"YQ==","sort_target":"MOD","sort_order":"ASCEND"})");
  range.end = "b";
  range.as_of = 7;
  range.changed_from = 2;
  range.changed_to = 5;
  range.limit = 9;
  range.newest_first = true;
  EXPECT_EQ(boost::json::serialize(json_of(range)),
            R"({"key":"YQ==","sort_target":"MOD","sort_order":"DESCEND","range_end":"Yg==",)"
            R"("revision":"7","min_mod_revision":"2","max_mod_revision":"5","limit":"9"})");
}

TEST(EtcdJsonTest, NumbersAreStringsAndLeftOutWhereTheyAreZero) {
  const auto object = object_of(R"({"a":"12","b":13,"c":"x","d":"","e":[],"f":"-3","g":"1 "})");
  EXPECT_EQ(number_at(object, "a"), 12);
  EXPECT_EQ(number_at(object, "b"), 13);
  EXPECT_EQ(number_at(object, "none"), 0);
  EXPECT_EQ(number_at(object, "f"), -3);
  for (const char* name : {"c", "d", "e", "g"}) EXPECT_EQ(number_at(object, name), std::nullopt);
}

TEST(EtcdJsonTest, OfATransactionEachRangeIsReadInItsOrder) {
  const auto committed = committed_in(object_of(
      R"({"header":{"cluster_id":"9","revision":"12"},"responses":[{"response_range":{}},)"
      R"({"response_put":{}},{"response_range":{"more":true,"kvs":[)"
      R"({"key":"YQ==","mod_revision":"4","value":"Yg=="}]}}]})"));
  ASSERT_TRUE(committed);
  EXPECT_FALSE(committed->succeeded);
  EXPECT_EQ(committed->header.cluster, "9");
  EXPECT_EQ(committed->header.revision, 12);
  ASSERT_EQ(committed->found.size(), 2U);
  EXPECT_TRUE(committed->found[0].keys.empty());
  EXPECT_TRUE(committed->found[1].more);
  ASSERT_EQ(committed->found[1].keys.size(), 1U);
  EXPECT_EQ(committed->found[1].keys[0].key, "a");
  EXPECT_EQ(committed->found[1].keys[0].value, "b");
  EXPECT_EQ(committed->found[1].keys[0].revision, 4);
}

TEST(EtcdJsonTest, WhatIsNoAnswerIsNone) {
  for (const char* text :
       {"{}", R"({"header":1})", R"({"header":{"revision":"x"}})", R"({"header":{"revision":-1}})",
        R"({"header":{},"responses":[{"response_range":{"kvs":[1]}}]})",
        R"({"header":{},"responses":[{"response_range":{"kvs":[{"key":"*"}]}}]})"}) {
    EXPECT_FALSE(committed_in(object_of(text))) << text;
  }
}

TEST(EtcdJsonTest, AWatchBringsPutsAndSaysWhyItEnds) {
  const auto put = watched_in(
      R"({"result":{"header":{},"events":[{"type":"DELETE","kv":{"key":"YQ=="}},)"
      R"({"kv":{"key":"YQ==","mod_revision":"4","value":"Yg=="}}]}})");
  ASSERT_TRUE(put);
  EXPECT_FALSE(put->ended);
  ASSERT_EQ(put->puts.size(), 1U);
  EXPECT_EQ(put->puts[0].revision, 4);
  const auto compacted =
      watched_in(R"({"result":{"header":{"cluster_id":"9"},"canceled":true,)"
                 R"("compact_revision":"30"}})");
  ASSERT_TRUE(compacted);
  EXPECT_TRUE(compacted->ended);
  EXPECT_EQ(compacted->compacted_to, 30);
  EXPECT_EQ(compacted->cluster, "9");
  const auto failed = watched_in(R"({"error":{"message":"etcdserver: no leader"}})");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->ended, "etcdserver: no leader");
  for (const char* text : {"", "{", "[]", "{}", R"({"result":1})",
                           R"({"result":{"header":{},"events":[1]}})",
                           R"({"result":{"header":{},"events":[{}]}})",
                           R"({"result":{"header":{},"compact_revision":"x"}})"}) {
    EXPECT_FALSE(watched_in(text)) << text;
  }
}

TEST(EtcdJsonTest, WarnsOfALargeDatabase) {
  EXPECT_EQ(size_warning(object_of(R"({"dbSize":"1073741823"})")), std::nullopt);
  EXPECT_EQ(size_warning(object_of("{}")), std::nullopt);
  const auto warning = size_warning(object_of(R"({"dbSize":"1073741824"})"));
  ASSERT_TRUE(warning);
  EXPECT_NE(warning->find("1073741824 bytes"), std::string::npos) << *warning;
}

TEST(EtcdJsonTest, ATransactionComparesAndPuts) {
  EXPECT_EQ(boost::json::serialize(transaction({unchanged_since("a", 3), has_value("b", "c")},
                                               {put_operation("a", "d", 7)})),
            R"({"compare":[{"key":"YQ==","target":"MOD","result":"EQUAL","mod_revision":"3"},)"
            R"({"key":"Yg==","target":"VALUE","result":"EQUAL","value":"Yw=="}],)"
            R"("success":[{"request_put":{"key":"YQ==","value":"ZA==","lease":"7"}}],)"
            R"("failure":[]})");
}

}  // namespace
}  // namespace neliroute
