// Where --notify may POST to.
#include "tool/exec/notify_url.h"

#include <gtest/gtest.h>

#include <string>

namespace neliroute::tool {
namespace {

TEST(NotifyUrl, is_a_server_on_this_machine) {
  const auto read = parse_notify_url("http://127.0.0.1:9000/events?of=neliroute");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->address(), "127.0.0.1:9000");
  EXPECT_EQ(read->host, "127.0.0.1:9000");
  EXPECT_EQ(read->target, "/events?of=neliroute");
}

TEST(NotifyUrl, may_leave_out_what_goes_without_saying) {
  const auto made = [](const char* text) {
    const auto read = parse_notify_url(text);
    return read ? read->address() + " " + read->host + " " + read->target : read.error().message();
  };
  EXPECT_EQ(made("http://127.0.0.1"), "127.0.0.1:80 127.0.0.1 /");
  EXPECT_EQ(made("HTTP://127.1.2.3:81"), "127.1.2.3:81 127.1.2.3:81 /");
  EXPECT_EQ(made("http://[::1]:81/a"), "[::1]:81 [::1]:81 /a");
  EXPECT_EQ(made("http://[::1]"), "[::1]:80 [::1] /");
  EXPECT_EQ(made("http://127.0.0.1:81?a"), "127.0.0.1:81 127.0.0.1:81 /?a");
}

TEST(NotifyUrl, that_leaves_this_machine_or_makes_no_sense_is_refused) {
  for (const char* wrong : {"",
                            "127.0.0.1:9000",
                            "https://127.0.0.1:9000",
                            "http:/127.0.0.1",
                            "http://",
                            "http:///a",
                            "http://10.0.0.7:9000",
                            "http://0.0.0.0:9000",
                            "http://[::]:9000",
                            "http://:9000x/",
                            "http://127.0.0.1:0",
                            "http://127.0.0.1:99999",
                            "http://127.0.0.1:/a",
                            "http://[::1:81",
                            "http://me@127.0.0.1:81",
                            "http://127.0.0.1:81/#a",
                            "http://127.0.0.1:81/a b",
                            "http://127.0.0.1:81/\r\nX: y",
                            "http://127.0.0.1:81/\xc3\xa9",
                            "http://127.0.0.1 .evil.example",
                            "http://:9000/"}) {
    const auto read = parse_notify_url(wrong);
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(read.error().code(), Errc::bad_option);
    EXPECT_NE(read.error().message().find("http://127.0.0.1:9000/events"), std::string::npos);
  }
  EXPECT_FALSE(parse_notify_url("http://127.0.0.1:81/" + std::string(3000, 'a')));
}

}  // namespace
}  // namespace neliroute::tool
