// Forwarders of Routers and of a Watcher, as a service has them.
#include <neliroute/forwarder.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <neliroute/admin.h>
#include <neliroute/clock.h>
#include <neliroute/observable.h>
#include <neliroute/router.h>
#include <neliroute/watcher.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "router/text/listen_address.h"
#include "tests/unit/embedded_broker/io_thread.h"
#include "tests/unit/forward/gateway_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using namespace testing_forward;
using boost::asio::ip::tcp;
using testing::HasSubstr;

/// An address that nobody else is given meanwhile; who binds it, as a Forwarder does, may have it.
class Reserved {
 public:
  explicit Reserved(boost::asio::io_context& io) : held_(io, tcp::v4()) {
    held_.set_option(tcp::acceptor::reuse_address(true));
    held_.bind({boost::asio::ip::address_v4::loopback(), 0});
  }
  [[nodiscard]] std::string address() const { return address_text(held_.local_endpoint()); }

 private:
  tcp::acceptor held_;
};

class ForwarderOfRouter : public testing::Test {
 protected:
  /// A process of a service. Its application says its name.
  struct Process {
    explicit Process(ForwarderOfRouter& fixture, std::string named)
        : of(fixture),
          name(std::move(named)),
          reserved(of.io_),
          application(of.io_, [this](const OwnerRequest&) { return ok(name); }) {
      RouterOptions options = of.router_options();
      options.process.name = name;
      options.process.endpoint = reserved.address();
      router = Router::open(router_io.executor(), options).value();
      ForwarderOptions made;
      made.limits.handover_grace = std::chrono::hours{1};  // longer than the test may take
      made.key = "header:X-Key";
      made.application = application.endpoint();
      counts = made.counts;
      forwarder = Forwarder::bind(of.front_io_.executor(), *router, made).value();
      EXPECT_TRUE(forwarder->listen());
    }
    ~Process() {
      forwarder.reset();
      end_router();
    }
    /// Returns when it has closed: what its strand was about to do comes first.
    void end_router() {
      if (!router) return;
      const Observable seen = router->observable();
      router_io.run([this] { router.reset(); });
      EXPECT_TRUE(of.run_until([&] { return router_io.run([&] { return seen.closed(); }); }));
    }
    [[nodiscard]] std::size_t owned() const {
      std::size_t count = 0;
      for (const Route& one : router->view()) count += one.verdict == Verdict::local ? 1 : 0;
      return count;
    }

    ForwarderOfRouter& of;
    std::string name;
    Reserved reserved;
    Owner application;
    IoThread router_io;
    std::unique_ptr<Router> router;
    ForwarderCounts counts;
    std::unique_ptr<Forwarder> forwarder;
  };

  // Their thread ends when everything has ended that a Forwarder began.
  void TearDown() override { front_io_.join(); }

  [[nodiscard]] RouterOptions router_options() const {
    RouterOptions made;
    made.ledger = ledger_;
    made.slots = SlotCount{16};
    made.partitions = 4;
    made.mode = Mode::exclusive;
    made.assignment = Assignment::assigner;
    made.timing.profile = Profile::fast;
    made.timing.lease = lease_;
    made.timing.session = lease_ + 1s;
    return made;
  }

  [[nodiscard]] bool run_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return Caller::print_all(), false;
      io_.restart();
      io_.run_one_for(5ms);
    }
    return true;
  }
  /// Until each process owns its share, and knows the others'.
  [[nodiscard]] bool is_shared(const std::vector<Process*>& all) {
    return run_until([&] {
      for (const Process* one : all) {
        for (const Route& route : one->router->view()) {
          if (route.verdict != Verdict::local && route.verdict != Verdict::remote) return false;
        }
        if (one->owned() != 4 / all.size()) return false;
      }
      return true;
    });
  }
  [[nodiscard]] static std::string key_of(const Process& owner) {
    for (int i = 0; i < 1000; ++i) {
      if (const std::string key = "k" + std::to_string(i); owner.router->owns(key)) return key;
    }
    return "of nobody";
  }
  [[nodiscard]] Caller call(const Forwarder& forwarder) {
    return Caller(io_, *resolve_listen(forwarder.address()));
  }
  [[nodiscard]] bool answered(const Caller& caller) {
    return run_until(has_answers(caller));
  }
  [[nodiscard]] static std::string request(const std::string& key, std::size_t length = 0) {
    return "POST / HTTP/1.1\r\nHost: h\r\nX-Key: " + key +
           "\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
  }
  [[nodiscard]] std::string ask(const Forwarder& forwarder, const std::string& key) {
    Caller caller = call(forwarder);
    caller.send(request(key));
    return answered(caller) ? caller.received() : "no answer: " + caller.received();
  }
  /// Whether fields of ours count that come from this machine: then they must be well-formed.
  [[nodiscard]] bool trusts_this_machine(const Forwarder& forwarder, const std::string& key) {
    Caller caller = call(forwarder);
    caller.send("GET / HTTP/1.1\r\nHost: h\r\nX-Key: " + key + "\r\nNeliroute-Hops: x\r\n\r\n");
    EXPECT_TRUE(answered(caller));
    EXPECT_TRUE(status_of(caller.received()) == 200 || status_of(caller.received()) == 400);
    return status_of(caller.received()) == 400;
  }
  /// Until it completes with no error.
  [[nodiscard]] bool has_drained(Forwarder& forwarder, milliseconds bound) {
    const auto told = std::make_shared<std::promise<boost::system::error_code>>();
    auto drained = told->get_future();
    forwarder.async_drain(bound, [told](auto error) { told->set_value(error); });
    return run_until([&] { return drained.wait_for(0ms) == std::future_status::ready; }) &&
           !drained.get();
  }
  void pass_long_bodies(Process& asked, Process& owner);

  milliseconds lease_ = 1500ms;  ///< for so long a first owner waits
  IoThread front_io_;  // outlives those of the routers
  const std::string ledger_ =
      std::string("memory:") + testing::UnitTest::GetInstance()->current_test_info()->name();
  boost::asio::io_context io_;
};

