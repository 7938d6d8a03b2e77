// The JSON form of operators' overrides, and of the list in which an assigner repeats them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "neli_core/record/record.h"
#include "tests/unit/neli_core/assigner/told.h"

namespace neliroute {
namespace {

using told::ranges;

AssignmentRecord record_of(Override override) {
  AssignmentRecord record;
  record.type = AssignmentType::override;
  record.lane = Lane{7};
  record.id = ProcessId{0xfedc'ba98'7654'3210};
  record.seq = 3;
  record.override = std::move(override);
  return record;
}

AssignmentRecord list(StandingOverrides standing) {
  AssignmentRecord record = record_of({});
  record.type = AssignmentType::overrides;
  record.seat = {1'700'000'000'123, 4711};
  record.upto = 4800;
  record.standing = std::move(standing);
  return record;
}

std::vector<Override> every_verb() {
  return {{OverrideVerb::cordon, "a", {}, 0},
          {OverrideVerb::uncordon, "a", {}, 0},
          {OverrideVerb::weight, "b\"\n\xff", {}, kWeightMax},
          {OverrideVerb::weight, std::string(kOverrideNameBytesMax, 'n'), {}, 0},
          {OverrideVerb::unweight, "a", {}, 0},
          {OverrideVerb::pin, "a", ranges("0-9,65535"), 0},
          {OverrideVerb::unpin, "", ranges("0"), 0},
          {OverrideVerb::pause_moves, "", {}, 0},
          {OverrideVerb::resume_moves, "", {}, 0}};
}

StandingOverrides some_of_all() {
  StandingOverrides standing;
  standing.cordoned = {"a", "b\\"};
  standing.weights = {{"a", 0}, {"c", kWeightMax}};
  standing.pins = {{"a", ranges("0-3,9")}, {"d", ranges("4-8,65535")}};
  standing.moves_paused = true;
  return standing;
}

AssignmentRecord read(std::string_view value) {
  const Decoded decoded = decode_record(value);
  const auto* record = std::get_if<AssignmentRecord>(&decoded);
  if (record == nullptr) ADD_FAILURE() << "cannot be read: " << value.substr(0, 200);
  return record == nullptr ? AssignmentRecord{} : *record;
}

bool is_malformed(std::string_view value) {
  const Decoded decoded = decode_record(value);
  const auto* why = std::get_if<Ignored>(&decoded);
  return why != nullptr && *why == Ignored::malformed;
}

std::string override_with(const std::string& fields) {
  return R"({"v":2,"t":"wish","lane":0,"id":"0000000000000001","seq":1)" + fields + "}";
}

std::string list_with(const std::string& fields) {
  return R"({"v":2,"t":"wishes","lane":0,"id":"0000000000000001","seq":1,"seat":"1:2","upto":9)" +
         fields + "}";
}

TEST(OverrideRecord, what_is_written_is_read_again) {
  for (const Override& one : every_verb()) {
    const AssignmentRecord record = record_of(one);
    EXPECT_EQ(read(encode_record(record)), record) << encode_record(record);
  }
  for (const StandingOverrides& standing : {StandingOverrides{}, some_of_all()}) {
    const AssignmentRecord record = list(standing);
    EXPECT_EQ(read(encode_record(record)), record) << encode_record(record);
  }
}

TEST(OverrideRecord, stands_in_the_log_as_documented) {
  const std::string head = R"({"v":2,"t":"wish","lane":7,"id":"fedcba9876543210","seq":3,)";
  EXPECT_EQ(encode_record(record_of({OverrideVerb::pin, "a", ranges("0-9,12"), 0})),
            head + R"("verb":"pin","name":"a","parts":"0-9,12"})");
  EXPECT_EQ(encode_record(record_of({OverrideVerb::weight, "a", {}, 3})),
            head + R"("verb":"weight","name":"a","weight":3})");
  EXPECT_EQ(encode_record(record_of({OverrideVerb::unpin, "", ranges("5"), 0})),
            head + R"("verb":"unpin","parts":"5"})");
  EXPECT_EQ(encode_record(record_of({OverrideVerb::pause_moves, "", {}, 0})),
            head + R"("verb":"pause_moves"})");
  const std::string list_head = R"({"v":2,"t":"wishes","lane":7,"id":"fedcba9876543210","seq":3,)"
                                R"("seat":"1700000000123:4711","upto":4800)";
  EXPECT_EQ(encode_record(list({})), list_head + "}");
  EXPECT_EQ(encode_record(list(some_of_all())),
            list_head + R"(,"cordoned":["a","b\\"],"weights":{"a":0,"c":1000},)"
                        R"("pins":{"a":"0-3,9","d":"4-8,65535"},"moves_paused":true})");
}

// Version 1 takes a claim that it cannot read for one of every partition.
TEST(OverrideRecord, is_never_taken_for_a_claim_of_partitions) {
  for (const std::string& value :
       {encode_record(record_of({OverrideVerb::pin, "claim", ranges("0"), 0})),
        encode_record(list(some_of_all()))}) {
    EXPECT_EQ(value.find(R"("t":"claim")"), std::string::npos) << value;
  }
}

TEST(OverrideRecord, of_an_unknown_verb_is_malformed) {
  EXPECT_TRUE(is_malformed(override_with(R"(,"name":"a")")));
  for (const char* verb :
       {R"("")", R"("Cordon")", R"("cordon ")", R"("drain")", "7", "null", R"(["cordon"])"}) {
    EXPECT_TRUE(is_malformed(override_with(R"(,"name":"a","verb":)" + std::string(verb)))) << verb;
  }
  EXPECT_EQ(read(override_with(R"(,"name":"a","verb":"cordon","why":[1])")).override.name, "a");
}

TEST(OverrideRecord, without_what_its_verb_needs_is_malformed) {
  for (const std::string verb : {"cordon", "uncordon", "weight", "unweight", "pin"}) {
    const std::string rest = R"(,"weight":1,"parts":"0","verb":")" + verb + "\"";
    EXPECT_TRUE(is_malformed(override_with(rest))) << verb;
    for (const std::string& name :
         {std::string("\"\""), std::string("7"), std::string("null"), std::string("[]"),
          '"' + std::string(kOverrideNameBytesMax + 1, 'n') + '"'}) {
      EXPECT_TRUE(is_malformed(override_with(rest + R"(,"name":)" + name))) << verb << name;
    }
    EXPECT_EQ(read(override_with(rest + R"(,"name":"n")")).override.name, "n");
  }
  for (const std::string verb : {"pin", "unpin"}) {
    const std::string rest = R"(,"name":"n","verb":")" + verb + "\"";
    EXPECT_TRUE(is_malformed(override_with(rest))) << verb;
    for (const char* parts : {R"("")", "0", "null", R"(["0"])", R"("65536")", R"("0-65536")",
                              R"("3-1")", R"("-1")", R"("x")", R"("0,")"}) {
      EXPECT_TRUE(is_malformed(override_with(rest + R"(,"parts":)" + parts))) << verb << parts;
    }
    EXPECT_EQ(read(override_with(rest + R"(,"parts":"0-65535")")).override.partitions.size(),
              65536u);
  }
  const std::string rest = R"(,"name":"n","verb":"weight")";
  EXPECT_TRUE(is_malformed(override_with(rest)));
  for (const char* weight : {"1001", "-1", "1.5", R"("1")", "null", "18446744073709551615"}) {
    EXPECT_TRUE(is_malformed(override_with(rest + R"(,"weight":)" + weight))) << weight;
  }
  EXPECT_EQ(read(override_with(rest + R"(,"weight":1000)")).override.weight, 1000u);
}

TEST(OverrideRecord, of_nobody_or_without_a_lane_is_ignored) {
  EXPECT_TRUE(is_malformed(R"({"t":"wish","lane":0,"verb":"pause_moves"})"));
  EXPECT_EQ(std::get<Ignored>(
                decode_record(R"({"t":"wish","id":"0000000000000001","verb":"pause_moves"})")),
            Ignored::no_lane);
  EXPECT_EQ(std::get<Ignored>(decode_record(R"({"t":"wishes","id":"0000000000000001"})")),
            Ignored::no_lane);
}

TEST(OverrideList, whose_fields_cannot_be_read_is_malformed) {
  const std::string head = R"({"t":"wishes","lane":0,"id":"0000000000000001")";
  EXPECT_TRUE(is_malformed(head + R"(,"upto":9})")) << "without a seat";
  EXPECT_TRUE(is_malformed(head + R"(,"upto":9,"seat":"7"})"));
  EXPECT_TRUE(is_malformed(head + R"(,"seat":"1:2"})")) << "without upto";
  for (const char* upto : {"-1", R"("9")", "null", "1.5"}) {
    EXPECT_TRUE(is_malformed(head + R"(,"seat":"1:2","upto":)" + upto + "}")) << upto;
  }
  const std::string long_name = '"' + std::string(kOverrideNameBytesMax + 1, 'n') + '"';
  for (const std::string& fields : {std::string(R"("cordoned":"a")"),
                                    std::string(R"("cordoned":{"a":true})"),
                                    std::string(R"("cordoned":["a",7])"),
                                    std::string(R"("cordoned":[""])"),
                                    "\"cordoned\":[" + long_name + "]",
                                    std::string(R"("cordoned":null)"),
                                    std::string(R"("weights":["a"])"),
                                    std::string(R"("weights":{"":1})"),
                                    std::string(R"("weights":{"a":1001})"),
                                    std::string(R"("weights":{"a":"1"})"),
                                    "\"weights\":{" + long_name + ":1}",
                                    std::string(R"("pins":"0-3")"),
                                    std::string(R"("pins":{"a":"65536"})"),
                                    std::string(R"("pins":{"a":""})"),
                                    std::string(R"("pins":{"a":3})"),
                                    std::string(R"("pins":{"":"3"})"),
                                    std::string(R"("pins":{"a":"0-3","b":"3"})"),
                                    std::string(R"("pins":{"a":"0-65535","b":"65535"})"),
                                    std::string(R"("moves_paused":1)"),
                                    std::string(R"("moves_paused":"true")")}) {
    EXPECT_TRUE(is_malformed(list_with("," + fields))) << fields.substr(0, 100);
  }
  EXPECT_EQ(read(list_with(R"(,"later":7,"moves_paused":false)")).standing, StandingOverrides{});
}

// It is one record, whatever is ordered: more than fits stands nowhere.
TEST(OverrideList, that_does_not_fit_into_a_record_is_malformed) {
  StandingOverrides standing;
  std::size_t names = 0;
  while (standing_bytes(standing) + 260 <= kStandingBytesMax) {
    standing.cordoned.insert(std::to_string(names++) + std::string(248, 'n'));
  }
  const AssignmentRecord fits = list(standing);
  EXPECT_LE(encode_record(fits).size(), kRecordBytesMax);
  EXPECT_EQ(read(encode_record(fits)).standing, standing);
  standing.cordoned.insert("x" + std::string(250, 'n'));
  standing.cordoned.insert("y" + std::string(250, 'n'));
  EXPECT_GT(standing_bytes(standing), kStandingBytesMax);
  EXPECT_TRUE(is_malformed(encode_record(list(standing))));
  // The longest head beside the most overrides.
  AssignmentRecord longest = fits;
  longest.lane = Lane{UINT32_MAX};
  longest.seq = UINT64_MAX;
  longest.seat = {INT64_MAX, INT64_MAX};
  longest.upto = INT64_MAX;
  const std::size_t head = encode_record(longest).size() - standing_bytes(longest.standing);
  EXPECT_LE(kStandingBytesMax + head, kRecordBytesMax);
}

// A reader's work is bounded by the record's length, whatever its names are.
TEST(OverrideList, of_very_many_names_is_malformed_and_read_at_once) {
  std::string pins;
  for (int i = 0; i < 60'000; ++i) {
    pins += (i == 0 ? "" : ",") + ("\"n" + std::to_string(i)) + "\":\"" + std::to_string(i) + '"';
  }
  EXPECT_TRUE(is_malformed(list_with(R"(,"pins":{)" + pins + "}")));
}

}  // namespace
}  // namespace neliroute
