// Headers that a proxy refuses, and what it changes in the others.
#include "forward/rules/proxy_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "forward/rules/forwarded.h"
#include "forward/rules/peer_fields.h"
#include "tests/unit/forward/requests.h"

namespace neliroute::forward {
namespace {

namespace http = boost::beast::http;
using testing_forward::Fields;
using testing_forward::request;

unsigned refused(const RequestHeader& header) {
  const auto refusal = refusal_of(header);
  EXPECT_TRUE(!refusal || !refusal->text.empty());
  return refusal ? refusal->status : 0;
}

unsigned refused(Fields fields) { return refused(request("/", fields)); }

ResponseHeader answer(unsigned status, Fields fields) {
  ResponseHeader made;
  made.version(11);
  made.result(status);
  for (const auto& [name, value] : fields) made.insert(name, value);
  return made;
}

/// "Name: value" of each, in order.
std::vector<std::string> lines(const http::fields& fields) {
  std::vector<std::string> all;
  for (const auto& one : fields) {
    all.push_back(std::string(one.name_string()) + ": " + std::string(one.value()));
  }
  return all;
}

TEST(ProxyRules, pass_on_what_is_plain) {
  EXPECT_EQ(refused({{"Host", "a"}}), 0u);
  EXPECT_EQ(refused({{"Host", "a"}, {"Content-Length", "5"}}), 0u);
  EXPECT_EQ(refused({{"Host", "a"}, {"Transfer-Encoding", "Chunked"}}), 0u);
  EXPECT_EQ(refused({{"Host", "a"}, {"Connection", "close, X-Mine"}}), 0u);
}

TEST(ProxyRules, refuse_what_two_servers_may_read_differently) {
  EXPECT_EQ(refused({{"Host", "a"}, {"Host", "a"}}), 400u);
  EXPECT_EQ(refused({{"X", "y"}}), 400u) << "no Host";
  EXPECT_EQ(refused({{"Host", "a"}, {"Content-Length", "5"}, {"Content-Length", "5"}}), 400u);
  EXPECT_EQ(refused({{"Host", "a"}, {"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}}),
            400u);
  for (const char* coding : {"gzip, chunked", "gzip", "chunked, chunked", "identity", "xchunked",
                             "chunked;a=b", ""}) {
    EXPECT_EQ(refused({{"Host", "a"}, {"Transfer-Encoding", coding}}), 400u) << coding;
  }
  EXPECT_EQ(refused({{"Host", "a"},
                     {"Transfer-Encoding", "chunked"},
                     {"Transfer-Encoding", "chunked"}}),
            400u);
}

TEST(ProxyRules, refuse_lengths_that_are_not_one_number) {
  for (const char* length : {"70000, 70000", "5,5", "+5", "-5", "0x5", "", "5 5", "5.0",
                             "9223372036854775808", "18446744073709551616"}) {
    EXPECT_EQ(refused({{"Host", "a"}, {"Content-Length", length}}), 400u) << length;
    EXPECT_TRUE(fault_of(answer(200, {{"Content-Length", length}}))) << length;
  }
  for (const char* length : {"00070000", "9223372036854775807"}) {
    EXPECT_EQ(refused({{"Host", "a"}, {"Content-Length", length}}), 0u) << length;
    EXPECT_FALSE(fault_of(answer(200, {{"Content-Length", length}}))) << length;
  }
}

// RFC 9112, section 3.2.
TEST(ProxyRules, refuse_a_host_that_is_none) {
  for (const char* host : {"", ":80", "u@a", "u:p@a", "a:b", "a:65536", "a:-1", "a:80:90", "a b",
                           "a/b", "a?b", "a#b", "[::1", "::1", "[::g]", "a%zz", "a\"b", "a\\b"}) {
    EXPECT_EQ(refused({{"Host", host}}), 400u) << host;
    if (std::string_view(host).find_first_of("/?#") != std::string_view::npos) continue;  // ends it
    EXPECT_FALSE(split_target("http://" + std::string(host) + "/")) << host;
  }
  for (const char* host : {"a", "a:", "a:0", "a:65535", "A.b-c_d:80", "127.0.0.1:1", "[::1]",
                           "[::1]:80", "a%41", "a."}) {
    EXPECT_EQ(refused({{"Host", host}}), 0u) << host;
    EXPECT_TRUE(split_target("http://" + std::string(host) + "/")) << host;
  }
}

TEST(ProxyRules, refuse_connection_options_that_would_remove_what_matters) {
  for (const char* option : {"Host", "content-length", "close, Transfer-Encoding",
                             "neliroute-epoch", "Neliroute-Hops", "Neliroute_Epoch"}) {
    EXPECT_EQ(refused({{"Host", "a"}, {"Connection", option}}), 400u) << option;
    EXPECT_EQ(refused({{"Host", "a"}, {"Connection", "close"}, {"Connection", option}}), 400u);
  }
}

TEST(ProxyRules, refuse_methods_and_versions_that_are_not_passed_on) {
  EXPECT_EQ(refused(request("/", {{"Host", "a"}}, http::verb::connect)), 405u);
  EXPECT_EQ(refused(request("/", {{"Host", "a"}}, http::verb::trace)), 405u);
  RequestHeader old = request("/", {});
  old.version(10);
  EXPECT_EQ(refused(old), 0u) << "HTTP/1.0 needs no Host";
  old.insert("Transfer-Encoding", "chunked");
  EXPECT_EQ(refused(old), 400u);
  RequestHeader odd = request("/", {{"Host", "a"}});
  odd.version(20);
  EXPECT_EQ(refused(odd), 505u);
}

TEST(ProxyRules, take_answers_that_are_framed_once) {
  EXPECT_FALSE(fault_of(answer(200, {{"Content-Length", "5"}})));
  EXPECT_FALSE(fault_of(answer(200, {{"Transfer-Encoding", "chunked"}})));
  EXPECT_FALSE(fault_of(answer(204, {})));
  EXPECT_TRUE(fault_of(answer(200, {{"Content-Length", "5"}, {"Content-Length", "6"}})));
  EXPECT_TRUE(fault_of(answer(200, {{"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}})));
  EXPECT_TRUE(fault_of(answer(200, {{"Transfer-Encoding", "gzip, chunked"}})));
  ResponseHeader old = answer(200, {{"Transfer-Encoding", "chunked"}});
  old.version(10);
  EXPECT_TRUE(fault_of(old));
}

TEST(ProxyRules, refuse_informational_answers_with_a_body) {
  for (const unsigned status : {100u, 101u, 103u, 199u}) {
    EXPECT_TRUE(fault_of(answer(status, {{"Content-Length", "5"}}))) << status;
    EXPECT_TRUE(fault_of(answer(status, {{"Transfer-Encoding", "chunked"}}))) << status;
    EXPECT_FALSE(fault_of(answer(status, {{"Content-Length", "0"}}))) << status;
    EXPECT_FALSE(fault_of(answer(status, {}))) << status;
  }
}

TEST(ProxyRules, strip_what_concerns_one_connection_and_what_it_names) {
  RequestHeader header = request("/", {{"Host", "a"},
                                       {"Connection", "keep-alive, X-Mine"},
                                       {"Connection", "x-also"},
                                       {"Keep-Alive", "5"},
                                       {"X-Mine", "1"},
                                       {"X-Also", "2"},
                                       {"X-Yours", "3"},
                                       {"TE", "trailers"},
                                       {"Trailer", "X"},
                                       {"Upgrade", "h2c"},
                                       {"HTTP2-Settings", "AAA"},
                                       {"Proxy-Authorization", "secret"},
                                       {"Proxy-Connection", "close"},
                                       {"Transfer-Encoding", "chunked"}});
  strip_hop_by_hop(header);
  EXPECT_EQ(lines(header), (std::vector<std::string>{"Host: a", "X-Yours: 3"}));
}

TEST(ProxyRules, say_whom_a_request_came_through) {
  const Passed passed{"gw", "10.0.0.9", "https"};
  RequestHeader bare = request("/", {{"Via", "1.1 other"}});
  note_passed(bare, passed);
  EXPECT_EQ(lines(bare), (std::vector<std::string>{"Via: 1.1 other", "Via: 1.1 gw",
                                                   "X-Forwarded-For: 10.0.0.9",
                                                   "X-Forwarded-Proto: https"}));
  RequestHeader known = request("/", {{"X-Forwarded-For", "1.2.3.4"},
                                      {"X-Forwarded-For", "5.6.7.8"},
                                      {"X-Forwarded-Proto", "http"},
                                      {"Forwarded", "for=1.2.3.4"}});
  note_passed(known, passed);
  EXPECT_EQ(known["X-Forwarded-For"], "1.2.3.4, 5.6.7.8, 10.0.0.9");
  EXPECT_EQ(known.count("X-Forwarded-For"), 1u);
  EXPECT_EQ(known["X-Forwarded-Proto"], "http");
  note_passed(known, {"gw", "::1", "http"});
  const std::vector<std::string> all = lines(known);
  for (const char* hop : {"Forwarded: for=1.2.3.4", "Forwarded: for=10.0.0.9;proto=https",
                          "Forwarded: for=\"[::1]\";proto=http"}) {
    EXPECT_EQ(std::count(all.begin(), all.end(), hop), 1) << hop;
  }
}

TEST(ProxyRules, keep_what_a_proxy_said_of_its_client_only_if_it_is_trusted) {
  const std::vector<std::string> said{"X-Forwarded-For: a", "X-Forwarded-Proto: b",
                                      "X-Forwarded-Host: c", "X-Forwarded-Port: 1",
                                      "X-Real-IP: d", "Forwarded: e"};
  RequestHeader header = request("/", {{"X-Forwarded-For", "a"},
                                       {"X-Forwarded-Proto", "b"},
                                       {"X-Forwarded-Host", "c"},
                                       {"X-Forwarded-Port", "1"},
                                       {"X-Real-IP", "d"},
                                       {"Forwarded", "e"},
                                       {"X_Forwarded_For", "f"},
                                       {"x_real-ip", "g"},
                                       {"X-Forwarded_Host", "h"}});
  strip_forwarded(header, /*trusted=*/true);
  EXPECT_EQ(lines(header), said) << "nobody writes the others so";
  strip_forwarded(header, /*trusted=*/false);
  EXPECT_EQ(lines(header), std::vector<std::string>{});
}

TEST(ProxyRules, know_the_fields_that_no_application_gets_as_they_were_sent) {
  for (const char* name : {"Host", "content_length", "Expect", "Via", "Connection", "TE", "Trailer",
                           "Upgrade", "X-Forwarded-For", "X_FORWARDED_PORT", "X-Real-IP",
                           "Forwarded", "Neliroute-Slot", "Neliroute_Anything",
                           "Proxy-Authorization"}) {
    EXPECT_TRUE(is_changed(name)) << name;
  }
  for (const char* name : {"X-User", "Authorization", "Cookie", "X-Forwarded", "Neliroute",
                           "X-Forwarded-User"}) {
    EXPECT_FALSE(is_changed(name)) << name;
  }
}

TEST(ProxyRules, tunnel_upgrades_but_not_h2c) {
  EXPECT_EQ(upgrade_of(request("/", {{"Connection", "Upgrade"}, {"Upgrade", "websocket"}})),
            "websocket");
  EXPECT_EQ(upgrade_of(request("/", {{"Connection", "x, upgrade"}, {"Upgrade", "websocket"}})),
            "websocket");
  EXPECT_EQ(upgrade_of(request("/", {{"Connection", "upgrade"}, {"Upgrade", "h2c"}})), "");
  for (const char* http : {"H2C", "h2c, h2", "HTTP/2.0", "TLS/1.2", "TLS/1.0, HTTP/1.1", ",, "}) {
    EXPECT_EQ(upgrade_of(request("/", {{"Connection", "upgrade"}, {"Upgrade", http}})), "") << http;
  }
  for (const char* mixed : {"h2c, websocket", "websocket,h2c", " h2c ,, websocket ,HTTP/2.0"}) {
    EXPECT_EQ(upgrade_of(request("/", {{"Connection", "upgrade"}, {"Upgrade", mixed}})),
              "websocket")
        << mixed;
  }
  EXPECT_EQ(upgrade_of(request("/", {{"Connection", "upgrade"}, {"Upgrade", "a/1, b"}})),
            "a/1, b");
  EXPECT_EQ(upgrade_of(request("/", {{"Upgrade", "websocket"}})), "");
  EXPECT_EQ(upgrade_of(request("/", {{"Connection", "upgrade"}})), "");
}

TEST(ProxyRules, know_which_requests_may_be_repeated) {
  for (const http::verb verb : {http::verb::get, http::verb::head, http::verb::put,
                                http::verb::delete_, http::verb::options}) {
    EXPECT_TRUE(is_idempotent(request("/", {}, verb)));
  }
  for (const http::verb verb : {http::verb::post, http::verb::patch, http::verb::lock}) {
    EXPECT_FALSE(is_idempotent(request("/", {}, verb)));
    EXPECT_TRUE(is_idempotent(request("/", {{"Idempotency-Key", "7"}}, verb)));
  }
}

PeerFields read(Fields fields) {
  const auto read = read_peer_fields(request("/", fields));
  const auto* said = std::get_if<PeerFields>(&read);
  EXPECT_NE(said, nullptr) << std::get<std::string>(read);
  return said == nullptr ? PeerFields{} : *said;
}

TEST(PeerFields, are_read_back) {
  PeerFields said;
  said.epoch = Epoch{1'700'000'000'000, 42};
  said.hops = 2;
  said.timeout = milliseconds{1500};
  said.slot = Slot{7};
  said.detour = true;
  RequestHeader header = request("/", {{"neliroute-hops", "9"}, {"X", "y"}});
  write_peer_fields(header, said);
  EXPECT_EQ(std::get<PeerFields>(read_peer_fields(header)), said);
  strip_peer_fields(header);
  EXPECT_EQ(lines(header), std::vector<std::string>{"X: y"});
  EXPECT_EQ(read({}), PeerFields{});
}

TEST(PeerFields, that_look_like_ours_to_an_application_are_stripped) {
  RequestHeader header = request("/", {{"Neliroute_Epoch", "9999:9"},
                                       {"neliroute-EPOCH", "9999:9"},
                                       {"NELIROUTE_TIMEOUT-MS", "1"},
                                       {"Neliroute", "x"},
                                       {"Neliroute_Slots", "y"}});
  strip_peer_fields(header);
  EXPECT_EQ(lines(header), (std::vector<std::string>{"Neliroute: x", "Neliroute_Slots: y"}));
  EXPECT_EQ(read({{"Neliroute_Hops", "3"}}).hops, 0u) << "nobody of ours writes it so";
}

TEST(PeerFields, that_are_malformed_are_named) {
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"Neliroute-Epoch", "5"},
           {"Neliroute-Epoch", "5:-1"},
           {"Neliroute-Epoch", ""},
           {"Neliroute-Hops", "-1"},
           {"Neliroute-Hops", "1001"},
           {"Neliroute-Hops", "1x"},
           {"Neliroute-Detour", "0"},
           {"Neliroute-Timeout-Ms", "1.5"},
           {"Neliroute-Timeout-Ms", "86400001"},
           {"Neliroute-Slot", "1048576"}}) {
    const auto read = read_peer_fields(request("/", {{name, value}}));
    const auto* text = std::get_if<std::string>(&read);
    ASSERT_NE(text, nullptr) << name << ' ' << value;
    EXPECT_EQ(text->find(name), 0u) << *text;
  }
  const auto twice = read_peer_fields(request("/", {{"Neliroute-Hops", "1"},
                                                    {"Neliroute-Hops", "1"}}));
  EXPECT_TRUE(std::holds_alternative<std::string>(twice));
}

}  // namespace
}  // namespace neliroute::forward
