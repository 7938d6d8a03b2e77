// The records' JSON form: what is written is read again, and what cannot be read has a name.
#include "neli_core/record/record.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "neli_core/record/judgement.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;

Record full_record(RecordType type) {
  Record record;
  record.type = type;
  record.lane = Lane{7};
  record.id = ProcessId{0xfedc'ba98'7654'3210};
  record.seq = 4711;
  record.incarnation = 1'700'000'000'123;
  record.max_incarnation = 1'700'000'000'456;
  if (type == RecordType::claim) {
    record.parts = LogParts::parse("0-9,12");
  } else {
    record.epochs = {{0, *LogParts::parse("3")},
                     {9'000'000'000'000'000'000, *LogParts::parse("0-1,65535"), 7}};
  }
  if (type == RecordType::renewal) {
    record.leading = *LogParts::parse("0-1");
    record.draining = *LogParts::parse("3");
    record.stale = *LogParts::parse("1,3");
    record.serve_stale = 900'000ms;
  }
  record.lease = 9000ms;
  record.max_lease = 600'000ms;
  record.since = 1'700'000'000'001;
  record.process = {"host_1_\"2\"\\\n", "[::1]:80", {{"zone", "a"}, {"", "\xc3\xa4"}}};
  record.settings = {"g", 1024, 64, 4, "xxh3", "exclusive"};
  return record;
}

Ignored ignored(std::string_view value) {
  const Decoded decoded = decode_record(value);
  const auto* why = std::get_if<Ignored>(&decoded);
  if (why == nullptr) ADD_FAILURE() << "is a record: " << value;
  return why == nullptr ? Ignored::not_json : *why;
}

Record decoded(std::string_view value) {
  const Decoded result = decode_record(value);
  const auto* record = std::get_if<Record>(&result);
  if (record == nullptr) ADD_FAILURE() << "is no record: " << value;
  return record == nullptr ? Record{} : *record;
}

TEST(Record, what_is_written_is_read_again) {
  for (const RecordType type : {RecordType::claim, RecordType::renewal, RecordType::release}) {
    const Record record = full_record(type);
    EXPECT_EQ(decoded(encode_record(record)), record);
    Record bare;
    bare.type = type;
    bare.id = ProcessId{1};
    EXPECT_EQ(decoded(encode_record(bare)), bare);
  }
}

TEST(Record, stands_in_the_log_as_documented) {
  Record record = full_record(RecordType::renewal);
  record.process = {"a", "a:1", {}};
  EXPECT_EQ(
      encode_record(record),
      R"({"v":2,"t":"renewal","lane":7,"id":"fedcba9876543210","seq":4711,"inc":1700000000123,)"
      R"("max_inc":1700000000456,"lparts":{"0":"3","9000000000000000000":"0-1,65535"},)"
      R"("incs":{"9000000000000000000":7},)"
      R"("leading":"0-1","draining":"3","stale":"1,3","stale_ms":900000,)"
      R"("lease_ms":9000,"max_ms":600000,"since":1700000000001,)"
      R"("by":"a","at":"a:1","group":"g","slots":1024,"partitions":64,"logs":4,"hash":"xxh3",)"
      R"("mode":"exclusive","tags":{}})");
  record = full_record(RecordType::claim);
  EXPECT_NE(encode_record(record).find(R"("lparts":"0-9,12")"), std::string::npos);
  EXPECT_EQ(encode_record(record).find("leading"), std::string::npos);
}

TEST(Record, nobody_is_believed_to_serve_on_for_longer_than_a_day) {
  Record record = full_record(RecordType::renewal);
  record.serve_stale = 86'400'001ms;
  EXPECT_EQ(decoded(encode_record(record)).serve_stale, 86'400'000ms);
}

TEST(Record, names_of_any_bytes_survive) {
  Record record = full_record(RecordType::claim);
  record.process.name = std::string("\xff\xfe\0x", 4);
  EXPECT_EQ(decoded(encode_record(record)), record);
}

TEST(Record, what_is_no_record_has_a_name) {
  EXPECT_EQ(ignored(""), Ignored::empty);
  EXPECT_EQ(ignored({}), Ignored::empty) << "as the client gives a record without value";
  for (const char* value : {" ", "null", "7", "[]", "\"claim\"", "{", "{}x", "{\"t\":\"claim\"",
                            "\xef\xbb\xbf{\"t\":\"claim\",\"lane\":0}"}) {
    EXPECT_EQ(ignored(value), Ignored::not_json) << value;
  }
  for (const char* value : {"{}", R"({"t":1,"lane":0})", R"({"t":"claims","lane":0})"}) {
    EXPECT_EQ(ignored(value), Ignored::unknown_type) << value;
  }
  for (const char* value :
       {R"({"t":"claim"})", R"({"t":"claim","lane":"0"})", R"({"t":"claim","lane":-1})",
        R"({"t":"claim","lane":0.5})", R"({"t":"claim","lane":4294967296})",
        R"({"t":"claim","lane":null})"}) {
    EXPECT_EQ(ignored(value), Ignored::no_lane) << value;
  }
}

TEST(Record, a_renewal_or_release_that_cannot_be_read_is_malformed) {
  for (const std::string type : {"renewal", "release"}) {
    const std::string head = R"({"t":")" + type + R"(","lane":0,)";
    const std::string id = R"("id":"0000000000000001",)";
    const std::vector<std::string> rests = {
        R"("inc":1,"lparts":{})",  // no id
        R"("id":1,"inc":1,"lparts":{})",  // a number
        R"("id":"1","inc":1,"lparts":{})",  // too short
        R"("id":"000000000000000g","inc":1,"lparts":{})",
        R"("id":"0000000000000000","inc":1,"lparts":{})",  // nobody
        id + R"("lparts":{})",  // no incarnation
        id + R"("inc":"1","lparts":{})",  // a string
        id + R"("inc":9007199254740992,"lparts":{})",  // too great
        id + R"("inc":1)",  // no partitions
        id + R"("inc":1,"lparts":"0-3")",  // a claim's
        id + R"("inc":1,"lparts":{"-1":"0"})",
        id + R"("inc":1,"lparts":{"01":"0"})",
        id + R"("inc":1,"lparts":{"x":"0"})",
        id + R"("inc":1,"lparts":{"1 ":"0"})",
        id + R"("inc":1,"lparts":{"9223372036854775808":"0"})",
        id + R"("inc":1,"lparts":{"1":0})",
        id + R"("inc":1,"lparts":{"1":"65536"})",
        id + R"("inc":1,"lparts":{"1":"0-65535","2":"0"})",  // more than there are
        id + R"("inc":1,"parts":{"1":"0"})",  // version 1, but does not say so
        id + R"("inc":1,"lparts":{"1":"0"},"incs":[1])",
        id + R"("inc":1,"lparts":{"1":"0"},"incs":{"1":"2"})",
        id + R"("inc":1,"lparts":{"1":"0"},"incs":{"1":9007199254740992})",
    };
    for (const std::string& rest : rests) {
      EXPECT_EQ(ignored(head + rest + "}"), Ignored::malformed) << head << rest;
    }
  }
}

// What a reader does for one is a search among the others: 50,000 cost it 6 s.
TEST(Record, a_partition_is_named_under_few_epochs) {
  const auto named_under = [](int epochs, const std::string& parts) {
    std::string value = R"({"t":"release","lane":0,"id":"0000000000000001","inc":1,"lparts":{)";
    for (int i = 0; i < epochs; ++i) {
      value += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":\"" + parts + "\"";
    }
    return decode_record(value + "}}");
  };
  ASSERT_TRUE(std::holds_alternative<Record>(named_under(8, "0-99,65535")));
  EXPECT_EQ(std::get<Record>(named_under(8, "0-99,65535")).epochs.size(), 8u);
  EXPECT_EQ(std::get<Ignored>(named_under(9, "0-99,65535")), Ignored::malformed);
}

TEST(Record, a_claim_counts_whatever_else_is_wrong_with_it) {
  const Record record = decoded(
      R"({"t":"claim","lane":0,"v":"two","id":[],"seq":-1,"inc":1e99,"lparts":["0"],)"
      R"("lease_ms":"9","max_ms":-1,"since":0.5,"by":7,"at":null,"group":"g","slots":-1,)"
      R"("tags":["a"]})");
  EXPECT_EQ(record.type, RecordType::claim);
  EXPECT_EQ(record.id, kNobody);
  EXPECT_EQ(record.seq, 0u);
  EXPECT_EQ(record.incarnation, 0);
  EXPECT_FALSE(record.parts);
  EXPECT_FALSE(record.lease);
  EXPECT_FALSE(record.max_lease);
  EXPECT_FALSE(record.since);
  EXPECT_FALSE(record.settings);
  EXPECT_EQ(record.process, ProcessInfo{});
}

TEST(Record, each_claim_that_is_named_has_its_own_incarnation_or_the_record_s) {
  const Record record = decoded(
      R"({"t":"release","lane":0,"id":"0000000000000001","inc":5,)"
      R"("lparts":{"10":"0","20":"1"},"incs":{"20":4,"30":9}})");
  ASSERT_EQ(record.epochs.size(), 2u);
  EXPECT_EQ(epoch_of(record, record.epochs[0]), (Epoch{5, 10}));
  EXPECT_EQ(epoch_of(record, record.epochs[1]), (Epoch{4, 20}));
  EXPECT_EQ(greatest_named_incarnation(record), 5) << "what is not named counts for nothing";
}

TEST(Record, an_incarnation_that_cannot_be_is_none_wherever_it_stands) {
  Record record = full_record(RecordType::renewal);
  const BrokerTime stamped{milliseconds{1'700'000'000'000}};
  EXPECT_TRUE(names_possible_epochs(record, stamped));
  record.epochs[1].incarnation = incarnation_limit(stamped) + 1;
  EXPECT_FALSE(names_possible_epochs(record, stamped));
  EXPECT_EQ(greatest_incarnation_in(record, stamped), record.max_incarnation);
}

TEST(Judgement, another_lane_s_record_is_not_heeded_nor_one_of_an_epoch_that_cannot_be) {
  Record record = full_record(RecordType::renewal);
  const BrokerTime stamped{milliseconds{1'700'000'000'000}};
  EXPECT_EQ(judge(record, stamped, record.lane), Judgement::heeded);
  EXPECT_EQ(judge(record, stamped, Lane{record.lane.value() + 1}), Judgement::other_lane);
  record.incarnation = incarnation_limit(stamped) + 1;
  EXPECT_EQ(judge(record, stamped, record.lane), Judgement::impossible_epoch);
  EXPECT_EQ(incarnation_told(record, Judgement::impossible_epoch, stamped, 7), 0);
  record.type = RecordType::claim;
  EXPECT_EQ(judge(record, stamped, record.lane), Judgement::heeded) << "its place makes its epoch";
}

TEST(Judgement, settings_are_in_force_if_who_leads_says_so_in_this_version) {
  Record record = full_record(RecordType::renewal);
  ASSERT_NE(settings_in_force(record), nullptr);
  EXPECT_EQ(*settings_in_force(record), *record.settings);
  record.version = kRecordVersion + 1;
  EXPECT_EQ(settings_in_force(record), nullptr);
  EXPECT_EQ(readable_settings(record), nullptr);
  record.version = kRecordVersion;
  record.leading = record.draining = {};
  EXPECT_EQ(settings_in_force(record), nullptr) << "it only looks";
  EXPECT_NE(readable_settings(record), nullptr);
}

TEST(Record, a_renewal_that_holds_nothing_is_one) {
  Record record = full_record(RecordType::renewal);
  record.epochs.clear();
  record.leading = record.draining = {};
  EXPECT_NE(encode_record(record).find(R"("lparts":{},)"), std::string::npos);
  EXPECT_EQ(decoded(encode_record(record)), record);
}

TEST(Record, of_version_1_is_read_who_lives_and_with_which_settings) {
  for (const std::string type : {"renewal", "release"}) {
    const Record record = decoded(
        R"({"v":1,"t":")" + type + R"(","lane":0,"id":"0000000000000001","inc":5,"since":7,)"
        R"("parts":{"1":"0-3"},"leading":"0-3","draining":"","group":"g","slots":1,)"
        R"("partitions":2,"logs":3,"hash":"h","mode":"m"})");
    EXPECT_EQ(record.version, 1);
    EXPECT_TRUE(record.epochs.empty());
    EXPECT_TRUE(record.leading.empty()) << "in another unit";
    EXPECT_EQ(record.since, 7);
    EXPECT_TRUE(record.settings);
  }
  EXPECT_FALSE(decoded(R"({"v":1,"t":"claim","lane":0,"parts":"0"})").parts) << "of everything";
}

TEST(Record, numbers_as_strings_are_not_numbers) {
  const Record record =
      decoded(R"({"t":"claim","lane":0,"seq":"5","inc":"5","lease_ms":"5","max_ms":"5"})");
  EXPECT_EQ(record.seq, 0u);
  EXPECT_EQ(record.incarnation, 0);
  EXPECT_FALSE(record.lease);
  EXPECT_FALSE(record.max_lease);
}

TEST(Record, a_lease_above_10_minutes_counts_as_10_minutes) {
  const Record record = decoded(
      R"({"t":"claim","lane":0,"lease_ms":600001,"max_ms":9223372036854775807})");
  EXPECT_EQ(record.lease, 600'000ms);
  EXPECT_EQ(record.max_lease, 600'000ms);
  EXPECT_FALSE(decoded(R"({"t":"claim","lane":0,"lease_ms":0})").lease);
}

TEST(Record, a_claim_longer_than_64_KiB_or_of_deep_nesting_counts) {
  const std::string head = R"({"t":"claim","lane":3,"lparts":"5","more":)";
  EXPECT_EQ(decoded(head + "\"" + std::string(1'000'000, 'x') + "\"}").lane, Lane{3});
  EXPECT_EQ(decoded(head + std::string(250, '[') + std::string(250, ']') + "}").lane, Lane{3});
}

TEST(Record, nesting_without_end_is_refused_without_a_stack_overflow) {
  EXPECT_EQ(ignored(R"({"t":"claim","lane":0,"more":)" + std::string(2'000'000, '[')),
            Ignored::not_json);
  EXPECT_EQ(ignored(std::string(500'000, '{')), Ignored::not_json);
}

TEST(Record, unknown_fields_are_ignored_and_the_last_of_equal_ones_counts) {
  const auto record = decoded(R"({"t":"claim","lane":0,"lparts":"1","lane":2,"new":{"a":[1]}})");
  EXPECT_EQ(record.lane, Lane{2});
}

TEST(Record, states_that_cannot_be_read_are_looking) {
  const Record record = decoded(
      R"({"t":"renewal","lane":0,"id":"0000000000000001","inc":1,"lparts":{"1":"0-3"},)"
      R"("leading":["0"],"draining":"3-1"})");
  EXPECT_TRUE(record.leading.empty());
  EXPECT_TRUE(record.draining.empty());
}

TEST(Record, settings_count_only_if_all_of_them_are_there) {
  const std::string all =
      R"({"t":"claim","lane":0,"group":"g","slots":1,"partitions":2,"logs":3,"hash":"h",)"
      R"("mode":"m"})";
  EXPECT_TRUE(decoded(all).settings);
  for (const std::string field : {"group", "slots", "partitions", "logs", "hash", "mode"}) {
    std::string without = all;
    without.replace(without.find(field), field.size(), "other");
    EXPECT_FALSE(decoded(without).settings) << without;
  }
}

// Damaged records: nothing crashes (sanitizers watch), and what still reads as a record is one that
// can be written and read again.
TEST(Record, mutated_records_are_read_without_harm) {
  std::mt19937_64 random(4711);
  const auto draw = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  std::vector<std::string> corpus;
  for (const RecordType type : {RecordType::claim, RecordType::renewal, RecordType::release}) {
    corpus.push_back(encode_record(full_record(type)));
  }
  const std::string tokens[] = {"\"", "{", "}", "[", "]", ":", ",", "-", "0", "9223372036854775807",
                                "1e400", "null", "\\u0000", "\xff", "\"lparts\":", "65535-65536"};
  std::size_t records = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = corpus[draw(corpus.size())];
    for (std::size_t n = 1 + draw(4); n > 0; --n) {
      const std::size_t at = draw(text.size() + 1);
      switch (draw(4)) {
        case 0:
          text.insert(at, tokens[draw(std::size(tokens))]);
          break;
        case 1:
          text.erase(at, 1 + draw(8));
          break;
        case 2:
          if (at < text.size()) text[at] = static_cast<char>(draw(256));
          break;
        default:
          text.insert(at, text.substr(draw(text.size() + 1), draw(20)));
      }
    }
    const Decoded value = decode_record(text);
    const auto* record = std::get_if<Record>(&value);
    if (record == nullptr) continue;
    ++records;
    Record again = decoded(encode_record(*record));
    again.version = record->version;
    EXPECT_EQ(again.epochs, record->epochs) << text;
    EXPECT_EQ(again.parts, record->parts) << text;
    EXPECT_EQ(again.incarnation, record->incarnation) << text;
    EXPECT_LE(again.lease.value_or(0ms), kLeaseMax);
  }
  EXPECT_GT(records, 1000u) << "else it tests little";
}

}  // namespace
}  // namespace neliroute
