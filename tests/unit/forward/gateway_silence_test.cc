// A gateway and peers that stop in the middle, and neither send nor close: each wait has a bound.
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <string>

#include "tests/unit/forward/gateway_rig.h"

namespace neliroute {
namespace {

using namespace testing_forward;
using namespace std::chrono_literals;
using boost::asio::ip::tcp;

GatewayRigOptions impatient() {
  GatewayRigOptions options;
  options.exchange.progress = 100ms;
  options.front.idle = 100ms;
  options.front.header = 100ms;
  return options;
}

struct Silent : testing::Test {
  Silent() { rig.directions.leads(owner.endpoint()); }
  [[nodiscard]] bool ends(Caller& caller) {
    return rig.run_until([&] { return caller.ended() && rig.gateway->connections() == 0; });
  }

  GatewayRig rig{impatient()};
  Owner owner{rig.io, [](const OwnerRequest&) { return ok("taken"); }};
};

std::string head_of(std::size_t length) {
  return "POST / HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\nContent-Length: " + std::to_string(length) +
         "\r\n\r\n";
}

TEST_F(Silent, clients_that_request_nothing_are_closed) {
  Caller caller = rig.call();
  EXPECT_TRUE(ends(caller));
}

TEST_F(Silent, clients_in_the_middle_of_a_body_that_is_kept_are_closed) {
  Caller caller = rig.call();
  caller.send(head_of(800) + "abc");
  EXPECT_TRUE(ends(caller));
  EXPECT_TRUE(owner.requests.empty());
}

TEST_F(Silent, clients_in_the_middle_of_a_body_that_is_passed_on_are_closed) {
  Caller caller = rig.call();
  caller.send(head_of(200'000) + "abc");
  EXPECT_TRUE(ends(caller));
  EXPECT_TRUE(owner.requests.empty());
  EXPECT_EQ(rig.count(forward::ProxyCount::broken), 1u);
  EXPECT_EQ(rig.count(forward::ProxyCount::failed), 0u) << "the owner has done nothing wrong";
}

// Its window is full, and it is not even late by `progress` when the client's time is over.
TEST(SilentOwners, that_take_nothing_of_a_request_use_up_the_deadline_and_no_more) {
  GatewayRigOptions options;
  options.exchange.deadline = 200ms;
  options.exchange.progress = 60s;
  options.exchange.kept_body = std::size_t{16} << 20;
  GatewayRig rig(options);
  const tcp::acceptor deaf(rig.io, {boost::asio::ip::address_v4::loopback(), 0});
  rig.directions.leads("127.0.0.1:" + std::to_string(deaf.local_endpoint().port()));
  EXPECT_EQ(status_of(rig.exchange(post(std::string(std::size_t{12} << 20, 'x')))), 504u);
  EXPECT_EQ(rig.count(forward::ProxyCount::failed), 1u);
}

TEST_F(Silent, clients_that_take_nothing_of_an_answer_are_closed) {
  owner.serve = [](const OwnerRequest&) { return ok(std::string(20'000'000, 'y')); };
  tcp::socket client(rig.io);
  client.connect(rig.gateway->endpoint());
  boost::asio::write(client, boost::asio::buffer(get()));
  ASSERT_TRUE(rig.run_until([&] { return owner.requests.size() == 1; }));
  EXPECT_TRUE(rig.run_until([&] { return rig.gateway->connections() == 0; }));
}

TEST_F(Silent, owners_in_the_middle_of_an_answer_are_given_up) {
  owner.serve = [](const OwnerRequest&) -> OwnerAnswer {
    return {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"};
  };
  Caller caller = rig.call();
  caller.send(get());
  EXPECT_TRUE(ends(caller));
  EXPECT_EQ(answers_in(caller.received(), true), 0u) << "and look whole to nobody";
}

}  // namespace
}  // namespace neliroute
