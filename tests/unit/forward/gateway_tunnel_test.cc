// A gateway and connections that are upgraded: how long a tunnel lasts, and what ends it.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "neli_core/lease_vector.h"
#include "router/view/work_gate.h"
#include "tests/unit/forward/gateway_rig.h"

namespace neliroute {
namespace {

using namespace testing_forward;
using namespace std::chrono_literals;

constexpr Partition kP{0};
constexpr LocalTime kNow{1h};

OwnerAnswer switches(const OwnerRequest&) {
  return {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"};
}

struct Tunnel : testing::Test {
  explicit Tunnel(GatewayRigOptions options = {}) : rig(std::move(options)) {
    rig.directions.leads(owner.endpoint());
  }
  void upgrade(Caller& caller) {
    caller.send(get("/", "Upgrade: x\r\nConnection: Upgrade\r\n"));
    ASSERT_TRUE(rig.run_until([&] { return !caller.received().empty(); }));
    EXPECT_EQ(status_of(caller.received()), 101u);
  }

  GatewayRig rig;
  Owner owner{rig.io, switches};
};

TEST_F(Tunnel, carries_bytes_both_ways_until_both_ends_close) {
  owner.serve = [](const OwnerRequest& request) -> OwnerAnswer {
    if (request.target() == "/inside") return {"bye", true};
    EXPECT_EQ(request["Upgrade"], "websocket");
    EXPECT_EQ(request["Connection"], "upgrade");
    return {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
            "hello"};
  };
  Caller caller = rig.call();
  caller.send(get("/", "Upgrade: websocket\r\nConnection: Upgrade\r\n"));
  ASSERT_TRUE(rig.run_until([&] { return caller.received().ends_with("hello"); }));
  EXPECT_EQ(status_of(caller.received()), 101u);
  EXPECT_NE(caller.received().find("Upgrade: websocket\r\n"), std::string::npos);
  EXPECT_NE(caller.received().find("Connection: upgrade\r\n"), std::string::npos);
  EXPECT_NE(caller.received().find("Via: 1.1 gw\r\n"), std::string::npos);
  // The owner's little server reads on as HTTP, which shows what came.
  caller.send("GET /inside HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(rig.run_until([&] { return owner.requests.size() == 2; }));
  EXPECT_EQ(owner.requests[1].target(), "/inside");
  ASSERT_TRUE(rig.run_until([&] { return caller.ended(); })) << "the owner closed its side";
  EXPECT_TRUE(caller.received().ends_with("bye"));
}

// The tunnel and the passing of the body would read the client at once.
TEST_F(Tunnel, is_none_where_the_request_has_a_body) {
  for (const std::size_t length : {5u, 100'000u}) {
    owner.serve = [](const OwnerRequest& request) {
      EXPECT_EQ(request.count("Upgrade"), 0u);
      return ok("no tunnel");
    };
    EXPECT_EQ(body_of(rig.exchange(post(std::string(length, 'x'),
                                        "Upgrade: x\r\nConnection: Upgrade\r\n"))),
              "no tunnel");
    owner.serve = switches;
    EXPECT_EQ(status_of(rig.exchange(post(std::string(length, 'x'),
                                          "Upgrade: x\r\nConnection: Upgrade\r\n"))),
              502u)
        << "nobody asked for it";
  }
}

struct ShortTunnel : Tunnel {
  static constexpr auto kUnused = 1s;
  static GatewayRigOptions soon() {
    GatewayRigOptions options;
    options.exchange.tunnel = kUnused;
    return options;
  }
  ShortTunnel() : Tunnel(soon()) {}
};

TEST_F(ShortTunnel, that_carries_nothing_for_long_is_closed) {
  Caller caller = rig.call();
  upgrade(caller);
  ASSERT_TRUE(rig.run_until([&] { return caller.ended(); }));
  EXPECT_TRUE(rig.run_until([&] { return rig.gateway->connections() == 0; }));
}

TEST_F(ShortTunnel, that_is_used_now_and_then_lasts) {
  Caller caller = rig.call();
  upgrade(caller);
  for (auto end = std::chrono::steady_clock::now() + 2 * kUnused;
       std::chrono::steady_clock::now() < end;) {
    const std::size_t before = caller.received().size();
    owner.say("x");
    ASSERT_TRUE(rig.run_until([&] { return caller.received().size() > before; }));
  }
  EXPECT_FALSE(caller.ended());
}

struct LongTunnel : Tunnel {
  static GatewayRigOptions brief() {
    GatewayRigOptions options;
    options.exchange.progress = 100ms;
    return options;
  }
  LongTunnel() : Tunnel(brief()) {}
};

TEST_F(LongTunnel, outlives_what_a_part_of_a_body_may_take) {
  Caller caller = rig.call();
  upgrade(caller);
  rig.io.restart();
  rig.io.run_for(400ms);
  EXPECT_FALSE(caller.ended());
  owner.say("x");
  EXPECT_TRUE(rig.run_until([&] { return caller.received().ends_with("x"); }));
}

/// The tunnel is to the application behind this process, which leads the slot.
struct OwnTunnel : Tunnel {
  OwnTunnel() {
    leases->set(kP, kNow + 1h, 1);
    gate->open(kP, {1, 1});
    rig.directions.own = true;
    rig.directions.work = [this] { return gate->begin(kP, kNow); };
  }
  ~OwnTunnel() override { gate->retire(); }

  std::shared_ptr<LeaseVector> leases = std::make_shared<LeaseVector>(1);
  std::shared_ptr<WorkGate> gate = WorkGate::make(leases, [] {});
};

TEST_F(OwnTunnel, holds_up_no_hand_over_and_ends_with_it) {
  Caller caller = rig.call();
  upgrade(caller);
  gate->close(kP);
  gate->settle();
  EXPECT_EQ(gate->under_way(kP), 0u);
  EXPECT_FALSE(caller.ended());
  gate->request_stop(kP);
  EXPECT_TRUE(rig.run_until([&] { return caller.ended(); }));
  EXPECT_TRUE(rig.run_until([&] { return rig.gateway->connections() == 0; }));
}

}  // namespace
}  // namespace neliroute
