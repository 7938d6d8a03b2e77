// Bodies, tokens and origins of control calls, as texts.
#include "admin/control/control_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace neliroute::admin {
namespace {

const SlotSpace kSpace{SlotCount{64}};

AdmitQuestion question(const std::string& body) {
  const auto read = read_admit(body, kSpace);
  EXPECT_TRUE(std::holds_alternative<AdmitQuestion>(read)) << body;
  const auto* made = std::get_if<AdmitQuestion>(&read);
  return made != nullptr ? *made : AdmitQuestion{};
}

TEST(ControlText, asks_about_a_key_or_a_slot) {
  EXPECT_EQ(question(R"({"slot":63})").slot, Slot{63});
  EXPECT_EQ(question(R"({"slot":0})").epoch, kNoEpoch);
  EXPECT_EQ(question(R"({"slot":0})").hops, 0u);
  EXPECT_EQ(question(R"({"key":""})").slot, kSpace.slot_of(""));
  EXPECT_EQ(question(R"({"key":"\u00e9"})").slot, kSpace.slot_of("\xc3\xa9"));
  EXPECT_EQ(question(R"( {"key":"a", "hops": 4294967295} )").hops, 4294967295u);
}

TEST(ControlText, has_an_epoch_in_either_form) {
  EXPECT_EQ(question(R"({"slot":0,"epoch":"17:4"})").epoch, (Epoch{17, 4}));
  EXPECT_EQ(question(R"({"slot":0,"epoch":{"inc":17,"offset":4}})").epoch, (Epoch{17, 4}));
  EXPECT_EQ(question(R"({"slot":0,"epoch":"-1:-1"})").epoch, (Epoch{-1, -1}));
  EXPECT_EQ(question(R"({"slot":0,"epoch":"-9223372036854775808:-1"})").epoch, kNoEpoch);
}

TEST(ControlText, that_asks_otherwise_is_refused_with_an_example) {
  for (const char* body : {"",
                           " ",
                           "{",
                           "{}x",
                           "null",
                           "[]",
                           "1",
                           "\"a\"",
                           "{}",
                           R"({"key":"a","slot":1})",
                           R"({"key":1})",
                           R"({"key":null})",
                           R"({"slot":"1"})",
                           R"({"slot":64})",
                           R"({"slot":-1})",
                           R"({"slot":1.0})",
                           R"({"slot":1e1})",
                           R"({"slot":18446744073709551616})",
                           R"({"slot":0,"hops":-1})",
                           R"({"slot":0,"hops":4294967296})",
                           R"({"slot":0,"hops":"1"})",
                           R"({"slot":0,"epoch":1})",
                           R"({"slot":0,"epoch":"1"})",
                           R"({"slot":0,"epoch":""})",
                           R"({"slot":0,"epoch":"1:2:3"})",
                           R"({"slot":0,"epoch":null})",
                           R"({"slot":0,"epoch":{}})",
                           R"({"slot":0,"epoch":{"inc":1}})",
                           R"({"slot":0,"epoch":{"inc":1,"offset":"2"}})",
                           R"({"slot":0,"epoch":{"inc":1,"offset":9223372036854775808}})",
                           R"({"slot":0,"epoch":{"inc":1,"offset":2,"x":3}})",
                           R"({"slot":0,"slots":1})",
                           "{\"key\":\"\xff\"}"}) {
    const auto read = read_admit(body, kSpace);
    ASSERT_TRUE(std::holds_alternative<Refusal>(read)) << body;
    EXPECT_EQ(std::get<Refusal>(read).status, 400u);
    EXPECT_NE(std::get<Refusal>(read).error.find(R"({"key":"user:1000")"), std::string::npos);
  }
  EXPECT_TRUE(std::holds_alternative<Refusal>(read_admit(std::string(10'000, '['), kSpace)));
}

TEST(ControlText, ends_a_work_by_its_number) {
  const auto number = [](const std::string& body) {
    const auto read = read_done(body);
    const auto* made = std::get_if<Ended>(&read);
    return made != nullptr && !made->step ? made->number : 0;
  };
  EXPECT_EQ(number(R"({"work":"0000000000000001"})"), 1u);
  EXPECT_EQ(number(R"({"work":"ffffffffffffffff"})"), std::numeric_limits<std::uint64_t>::max());
  for (const char* body :
       {"{}", R"({"work":1})", R"({"work":"1"})", R"({"work":"000000000000000g"})",
        R"({"work":"-000000000000001"})", R"({"work":"00000000000000001"})",
        R"({"work":"0x00000000000001"})", R"({"work":"0000000000000001","a":1})"}) {
    EXPECT_TRUE(std::holds_alternative<Refusal>(read_done(body))) << body;
  }
}

TEST(ControlText, ends_a_step_by_its_number) {
  const auto read = read_done(R"({"step":7})");
  ASSERT_TRUE(std::holds_alternative<Ended>(read));
  EXPECT_TRUE(std::get<Ended>(read).step);
  EXPECT_EQ(std::get<Ended>(read).number, 7u);
  for (const char* body : {R"({"step":"7"})", R"({"step":-7})", R"({"step":7.5})",
                           R"({"step":7,"work":"0000000000000001"})"}) {
    EXPECT_TRUE(std::holds_alternative<Refusal>(read_done(body))) << body;
  }
}

TEST(ControlText, to_drain_says_nothing) {
  EXPECT_FALSE(read_drain(""));
  EXPECT_FALSE(read_drain("{}"));
  for (const char* body : {"null", "[]", "{", R"({"a":1})"}) EXPECT_TRUE(read_drain(body)) << body;
}

TEST(ControlText, is_json_by_its_type) {
  for (const char* type : {"application/json", "APPLICATION/JSON", "application/json;charset=utf-8",
                           "application/json ; x"}) {
    EXPECT_TRUE(is_json(type)) << type;
  }
  for (const char* type : {"", "application/jsonx", "text/plain", "x;application/json", ";"}) {
    EXPECT_FALSE(is_json(type)) << type;
  }
}

TEST(ControlText, comes_from_a_page_of_its_own_host_or_none) {
  EXPECT_TRUE(is_own_page("http://a:1", "a:1"));
  EXPECT_TRUE(is_own_page("https://A:1", "a:1"));
  EXPECT_TRUE(is_own_page("http://a", "a:80"));
  EXPECT_TRUE(is_own_page("https://a:443", "a"));
  EXPECT_FALSE(is_own_page("https://a:443", "a:80"));
  for (const char* origin :
       {"", "null", "a:1", "http://", "http://b:1", "http://a:2", "http://a:11", "http://a:1/",
        "http://x.a:1", "ftp://a:1", "file://"}) {
    EXPECT_FALSE(is_own_page(origin, "a:1")) << origin;
  }
  EXPECT_FALSE(is_own_page("http://", ""));
}

TEST(ControlText, bears_a_token) {
  EXPECT_TRUE(bears("Bearer abc", "abc"));
  EXPECT_TRUE(bears("BEARER abc", "abc"));
  for (const char* field :
       {"", "Bearer", "Bearer ", "Bearer ab", "Bearer abcd", "Bearer abcabc", "Bearer ABC",
        "Bearer  abc", "Bearer abc ", "Basic abc", "abc", "XBearer abc"}) {
    EXPECT_FALSE(bears(field, "abc")) << field;
  }
  EXPECT_FALSE(bears("Bearer ", ""));
}

}  // namespace
}  // namespace neliroute::admin
