// Where in a request its key is, and which requests have none.
#include "forward/rules/key_source.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/forward/requests.h"

namespace neliroute::forward {
namespace {

using testing_forward::Fields;
using testing_forward::request;

std::string refusal(const std::string& source, const std::string& target, Fields fields = {}) {
  const RequestHeader header = request(target, fields);
  const auto split = split_target(target);
  if (!split) return "no target";
  const auto found = KeySource::parse(source).value().key_of(header, *split);
  const auto* none = std::get_if<NoKey>(&found);
  return none == nullptr ? "" : none->text;
}

std::optional<std::string> key(const std::string& source, const std::string& target,
                               Fields fields = {}) {
  const RequestHeader header = request(target, fields);
  const auto split = split_target(target);
  if (!split) return std::nullopt;
  auto found = KeySource::parse(source).value().key_of(header, *split);
  auto* bytes = std::get_if<std::string>(&found);
  return bytes == nullptr ? std::nullopt : std::optional(std::move(*bytes));
}

TEST(KeySource, reads_back_what_it_was_made_of) {
  for (const char* text : {"header:X-User", "path:3", "query:user id", "cookie:sid", "host"}) {
    const auto source = KeySource::parse(text);
    ASSERT_TRUE(source) << text;
    EXPECT_EQ(source->to_string(), text);
  }
}

TEST(KeySource, that_makes_no_sense_is_refused_with_what_was_expected) {
  for (const char* text : {"", "header", "header:", "header:a b", "path:0", "path:x", "path:1x",
                           "path:", "path:101", "path:-1", "query:", "cookie:a;b", "hosts",
                           "host:1", "body:x", "HEADER:x", "header:Host", "header:via",
                           "header:X_Forwarded_For", "header:Neliroute-Epoch"}) {
    const auto source = KeySource::parse(text);
    ASSERT_FALSE(source) << text;
    EXPECT_EQ(source.error().code(), Errc::bad_option);
    EXPECT_NE(source.error().message().find("expected header:NAME, path:N"), std::string::npos)
        << source.error().message();
  }
}

TEST(KeySource, that_a_proxy_changes_is_refused_with_what_to_take_instead) {
  for (const char* text : {"header:Host", "header:X-Forwarded-Host"}) {
    const std::string why = KeySource::parse(text).error().message();
    EXPECT_NE(why.find("take host instead"), std::string::npos) << why;
  }
  for (const char* text : {"header:Expect", "header:Content-Length", "header:x-real-ip",
                           "header:Transfer-Encoding", "header:Neliroute-Slot"}) {
    const std::string why = KeySource::parse(text).error().message();
    EXPECT_NE(why.find("one of their own, as header:X-User"), std::string::npos) << why;
  }
}

TEST(KeySource, has_only_bytes_that_all_servers_read_alike) {
  const auto is_refused = [](const std::string& why) {
    return why.find("bytes that servers read differently: expected") != std::string::npos;
  };
  for (const char* value : {"a\tb", "a\x7f", "a\xff", "\xc3\xbc", "a\x01"}) {
    EXPECT_TRUE(is_refused(refusal("header:X", "/", {{"X", value}}))) << value;
  }
  for (const char* cookie : {"sid=a b", "sid=\"a\"", "sid=a%20", "sid=a\\b", "sid=a,b",
                             "sid=\xff"}) {
    EXPECT_TRUE(is_refused(refusal("cookie:sid", "/", {{"Cookie", cookie}}))) << cookie;
  }
  for (const char* path : {"/a;x=1", "/a%3Bb", "/a%2Fb", "/a%5Cb", "/a%25b", "/a%3Fb", "/a%23b",
                           "/a%00", "/%FF", "/%C0%AF", "/%ED%A0%80", "/a%0A"}) {
    EXPECT_TRUE(is_refused(refusal("path:1", path))) << path << ": " << refusal("path:1", path);
  }
  for (const char* query : {"/?k=%00", "/?k=%FF", "/?k=a%0D", "/?k=%C3"}) {
    EXPECT_TRUE(is_refused(refusal("query:k", query))) << query;
  }
  for (const char* host : {"a%41", "a,b", "a!b"}) {
    EXPECT_TRUE(is_refused(refusal("host", "/", {{"Host", host}}))) << host;
  }
  EXPECT_EQ(key("path:1", "/%C3%BC%20+'(~"), "\xc3\xbc +'(~");
  EXPECT_EQ(key("query:k", "/?k=%E2%82%AC"), "\xe2\x82\xac");
  EXPECT_EQ(key("cookie:sid", "/", {{"Cookie", "sid=!#$&'()*+-./:<=>?@[]^_`{|}~"}}),
            "!#$&'()*+-./:<=>?@[]^_`{|}~");
}

TEST(KeySource, header_is_found_whatever_its_case_and_without_the_spaces_around) {
  EXPECT_EQ(key("header:x-user", "/", {{"X-User", " anna bell\t"}}), "anna bell");
  EXPECT_EQ(key("header:X-User", "/", {{"x-user", "a%20b"}}), "a%20b") << "nothing is decoded";
  EXPECT_NE(refusal("header:X-User", "/").find("is missing"), std::string::npos);
  EXPECT_NE(refusal("header:X-User", "/", {{"X-User", ""}}).find("is empty"), std::string::npos);
  EXPECT_NE(refusal("header:X-User", "/", {{"X-User", "a"}, {"x-user", "a"}}).find("twice"),
            std::string::npos);
}

TEST(KeySource, header_that_an_application_takes_for_another_one_is_refused) {
  for (const char* alike : {"X_User", "x_uSER"}) {
    EXPECT_NE(refusal("header:X-User", "/", {{"X-User", "a"}, {alike, "b"}}).find("twice"),
              std::string::npos);
    EXPECT_NE(refusal("header:X-User", "/", {{alike, "b"}, {"X-User", "a"}}).find("twice"),
              std::string::npos);
    EXPECT_NE(refusal("header:X-User", "/", {{alike, "b"}}).find("is missing"), std::string::npos);
  }
  EXPECT_EQ(key("header:X_User", "/", {{"X_User", "a"}}), "a");
  EXPECT_EQ(key("header:X-User", "/", {{"X-User", "a"}, {"X_Users", "b"}, {"XUser", "c"}}), "a");
}

TEST(KeySource, that_would_not_be_passed_on_is_refused) {
  for (const char* options : {"X-Key", "close, x-key", "x_key", "keep-alive,X-KEY"}) {
    EXPECT_NE(refusal("header:X-Key", "/", {{"X-Key", "a"}, {"Connection", options}})
                  .find("named by Connection"),
              std::string::npos)
        << options;
  }
  EXPECT_NE(refusal("cookie:sid", "/", {{"Cookie", "sid=7"}, {"Connection", "close, cookie"}})
                .find("named by Connection"),
            std::string::npos);
  EXPECT_EQ(key("cookie:sid", "/", {{"Cookie", "sid=7"}, {"Connection", "close, sid"}}), "7");
  EXPECT_EQ(key("path:1", "/a", {{"Cookie", "sid=7"}, {"Connection", "cookie, X-Key"}}), "a");
}

TEST(KeySource, path_counts_segments_from_1_and_decodes_once) {
  EXPECT_EQ(key("path:1", "/users/anna?x=1"), "users");
  EXPECT_EQ(key("path:2", "/users/anna?x=1"), "anna");
  EXPECT_EQ(key("path:2", "/users/a%3Ab%20c"), "a:b c");
  EXPECT_EQ(key("path:2", "/users/a+b"), "a+b");
  EXPECT_EQ(key("path:1", "http://host:80/users/anna"), "users");
  EXPECT_NE(refusal("path:3", "/users/anna").find("is missing"), std::string::npos);
  EXPECT_NE(refusal("path:2", "/users//anna").find("is empty"), std::string::npos);
  EXPECT_NE(refusal("path:1", "/").find("is empty"), std::string::npos);
  EXPECT_NE(refusal("path:1", "*").find("is missing"), std::string::npos);
  for (const char* target : {"/%", "/%2", "/%zz", "/a%2"}) {
    EXPECT_NE(refusal("path:1", target).find("hexadecimal"), std::string::npos) << target;
  }
}

TEST(KeySource, path_that_an_application_may_shorten_is_refused) {
  for (const char* target :
       {"/users/u1/../u2", "/users/./u1", "/users/u1/.", "/users/..", "/users/u1/%2e%2E/u2",
        "/users/.%2e/u1", "/%2e/users/u1", "/users/u1/..%2Fu2", "/users/u1/x%2F..%2F..%2Fu2",
        "/users/u1/..%5Cu2", "/users/u1/..;/u2", "/users/u1/..;x=y/u2"}) {
    EXPECT_NE(refusal("path:2", target).find("a segment . or .."), std::string::npos)
        << target << ": " << refusal("path:2", target);
  }
  for (const char* target : {"//users/u2", "//u2", "http://host//u2"}) {
    EXPECT_NE(refusal("path:2", target).find("an empty segment is before it"), std::string::npos)
        << target << ": " << refusal("path:2", target);
  }
  for (const char* target : {"/users%2fmore/u1", "/users%00/u1", "/users;x=1/u1", "/users%5C/u1",
                             "/users%25/u1"}) {
    EXPECT_NE(refusal("path:2", target).find("in a segment before it"), std::string::npos)
        << target << ": " << refusal("path:2", target);
  }
  for (const char* target : {"/%zz/u1", "/users/u1/%", "/users/u1/..%2Fu2%4"}) {
    EXPECT_NE(refusal("path:2", target).find("hexadecimal"), std::string::npos)
        << target << ": " << refusal("path:2", target);
  }
  EXPECT_EQ(key("path:2", "/users/..."), "...");
  EXPECT_EQ(key("path:2", "/users/.hidden/a..b/.c"), ".hidden");
  EXPECT_EQ(key("path:2", "/users/u1//x;y/%2F/"), "u1") << "what is behind it shifts nothing";
  EXPECT_EQ(key("path:2", "/users/u1?to=/../u2"), "u1");
  EXPECT_EQ(key("query:key", "/users/u1/../u2?key=7"), "7") << "it is no path";
}

TEST(KeySource, query_is_form_decoded) {
  EXPECT_EQ(key("query:user", "/x?a=1&user=anna+b%2Bc&z"), "anna b+c");
  EXPECT_EQ(key("query:user id", "/x?user%20id=7"), "7");
  EXPECT_EQ(key("query:user", "/x?user=a=b"), "a=b");
  EXPECT_NE(refusal("query:user", "/x").find("is missing"), std::string::npos);
  EXPECT_NE(refusal("query:user", "/x?User=a").find("is missing"), std::string::npos);
  EXPECT_NE(refusal("query:user", "/x?user").find("is empty"), std::string::npos);
  EXPECT_NE(refusal("query:user", "/x?user=a&b=1&user=a").find("twice"), std::string::npos);
  for (const char* other : {"user[]=b&user=a", "x=1;user=b&user=a", "user=a&x;user=b", "user=a;b",
                            "user[x]=b"}) {
    const std::string why = refusal("query:user", "/x?" + std::string(other));
    EXPECT_TRUE(why.find("twice") != why.npos || why.find("cannot be told") != why.npos) << why;
  }
  EXPECT_EQ(key("query:user", "/x?a=1;b=2&user=a%3Bb"), "a;b");
  EXPECT_NE(refusal("query:user", "/x?user=%g0").find("hexadecimal"), std::string::npos);
  EXPECT_NE(refusal("query:user", "/x?%=1&user=a").find("hexadecimal"), std::string::npos);
}

TEST(KeySource, cookie_is_found_in_its_field) {
  EXPECT_EQ(key("cookie:sid", "/", {{"Cookie", "a=1; sid=x=y;b=2"}}), "x=y");
  EXPECT_EQ(key("cookie:sid", "/", {{"Cookie", "role=sid; xsid=8; sid=7; a={\"k\":\"v\"}"}}), "7");
  EXPECT_NE(refusal("cookie:sid", "/").find("is missing"), std::string::npos);
  EXPECT_NE(refusal("cookie:sid", "/", {{"Cookie", "SID=7"}}).find("is missing"),
            std::string::npos);
  for (const char* bare : {"sid", "sid; sid=7", "sid=7; sid\xc2\xa0"}) {
    EXPECT_NE(refusal("cookie:sid", "/", {{"Cookie", bare}}).find("without a value"),
              std::string::npos);
  }
  EXPECT_NE(refusal("cookie:sid", "/", {{"Cookie", "sid="}}).find("is empty"), std::string::npos);
}

TEST(KeySource, cookie_that_another_server_finds_elsewhere_is_refused) {
  for (const char* twice : {"sid=7; sid=7", "sid=7, sid=8", "a=1 sid=8; sid=7", "s%69d=8; sid=7",
                            "sid\xc2\xa0=8; sid=7", "\xa0sid=8; sid=7", "a=\"b;sid=8\"; sid=7"}) {
    const std::string why = refusal("cookie:sid", "/", {{"Cookie", twice}});
    EXPECT_TRUE(why.find("twice") != why.npos || why.find("a quote") != why.npos)
        << twice << ": " << why;
  }
  EXPECT_NE(refusal("cookie:sid", "/", {{"Cookie", "a=\"; sid=7; b=\""}}).find("a quote"),
            std::string::npos);
  EXPECT_NE(refusal("cookie:sid", "/", {{"Cookie", "a=1"}, {"Cookie", "sid=7"}})
                .find("two fields Cookie"),
            std::string::npos);
}

TEST(KeySource, host_is_in_lower_case_and_without_its_port) {
  EXPECT_EQ(key("host", "/", {{"Host", "Shop.Example:8080"}}), "shop.example");
  EXPECT_EQ(key("host", "/", {{"Host", "[::1]:80"}}), "[::1]");
  EXPECT_EQ(key("host", "/", {{"Host", "[::1]"}}), "[::1]");
  EXPECT_EQ(key("host", "http://Other:1/x", {{"Host", "shop"}}), "other") << "the target decides";
  EXPECT_NE(refusal("host", "/").find("is missing"), std::string::npos);
  EXPECT_NE(refusal("host", "/", {{"Host", ":80"}}).find("is malformed"), std::string::npos);
  EXPECT_NE(refusal("host", "/", {{"Host", "a."}}).find("a dot"), std::string::npos);
  EXPECT_NE(refusal("host", "/", {{"Host", "a"}, {"Host", "a"}}).find("twice"),
            std::string::npos);
}

TEST(KeySource, host_that_the_proxy_before_names_differently_is_refused) {
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"X-Forwarded-Host", "other"},
           {"X-Forwarded-Host", "shop, other"},
           {"X-Forwarded-Host", ""},
           {"Forwarded", "for=1.2.3.4;host=other"},
           {"Forwarded", "host=shop, Host=\"other\""}}) {
    EXPECT_NE(refusal("host", "/", {{"Host", "shop"}, {name, value}}).find("cannot be told"),
              std::string::npos)
        << name << ' ' << value;
  }
  EXPECT_EQ(key("host", "/", {{"Host", "shop"},
                              {"X-Forwarded-Host", "SHOP:81"},
                              {"Forwarded", "for=a;host=\"shop:81\", for=b"}}),
            "shop");
}

TEST(Target, has_parts) {
  const auto plain = split_target("/a/b?c=d?e");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->path, "/a/b");
  EXPECT_EQ(plain->query, "c=d?e");
  EXPECT_EQ(plain->origin, "/a/b?c=d?e");
  EXPECT_EQ(plain->authority, "");
  const auto absolute = split_target("HTTP://h:1/a?b");
  ASSERT_TRUE(absolute);
  EXPECT_EQ(absolute->authority, "h:1");
  EXPECT_EQ(absolute->origin, "/a?b");
  const auto bare = split_target("https://h");
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->origin, "/");
  ASSERT_TRUE(split_target("*"));
  EXPECT_EQ(split_target("*")->path, "*");
}

TEST(Target, that_is_none_is_refused) {
  for (const char* text : {"", "a", "a/b", "h:80", "http://", "http:///a", "http://u@h/a",
                           "http://h?x", "/a b", "/a#b", "/a\tb", "/a\x7f", "ftp://h/a", "/a\\b",
                           "**"}) {
    EXPECT_FALSE(split_target(text)) << text;
  }
}

}  // namespace
}  // namespace neliroute::forward