TEST_F(ForwarderOfRouter, ServesWhatItOwnsAndSendsOnTheRest) {
  Process alpha(*this, "alpha");
  Process beta(*this, "beta");
  ASSERT_TRUE(is_shared({&alpha, &beta}));
  EXPECT_EQ(alpha.forwarder->address(), alpha.router->process().endpoint);
  for (Process* owner : {&alpha, &beta}) {
    const std::string key = key_of(*owner);
    EXPECT_EQ(body_of(ask(*alpha.forwarder, key)), owner->name);
    ASSERT_EQ(owner->application.requests.size(), 1u);
    EXPECT_EQ(owner->application.requests[0]["Neliroute-Epoch"],
              to_string(owner->router->route(key).epoch));
  }
  EXPECT_EQ(alpha.counts.requests().served, 1u);
  EXPECT_EQ(alpha.counts.requests().forwarded, 1u);
  EXPECT_EQ(beta.counts.requests().served, 1u);
  EXPECT_EQ(beta.counts.requests().forwarded, 0u);
  EXPECT_TRUE(trusts_this_machine(*alpha.forwarder, key_of(alpha)));
}

// Neither side is sent all before the other has some.
void ForwarderOfRouter::pass_long_bodies(Process& asked, Process& owner) {
  constexpr std::size_t kPart = std::size_t{3} << 19;
  const std::string first(kPart, 'a');
  const std::string rest(kPart, 'b');
  owner.application.serve = [&](const OwnerRequest& got) {
    EXPECT_TRUE(got.body() == first + rest);
    return OwnerAnswer{"HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(2 * kPart) +
                       "\r\n\r\n" + first};
  };
  Caller caller = call(*asked.forwarder);
  caller.send(request(key_of(owner), 2 * kPart));
  caller.send(first);
  ASSERT_TRUE(run_until([&] { return owner.application.bodies_size_so_far() == kPart; }));
  EXPECT_TRUE(owner.application.bodies_so_far() == first);
  caller.send(rest);
  ASSERT_TRUE(run_until([&] { return caller.received().ends_with(first); }))
      << caller.received().size();
  owner.application.say(rest);
  ASSERT_TRUE(answered(caller));
  EXPECT_TRUE(body_of(caller.received()) == first + rest);
}

TEST_F(ForwarderOfRouter, PassesLongBodiesOnInPartsBothWays) {
  Process alpha(*this, "alpha");
  Process beta(*this, "beta");
  ASSERT_TRUE(is_shared({&alpha, &beta}));
  pass_long_bodies(alpha, alpha);
  pass_long_bodies(alpha, beta);
}

TEST_F(ForwarderOfRouter, HandsOverWhenTheAnswerHasEnded) {
  lease_ = 6s;  // guards of work are waited for as long
  Process alpha(*this, "alpha");
  Process beta(*this, "beta");
  ASSERT_TRUE(is_shared({&alpha, &beta}));
  const std::string key = key_of(alpha);
  alpha.application.serve = [](const OwnerRequest&) { return OwnerAnswer{}; };
  Caller caller = call(*alpha.forwarder);
  caller.send(request(key));
  ASSERT_TRUE(run_until([&] { return alpha.application.requests.size() == 1; }));
  std::promise<void> told;
  auto left = told.get_future();
  alpha.router->async_drain(20s, [&](auto) { told.set_value(); });
  ASSERT_TRUE(run_until([&] { return !alpha.router->owns(key); }));
  ASSERT_TRUE(run_until([&] { return beta.owned() == 3; })) << "nothing is under way in the other";
  EXPECT_FALSE(beta.router->owns(key)) << "a request is under way";
  alpha.application.say(ok("late").bytes);
  ASSERT_TRUE(answered(caller));
  EXPECT_EQ(body_of(caller.received()), "late");
  ASSERT_TRUE(run_until([&] { return left.wait_for(0ms) == std::future_status::ready; }));
  EXPECT_TRUE(run_until([&] { return beta.router->owns(key); }));
  // Who still asks the one that has left is told whom to ask.
  const std::string refused = ask(*alpha.forwarder, key);
  EXPECT_EQ(status_of(refused), 421u);
  EXPECT_THAT(refused, HasSubstr("Neliroute-Slot: "));
  EXPECT_EQ(body_of(ask(*beta.forwarder, key)), "beta");
  EXPECT_TRUE(has_drained(*alpha.forwarder, 20s));
}

