// The control calls of an owner: admit, done and drain; and who may make them.
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

#include "tests/unit/admin/control_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using testing_admin::AdminRig;
using testing_admin::Client;
using testing_admin::ControlRig;
using testing_admin::HttpAnswer;
using testing_admin::kJson;
using testing_admin::posting;
using testing_admin::request;
using testing_admin::writer;

bool says(const HttpAnswer& answer, const std::string& text) {
  return answer.json().at("error").as_string().find(text) != std::string::npos;
}

TEST(Control, is_off_unless_it_is_asked_for) {
  AdminRig rig;
  for (const char* path : {"/v1/admit", "/v1/done", "/v1/drain"}) {
    Client client(rig);
    client.send(posting(path, "{}"));
    const HttpAnswer answer = client.answer();
    EXPECT_EQ(answer.status, 403u) << path;
    EXPECT_TRUE(says(answer, "--control")) << answer.body;
    EXPECT_TRUE(client.ends()) << "its body is not read";
  }
  Client waiting(rig);
  const HttpAnswer answer = waiting.get("/v1/route?slot=1&wait=1s");
  EXPECT_EQ(answer.status, 403u);
  EXPECT_TRUE(says(answer, "--control"));
  EXPECT_EQ(waiting.get("/v1/route?slot=1").status, 200u);
}

TEST(Control, admits_what_this_process_leads) {
  ControlRig rig;
  rig.lead_all();
  const HttpAnswer answer = rig.post("/v1/admit", R"({"key":"a","hops":2})");
  EXPECT_EQ(answer.status, 200u);
  const auto row = answer.json();
  EXPECT_EQ(row.at("answer"), "serve");
  const auto slot = row.at("slot").to_number<std::uint32_t>();
  EXPECT_EQ(slot, SlotSpace(SlotCount{64}).slot_of("a").value());
  EXPECT_EQ(row.at("partition"), slot % 4);
  EXPECT_EQ(row.at("epoch").at("offset").to_number<std::int64_t>(), rig.route(slot).epoch.offset);
  EXPECT_EQ(row.at("work").as_string().size(), 16u);
  EXPECT_FALSE(row.contains("endpoint"));
}

TEST(Control, says_where_else_a_request_belongs) {
  ControlRig rig;
  rig.append(0, writer(2).leads(9, "0"));
  auto row = rig.post("/v1/admit", R"({"slot":0})").json();
  EXPECT_EQ(row.at("answer"), "redirect");
  EXPECT_EQ(row.at("owner"), "p2");
  EXPECT_EQ(row.at("endpoint"), "p2:7000");
  EXPECT_EQ(row.at("epoch").at("offset"), 9);
  EXPECT_FALSE(row.contains("work"));
  for (const char* epoch : {R"("1700000000000:9")", R"({"inc":1700000000000,"offset":9})"}) {
    row = rig.post("/v1/admit", std::string(R"({"slot":0,"epoch":)") + epoch + "}").json();
    EXPECT_EQ(row.at("answer"), "wait") << "it came by that one";
    EXPECT_FALSE(row.contains("endpoint"));
  }
  row = rig.post("/v1/admit", R"({"slot":0,"hops":3})").json();
  EXPECT_EQ(row.at("answer"), "refuse");
  EXPECT_EQ(row.at("leaving"), false);
  EXPECT_EQ(rig.metric("control_works"), 0);
}

TEST(Control, holds_a_guard_until_it_is_done) {
  ControlRig rig;
  rig.lead_all();
  rig.listen();
  const std::string first = rig.admitted(0);
  const std::string second = rig.admitted(4);
  EXPECT_NE(first, second);
  EXPECT_EQ(rig.metric("control_works"), 2);
  rig.lose(0);
  EXPECT_TRUE(rig.told("stopped 0 remote"));
  EXPECT_EQ(rig.done(first).status, 200u);
  EXPECT_FALSE(rig.told("write release")) << "one is left";
  EXPECT_EQ(rig.done(second).json().at("ended"), true);
  EXPECT_TRUE(rig.run_until([&] { return rig.told("write release"); }));
  const HttpAnswer again = rig.done(second);
  EXPECT_EQ(again.status, 404u);
  EXPECT_TRUE(says(again, "nothing waits for that work"));
  EXPECT_EQ(rig.done("0123456789abcdef").status, 404u);
}

