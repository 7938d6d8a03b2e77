#include "base/base64.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

namespace neliroute {
namespace {

const std::array<std::pair<std::string, std::string>, 8> kExamples{{{"", ""},
                                                                    {"f", "Zg=="},
                                                                    {"fo", "Zm8="},
                                                                    {"foo", "Zm9v"},
                                                                    {"foob", "Zm9vYg=="},
                                                                    {"fooba", "Zm9vYmE="},
                                                                    {"foobar", "Zm9vYmFy"},
                                                                    {"\xff\xfe\xfd", "//79"}}};

TEST(Base64Test, OfRfc4648AndBack) {
  for (const auto& [bytes, text] : kExamples) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(bytes_of_base64(text), bytes);
  }
}

TEST(Base64Test, WhatIsNoneStandsForNothing) {
  for (const char* text :
       {"Zg", "Zg=", "Zg===", "Z", "=", "Zh==", "Zm9=", "Zm 9", "Zm9v\n", "-_=="}) {
    EXPECT_EQ(bytes_of_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace neliroute
