// Endpoints as texts, and owners as Envoy reads them.
#include "admin/envoy/eds_json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace neliroute::admin {
namespace {

const std::vector<std::string> kOne{"neliroute"};

TEST(SocketAddressTest, is_read_from_an_endpoint) {
  const auto plain = parse_endpoint("10.0.0.7:8080");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host, "10.0.0.7");
  EXPECT_EQ(plain->port, 8080);
  EXPECT_EQ(parse_endpoint("[2001:DB8::7]:1")->host, "2001:DB8::7");
  EXPECT_EQ(parse_endpoint("a.example:65535")->host, "a.example");
  for (const char* text : {"", ":1", "a", "a:", "a:0", "a:65536", "a:80x", "a: 80",
                           "2001:db8::7:80", "[]:1", "[::1:1", "::1]:1", "[::1]"}) {
    EXPECT_FALSE(parse_endpoint(text)) << text;
  }
}

TEST(SocketAddressTest, is_written_in_one_way) {
  EXPECT_EQ(ip_of("2001:DB8:0::7"), "2001:db8::7");
  EXPECT_EQ(to_string(SocketAddress{"2001:db8::7", 80}), "[2001:db8::7]:80");
  EXPECT_EQ(to_string(SocketAddress{"10.0.0.7", 80}), "10.0.0.7:80");
  for (const char* name : {"", "a.example", "10.0.0", "10.0.0.256", "fe80::1%eth0", "fe80::1%1"}) {
    EXPECT_EQ(ip_of(name), std::nullopt) << name << " would make Envoy refuse the whole file";
  }
}

TEST(EdsJsonTest, lists_each_endpoint_once_with_its_partitions_as_strings) {
  const SocketAddress a{"10.0.0.7", 8080};
  const SocketAddress b{"2001:db8::7", 80};
  EXPECT_EQ(
      eds_json(kOne, {a, b, std::nullopt, a}, "42", "here"),
      R"({"version_info":"42","resources":[{"@type":)"
      R"("type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",)"
      R"("cluster_name":"neliroute","endpoints":[{"lb_endpoints":[)"
      R"({"endpoint":{"address":{"socket_address":{"address":"10.0.0.7","port_value":8080}}},)"
      R"("metadata":{"filter_metadata":{"envoy.lb":{"partition":["0","3"]}}}},)"
      R"({"endpoint":{"address":{"socket_address":{"address":"2001:db8::7","port_value":80}}},)"
      R"("metadata":{"filter_metadata":{"envoy.lb":{"partition":["1"]}}}}]}]}],)"
      R"("control_plane":{"identifier":"here"}})");
}

TEST(EdsJsonTest, is_read_back) {
  OwnerAddresses owners(1000);
  for (std::size_t p = 0; p < owners.size(); p += 1 + p % 3) {
    owners[p] = SocketAddress{p % 2 == 0 ? "10.0.0.1" : "::1", static_cast<std::uint16_t>(p + 1)};
  }
  const std::vector<std::string> both{"others", "ours \"quoted\""};
  const std::string text = eds_json(both, owners, "1", "here");
  const auto read = read_eds_json(text, both[1], 1000);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->owners, owners);
  EXPECT_EQ(read->origin, "here");
  EXPECT_FALSE(read_eds_json(text, "neither", 1000));
  owners.resize(10);
  EXPECT_EQ(read_eds_json(text, both[0], 10)->owners, owners) << "there are fewer partitions now";
}

TEST(EdsJsonTest, of_somebody_else_is_read_as_far_as_it_goes) {
  for (const char* text : {"", "{", "[]", "1", R"({"resources":{}})", R"({"resources":[]})",
                           R"({"resources":[1,{"cluster_name":"neliroute"}]})"}) {
    EXPECT_FALSE(read_eds_json(text, kOne[0], 4)) << text;
  }
  const std::string head = R"({"resources":[{"cluster_name":"neliroute","endpoints":[)";
  const auto endpoint = [](const std::string& address, const std::string& partitions) {
    return R"({"endpoint":{"address":{"socket_address":)" + address +
           R"(}},"metadata":{"filter_metadata":{"envoy.lb":{"partition":)" + partitions + "}}}}";
  };
  const std::string good = R"({"address":"10.0.0.1","port_value":1})";
  const std::string text = head + R"(7,{"lb_endpoints":[3,)" +
                           endpoint(good, R"(["0",1,"x","-1","2 ","9"])") + "," +
                           endpoint(R"({"address":"name","port_value":1})", R"(["1"])") + "," +
                           endpoint(R"({"address":"10.0.0.1","port_value":65536})", R"(["2"])") +
                           "," + endpoint(good, R"("3")") + "]}]}]}";
  const auto read = read_eds_json(text, kOne[0], 4);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->owners, (OwnerAddresses{SocketAddress{"10.0.0.1", 1}, std::nullopt, std::nullopt,
                                          std::nullopt}));
  EXPECT_EQ(read->origin, "");
  EXPECT_EQ(
      read_eds_json(text.substr(0, text.size() - 1) + R"(,"control_plane":7})", kOne[0], 4)->origin,
      "");
}

TEST(EdsJsonTest, has_an_origin_that_says_by_which_rule_keys_find_owners) {
  ObservedFacts facts{.process = {},
                      .id = std::nullopt,
                      .topic = "routes.a",
                      .lane = Lane{7},
                      .settings = {},
                      .space = SlotSpace(SlotCount{256}, {Hash::crc16, HashTags::on}),
                      .interval = std::nullopt};
  facts.settings.partitions = 16;
  EXPECT_EQ(origin_of(facts), "routes.a/7/256/16/crc16+tags");
}

}  // namespace
}  // namespace neliroute::admin