TEST(Control, holds_no_guard_for_longer_than_its_time) {
  AdminLimits limits;
  limits.work = 30ms;
  ControlRig rig(/*watcher=*/false, limits);
  rig.lead_all();
  const std::string first = rig.admitted(0);
  rig.lose(0);
  EXPECT_TRUE(rig.run_until([&] { return rig.told("write release"); }));
  EXPECT_EQ(rig.done(first).status, 404u);
  static_cast<void>(rig.admitted(1));
  EXPECT_TRUE(rig.run_until([&] { return rig.metric("control_works_late_total") == 2; }));
  EXPECT_EQ(rig.metric("control_works"), 0);
  ASSERT_EQ(rig.noticed.size(), 1u) << "it is logged once";
  EXPECT_NE(rig.noticed[0].find("POST /v1/done"), std::string::npos);
}

TEST(Control, ends_a_guard_that_began_beside_another) {
  AdminLimits limits;
  limits.work = 30ms;
  ControlRig rig(/*watcher=*/false, limits);
  rig.lead_all();
  static_cast<void>(rig.admitted(0));
  EXPECT_TRUE(rig.run_until([&] {
    static_cast<void>(rig.admitted(1));  // there is always one that is younger
    return rig.metric("control_works_late_total") >= 1;
  }));
  EXPECT_TRUE(rig.run_until([&] { return rig.metric("control_works") == 0; }));
}

TEST(Control, holds_so_many_guards_and_no_more) {
  AdminLimits limits;
  limits.works = 2;
  ControlRig rig(/*watcher=*/false, limits);
  rig.lead_all();
  static_cast<void>(rig.admitted(0));
  const std::string second = rig.admitted(1);
  const HttpAnswer third = rig.post("/v1/admit", R"({"slot":2})");
  EXPECT_EQ(third.status, 503u);
  EXPECT_EQ(third.field("Retry-After"), "1");
  EXPECT_EQ(rig.admits, 2) << "nothing was begun";
  EXPECT_EQ(rig.done(second).status, 200u);
  static_cast<void>(rig.admitted(2));
}

TEST(Control, drops_its_guards_when_the_server_goes) {
  ControlRig rig;
  rig.lead_all();
  static_cast<void>(rig.admitted(0));
  rig.lose(0);
  EXPECT_FALSE(rig.told("write release"));
  rig.server.reset();
  EXPECT_TRUE(rig.run_until([&] { return rig.told("write release"); }));
}

TEST(Control, begins_nothing_once_the_server_is_gone) {
  ControlRig rig;
  rig.lead_all();
  Client client(rig);
  rig.poll();
  client.send(posting("/v1/admit", R"({"slot":0})") + posting("/v1/drain", "{}"));
  rig.server.reset();
  EXPECT_TRUE(client.ends());
  EXPECT_EQ(rig.admits, 0);
  EXPECT_EQ(rig.drains, 0);
}

TEST(Control, begins_a_planned_leave) {
  ControlRig rig;
  for (const char* body : {"", "{}"}) {
    const HttpAnswer answer = rig.post("/v1/drain", body);
    EXPECT_EQ(answer.status, 202u);
    EXPECT_EQ(answer.json().at("draining"), true);
  }
  EXPECT_EQ(rig.drains, 2);
  EXPECT_EQ(rig.post("/v1/drain", R"({"bound":"1s"})").status, 400u);
  EXPECT_EQ(rig.drains, 2);
}

TEST(Control, refuses_when_this_process_has_left) {
  ControlRig rig;
  rig.lead_all();
  rig.reader->drain(0ms, [] {});
  EXPECT_TRUE(rig.run_until([&] { return rig.reader->closed(); }));
  const auto row = rig.post("/v1/admit", R"({"slot":0})").json();
  EXPECT_EQ(row.at("answer"), "refuse");
  EXPECT_EQ(row.at("leaving"), true);
}