TEST_F(ForwarderOfRouter, OutlivesItsRouter) {
  Process alpha(*this, "alpha");
  ASSERT_TRUE(is_shared({&alpha}));
  const std::string key = key_of(alpha);
  alpha.application.serve = [](const OwnerRequest&) { return OwnerAnswer{}; };
  Caller caller = call(*alpha.forwarder);
  caller.send(request(key));
  ASSERT_TRUE(run_until([&] { return alpha.application.requests.size() == 1; }));
  alpha.end_router();
  EXPECT_EQ(status_of(ask(*alpha.forwarder, key)), 421u);
  alpha.application.say(ok("late").bytes);
  ASSERT_TRUE(answered(caller));
  EXPECT_EQ(body_of(caller.received()), "late") << "what was under way is finished";
  EXPECT_TRUE(has_drained(*alpha.forwarder, 20s));
}

TEST_F(ForwarderOfRouter, ServesWhileTheRoutersExecutorHangs) {
  lease_ = 6s;
  Process alpha(*this, "alpha");
  ASSERT_TRUE(is_shared({&alpha}));
  const std::string key = key_of(alpha);
  const Hang hang(alpha.router_io);
  EXPECT_TRUE(run_until(
      [&] { return alpha.router->observable().overdue(boot_now()).count() > 0; }));
  EXPECT_EQ(body_of(ask(*alpha.forwarder, key)), "alpha") << "its lease has not ended";
  EXPECT_TRUE(has_drained(*alpha.forwarder, 20s));
  alpha.forwarder.reset();
}

TEST_F(ForwarderOfRouter, OfAWatcherIsAGateway) {
  Process alpha(*this, "alpha");
  ASSERT_TRUE(is_shared({&alpha}));
  IoThread watcher_io;
  WatcherOptions options;
  options.ledger = ledger_;
  options.slots = SlotCount{16};
  auto watcher = Watcher::open(watcher_io.executor(), options).value();
  ForwarderOptions made;
  made.key = "header:X-Key";
  made.limits.deadline = 5s;
  made.listen = "127.0.0.1:0";
  const auto gateway = Forwarder::bind(front_io_.executor(), *watcher, made).value();
  ASSERT_TRUE(gateway->listen());
  ASSERT_TRUE(run_until([&] { return watcher->route("k").verdict == Verdict::remote; }));
  EXPECT_EQ(body_of(ask(*gateway, "k")), "alpha");
  EXPECT_EQ(made.counts.requests().forwarded, 1u);
  EXPECT_EQ(alpha.counts.requests().served, 1u);
  EXPECT_FALSE(trusts_this_machine(*gateway, "k"));
  watcher_io.run([&] { watcher.reset(); });
  EXPECT_TRUE(run_until([&] { return status_of(ask(*gateway, "k")) == 503; }));
  EXPECT_TRUE(has_drained(*gateway, 20s));
}

TEST_F(ForwarderOfRouter, NamesWhatDoesNotFitARouterOrAWatcher) {
  Process alpha(*this, "alpha");
  IoThread watcher_io;
  WatcherOptions options;
  options.ledger = ledger_;
  options.slots = SlotCount{16};
  auto watcher = Watcher::open(watcher_io.executor(), options).value();
  const auto refusal = [&](const auto& of, const ForwarderOptions& wrong) {
    const auto bound = Forwarder::bind(front_io_.executor(), of, wrong);
    return bound ? "none" : bound.error().message();
  };
  ForwarderOptions made;
  EXPECT_THAT(refusal(*alpha.router, made), HasSubstr("`application`"));
  EXPECT_THAT(refusal(*watcher, made), HasSubstr("`listen`"));
  made.application = "127.0.0.1:9000";
  EXPECT_THAT(refusal(*watcher, made), HasSubstr("`application`"));
  EXPECT_THAT(refusal(*alpha.router, made), HasSubstr("`key`"));
  made.key = "host";
  made.listen = "no such host:1";
  EXPECT_THAT(refusal(*alpha.router, made), HasSubstr("`listen`"));
  watcher_io.run([&] { watcher.reset(); });
}

}  // namespace
}  // namespace neliroute
