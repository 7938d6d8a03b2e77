// What the admin port answers to Envoys.
#include "admin/envoy/envoy_answers.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/admin/control_rig.h"

namespace neliroute::admin {
namespace {

using testing_admin::AdminRig;
using testing_admin::Client;
using testing_admin::HttpAnswer;
using testing_admin::posting;
using testing_admin::request;
using testing_records::Writer;

constexpr const char* kDiscovery = "/v3/discovery:endpoints";

/// Whose endpoint is NAME:7000.
Writer owner(std::uint64_t id, const std::string& name) {
  Writer made = testing_admin::writer(id);
  made.name = name;
  return made;
}

void let_addresses_own(AdminRig& rig) {
  rig.append(0, owner(2, "10.0.0.2").leads(9, "0,2"));
  rig.append(1, owner(3, "10.0.0.3").leads(9, "1,3"));
}

HttpAnswer discover(Client& client, const std::string& body = "{}") {
  client.send(posting(kDiscovery, body));
  return client.answer();
}

std::string owners_in(const HttpAnswer& answer, std::string_view cluster = kEdsCluster) {
  EXPECT_EQ(answer.status, 200u) << answer.body;
  const auto read = read_eds_json(answer.body, cluster, 4);
  EXPECT_TRUE(read) << answer.body;
  std::string text;
  for (const auto& one : read.value_or(ReadOwners{}).owners) {
    text += (one ? one->ip : "-") + std::string(" ");
  }
  return text;
}

TEST(EnvoyAnswersTest, tell_the_owners_once_all_are_known) {
  AdminRig rig;
  Client client(rig);
  HttpAnswer answer = discover(client);
  EXPECT_EQ(answer.status, 503u) << "less than an Envoy may know already";
  EXPECT_EQ(answer.field("Retry-After"), "1");
  rig.append(0, owner(2, "10.0.0.2").leads(9, "0,2"));
  EXPECT_EQ(discover(client).status, 503u);
  rig.append(1, owner(3, "10.0.0.3").leads(9, "1,3"));
  answer = discover(client);
  EXPECT_EQ(answer.field("Content-Type"), "application/json");
  EXPECT_EQ(owners_in(answer), "10.0.0.2 10.0.0.3 10.0.0.2 10.0.0.3 ");
  EXPECT_EQ(discover(client).body, answer.body) << "with the same version";
}

TEST(EnvoyAnswersTest, keep_a_dead_owner_until_there_is_another) {
  AdminRig rig;
  let_addresses_own(rig);
  Client client(rig);
  const std::string before = discover(client).body;
  rig.append(0, owner(2, "10.0.0.2").release(9, "0,2"));
  ASSERT_EQ(client.get("/v1/route?slot=0").json().at("verdict"), "unowned");
  EXPECT_EQ(discover(client).body, before);
  rig.append(0, owner(4, "10.0.0.4").claim("0,2"));
  rig.append(0, owner(4, "10.0.0.4").leads(11, "0,2"));
  EXPECT_EQ(owners_in(discover(client)), "10.0.0.4 10.0.0.3 10.0.0.4 10.0.0.3 ");
}

TEST(EnvoyAnswersTest, have_the_names_that_were_asked_for) {
  AdminRig rig;
  let_addresses_own(rig);
  Client client(rig);
  const HttpAnswer answer = discover(
      client, R"({"node":{"id":"e"},"type_url":"type.googleapis.com/envoy.config.endpoint.v3.)"
              R"(ClusterLoadAssignment","resource_names":["a","b"]})");
  EXPECT_EQ(owners_in(answer, "b"), owners_in(answer, "a"));
  EXPECT_FALSE(read_eds_json(answer.body, kEdsCluster, 4));
  EXPECT_EQ(owners_in(discover(client, R"({"resourceNames":["c"]})"), "c"),
            owners_in(discover(client)));
}

