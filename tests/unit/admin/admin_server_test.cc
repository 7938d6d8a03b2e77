// The admin port as its clients see it: answers, refusals, bounds.

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <memory>
#include <neliroute/admin.h>
#include <set>
#include <string>
#include <vector>

#include "admin/embedded.h"
#include "tests/unit/admin/admin_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using testing_admin::AdminRig;
using testing_admin::Client;
using testing_admin::HttpAnswer;
using testing_admin::request;
using testing_admin::writer;

std::set<std::string> names_of(const boost::json::object& object) {
  std::set<std::string> names;
  for (const auto& member : object) names.emplace(member.key());
  return names;
}

/// Of the program's own files, by its name.
std::string_view embedded(std::string_view name) {
  for (const admin::EmbeddedFile& file : admin::embedded_files()) {
    if (file.name == name) return file.text;
  }
  ADD_FAILURE() << "there is no " << name;
  return {};
}

TEST(AdminServer, tells_a_watchers_view) {
  AdminRig rig;
  rig.let_others_own();
  Client client(rig);
  const HttpAnswer answer = client.get("/v1/slots");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.field("Cache-Control"), "no-store");
  const auto view = answer.json();
  EXPECT_EQ(names_of(view),
            (std::set<std::string>{"at", "process", "group", "topic", "lane", "mode", "slots",
                                   "partitions", "logs", "hash", "version", "digest", "age_ms",
                                   "ready", "ledger", "lease_ms", "processes", "view"}))
      << "a watcher has no id and no interval";
  EXPECT_EQ(view.at("process"), "self");
  EXPECT_EQ(view.at("slots"), 64);
  EXPECT_EQ(view.at("ready"), true);
  EXPECT_EQ(view.at("ledger"), "answering");
  const auto& processes = view.at("processes").as_array();
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(boost::json::serialize(processes[0]),
            R"({"name":"p2","id":"0000000000000002","endpoint":"p2:7000","tags":{}})");
  ASSERT_EQ(view.at("view").as_array().size(), 4u);
  EXPECT_EQ(boost::json::serialize(view.at("view").as_array()[1]),
            "[3,1,-1,0,1700000000000,9,null]")
      << "remote, of p3, nobody next, not draining, its epoch, since nobody knows when";
}

