// The JSON form of the records by which an assigner is chosen and assigns, and of what a renewal
// says of its writer as a member.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "neli_core/record/record.h"
#include "tests/unit/neli_core/assigner/told.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::ranges;

constexpr AssignmentType kTypes[] = {AssignmentType::seat_claim, AssignmentType::assign,
                                     AssignmentType::leave};

AssignmentRecord full_record(AssignmentType type) {
  AssignmentRecord record;
  record.type = type;
  record.lane = Lane{7};
  record.id = ProcessId{0xfedc'ba98'7654'3210};
  record.seq = (std::uint64_t{1} << 52) + 3;
  if (type != AssignmentType::leave) record.seat = {1'700'000'000'123, 4711};
  if (type == AssignmentType::assign) {
    record.designations = {{ProcessId{1}, ranges("0-9,12")}, {ProcessId{2}, ranges("65535")}};
  }
  return record;
}

Record member_record() {
  Record record;
  record.type = RecordType::renewal;
  record.id = ProcessId{1};
  record.member = MemberFields{};
  record.member->session = 3000ms;
  return record;
}

Ignored ignored(std::string_view value) {
  const Decoded decoded = decode_record(value);
  const auto* why = std::get_if<Ignored>(&decoded);
  if (why == nullptr) ADD_FAILURE() << "is a record: " << value.substr(0, 200);
  return why == nullptr ? Ignored::not_json : *why;
}

AssignmentRecord assignment(std::string_view value) {
  const Decoded decoded = decode_record(value);
  const auto* record = std::get_if<AssignmentRecord>(&decoded);
  if (record == nullptr) ADD_FAILURE() << "is no assignment: " << value.substr(0, 200);
  return record == nullptr ? AssignmentRecord{} : *record;
}

/// Of a renewal whose `member` is this text.
std::optional<MemberFields> member(const std::string& text) {
  const std::string value = R"({"v":2,"t":"renewal","lane":0,"id":"0000000000000001","inc":1,)"
                            R"("lparts":{},"member":)" + text + "}";
  const Decoded decoded = decode_record(value);
  const auto* record = std::get_if<Record>(&decoded);
  if (record == nullptr) ADD_FAILURE() << "is no renewal: " << value;
  return record == nullptr ? std::nullopt : record->member;
}

TEST(AssignmentRecord, what_is_written_is_read_again) {
  for (const AssignmentType type : kTypes) {
    const AssignmentRecord record = full_record(type);
    EXPECT_EQ(assignment(encode_record(record)), record) << encode_record(record);
  }
}

TEST(AssignmentRecord, stands_in_the_log_as_documented) {
  EXPECT_EQ(encode_record(full_record(AssignmentType::assign)),
            R"({"v":2,"t":"assign","lane":7,"id":"fedcba9876543210","seq":4503599627370499,)"
            R"("seat":"1700000000123:4711",)"
            R"("to":{"0000000000000001":"0-9,12","0000000000000002":"65535"}})");
  EXPECT_EQ(encode_record(full_record(AssignmentType::seat_claim)),
            R"({"v":2,"t":"seat_claim","lane":7,"id":"fedcba9876543210",)"
            R"("seq":4503599627370499,"seat":"1700000000123:4711"})");
  EXPECT_EQ(encode_record(full_record(AssignmentType::leave)),
            R"({"v":2,"t":"leave","lane":7,"id":"fedcba9876543210","seq":4503599627370499})");
}

// Readers of version 1 take a claim without readable partitions for one of every partition, and
// so do we: nothing that an assigner writes may look like one.
TEST(AssignmentRecord, is_never_taken_for_a_claim_of_partitions) {
  for (const AssignmentType type : kTypes) {
    const std::string value = encode_record(full_record(type));
    EXPECT_EQ(value.find(R"("t":"claim")"), std::string::npos) << value;
    const Decoded decoded = decode_record(value);
    EXPECT_EQ(std::get_if<Record>(&decoded), nullptr) << value;
  }
}

TEST(AssignmentRecord, of_unknown_type_or_without_a_lane_has_a_name) {
  for (const char* type : {"seat", "seat_release", "seat_renewal", "wished", "Assign",
                           "assign ", ""}) {
    EXPECT_EQ(ignored(R"({"t":")" + std::string(type) + R"(","lane":0})"), Ignored::unknown_type)
        << type;
  }
  for (const std::string type : {"seat_claim", "assign", "leave"}) {
    const std::string head = R"({"t":")" + type + R"(","id":"0000000000000001")";
    const std::string tail = R"(,"seat":"1:2","to":{}})";
    for (const char* lane : {"", R"(,"lane":"0")", R"(,"lane":-1)", R"(,"lane":4294967296)"}) {
      EXPECT_EQ(ignored(head + lane + tail), Ignored::no_lane) << type << lane;
    }
  }
}

TEST(AssignmentRecord, without_a_readable_id_is_malformed) {
  for (const std::string type : {"seat_claim", "assign", "leave"}) {
    const std::string head = R"({"t":")" + type + R"(","lane":0,"seat":"1:2","to":{})";
    for (const char* id : {"", R"(,"id":1)", R"(,"id":"1")", R"(,"id":"000000000000000g")",
                           R"(,"id":"0000000000000000")", R"(,"id":"00000000000000001")"}) {
      EXPECT_EQ(ignored(head + id + "}"), Ignored::malformed) << type << id;
    }
  }
}

TEST(AssignmentRecord, without_a_readable_seat_an_assignment_is_malformed) {
  const std::string head = R"({"t":"assign","lane":0,"id":"0000000000000001","to":{})";
  for (const char* seat :
       {"", R"(,"seat":7)", R"(,"seat":"")", R"(,"seat":"7")", R"(,"seat":"7:")",
        R"(,"seat":"7:x")", R"(,"seat":"7:-1")", R"(,"seat":"7:8 ")", R"(,"seat":{})"}) {
    EXPECT_EQ(ignored(head + seat + "}"), Ignored::malformed) << seat;
  }
  EXPECT_EQ(assignment(head + R"(,"seat":"7:8"})").seat, (Epoch{7, 8}));
  // A claim makes a seat, and its writer need not know one before it; nor need a leaver.
  for (const std::string type : {"seat_claim", "leave"}) {
    const std::string value =
        R"({"t":")" + type + R"(","lane":0,"id":"0000000000000001","seat":7})";
    EXPECT_EQ(assignment(value).seat, kNoEpoch);
  }
}

TEST(AssignmentRecord, whose_designations_cannot_be_read_is_malformed) {
  const std::string head = R"({"t":"assign","lane":0,"id":"0000000000000001","seat":"1:2")";
  EXPECT_EQ(ignored(head + "}"), Ignored::malformed);
  for (const char* to :
       {"null", "[]", "\"0-3\"", "7", R"({"1":"0"})", R"({"0000000000000000":"0"})",
        R"({"000000000000000g":"0"})", R"({"0000000000000001":"65536"})",
        R"({"0000000000000001":"3-1"})", R"({"0000000000000001":"0,"})",
        R"({"0000000000000001":"-1"})", R"({"0000000000000001":"x"})",
        R"({"0000000000000001":5})", R"({"0000000000000001":null})", R"({"0000000000000001":[0]})",
        R"({"0000000000000001":"0","0000000000000002":"65536"})"}) {
    EXPECT_EQ(ignored(head + R"(,"to":)" + to + "}"), Ignored::malformed) << to;
  }
  EXPECT_TRUE(assignment(head + R"(,"to":{}})").designations.empty());
}

// What a reader does for one record is bounded by the partitions that there can be.
TEST(AssignmentRecord, that_names_more_than_there_can_be_is_malformed) {
  const std::string head =
      R"({"t":"assign","lane":0,"id":"0000000000000001","seat":"1:2","to":{)";
  const std::string all = R"("0000000000000001":"0-65535")";
  EXPECT_EQ(assignment(head + all + "}}").designations.at(0).partitions.size(), 65536u);
  EXPECT_EQ(ignored(head + all + R"(,"0000000000000002":"0"}})"), Ignored::malformed);
  // So many names, of which each is given nothing.
  std::string names;
  for (std::uint64_t id = 1; id <= kPartitionCountMax + 1; ++id) {
    if (id > 1) names += ',';
    names += '"' + to_string(ProcessId{id}) + R"(":"")";
  }
  EXPECT_EQ(ignored(head + names + "}}"), Ignored::malformed);
}