TEST(Control, is_an_owners_alone) {
  ControlRig rig(/*watcher=*/true);
  for (const char* path : {"/v1/admit", "/v1/done", "/v1/drain"}) {
    const HttpAnswer answer = rig.post(path, "{}");
    EXPECT_EQ(answer.status, 404u) << path;
    EXPECT_TRUE(says(answer, "watcher"));
  }
}

TEST(Control, wants_its_token_of_every_call) {
  ControlRig rig(/*watcher=*/false, {}, "s3cret");
  rig.lead_all();
  const std::string json = kJson;
  for (const char* wrong :
       {"", "Authorization: Bearer s3cre\r\n", "Authorization: Bearer s3crets\r\n",
        "Authorization: Bearer S3cret\r\n", "Authorization: Basic s3cret\r\n",
        "Authorization: s3cret\r\n", "Authorization: Bearer \r\n", "Authorization: Bearer\r\n"}) {
    const HttpAnswer answer = rig.post("/v1/admit", R"({"slot":0})", json + wrong);
    EXPECT_EQ(answer.status, 401u) << wrong;
    EXPECT_EQ(answer.field("WWW-Authenticate"), "Bearer");
    Client waiting(rig);
    waiting.send(request("/v1/route?slot=0&wait=1s", "GET", wrong));
    EXPECT_EQ(waiting.answer().status, 401u) << wrong;
  }
  EXPECT_EQ(rig.admits, 0);
  for (const char* right :
       {"Authorization: Bearer s3cret\r\n", "authorization: bEARER s3cret\r\n"}) {
    EXPECT_EQ(rig.post("/v1/admit", R"({"slot":0})", json + right).status, 200u) << right;
  }
  Client reading(rig);
  EXPECT_EQ(reading.get("/v1/route?slot=0").status, 200u) << "whoever reads, needs none";
}

TEST(Control, wants_a_token_where_others_can_reach_it) {
  ControlRig rig;
  AdminOptions wanted;
  wanted.listen = "0.0.0.0:0";
  wanted.control = rig.control(/*watcher=*/false);
  auto opened = AdminServer::open(rig.io->get_executor(), rig.observable(), wanted);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Errc::bad_option);
  EXPECT_NE(opened.error().message().find("--control-token"), std::string::npos);
  wanted.control->token = "secret";
  opened = AdminServer::open(rig.io->get_executor(), rig.observable(), wanted);
  EXPECT_TRUE(opened);
}

// A form on a web page can send a POST, but neither this Content-Type nor without an Origin.
TEST(Control, is_no_business_of_web_pages) {
  ControlRig rig;
  rig.lead_all();
  const std::string body = R"({"slot":0})";
  for (const char* type :
       {"", "Content-Type: text/plain\r\n", "Content-Type: multipart/form-data\r\n",
        "Content-Type: application/x-www-form-urlencoded\r\n",
        "Content-Type: application/jsonp\r\n"}) {
    EXPECT_EQ(rig.post("/v1/admit", body, type).status, 415u) << type;
  }
  EXPECT_EQ(
      rig.post("/v1/admit", body, "Content-Type: Application/JSON ; charset=utf-8\r\n").status,
      200u);
  const std::string json = kJson;
  for (const char* origin : {"http://evil.example", "null", "https://localhost:2", "localhost:1",
                             "http://localhost:1.evil.example"}) {
    const std::string fields = "Origin: " + std::string(origin) + "\r\n";
    EXPECT_EQ(rig.post("/v1/admit", body, json + fields).status, 403u) << origin;
    Client waiting(rig);
    waiting.send(request("/v1/route?slot=0&wait=1s", "GET", fields));
    EXPECT_EQ(waiting.answer().status, 403u) << origin;
  }
  for (const char* site : {"cross-site", "same-site"}) {
    Client waiting(rig);
    waiting.send(request("/v1/route?slot=0&wait=1s", "GET",
                         "Sec-Fetch-Site: " + std::string(site) + "\r\n"));
    EXPECT_EQ(waiting.answer().status, 403u) << site;
  }
  EXPECT_EQ(rig.post("/v1/admit", body,
                     json + "Origin: http://LocalHost:1\r\nSec-Fetch-Site: same-origin\r\n")
                .status,
            200u);
  EXPECT_EQ(rig.admits, 2);
  Client rebound(rig);
  rebound.send("POST /v1/admit HTTP/1.1\r\nHost: evil.example\r\n" + json +
               "Content-Length: 10\r\n\r\n" + body);
  EXPECT_EQ(rebound.answer().status, 421u);
}

