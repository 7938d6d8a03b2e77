// A gateway and bodies that take long, never end, or have nowhere to go.
#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <list>
#include <string>
#include <utility>

#include "tests/unit/forward/gateway_rig.h"

namespace neliroute {
namespace {

using namespace testing_forward;
using namespace std::chrono_literals;
using forward::ProxyCount;

constexpr const char* kChunked =
    "POST / HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\nTransfer-Encoding: chunked\r\n\r\n";

struct Bodies : testing::Test {
  explicit Bodies(GatewayRigOptions options = {}) : rig(std::move(options)) {
    rig.directions.leads(owner.endpoint());
  }
  /// Sends more of what never ends, until the gateway has had enough.
  [[nodiscard]] std::size_t sent_until_answered(Caller& caller, const std::string& part) {
    std::size_t sent = 0;
    const bool done = rig.run_until([&] {
      if (!caller.unsent() && sent < 4'000'000) {
        caller.send(part);
        sent += part.size();
      }
      return caller.ended() || answers_in(caller.received(), false) > 0;
    });
    EXPECT_TRUE(done) << "it reads on";
    return sent;
  }

  GatewayRig rig;
  Owner owner{rig.io, [](const OwnerRequest&) { return ok("taken"); }};
};

// Beast gathers them until they end.
TEST_F(Bodies, whose_chunk_extension_never_ends_are_refused) {
  Caller caller = rig.call();
  caller.send(std::string(kChunked) + "1;");
  EXPECT_LT(sent_until_answered(caller, std::string(65'536, 'a')), 4'000'000u);
  EXPECT_EQ(status_of(caller.received()), 400u) << caller.received();
  EXPECT_TRUE(owner.requests.empty());
}

TEST_F(Bodies, whose_trailers_never_end_are_refused) {
  Caller caller = rig.call();
  caller.send(std::string(kChunked) + "0\r\n");
  std::string trailers;
  while (trailers.size() < 65'536) trailers += "X-More: " + std::string(100, 'a') + "\r\n";
  EXPECT_LT(sent_until_answered(caller, trailers), 4'000'000u);
  EXPECT_EQ(status_of(caller.received()), 400u) << caller.received();
}

TEST_F(Bodies, that_are_malformed_are_answered) {
  EXPECT_EQ(status_of(rig.exchange(std::string(kChunked) + "nonsense\r\n")), 400u);
  EXPECT_EQ(rig.count(ProxyCount::broken), 1u);
}

TEST_F(Bodies, of_answers_whose_chunk_extension_never_ends_are_cut_off) {
  owner.serve = [](const OwnerRequest&) -> OwnerAnswer {
    return {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(400'000, 'a')};
  };
  Caller caller = rig.call();
  caller.send(get());
  ASSERT_TRUE(rig.run_until([&] { return caller.ended(); }));
  EXPECT_EQ(rig.count(ProxyCount::broken), 1u);
}

/// A chunk that is too long to be kept.
std::string long_chunk() { return "11170\r\n" + std::string(70'000, 'x'); }

struct Chunks : Bodies {
  [[nodiscard]] bool owner_has(const std::string& end) {
    return rig.run_until([&] { return owner.bodies_so_far().ends_with(end); });
  }
};

// They would be the next request on that connection, which another client's may be sent on.
TEST_F(Chunks, whose_end_comes_by_itself_are_ended_once) {
  Caller caller = rig.call();
  caller.send(kChunked + long_chunk());
  ASSERT_TRUE(rig.run_until([&] { return owner.bodies_size_so_far() == 70'000; }));
  caller.send("\r\n0\r\n\r\n");
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(status_of(caller.received()), 200u);
  EXPECT_EQ(body_of(rig.exchange(post("x"))), "taken");
  EXPECT_EQ(owner.requests.size(), 2u);
  EXPECT_EQ(owner.connections, 1u);
}

TEST_F(Chunks, are_passed_on_without_waiting_for_the_next_one) {
  Caller caller = rig.call();
  caller.send(kChunked + long_chunk() + "\r\n");
  ASSERT_TRUE(owner_has("x"));
  for (const char* word : {"hello", "again"}) {
    caller.send("5\r\n" + std::string(word) + "\r\n");
    ASSERT_TRUE(owner_has(word)) << word;
  }
  caller.send("0\r\n\r\n");
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(owner.requests.at(0).body().size(), 70'010u);
}

std::size_t allocated() {
  const struct mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// Thousands of clients may.
TEST_F(Bodies, that_are_announced_take_no_room_before_they_come) {
  constexpr std::size_t kClients = 100;
  std::list<Caller> callers;
  for (std::size_t i = 0; i < kClients; ++i) callers.emplace_back(rig.io, rig.gateway->endpoint());
  ASSERT_TRUE(rig.run_until([&] { return rig.gateway->connections() == kClients; }));
  const std::size_t before = allocated();
  for (Caller& caller : callers) {
    caller.send(
        "POST / HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\nContent-Length: 65536\r\n"
        "Expect: 100-continue\r\n\r\n");
  }
  for (Caller& caller : callers) {
    ASSERT_TRUE(rig.run_until([&] { return status_of(caller.received()) == 100; }));
    caller.send("ten bytes.");
    ASSERT_TRUE(rig.run_until([&] { return !caller.unsent(); }));
  }
  EXPECT_EQ(body_of(rig.exchange(post("another"))), "taken") << "so these have been read";
  EXPECT_LT((allocated() - before) / kClients, 24'000u);
}

TEST_F(Bodies, that_are_kept_arrive_whole_whatever_their_length) {
  std::string body;
  while (body.size() < 65'536) body += std::to_string(body.size()) + ",";
  for (const std::size_t size : {1U, 4095U, 4096U, 4097U, 8192U, 8193U, 40'000U, 65'536U}) {
    EXPECT_EQ(body_of(rig.exchange(post(body.substr(0, size)))), "taken");
    EXPECT_EQ(owner.requests.back().body(), body.substr(0, size));
  }
  for (const std::size_t part : {1000U, 4096U, 5000U}) {
    std::string chunks = kChunked;
    for (std::size_t at = 0; at < 60'000; at += part) {
      char size[16];
      std::snprintf(size, sizeof size, "%zx\r\n", part);
      chunks += size + body.substr(at, part) + "\r\n";
    }
    EXPECT_EQ(body_of(rig.exchange(chunks + "0\r\n\r\n")), "taken");
    const std::string& got = owner.requests.back().body();
    EXPECT_EQ(got, body.substr(0, got.size()));
    EXPECT_GE(got.size(), 60'000u);
  }
}

struct SlowBodies : Bodies {
  static constexpr auto kDeadline = 300ms;
  static GatewayRigOptions soon() {
    GatewayRigOptions options;
    options.exchange.deadline = kDeadline;
    return options;
  }
  SlowBodies() : Bodies(soon()) {}

  /// Sends parts for twice the deadline.
  void send_slowly(Caller& caller, std::size_t parts, const std::string& part) {
    for (std::size_t i = 0; i < parts; ++i) {
      const auto next = std::chrono::steady_clock::now() + 2 * kDeadline / parts;
      caller.send(part);
      ASSERT_TRUE(rig.run_until([&] { return std::chrono::steady_clock::now() >= next; }));
    }
  }
};

// The deadline is the owner's.
TEST_F(SlowBodies, may_take_longer_than_the_deadline) {
  Caller caller = rig.call();
  caller.send("POST / HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\nContent-Length: 200000\r\n\r\n");
  send_slowly(caller, 8, std::string(25'000, 'b'));
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(status_of(caller.received()), 200u) << caller.received();
  EXPECT_EQ(owner.requests.at(0).body().size(), 200'000u);
}

TEST_F(SlowBodies, that_are_kept_may_too) {
  Caller caller = rig.call();
  caller.send("POST / HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\nContent-Length: 800\r\n\r\n");
  send_slowly(caller, 8, std::string(100, 'b'));
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(status_of(caller.received()), 200u) << caller.received();
}

TEST_F(SlowBodies, leave_the_owner_the_deadline_from_their_end) {
  owner.serve = [](const OwnerRequest&) { return OwnerAnswer{}; };
  Caller caller = rig.call();
  caller.send("POST / HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\nContent-Length: 200000\r\n\r\n");
  send_slowly(caller, 8, std::string(25'000, 'b'));
  const auto ended = std::chrono::steady_clock::now();
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(status_of(caller.received()), 504u) << caller.received();
  EXPECT_LT(std::chrono::steady_clock::now() - ended, 10s) << "not the 30 s of a part";
}

TEST_F(SlowBodies, whose_deadline_is_longer_than_a_part_may_take_are_waited_for) {
  GatewayRigOptions options;
  options.exchange.progress = 100ms;
  options.exchange.deadline = 5s;
  GatewayRig patient(options);
  patient.directions.leads(owner.endpoint());
  owner.serve = [](const OwnerRequest&) { return OwnerAnswer{}; };
  Caller caller = patient.call();
  caller.send(get());
  const auto until = std::chrono::steady_clock::now() + 400ms;
  ASSERT_TRUE(patient.run_until([&] {
    rig.io.poll();
    return std::chrono::steady_clock::now() >= until;
  }));
  EXPECT_EQ(caller.received(), "");
}

// Whoever leads, its own application is the owner: the router would say so at once, for ever.
TEST_F(SlowBodies, for_an_application_that_is_away_are_tried_now_and_then) {
  rig.directions.own = true;
  owner.stop();
  EXPECT_EQ(status_of(rig.exchange(get())), 503u);
  EXPECT_EQ(rig.directions.waits, 0u);
  EXPECT_GE(rig.count(ProxyCount::unreachable), 2u);
  EXPECT_LE(rig.count(ProxyCount::unreachable), 4u);
}

}  // namespace
}  // namespace neliroute