TEST(AssignmentRecord, fields_that_are_unknown_or_only_for_people_do_not_matter) {
  const std::string head = R"({"t":"leave","lane":0,"id":"0000000000000001")";
  AssignmentRecord expected;
  expected.type = AssignmentType::leave;
  expected.id = ProcessId{1};
  EXPECT_EQ(assignment(head + R"(,"v":99,"why":{"x":[1]},"lparts":"0-3","to":7})"), expected);
  for (const char* seq : {R"("x")", "-1", "18446744073709551615", "1.5"}) {
    EXPECT_EQ(assignment(head + R"(,"seq":)" + seq + "}").seq, 0u) << seq;
  }
}

TEST(MemberFields, are_read_again_all_of_them) {
  Record record = member_record();
  EXPECT_EQ(std::get<Record>(decode_record(encode_record(record))), record);
  record.member->weight = kWeightMax;
  record.member->cordoned = true;
  record.member->seat_priority = kSeatPriorityMax;
  record.member->host = "host\"1\"";
  record.member->zone = "z\xff";
  record.member->seat = Epoch{1'700'000'000'123, 0};
  record.member->seat_by = ProcessId{2};
  record.member->upto = 9'000'000'000'000'000'000;
  record.member->assigning = true;
  record.member->reads = true;
  record.member->lag = 12ms;
  record.member->unread = *PartitionRanges::parse("0,2-3");
  record.member->leaving = true;
  record.member->preparing = 5s;
  record.member->preparing_parts = *PartitionRanges::parse("1-4,9");
  EXPECT_EQ(std::get<Record>(decode_record(encode_record(record))), record);
}