TEST(AdminServer, tells_which_owners_share_an_endpoint) {
  AdminRig rig;
  rig.let_others_own();
  Client client(rig);
  EXPECT_EQ(client.get("/v1/processes").body.find("endpoint_shared"), std::string::npos);
  Record twin = writer(4).leads(rig.append(1, writer(4).claim("1,3")), "1,3");
  twin.process.endpoint = "p2:7000";
  rig.append(1, twin);
  const auto shared = [&] {
    const std::string text = client.get("/v1/processes").body;
    std::size_t count = 0;
    for (auto at = text.find("\"endpoint_shared\":true"); at != std::string::npos;
         at = text.find("\"endpoint_shared\":true", at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_TRUE(rig.run_until([&] { return shared() == 2; })) << "one text serves for a moment";
}

TEST(AdminServer, tells_an_owners_view) {
  AdminRig rig(/*watcher=*/false);
  rig.assign("0");
  rig.append(1, writer(3).leads(9, "1"));
  Client client(rig);
  const auto view = client.get("/v1/slots").json();
  EXPECT_EQ(view.at("id"), "0000000000000064");
  EXPECT_EQ(view.at("interval_ms"), 60'000);
  EXPECT_EQ(view.at("ready"), false);
  const auto& row = view.at("view").as_array()[0].as_array();
  EXPECT_EQ(row[0], 2) << "local";
  EXPECT_EQ(row[1], 0) << "itself, which is always the first";
  EXPECT_TRUE(row[6].is_int64()) << "of itself it knows since when";
  const auto processes = client.get("/v1/processes").json();
  EXPECT_EQ(processes.at("fair_slots").to_number<double>(), 32);
  const auto& self = processes.at("processes").as_array()[0].as_object();
  EXPECT_EQ(self.at("partitions"), 1);
  EXPECT_EQ(self.at("slots"), 16);
  EXPECT_EQ(self.at("draining"), 0);
}

TEST(AdminServer, tells_a_route_and_why) {
  AdminRig rig;
  rig.let_others_own();
  rig.append(0, writer(4).claim("0,2"));
  rig.append(0, writer(2).drains(9, "0,2"));
  Client client(rig);
  const auto by_key = client.get("/v1/route?key=a%20key").json();
  EXPECT_EQ(by_key.at("key"), "a key");
  EXPECT_EQ(by_key.at("hash"), "xxh3");
  EXPECT_EQ(by_key.at("hash_value").as_string().size(), 16u);
  const auto slot = by_key.at("slot").to_number<std::uint32_t>();
  EXPECT_EQ(slot, SlotSpace(SlotCount{64}).slot_of("a key").value());
  const auto value = std::stoull(std::string(by_key.at("hash_value").as_string()), nullptr, 16);
  EXPECT_EQ(value % 64, slot) << "why it is that slot";
  const auto by_slot = client.get("/v1/route?slot=6").json();
  EXPECT_EQ(names_of(by_slot),
            (std::set<std::string>{"slot", "partition", "verdict", "owner", "id", "endpoint",
                                   "epoch", "valid_for_ms", "draining", "next_owner",
                                   "next_endpoint"}));
  EXPECT_EQ(by_slot.at("partition"), 2);
  EXPECT_EQ(by_slot.at("verdict"), "remote");
  EXPECT_EQ(by_slot.at("owner"), "p2");
  EXPECT_EQ(by_slot.at("id"), "0000000000000002");
  EXPECT_EQ(by_slot.at("draining"), true);
  EXPECT_EQ(by_slot.at("next_owner"), "p4");
  const auto odd = client.get("/v1/route?key=%ff").json();
  EXPECT_EQ(odd.at("key_base64"), "/w==");
  EXPECT_EQ(client.get("/v1/route?slot=64").status, 400u);
  EXPECT_EQ(client.get("/v1/route").status, 400u);
}

TEST(AdminServer, tells_health_and_readiness) {
  AdminRig rig;
  Client client(rig);
  EXPECT_EQ(client.get("/healthz").body, R"({"status":"ok"})");
  HttpAnswer answer = client.get("/readyz");
  EXPECT_EQ(answer.status, 503u);
  EXPECT_EQ(answer.json().at("unknown"), 64);
  rig.let_others_own();
  answer = client.get("/readyz");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.json().at("ready"), true);
  Record record = writer(1).leads(20, "0");
  record.settings->slots = 99;
  rig.append(0, record);
  answer = client.get("/healthz");
  EXPECT_EQ(answer.status, 503u);
  EXPECT_NE(answer.json().at("error").as_string().find("99"), std::string::npos);
  EXPECT_EQ(client.get("/readyz").status, 503u);
  const auto gave_up = [&] {
    const std::string text = client.get("/metrics").body;
    const std::size_t at = text.find("\nneliroute_gave_up{");
    return at != std::string::npos && text[text.find('\n', at + 1) - 1] == '1';
  };
  EXPECT_TRUE(gave_up());
  rig.append(0, writer(1).leads(20, "0"));  // its settings are the ones here after all
  EXPECT_EQ(client.get("/healthz").status, 200u);
  EXPECT_EQ(client.get("/readyz").status, 200u);
  EXPECT_TRUE(rig.run_until([&] { return !gave_up(); })) << "one text serves for a moment";
}

TEST(AdminServer, is_not_ready_while_its_process_lacks_something_else) {
  AdminRig rig;
  std::string lacks = "the files";
  AdminOptions wanted;
  wanted.lacks = [&lacks] { return lacks; };
  auto opened = AdminServer::open(rig.io->get_executor(), rig.observable(), std::move(wanted));
  ASSERT_TRUE(opened);
  rig.server = std::move(*opened);
  Client client(rig);
  rig.let_others_own();
  HttpAnswer answer = client.get("/readyz");
  EXPECT_EQ(answer.status, 503u);
  EXPECT_EQ(answer.json().at("ready"), false);
  EXPECT_EQ(answer.json().at("unknown"), 0);
  EXPECT_EQ(answer.json().at("error"), "the files");
  EXPECT_EQ(client.get("/healthz").status, 200u) << "it is not to be restarted for that";
  lacks.clear();
  answer = client.get("/readyz");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.json().at("ready"), true);
  EXPECT_FALSE(answer.json().contains("error"));
}

TEST(AdminServer, describes_itself) {
  AdminRig rig;
  Client client(rig);
  const auto description = client.get("/openapi.json").json();
  for (const char* path : {"/v1/route?slot=1", "/v1/slots", "/v1/processes", "/v1/assignment",
                           "/v1/requests", "/healthz", "/metrics", "/openapi.json", "/"}) {
    EXPECT_EQ(client.get(path).status, 200u) << path;
    const std::string described(path, std::string(path).find('?') == std::string::npos
                                          ? std::string(path).size()
                                          : std::string(path).find('?'));
    EXPECT_TRUE(description.at("paths").as_object().contains(described)) << described;
  }
}

TEST(AdminServer, serves_the_slot_page_with_its_policy) {
  AdminRig rig;
  Client client(rig);
  const HttpAnswer answer = client.get("/");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.field("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(answer.field("Content-Security-Policy") + '\n', embedded("page/policy.txt"));
  EXPECT_EQ(answer.body, embedded("page/index.html"));
  const HttpAnswer script = client.get("/page/main.js");
  EXPECT_EQ(script.field("Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(script.field("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(script.body, embedded("page/main.js"));
  EXPECT_EQ(client.get("/page/style.css").field("Content-Type"), "text/css; charset=utf-8");
  for (const char* none : {"/page", "/page/", "/page/index.html", "/page/policy.txt",
                           "/page/none.js", "/page/../openapi.json", "/main.js", "//"}) {
    EXPECT_EQ(client.get(none).status, 404u) << none;
  }
}

TEST(AdminServer, lets_a_browser_keep_the_files_of_the_page_while_they_are_the_same) {
  AdminRig rig;
  Client client(rig);
  for (const char* path : {"/", "/page/map.js", "/page/style.css", "/openapi.json"}) {
    const HttpAnswer whole = client.get(path);
    const std::string tag = whole.field("ETag");
    EXPECT_EQ(tag.size(), 66u) << tag;
    EXPECT_EQ(whole.field("Cache-Control"), "no-cache") << "it asks each time";
    for (const std::string& kept : {tag, "W/" + tag, R"("older", )" + tag, std::string("*")}) {
      client.send(request(path, "GET", "If-None-Match: " + kept + "\r\n"));
      const HttpAnswer same = client.answer();
      EXPECT_EQ(same.status, 304u) << kept;
      EXPECT_EQ(same.field("ETag"), tag);
      EXPECT_EQ(same.field("Content-Length"), "");
    }
    client.send(request(path, "GET", "If-None-Match: \"older\"\r\n"));
    EXPECT_EQ(client.answer().body, whole.body) << "and nothing was left of the others";
  }
  client.send(request("/v1/slots", "GET", "If-None-Match: *\r\n"));
  const HttpAnswer view = client.answer();
  EXPECT_EQ(view.status, 200u);
  EXPECT_EQ(view.field("ETag"), "") << "what changes is not kept";
}

TEST(AdminServer, answers_in_order_what_is_asked_at_once_and_keeps_the_connection) {
  AdminRig rig;
  Client client(rig);
  client.send(request("/healthz") + request("/nothing") + request("/v1/route?slot=1"));
  const auto answers = client.answers(3);
  EXPECT_EQ(answers[0].status, 200u);
  EXPECT_EQ(answers[1].status, 404u);
  EXPECT_EQ(answers[2].json().at("slot"), 1);
  EXPECT_EQ(answers[2].field("Connection"), "keep-alive");
  client.send(request("/healthz", "GET", "Connection: close\r\n"));
  EXPECT_EQ(client.answer().field("Connection"), "close");
  EXPECT_TRUE(client.ends());
}

TEST(AdminServer, tells_the_header_alone_when_asked_for_it) {
  AdminRig rig;
  Client client(rig);
  const HttpAnswer whole = client.get("/openapi.json");
  client.send(request("/openapi.json", "HEAD") + request("/healthz"));
  EXPECT_EQ(client.answer(/*head=*/true).header, whole.header);
  EXPECT_EQ(client.answer().body, R"({"status":"ok"})") << "no body lies between";
  client.send(request("/v1/events", "HEAD"));
  const HttpAnswer events = client.answer(/*head=*/true);
  EXPECT_EQ(events.field("Content-Type"), "text/event-stream");
  EXPECT_TRUE(client.ends());
  EXPECT_EQ(client.received(), "");
}

TEST(AdminServer, refuses_and_closes) {
  AdminRig rig;
  const auto refused = [&](const std::string& text) {
    Client client(rig);
    client.send(text);
    HttpAnswer answer = client.answer();
    EXPECT_FALSE(answer.json().at("error").as_string().empty());
    EXPECT_EQ(answer.field("Connection"), "close");
    EXPECT_TRUE(client.ends());
    return answer;
  };
  const HttpAnswer method = refused(request("/v1/slots", "POST"));
  EXPECT_EQ(method.status, 405u);
  EXPECT_EQ(method.field("Allow"), "GET, HEAD");
  EXPECT_EQ(refused(request("/" + std::string(9000, 'a'))).status, 414u);
  EXPECT_EQ(refused(request("/", "GET", "X: " + std::string(17'000, 'x') + "\r\n")).status, 431u);
  EXPECT_EQ(refused(request("/", "GET", "Content-Length: 5\r\n") + "body!").status, 413u);
  EXPECT_EQ(refused("nonsense\r\n\r\n").status, 400u);
  EXPECT_EQ(refused(std::string(100'000, 'A')).status, 414u) << "the client is still sending";
}

TEST(AdminServer, waits_for_a_slow_client_only_so_long) {
  AdminLimits limits;
  limits.header = 100ms;
  limits.idle = 100ms;
  AdminRig rig(true, limits);
  Client slow(rig);
  slow.send("GET /v1/slo");
  EXPECT_EQ(slow.answer().status, 408u);
  EXPECT_TRUE(slow.ends());
  Client silent(rig);
  EXPECT_EQ(silent.answer().status, 408u);
  Client idle(rig);
  EXPECT_EQ(idle.get("/healthz").status, 200u);
  EXPECT_TRUE(idle.ends());
  EXPECT_EQ(idle.received(), "") << "it has asked for nothing more";
}

TEST(AdminServer, serves_so_many_at_once_and_tells_the_others) {
  AdminLimits limits;
  limits.connections = 2;
  AdminRig rig(true, limits);
  Client first(rig);
  Client second(rig);
  for (Client* one : {&first, &second}) {
    one->send(request("/v1/events"));
    EXPECT_EQ(one->event("view").json().at("slots"), 64);
  }
  Client third(rig);
  third.send(request("/v1/slots"));
  const HttpAnswer answer = third.answer();
  EXPECT_EQ(answer.status, 503u);
  EXPECT_EQ(answer.field("Retry-After"), "1");
  EXPECT_TRUE(third.ends());
  Client probe(rig);
  EXPECT_EQ(probe.get("/healthz").status, 200u) << "who holds the others must not get it restarted";
  EXPECT_TRUE(probe.ends());
  second.close();
  EXPECT_TRUE(rig.run_until([&] {
    Client fourth(rig);
    return fourth.get("/v1/slots").status == 200;
  })) << "the place of an event stream is given back, too";
}

TEST(AdminServer, closes_who_is_late_with_a_header_and_then_who_waits_longest_to_ask_again) {
  AdminLimits limits;
  limits.connections = 3;
  AdminRig rig(true, limits);
  Client first(rig);
  Client second(rig);
  Client asking(rig);
  EXPECT_EQ(first.get("/healthz").status, 200u);
  EXPECT_EQ(second.get("/healthz").status, 200u);
  asking.send("GET /v1/slo");
  EXPECT_EQ(first.get("/v1/slots").status, 200u) << "now the second has waited longest";
  Client third(rig);
  EXPECT_EQ(third.get("/v1/slots").status, 200u);
  EXPECT_TRUE(asking.ends());
  EXPECT_EQ(asking.received(), "");
  Client fourth(rig);
  EXPECT_EQ(fourth.get("/v1/slots").status, 200u);
  EXPECT_TRUE(second.ends());
  for (Client* one : {&first, &third, &fourth}) {
    one->send(request("/v1/events"));
    static_cast<void>(one->event("view"));
  }
  Client fifth(rig);
  EXPECT_EQ(fifth.get("/v1/slots").status, 503u) << "all others have a request under way";
}

TEST(AdminServer, closes_what_is_open_when_it_goes) {
  AdminRig rig;
  Client idle(rig);
  EXPECT_EQ(idle.get("/healthz").status, 200u);
  Client stream(rig);
  stream.send(request("/v1/events"));
  static_cast<void>(stream.event("view"));
  rig.server.reset();
  EXPECT_TRUE(idle.ends());
  EXPECT_TRUE(stream.ends());
}

TEST(AdminServer, outlives_what_it_tells_of) {
  AdminRig rig;
  rig.let_others_own();
  Client client(rig);
  EXPECT_EQ(client.get("/v1/route?slot=0").json().at("verdict"), "remote");
  rig.let_go();
  rig.poll();
  EXPECT_EQ(client.get("/v1/route?slot=0").json().at("verdict"), "unknown");
  EXPECT_EQ(client.get("/healthz").status, 503u);
  EXPECT_EQ(client.get("/readyz").status, 503u);
}

TEST(AdminServer, says_that_the_strand_does_not_run) {
  AdminRig rig(true, {}, 2 * testing_admin::kLongLease);  // it was to look again after half a lease
  Client client(rig);
  const HttpAnswer answer = client.get("/healthz");
  EXPECT_EQ(answer.status, 503u);
  EXPECT_NE(answer.body.find("the router's strand has not run for"), std::string::npos)
      << answer.body;
  EXPECT_EQ(client.get("/readyz").status, 503u);
}

TEST(AdminServer, says_why_it_cannot_listen) {
  AdminRig rig;
  AdminOptions options;
  options.listen = rig.server->address();
  auto opened = AdminServer::open(rig.io->get_executor(), rig.observable(), options);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Errc::bad_option);
  EXPECT_NE(opened.error().message().find(rig.server->address()), std::string::npos);
  options.listen = "203.0.113.1:0";
  opened = AdminServer::open(rig.io->get_executor(), rig.observable(), options);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message().find("an address of this machine"), std::string::npos);
  options.listen = "0";
  opened = AdminServer::open(rig.io->get_executor(), rig.observable(), options);
  ASSERT_TRUE(opened);
  EXPECT_TRUE((*opened)->is_local());
  EXPECT_TRUE((*opened)->address().starts_with("127.0.0.1:"));
}

TEST(AdminServer, answers_this_machine_by_its_own_names_only) {
  AdminRig rig;
  rig.let_others_own();
  const auto asked_for = [&rig](const std::string& host) {
    Client client(rig);
    client.send("GET /v1/slots HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return client.answer();
  };
  for (const char* host : {"127.0.0.1", "127.0.0.1:7480", "[::1]:7480", "localhost", "LocalHost:1",
                           "10.0.0.7", "localhost.", "a.localhost:80", ""}) {
    EXPECT_EQ(asked_for(host).status, 200u) << host;
  }
  for (const char* host : {"evil.example", "evil.example:80", "localhost.evil.example", "[",
                           "127.0.0.1.evil.example", "[::1]x", "[localhost]", "evillocalhost"}) {
    const HttpAnswer answer = asked_for(host);
    EXPECT_EQ(answer.status, 421u) << host;
    EXPECT_EQ(answer.body.find("p2"), std::string::npos) << host;
  }
  Client proxied(rig);
  proxied.send("GET http://evil.example/v1/slots HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(proxied.answer().status, 421u) << "the target says who is asked";
  Client probe(rig);
  probe.send("GET /healthz HTTP/1.1\r\nHost: pod.example\r\n\r\n");
  EXPECT_EQ(probe.answer().status, 200u);
}

TEST(AdminServer, keeps_a_bounded_number_of_bytes_for_who_does_not_read) {
  const std::string_view big = embedded("openapi.json");
  AdminLimits limits;
  limits.send_buffer = 2048;
  limits.answer_bytes = big.size() + 1000;
  AdminRig rig(/*watcher=*/true, limits);
  Client stalled(rig, /*reads=*/false);
  stalled.send(request("/openapi.json"));
  Client same(rig);
  EXPECT_EQ(same.get("/openapi.json").body, big) << "it is one text, which counts once";
  Client other(rig);
  const HttpAnswer refused = other.get("/");
  EXPECT_EQ(refused.status, 503u);
  EXPECT_EQ(refused.field("Retry-After"), "1");
  EXPECT_EQ(other.get("/healthz").status, 200u) << "whatever others hold";
  stalled.close();
  EXPECT_TRUE(rig.run_until([&] { return other.get("/").status == 200; }));
}

}  // namespace
}  // namespace neliroute
