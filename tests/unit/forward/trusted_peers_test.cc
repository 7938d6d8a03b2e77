// Whose fields a proxy believes.
#include "forward/rules/trusted_peers.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/forward/gateway_rig.h"

namespace neliroute {
namespace {

using namespace testing_forward;
using boost::asio::ip::address;
using boost::asio::ip::make_address;

TEST(TrustedPeers, are_the_networks_and_addresses_of_the_list) {
  const auto peers = forward::TrustedPeers::parse("10.0.0.0/24,192.168.1.7,::1,fd00::/8").value();
  for (const char* in : {"10.0.0.0", "10.0.0.9", "10.0.0.255", "192.168.1.7", "::1", "fd00::2",
                         "::ffff:10.0.0.9"}) {
    EXPECT_TRUE(peers.contains(make_address(in))) << in;
  }
  for (const char* out :
       {"10.0.1.1", "9.255.255.255", "192.168.1.8", "::2", "fe00::1", "0.0.0.0", "::"}) {
    EXPECT_FALSE(peers.contains(make_address(out))) << out;
  }
}

TEST(TrustedPeers, of_an_empty_list_are_nobody) {
  EXPECT_FALSE(forward::TrustedPeers::parse("").value().contains(make_address("127.0.0.1")));
}

/// An owner behind it says what it was asked.
struct Peers : testing::Test {
  static GatewayRigOptions trusting(bool trusts) {
    GatewayRigOptions options;
    options.trusts = [trusts](const address&) { return trusts; };
    return options;
  }
  /// What the owner gets of a request that carries our fields.
  [[nodiscard]] OwnerRequest passed_on(bool trusts) {
    GatewayRig rig(trusting(trusts));
    Owner owner(rig.io, [](const OwnerRequest&) { return ok("x"); });
    rig.directions.leads(owner.endpoint());
    const std::string answer =
        rig.exchange(get("/", "Neliroute-Epoch: 0:1\r\nNeliroute-Hops: 1\r\n"
                              "X-Forwarded-For: 6.6.6.6\r\n"));
    EXPECT_EQ(status_of(answer), 200u) << answer;
    return owner.requests.empty() ? OwnerRequest() : owner.requests.front();
  }
};

TEST_F(Peers, that_are_trusted_say_whom_and_how_often_they_passed_a_request_on_for) {
  const OwnerRequest request = passed_on(true);
  EXPECT_EQ(request["Neliroute-Hops"], "2");
  EXPECT_EQ(request["X-Forwarded-For"], "6.6.6.6, 127.0.0.1");
}

TEST_F(Peers, that_are_not_trusted_say_nothing) {
  const OwnerRequest request = passed_on(false);
  EXPECT_EQ(request["Neliroute-Hops"], "1");
  EXPECT_EQ(request["X-Forwarded-For"], "127.0.0.1");
}

TEST_F(Peers, that_have_left_say_who_owns_the_slot_as_far_as_they_know) {
  GatewayRig rig;
  rig.directions.leads("10.0.0.7:80");  // 1:1
  rig.directions.leave();
  const std::string answer = rig.exchange(get());
  EXPECT_EQ(status_of(answer), 421u);
  for (const char* field : {"Neliroute-Owner: 10.0.0.7:80\r\n", "Neliroute-Epoch: 1:1\r\n",
                            "Neliroute-Slot: "}) {
    EXPECT_NE(answer.find(field), std::string::npos) << field << " of " << answer;
  }
}

TEST_F(Peers, of_the_owner_go_no_further_than_to_this_process) {
  GatewayRig rig;
  Owner next(rig.io, [](const OwnerRequest&) { return ok("next"); });
  Owner stranger(rig.io, [](const OwnerRequest&) { return ok("stranger"); });
  const std::string fields =
      "Neliroute-Owner: " + stranger.endpoint() + "\r\nNeliroute-Epoch: 9:9\r\n";
  Owner owner(rig.io, [&](const OwnerRequest& request) -> OwnerAnswer {
    const std::string rest = "Content-Length: 0\r\n" + fields + "\r\n";
    if (request.target() == "/") return {"HTTP/1.1 200 OK\r\n" + rest};
    rig.directions.leads(next.endpoint());
    return {"HTTP/1.1 421 No\r\nNeliroute-Slot: 0\r\n" + rest};
  });
  rig.directions.leads(owner.endpoint());
  const std::string answer = rig.exchange(get());
  EXPECT_EQ(status_of(answer), 200u);
  EXPECT_EQ(answer.find("Neliroute-"), std::string::npos) << answer;
  EXPECT_EQ(body_of(rig.exchange(get("/misdirected"))), "next") << "by the view, not by the field";
  EXPECT_EQ(stranger.connections, 0u);
  EXPECT_EQ(next.requests.at(0)["Neliroute-Epoch"], "1:2");
}

TEST_F(Peers, that_are_trusted_say_under_which_epoch_they_sent_a_request) {
  GatewayRig rig(trusting(true));
  Owner owner(rig.io, [](const OwnerRequest&) { return ok("x"); });
  rig.directions.leads(owner.endpoint());  // 1:1
  Caller caller = rig.call();
  caller.send(get("/", "Neliroute-Epoch: 1:1\r\n"));
  ASSERT_TRUE(
      rig.run_until([&] { return rig.directions.waits == 1 || !caller.received().empty(); }));
  EXPECT_TRUE(owner.requests.empty()) << "or it would go in a circle";
  EXPECT_EQ(rig.directions.waited_after, (Epoch{1, 1}));
  rig.directions.leads(owner.endpoint());  // 1:2
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(status_of(caller.received()), 200u);
}

TEST_F(Peers, that_are_trusted_shorten_the_deadline_and_never_lengthen_it) {
  for (const bool shorter : {true, false}) {
    GatewayRigOptions options = trusting(true);
    options.exchange.deadline = milliseconds{shorter ? 60'000 : 200};
    GatewayRig rig(options);
    const std::string told = shorter ? "200" : "86400000";
    const std::string answer = rig.exchange(get("/", "Neliroute-Timeout-Ms: " + told + "\r\n"));
    EXPECT_EQ(status_of(answer), 503u) << answer;
  }
}

TEST_F(Peers, cannot_send_a_request_on_for_ever) {
  GatewayRig rig(trusting(true));
  Owner owner(rig.io, [](const OwnerRequest&) { return ok("x"); });
  rig.directions.leads(owner.endpoint());
  const std::string answer = rig.exchange(get("/", "Neliroute-Hops: 3\r\n"));
  EXPECT_EQ(status_of(answer), 508u) << answer;
  EXPECT_TRUE(owner.requests.empty());
}

}  // namespace
}  // namespace neliroute