TEST(AssignmentRecord, a_yield_names_a_member_and_the_seat) {
  AssignmentRecord record;
  record.type = AssignmentType::yield;
  record.id = ProcessId{1};
  record.seq = 7;
  record.seat = Epoch{5, 6};
  record.yields_to = ProcessId{2};
  const std::string text = encode_record(record);
  EXPECT_EQ(assignment(text), record);
  EXPECT_NE(text.find(R"("seat":"5:6","to":"0000000000000002")"), std::string::npos) << text;
  const std::string head = R"({"v":2,"t":"yield","lane":0,"id":"0000000000000001","seq":1)";
  for (const char* bad : {"}", R"(,"seat":"5:6"})", R"(,"to":"0000000000000002"})",
                          R"(,"seat":"5:6","to":{}})"}) {
    EXPECT_EQ(ignored(head + bad), Ignored::malformed) << bad;
  }
}

TEST(MemberFields, at_their_defaults_are_left_out) {
  const std::string bare = encode_record(member_record());
  EXPECT_NE(bare.find(R"("member":{"session_ms":3000,"upto":-1})"), std::string::npos) << bare;
  Record record = member_record();
  record.member->weight = 0;
  record.member->cordoned = true;
  record.member->seat_priority = 0;
  record.member->host = "h";
  record.member->zone = "z";
  record.member->seat = Epoch{5, 6};
  record.member->seat_by = ProcessId{2};
  record.member->upto = 7;
  record.member->assigning = true;
  record.member->reads = true;
  record.member->lag = 12ms;
  record.member->unread = *PartitionRanges::parse("1");
  record.member->leaving = true;
  record.member->preparing = 5s;
  record.member->preparing_parts = *PartitionRanges::parse("3-4");
  const std::string full = encode_record(record);
  EXPECT_NE(full.find(R"("member":{"session_ms":3000,"weight":0,"cordoned":true,)"
                      R"("seat_priority":0,"host":"h",)"
                      R"("zone":"z","seat":"5:6","seat_by":"0000000000000002","upto":7,)"
                      R"("assigning":true,"reads":true,"lag_ms":12,"unread":"1","leaving":true,)"
                      R"("preparing_ms":5000,"preparing":"3-4"})"),
            std::string::npos)
      << full;
}

// The partitions that it holds count all the same.
TEST(MemberFields, that_cannot_be_read_make_nobody_a_member) {
  for (const char* text :
       {"null", "7", "[]", "{}", R"({"weight":1})", R"({"session_ms":0})", R"({"session_ms":-1})",
        R"({"session_ms":"3000"})", R"({"session_ms":0.5})"}) {
    EXPECT_EQ(member(text), std::nullopt) << text;
  }
  const std::string claim =
      R"({"v":2,"t":"claim","lane":0,"id":"0000000000000001","inc":1,"lparts":"0",)"
      R"("member":{"session_ms":3000}})";
  EXPECT_EQ(std::get<Record>(decode_record(claim)).member, std::nullopt);
}

TEST(MemberFields, beyond_what_is_possible_are_bounded_or_left_out) {
  EXPECT_EQ(member(R"({"session_ms":600001})")->session, kLeaseMax);
  // With a shorter one, a member would be taken for dead between its records.
  EXPECT_EQ(member(R"({"session_ms":299})")->session, 300ms);
  EXPECT_EQ(member(R"({"session_ms":300})")->session, 300ms);
  const std::string long_name(256, 'h');
  const auto named = member(R"({"session_ms":300,"host":")" + long_name + R"(","zone":")" +
                            long_name + "\"}");
  EXPECT_EQ(named->host.size(), 255u);
  EXPECT_EQ(named->zone.size(), 255u);
  EXPECT_EQ(member(R"({"session_ms":1,"weight":1000001})")->weight, kWeightMax);
  EXPECT_EQ(member(R"({"session_ms":1,"weight":4294967295})")->weight, kWeightMax);
  for (const char* weight : {"-1", "\"2\"", "2.5", "null"}) {
    EXPECT_EQ(member(R"({"session_ms":1,"weight":)" + std::string(weight) + "}")->weight, 1u)
        << weight;
  }
  EXPECT_EQ(member(R"({"session_ms":1,"seat_priority":101})")->seat_priority, kSeatPriorityMax);
  for (const char* priority : {"-1", "\"2\"", "2.5", "null"}) {
    const auto said = member(R"({"session_ms":1,"seat_priority":)" + std::string(priority) + "}");
    EXPECT_EQ(said->seat_priority, kSeatPriorityDefault) << priority;
  }
  const auto odd = member(
      R"({"session_ms":1,"cordoned":1,"host":2,"zone":[],"seat":"1:-1","seat_by":"2",)"
      R"("upto":"3","assigning":"true","leaving":1,"preparing_ms":-5,"later":{},)"
      R"("reads":1,"lag_ms":"5","unread":7,"preparing":"x"})");
  MemberFields expected;
  expected.session = kMemberSessionMin;
  EXPECT_EQ(odd, expected);
}

}  // namespace
}  // namespace neliroute
