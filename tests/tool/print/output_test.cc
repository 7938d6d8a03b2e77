#include "tool/print/output.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/json/serialize.hpp>
#include <string>

#include "base/base64.h"

namespace neliroute::tool {
namespace {

using namespace std::string_literals;

TEST(OutputTest, ExitCodes) {
  EXPECT_EQ(exit_code_of(Errc::bad_option), 2);
  EXPECT_EQ(exit_code_of(Errc::ledger_unfit), 2);
  EXPECT_EQ(exit_code_of(Errc::settings_conflict), 2);
  EXPECT_EQ(exit_code_of(Errc::ledger_unreachable), 3);
  EXPECT_EQ(exit_code_of(Errc::ledger_refused), 3);
  EXPECT_EQ(exit_code_of(Errc::barrier_stuck), 3);
  using enum Verdict;
  EXPECT_EQ(exit_code_of(std::array{local, remote}), 0);
  EXPECT_EQ(exit_code_of(std::array{remote, unowned, remote}), 1);
  EXPECT_EQ(exit_code_of(std::array{unowned, unknown, remote}), 3) << "3 before 1 before 0";
  EXPECT_EQ(exit_code_of(std::span<const Verdict>{}), 0);
}

TEST(OutputTest, Utf8) {
  for (const std::string& good : {""s, "a\0b"s, "\x7f"s, "\xc2\x80"s, "ключ"s, "\xed\x9f\xbf"s,
                                  "\xee\x80\x80"s, "\xf0\x90\x80\x80"s, "\xf4\x8f\xbf\xbf"s}) {
    EXPECT_TRUE(is_utf8(good)) << base64(good);
  }
  // A lone tail, a cut end, overlong forms, surrogates, above U+10FFFF, no lead at all.
  for (const std::string& bad :
       {"\x80"s, "a\xc2"s, "\xc2"
                           "a"s,
        "\xc0\x80"s, "\xc1\xbf"s, "\xe0\x9f\xbf"s, "\xed\xa0\x80"s, "\xf0\x8f\xbf\xbf"s,
        "\xf4\x90\x80\x80"s, "\xf5\x80\x80\x80"s, "\xff"s, "\xe2\x82"s, "\xf0\x9f\x98"s}) {
    EXPECT_FALSE(is_utf8(bad)) << base64(bad);
  }
}

TEST(OutputTest, KeysInJsonAndForPeople) {
  boost::json::object row;
  put_text(row, "key", "a\"b");
  EXPECT_EQ(boost::json::serialize(row), R"({"key":"a\"b"})");
  row.clear();
  put_text(row, "key", "\xff");
  EXPECT_EQ(boost::json::serialize(row), R"({"key_base64":"/w=="})");
  EXPECT_EQ(shown(""), "\"\"");
  EXPECT_EQ(shown("a\nb\\\x1b[31m"), "a\\x0ab\\\\\\x1b[31m") << "no key can colour a terminal";
  EXPECT_EQ(shown("ключ"), "ключ");
  EXPECT_EQ(shown("k\xff"), "k\\xff");
  EXPECT_EQ(shown("\xc2\x9b[2J"), "\\xc2\\x9b[2J") << "one character, and the same as ESC [";
  EXPECT_EQ(shown("a\xe2\x80\xae" "b"), "a\\xe2\\x80\\xae" "b") << "turns what follows it around";
  EXPECT_EQ(shown("a\xe2\x80\x8b"), "a\\xe2\\x80\\x8b") << "of no width: it may pose as another";
  for (const char* unseen : {"\xd8\x9c", "\xe2\x80\x8f", "\xe2\x81\xa0", "\xef\xbb\xbf"}) {
    EXPECT_NE(shown(unseen), unseen);
  }
  EXPECT_EQ(shown("\xd8\x9b\xe2\x80\x90\xef\xbb\xbc"), "\xd8\x9b\xe2\x80\x90\xef\xbb\xbc");
  EXPECT_EQ(shown("\xc2\xa0\xe2\x82\xac"), "\xc2\xa0\xe2\x82\xac");
}

TEST(OutputTest, TextsThatQuoteStrangers) {
  EXPECT_EQ(printable("ключ \\ and\nmore"), "ключ \\ and\nmore");
  EXPECT_EQ(printable("\x1b[2J\r\xff"), "\\x1b[2J\\x0d\\xff");
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable_line("ключ \\ and\n2026-01-31 error\x1b"),
            "ключ \\ and\\x0a2026-01-31 error\\x1b");
}

TEST(OutputTest, NamesThatJsonCannotCarry) {
  Route route;
  route.verdict = Verdict::remote;
  const ProcessInfo owner{"\xff", "h:1", {}};
  const ProcessInfo next{"b", "\xfe", {}};
  route.owner_info = &owner;
  route.next_info = &next;
  boost::json::object row;
  put_route(row, route);
  const std::string text = boost::json::serialize(row);
  for (const char* part : {R"("owner_base64":"/w==","endpoint":"h:1",)",
                           R"("next_owner":"b","next_endpoint_base64":"/g==")"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(OutputTest, RoutesSayNoMoreThanIsKnown) {
  Route route;
  route.slot = Slot{5};
  route.partition = Partition{1};
  route.verdict = Verdict::unowned;
  boost::json::object row;
  put_route(row, route);
  EXPECT_EQ(boost::json::serialize(row), R"({"slot":5,"partition":1,"verdict":"unowned"})");
  route.verdict = Verdict::remote;
  const ProcessInfo owner{"alpha", "h:1", {}};
  const ProcessInfo next{"beta", "", {}};
  route.owner_info = &owner;
  route.next_info = &next;
  route.epoch = {7, 9};
  route.valid_for = microseconds{1999};
  row.clear();
  put_route(row, route);
  EXPECT_EQ(boost::json::serialize(row),
            R"({"slot":5,"partition":1,"verdict":"remote","owner":"alpha","endpoint":"h:1",)"
            R"("epoch":{"inc":7,"offset":9},"valid_for_ms":1,"next_owner":"beta",)"
            R"("next_endpoint":""})");
}

}  // namespace
}  // namespace neliroute::tool
