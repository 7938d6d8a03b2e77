// Requests and addresses, as bytes and texts.
#include "admin/request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "router/text/listen_address.h"

namespace neliroute::admin {
namespace {

std::string get(const std::string& target, const std::string& fields = "Host: a\r\n") {
  return "GET " + target + " HTTP/1.1\r\n" + fields + "\r\n";
}

/// All bytes are there at once.
auto read_whole(const std::string& bytes, std::size_t& used) {
  Searched searched;
  return read_request(bytes, used, searched);
}

Request request_of(const std::string& bytes) {
  std::size_t used = 0;
  auto read = read_whole(bytes, used);
  EXPECT_TRUE(std::holds_alternative<Request>(read)) << bytes.substr(0, 80);
  return std::holds_alternative<Request>(read) ? std::get<Request>(read) : Request{};
}

/// 0: not refused, or not yet.
unsigned refused_with(const std::string& bytes) {
  std::size_t used = 0;
  const auto read = read_whole(bytes, used);
  const auto* refusal = std::get_if<Refusal>(&read);
  EXPECT_TRUE(!refusal || !refusal->error.empty());
  return refusal ? refusal->status : 0;
}

TEST(AdminRequest, is_read_with_its_path_and_query) {
  const Request request = request_of(get("/v1/route?key=a%20b"));
  EXPECT_EQ(request.path, "/v1/route");
  EXPECT_EQ(request.query, "key=a%20b");
  EXPECT_FALSE(request.head);
  EXPECT_TRUE(request.keep_alive);
  EXPECT_EQ(request_of(get("http://host:1/readyz?x")).path, "/readyz") << "as a proxy asks";
  EXPECT_EQ(request_of(get("HTTP://host:1/readyz?x")).host, "host:1");
  EXPECT_EQ(request_of(get("HTTP://host:1/readyz")).path, "/readyz");
  EXPECT_EQ(request_of(get("HTTP://")).path, "/") << "and no byte beyond it is read (ASan)";
  EXPECT_EQ(request_of(get("http:///readyz")).host, "a") << "the field, where the target has none";
  EXPECT_TRUE(request_of("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").head);
  EXPECT_FALSE(request_of(get("/", "Host: a\r\nConnection: close\r\n")).keep_alive);
  EXPECT_FALSE(request_of("GET / HTTP/1.0\r\n\r\n").keep_alive);
}

TEST(AdminRequest, takes_its_own_bytes_only) {
  const std::string first = get("/a");
  std::size_t used = 0;
  const auto read = read_whole(first + get("/b"), used);
  EXPECT_EQ(used, first.size());
  EXPECT_EQ(std::get<Request>(read).path, "/a");
}

TEST(AdminRequest, that_is_not_whole_is_waited_for) {
  const std::string whole = get("/v1/slots");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::size_t used = 0;
    EXPECT_TRUE(
        std::holds_alternative<NeedMore>(read_whole(whole.substr(0, length), used)))
        << length;
    EXPECT_EQ(used, 0u);
  }
}

TEST(AdminRequest, is_read_wherever_its_bytes_are_torn) {
  const std::string whole = get("/v1/slots");
  for (std::size_t step = 1; step < whole.size(); ++step) {
    Searched searched;
    std::size_t used = 0;
    for (std::size_t length = step; length < whole.size(); length += step) {
      EXPECT_TRUE(std::holds_alternative<NeedMore>(
          read_request(whole.substr(0, length), used, searched)));
      EXPECT_EQ(searched.bytes, length);
    }
    const auto read = read_request(whole, used, searched);
    ASSERT_TRUE(std::holds_alternative<Request>(read)) << step;
    EXPECT_EQ(std::get<Request>(read).path, "/v1/slots");
    EXPECT_EQ(used, whole.size());
  }
}

// A byte at a time, 16 KiB would be searched 16,384 times.
TEST(AdminRequest, is_not_searched_again_for_each_byte_that_arrives) {
  std::string bytes = "GET / HTTP/1.1\r\nX: ";
  Searched searched;
  std::size_t used = 0;
  EXPECT_TRUE(std::holds_alternative<NeedMore>(read_request(bytes, used, searched)));
  // What was searched is not looked at again, or this end would be found.
  bytes.replace(bytes.find("\r\n") - 4, 4, "\r\n\r\n");
  bytes += 'x';
  EXPECT_TRUE(std::holds_alternative<NeedMore>(read_request(bytes, used, searched)));
  // Nor for the end of the first line, which was there.
  std::fill(bytes.begin(), bytes.end(), 'G');
  bytes.resize(kTargetBytesMax + 100, 'G');
  EXPECT_TRUE(std::holds_alternative<NeedMore>(read_request(bytes, used, searched)));
}

TEST(AdminRequest, is_refused_for_what_is_wrong_with_it) {
  EXPECT_EQ(refused_with("POST /v1/slots HTTP/1.1\r\nHost: a\r\n\r\n"), 405u);
  EXPECT_EQ(refused_with("DELETE / HTTP/1.1\r\nHost: a\r\n\r\n"), 405u);
  EXPECT_EQ(refused_with("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), 405u);
  EXPECT_EQ(refused_with(get("/", "Host: a\r\nContent-Length: 1\r\n")), 413u);
  EXPECT_EQ(refused_with(get("/", "Host: a\r\nContent-Length: 99999999999\r\n")), 413u);
  EXPECT_EQ(refused_with(get("/", "Host: a\r\nTransfer-Encoding: chunked\r\n")), 413u);
  EXPECT_EQ(refused_with(get("/", "Host: a\r\nTransfer-Encoding: gzip\r\n")), 413u);
  EXPECT_EQ(refused_with(get("/", "Host: a\r\nContent-Length: 0\r\n")), 0u);
  EXPECT_EQ(refused_with(get("/", "")), 400u) << "no Host";
  EXPECT_EQ(refused_with(get("/", "Host: a\r\nContent-Length: -1\r\n")), 400u);
  EXPECT_EQ(refused_with(get("/", "Host a\r\n")), 400u);
  EXPECT_EQ(refused_with("GET / HTTP/9.9\r\nHost: a\r\n\r\n"), 400u);
  EXPECT_EQ(refused_with("\x16\x03\x01\x02"), 400u) << "TLS, at its first byte";
  EXPECT_EQ(refused_with("\r\n\r\n"), 400u);
}

// With 5 bytes to /a, and nothing elsewhere.
TEST(AdminRequest, has_a_body_where_a_rule_lets_it) {
  const PostRule rule = [](const Request& header) -> std::variant<std::size_t, Refusal> {
    if (header.path != "/a") return Refusal{405, "not there"};
    EXPECT_EQ(header.body, "") << "it is not read yet";
    return std::size_t{5};
  };
  const std::string fields =
      "Host: a\r\nContent-Type: t\r\nOrigin: o\r\nAuthorization: x\r\nContent-Length: ";
  const auto posted = [&fields](const std::string& path, const std::string& length) {
    return "POST " + path + " HTTP/1.1\r\n" + fields + length + "\r\n\r\n";
  };
  const std::string whole = posted("/a", "5") + "hello";
  for (std::size_t step = 1; step <= whole.size(); ++step) {
    Searched searched;
    std::size_t used = 0;
    for (std::size_t length = step; length < whole.size(); length += step) {
      ASSERT_TRUE(std::holds_alternative<NeedMore>(
          read_request(whole.substr(0, length), used, searched, rule)));
      ASSERT_EQ(used, 0u);
    }
    const auto read = read_request(whole + "GET", used, searched, rule);
    ASSERT_TRUE(std::holds_alternative<Request>(read)) << step;
    const auto& request = std::get<Request>(read);
    EXPECT_EQ(used, whole.size());
    EXPECT_EQ(request.body, "hello");
    EXPECT_EQ(request.type + request.origin + request.authorization, "tox");
  }
  const auto refused = [&rule](const std::string& bytes) {
    std::size_t used = 0;
    Searched searched;
    const auto read = read_request(bytes, used, searched, rule);
    return std::holds_alternative<Refusal>(read) ? std::get<Refusal>(read) : Refusal{0, ""};
  };
  EXPECT_EQ(refused(posted("/a", "6")).status, 413u);
  EXPECT_EQ(refused(posted("/b", "6")).error, "not there");
  EXPECT_EQ(refused("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").status,
            411u);
  EXPECT_EQ(refused("PUT /a HTTP/1.1\r\nHost: a\r\n\r\n").allow, "POST");
  EXPECT_EQ(refused("PUT /b HTTP/1.1\r\nHost: a\r\n\r\n").allow, "GET, HEAD");
  EXPECT_EQ(refused("POST /a HTTP/1.1\r\nHost: a\r\n\r\n").status, 0u) << "an empty body";
  EXPECT_EQ(refused(get("/a", "Host: a\r\nContent-Length: 1\r\n")).allow, "POST");
  EXPECT_EQ(refused(get("/b", "Host: a\r\nContent-Length: 1\r\n")).status, 413u);
}

TEST(AdminRequest, may_be_so_long_and_no_longer) {
  const std::string target = "/" + std::string(kTargetBytesMax - 1, 'a');
  EXPECT_EQ(refused_with(get(target)), 0u);
  EXPECT_EQ(refused_with(get(target + "a")), 414u);
  EXPECT_EQ(refused_with("GET /" + std::string(20'000, 'a')), 414u) << "before it ends";
  const std::string field = "Host: a\r\nX: ";
  const std::size_t rest = kHeaderBytesMax - get("/", field + "\r\n").size();
  EXPECT_EQ(refused_with(get("/", field + std::string(rest, 'x') + "\r\n")), 0u);
  const std::string longer = get("/", field + std::string(rest + 1, 'x') + "\r\n");
  EXPECT_EQ(refused_with(longer), 431u);
  for (std::size_t cut = 1; cut < 8; ++cut) {
    const unsigned status = refused_with(longer.substr(0, longer.size() - cut));
    EXPECT_TRUE(status == 431 || cut > 3) << "it can never be whole: " << cut;
  }
}

TEST(AdminQuery, is_decoded) {
  EXPECT_EQ(read_query("a=1&b=x%20y+z&c&=&d=%ff"),
            (Parameters{{"a", "1"}, {"b", "x y z"}, {"c", ""}, {"", ""}, {"d", "\xff"}}));
  EXPECT_EQ(read_query(""), Parameters{});
  EXPECT_FALSE(read_query("a=%f"));
  EXPECT_FALSE(read_query("a=%"));
  EXPECT_FALSE(read_query("a=%g0"));
}

TEST(AdminQuery, asks_of_a_key_or_a_slot) {
  const auto question = [](const char* query) {
    return std::get<RouteQuestion>(read_route_question(query, 64));
  };
  EXPECT_EQ(question("key=").key, "");
  EXPECT_EQ(question("key=%00%ff").key, std::string("\0\xff", 2));
  EXPECT_EQ(question("slot=63").slot, 63u);
  EXPECT_FALSE(question("slot=63").key);
  EXPECT_FALSE(question("slot=63").wait);
  EXPECT_EQ(question("wait=60s&after=17:4&key=a").wait, milliseconds{60'000});
  EXPECT_EQ(question("key=a&after=17.4&wait=0ms").after, (Epoch{17, 4}));
  for (const char* wrong : {"", "slot=64", "slot=-1", "slot=1x", "slot=", "slot=99999999999",
                            "key=a&slot=1", "key=a&key=b", "key=a&wait=61s", "key=a&after=1:1",
                            "Key=a", "key=%zz"}) {
    const auto read = read_route_question(wrong, 64);
    ASSERT_TRUE(std::holds_alternative<Refusal>(read)) << wrong;
    EXPECT_EQ(std::get<Refusal>(read).status, 400u);
    EXPECT_NE(std::get<Refusal>(read).error.find("/v1/route?key=KEY"), std::string::npos);
  }
}

TEST(ListenAddress, is_loopback_unless_told_otherwise) {
  const auto read = [](const char* text) {
    const auto made = parse_listen(text);
    return made ? made->host + " " + std::to_string(made->port) : made.error().message();
  };
  EXPECT_EQ(read("8080"), "127.0.0.1 8080");
  EXPECT_EQ(read(":0"), "127.0.0.1 0");
  EXPECT_EQ(read("0.0.0.0:65535"), "0.0.0.0 65535");
  EXPECT_EQ(read("[::1]:80"), "::1 80");
  EXPECT_EQ(read("localhost:80"), "localhost 80");
}

TEST(ListenAddress, that_cannot_be_is_refused_with_what_to_give) {
  for (const char* wrong : {"", ":", "a", "a:", "a:x", "a:65536", "a:-1", "a:1 ", "::1", "::1:80",
                            "[::1]", "[::1:80", "[]:80", "a:80:80"}) {
    const auto made = parse_listen(wrong);
    ASSERT_FALSE(made) << wrong;
    EXPECT_EQ(made.error().code(), Errc::bad_option);
    EXPECT_NE(made.error().message().find("give HOST:PORT"), std::string::npos);
  }
  const auto made = resolve_listen("no such host:80");
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message().find("cannot be found"), std::string::npos);
  EXPECT_EQ(resolve_listen("[::1]:81")->port(), 81);
}

}  // namespace
}  // namespace neliroute::admin