TEST(Control, names_the_methods_that_there_are) {
  ControlRig rig;
  const auto asked = [&rig](const char* path, const char* method) {
    Client client(rig);
    client.send(request(path, method, kJson));
    const HttpAnswer answer = client.answer(/*head=*/std::string(method) == "HEAD");
    EXPECT_EQ(answer.status, 405u) << method << ' ' << path;
    return answer.field("Allow");
  };
  for (const char* method : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"}) {
    EXPECT_EQ(asked("/v1/admit", method), "POST") << method;
  }
  for (const char* path : {"/v1/slots", "/v1/route?slot=1", "/", "/nothing"}) {
    EXPECT_EQ(asked(path, "POST"), "GET, HEAD") << path;
    EXPECT_EQ(asked(path, "PUT"), "GET, HEAD") << path;
  }
}

TEST(Control, reads_bodies_of_a_bounded_length_in_bounded_time) {
  AdminLimits limits;
  limits.header = 100ms;
  ControlRig rig(/*watcher=*/false, limits);
  rig.lead_all();
  const auto sized = [](const std::string& length, const std::string& body) {
    return request("/v1/admit", "POST", kJson + ("Content-Length: " + length) + "\r\n") + body;
  };
  Client late(rig);
  late.send(sized("11", R"({"slot":0)"));
  EXPECT_EQ(late.answer().status, 408u);
  EXPECT_TRUE(late.ends());
  for (const char* length : {"16385", "99999999999"}) {
    Client longer(rig);
    longer.send(sized(length, "{"));
    EXPECT_EQ(longer.answer().status, 413u) << length;
  }
  Client coded(rig);
  coded.send(request("/v1/admit", "POST", std::string(kJson) + "Transfer-Encoding: chunked\r\n") +
             "2\r\n{}\r\n0\r\n\r\n");
  EXPECT_EQ(coded.answer().status, 411u);
  Client whole(rig);
  const std::string padded = R"({"slot":0})" + std::string(16384 - 10, ' ');
  whole.send(posting("/v1/admit", padded) + request("/healthz"));
  EXPECT_EQ(whole.answer().status, 200u);
  EXPECT_EQ(whole.answer().status, 200u) << "what follows it is read as the next request";
}

TEST(Control, understands_a_body_that_comes_a_byte_at_a_time) {
  ControlRig rig;
  rig.lead_all();
  Client slow(rig);
  for (const char byte : posting("/v1/admit", R"({"slot":0})")) {
    slow.send(std::string(1, byte));
    rig.poll();
  }
  EXPECT_EQ(slow.answer().json().at("answer"), "serve");
  EXPECT_EQ(slow.get("/healthz").status, 200u);
}

TEST(Control, says_what_is_wrong_with_a_body) {
  ControlRig rig;
  rig.lead_all();
  for (const char* body : {"", "{", "[]", "{}", R"({"slot":64})", R"({"slot":0,"wait":1})"}) {
    const HttpAnswer answer = rig.post("/v1/admit", body);
    EXPECT_EQ(answer.status, 400u) << body;
    EXPECT_TRUE(says(answer, R"({"key":)")) << body;
  }
  EXPECT_EQ(rig.post("/v1/done", "{}").status, 400u);
  EXPECT_EQ(rig.admits, 0);
}

}  // namespace
}  // namespace neliroute