TEST(EnvoyAnswersTest, refuse_what_is_no_request_for_discovery) {
  AdminRig rig;
  let_addresses_own(rig);
  Client client(rig);
  std::string many = "\"a\"";
  for (int n = 0; n < 16; ++n) many += ",\"a\"";
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string(R"({"type_url":"other"})"),
        std::string(R"({"type_url":1})"), std::string(R"({"resource_names":"a"})"),
        std::string(R"({"resource_names":[1]})"), std::string(R"({"resource_names":[""]})"),
        R"({"resource_names":[)" + many + "]}",
        R"({"resource_names":["b"],"resourceNames":[)" + many.substr(4) + "]}",
        R"({"resource_names":[")" + std::string(256, 'a') + "\"]}"}) {
    const HttpAnswer answer = discover(client, body);
    EXPECT_EQ(answer.status, 400u) << body;
    EXPECT_NE(answer.body.find("DiscoveryRequest"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(client.get(kDiscovery).status, 405u);
  client.send(posting(kDiscovery, "{}", "Content-Type: text/plain\r\n"));
  EXPECT_EQ(client.answer().status, 415u);
  EXPECT_TRUE(client.ends());
}

TEST(EnvoyAnswersTest, take_the_long_requests_of_an_envoy_and_no_longer_ones) {
  AdminRig rig;
  let_addresses_own(rig);
  Client client(rig);
  EXPECT_EQ(discover(client, R"({"node":")" + std::string(120'000, 'e') + "\"}").status, 200u);
  client.send(
      request(kDiscovery, "POST", "Content-Type: application/json\r\nContent-Length: 140000\r\n"));
  EXPECT_EQ(client.answer().status, 413u);
}

TEST(EnvoyAnswersTest, name_the_owner_of_each_request) {
  AdminRig rig;
  let_addresses_own(rig);
  Client client(rig);
  for (const char* method : {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PURGE"}) {
    client.send(request("/v1/authorize/any/path?x=1", method,
                        "X-Neli-Key: a key\r\nContent-Length: 0\r\n"));
    const HttpAnswer answer = client.answer();
    EXPECT_EQ(answer.status, 200u) << method << answer.body;
    const auto slot = SlotSpace(SlotCount{64}).slot_of("a key").value();
    const std::string endpoint = slot % 2 == 0 ? "10.0.0.2:7000" : "10.0.0.3:7000";
    EXPECT_EQ(answer.field("x-gateway-destination-endpoint"), endpoint);
    EXPECT_EQ(std::string(answer.json().at("endpoint").as_string()), endpoint);
  }
  client.send(request("/v1/authorize", "HEAD", "x-neli-key: a key\r\n"));
  EXPECT_EQ(client.answer(/*head=*/true).status, 200u);
  client.send("GET /v1/authorize/x HTTP/1.1\r\nHost: shop.example\r\nx-neli-key: k\r\n\r\n");
  EXPECT_EQ(client.answer().status, 200u) << "Envoy sends the host of the request it asks about";
  client.send("GET /v1/slots HTTP/1.1\r\nHost: shop.example\r\n\r\n");
  EXPECT_EQ(client.answer().status, 421u);
  EXPECT_EQ(client.get("/v1/authorized").status, 404u);
}

// Envoy learns of a new process by its next poll only.
TEST(EnvoyAnswersTest, name_the_former_owner_after_the_new_one) {
  AdminRig rig;
  let_addresses_own(rig);
  Client client(rig);
  const auto destination_of = [&](const std::string& key) {
    client.send(request("/v1/authorize/x", "GET", "x-neli-key: " + key + "\r\n"));
    return client.answer().field("x-gateway-destination-endpoint");
  };
  const SlotSpace space(SlotCount{64});
  std::string moved = "k";
  while (space.slot_of(moved).value() % 4 != 0) moved += 'k';
  std::string other = "k";
  while (space.slot_of(other).value() % 4 != 1) other += 'k';
  EXPECT_EQ(destination_of(moved), "10.0.0.2:7000");
  rig.append(0, owner(4, "10.0.0.4").claim("0,2"));
  rig.append(0, owner(4, "10.0.0.4").leads(11, "0,2"));
  EXPECT_EQ(destination_of(moved), "10.0.0.4:7000,10.0.0.2:7000");
  EXPECT_EQ(destination_of(other), "10.0.0.3:7000");
}

TEST(EnvoyAnswersTest, refuse_requests_without_one_key) {
  AdminRig rig;
  let_addresses_own(rig);
  Client client(rig);
  for (const char* fields : {"", "x-neli-key:\r\n", "x-neli-key: a\r\nX-Neli-Key: a\r\n"}) {
    client.send(request("/v1/authorize/x", "GET", fields));
    EXPECT_EQ(client.answer().status, 400u) << fields;
  }
  for (const auto& [method, status] : {std::pair{"TRACE", 405u}, std::pair{"POST", 413u}}) {
    Client other(rig);
    other.send(request("/v1/authorize/x", method, "x-neli-key: a\r\nContent-Length: 4\r\n"));
    EXPECT_EQ(other.answer().status, status) << method;
  }
}

TEST(EnvoyAnswersTest, know_no_owner_of_what_nobody_owns) {
  AdminRig rig;
  Client client(rig);
  const auto ask = [&] {
    client.send(request("/v1/authorize/x", "GET", "x-neli-key: a key\r\n"));
    return client.answer();
  };
  EXPECT_EQ(ask().status, 503u) << "unknown";
  let_addresses_own(rig);
  EXPECT_EQ(ask().status, 200u);
  rig.append(0, owner(2, "10.0.0.2").release(9, "0,2"));
  rig.append(1, owner(3, "10.0.0.3").release(9, "1,3"));
  const HttpAnswer answer = ask();
  EXPECT_EQ(answer.status, 503u) << "a request is sent once to where this says";
  EXPECT_EQ(answer.field("Retry-After"), "1");
  EXPECT_EQ(answer.field("x-gateway-destination-endpoint"), "");
}

}  // namespace
}  // namespace neliroute::admin
