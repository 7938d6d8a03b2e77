// The Forwarder of the library: its options, its counts, how it begins and how it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neliroute/admin.h>
#include <neliroute/forwarder.h>
#include <neliroute/observable.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/forward/forwarder_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using namespace testing_forward;
using boost::system::error_code;
using testing::HasSubstr;

struct Wrong {
  const char* name;
  std::function<void(ForwarderOptions&)> spoil;
};

TEST(ForwarderOptionsTest, each_that_is_wrong_is_named) {
  const std::vector<Wrong> all = {
      {"`key`", [](auto& o) { o.key.clear(); }},
      {"`key`", [](auto& o) { o.key = "body:x"; }},
      {"`listen`", [](auto& o) { o.listen = "127.0.0.1"; }},
      {"`application`", [](auto& o) { o.application = "127.0.0.1"; }},
      {"`application`", [](auto& o) { o.application = "127.0.0.1:0"; }},
      {"`trusted_peers`", [](auto& o) { o.trusted_peers = "10.0.0.0/33"; }},
      {"`tls.key`", [](auto& o) { o.tls.certificate = "/none"; }},
      {"`tls.certificate`", [](auto& o) { o.tls.key = "/none"; }},
      {"/none.pem", [](auto& o) { o.tls = {"/none.pem", "/none.key", false, ""}; }},
      {"`tls.to_owners`", [](auto& o) { o.tls.authorities = "/none"; }},
      {"/none.ca", [](auto& o) { o.tls = {"", "", true, "/none.ca"}; }},
      {"`limits.deadline`", [](auto& o) { o.limits.deadline = 0ms; }},
      {"`limits.progress`", [](auto& o) { o.limits.progress = -1ms; }},
      {"`limits.tunnel`", [](auto& o) { o.limits.tunnel = 0ms; }},
      {"`limits.header`", [](auto& o) { o.limits.header = std::chrono::hours{25}; }},
      {"`limits.idle`", [](auto& o) { o.limits.idle = 0ms; }},
      {"`limits.connections`", [](auto& o) { o.limits.connections = 0; }},
      {"`limits.waits`", [](auto& o) { o.limits.waits = 0; }},
  };
  EXPECT_TRUE(usual_options().check());
  for (const Wrong& one : all) {
    ForwarderOptions options = usual_options();
    one.spoil(options);
    const auto checked = options.check();
    ASSERT_FALSE(checked) << one.name;
    EXPECT_EQ(checked.error().code(), Errc::bad_option);
    EXPECT_THAT(checked.error().message(), HasSubstr(one.name));
  }
}

TEST(ForwarderOptionsTest, an_application_is_as_its_connections_need_it) {
  const auto read = [](const char* text) {
    ForwarderOptions options;
    options.application = text;
    return forward::application_of(options).value();
  };
  EXPECT_EQ(read("9000"), "127.0.0.1:9000");
  EXPECT_EQ(read(":9000"), "127.0.0.1:9000");
  EXPECT_EQ(read("app.local:9000"), "app.local:9000");
  EXPECT_EQ(read("[::1]:9000"), "[::1]:9000");
}

TEST(ForwarderTest, refuses_connections_until_it_listens) {
  ForwarderRig rig;
  EXPECT_THROW(static_cast<void>(rig.call()), boost::system::system_error);
  EXPECT_TRUE(rig.forwarder->listen());
  EXPECT_TRUE(rig.forwarder->listen()) << "once more does nothing";
  Caller caller = rig.call();
  caller.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(status_of(caller.received()), 400u) << "it has no key";
}

// Both may have the address while neither listens.
TEST(ForwarderTest, says_if_another_one_listens_there) {
  ForwarderRig first;
  ForwarderOptions same = usual_options();
  same.listen = first.forwarder->address();
  ForwarderRig second(same);
  ASSERT_TRUE(first.forwarder->listen());
  const auto refused = second.forwarder->listen();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::bad_option);
  EXPECT_THAT(refused.error().message(),
              testing::AllOf(HasSubstr("`listen`"), HasSubstr(first.forwarder->address()),
                             HasSubstr("free port")));
}

/// An owner that answers when the test says so.
struct Slow : ForwarderRig {
  explicit Slow(const ForwarderOptions& options = usual_options()) : ForwarderRig(options) {
    directions.own = true;
    directions.leads(application.endpoint());
    EXPECT_TRUE(forwarder->listen());
  }
  /// It reached the application.
  [[nodiscard]] bool is_asked(Caller& caller) {
    const std::size_t before = application.requests.size();
    caller.send(get());
    return run_until([&] { return application.requests.size() > before; });
  }

  Owner application{io, [](const OwnerRequest&) { return OwnerAnswer{}; }};
};

TEST(ForwarderTest, drains_when_what_is_under_way_has_ended) {
  Slow rig;
  Caller caller = rig.call();
  ASSERT_TRUE(rig.is_asked(caller));
  const auto drained = rig.drain(20s);
  EXPECT_EQ(rig.forwarder->listen().error().code(), Errc::closed);
  ASSERT_TRUE(rig.run_until([&] {
    try {
      static_cast<void>(rig.call());
      return false;
    } catch (const boost::system::system_error&) {
      return true;
    }
  })) << "nothing new is accepted";
  EXPECT_FALSE(*drained);
  EXPECT_FALSE(rig.directions.guarded.expired()) << "its work is under way";
  rig.application.say(ok("late").bytes);
  ASSERT_TRUE(rig.run_until([&] { return drained->has_value(); }));
  EXPECT_FALSE(**drained);
  EXPECT_EQ(body_of(caller.received()), "late");
  EXPECT_THAT(caller.received(), HasSubstr("Connection: close"));
  EXPECT_TRUE(rig.directions.guarded.expired());
  const auto again = rig.drain(20s);
  ASSERT_TRUE(rig.run_until([&] { return again->has_value(); })) << "it has drained";
  EXPECT_FALSE(**again);
}

TEST(ForwarderTest, of_two_drains_the_earlier_bound_counts) {
  ForwarderOptions options = usual_options();
  options.limits.deadline = 1h;
  Slow rig(options);
  Caller caller = rig.call();
  ASSERT_TRUE(rig.is_asked(caller));
  const auto late = rig.drain(std::chrono::hours{10'000});
  const auto early = rig.drain(1ms);
  const auto later = rig.drain(1h);
  ASSERT_TRUE(rig.run_until([&] { return early->has_value(); }));
  ASSERT_TRUE(rig.run_until([&] { return late->has_value() && later->has_value(); }));
  EXPECT_FALSE(**late || **early || **later);
  EXPECT_TRUE(rig.run_until([&] { return caller.ended(); })) << "it was cut off";
}

TEST(ForwarderTest, that_never_listened_has_drained_at_once) {
  ForwarderRig rig;
  const auto drained = rig.drain(1h);
  ASSERT_TRUE(rig.run_until([&] { return drained->has_value(); }));
  EXPECT_FALSE(**drained);
}

TEST(ForwarderTest, ends_what_is_under_way_when_it_is_destroyed) {
  Slow rig;
  Caller served = rig.call();
  ASSERT_TRUE(rig.is_asked(served));
  rig.directions.nobody_leads();
  Caller waits = rig.call();
  waits.send(get());
  ASSERT_TRUE(rig.run_until([&] { return rig.directions.waits == 1; }));
  const auto drained = rig.drain(1h);
  rig.forwarder.reset();
  EXPECT_TRUE(*rig.asks_no_more) << "the Router may be destroyed now";
  ASSERT_TRUE(rig.run_until([&] { return served.ended() && waits.ended(); }));
  EXPECT_EQ(served.received() + waits.received(), "");
  ASSERT_TRUE(rig.run_until([&] { return drained->has_value(); }));
  EXPECT_EQ(**drained, boost::asio::error::operation_aborted);
  EXPECT_TRUE(rig.run_until([&] { return rig.directions.guarded.expired(); }));
  EXPECT_EQ(rig.directions.cancelled, 1u) << "the Router is told that nobody waits";
  EXPECT_TRUE(rig.run_until([&] { return rig.application.given_up == 1; }));
}

TEST(ForwarderTest, waits_for_no_executor_that_hangs) {
  auto hung = std::make_unique<boost::asio::io_context>();
  bool told = false;
  {
    ForwarderRig rig(usual_options(), hung->get_executor());
    EXPECT_TRUE(rig.forwarder->listen());
    Caller caller = rig.call();  // the kernel accepts it
    caller.send(get());
    rig.forwarder->async_drain(0ms, [&](error_code) { told = true; });
    rig.forwarder.reset();
    EXPECT_TRUE(*rig.asks_no_more);
  }
  EXPECT_FALSE(told);
  hung.reset();
  EXPECT_FALSE(told);
}

TEST(ForwarderTest, counts_for_the_admin_port_and_for_prometheus) {
  ForwarderOptions options = usual_options();
  const ForwarderCounts counts = options.counts;
  ForwarderRig rig(options);
  Owner owner(rig.io, [](const OwnerRequest&) { return ok("here"); });
  ASSERT_TRUE(rig.forwarder->listen());
  for (const bool own : {true, false, false}) {
    rig.directions.own = own;
    rig.directions.leads(owner.endpoint());
    Caller caller = rig.call();
    caller.send(get());
    ASSERT_TRUE(rig.answered(caller));
  }
  rig.forwarder.reset();
  EXPECT_EQ(counts.requests().served, 1u);
  EXPECT_EQ(counts.requests().forwarded, 2u);
  EXPECT_EQ(counts.requests().refused, 0u);
  const ObservedFacts facts{{}, std::nullopt, "t", Lane{}, Settings{}, SlotSpace{SlotCount{64}},
                            std::nullopt};
  const auto families = counts.metrics(Observable(nullptr, facts))->Collect();
  const auto& first = families.at(0);
  EXPECT_EQ(first.name, "neliroute_proxy_requests_total");
  EXPECT_EQ(first.metric.at(0).counter.value, 1) << "served";
  EXPECT_EQ(first.metric.at(1).counter.value, 2) << "forwarded";
}

TEST(ForwarderTest, counts_where_no_other_one_does) {
  ForwarderOptions options = usual_options();
  const ForwarderRig rig(options);
  boost::asio::io_context io;
  const auto second =
      forward::ForwarderMaker::bind(io.get_executor(), nullptr, SlotSpace{SlotCount{64}}, options);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message(), HasSubstr("`counts`"));
  const ForwarderCounts moved = std::move(options.counts);
  EXPECT_EQ(options.counts.requests().served, moved.requests().served) << "both show the same";
}

TEST(ForwarderTest, says_how_few_connections_the_limit_of_files_allows) {
  std::vector<std::string> said;
  ForwarderOptions options = usual_options();
  options.limits.connections = 2'000'000'000;
  options.on_notice = [&](const Notice& notice) { said.push_back(notice.text); };
  const ForwarderRig rig(options);
  EXPECT_THAT(said, testing::ElementsAre(HasSubstr("for 2000000000, let the process open")));
}

/// Refuses everything.
class Closed : public forward::Directions {
 public:
  [[nodiscard]] forward::Direction direct(const forward::Visit&) override {
    forward::Direction made;
    made.answer = Admit::refuse;
    return made;
  }
  void wait(Slot, const Epoch&, milliseconds, RouteHandler) override {}
  void suspect(std::string_view) override {}
  void reached(std::string_view) override {}
  void redirected(Slot, std::string_view, const Epoch&) override {}
};

// Without a strand counts are lost, or worse.
TEST(ForwarderTest, may_have_an_executor_of_several_threads) {
  constexpr std::uint64_t kEach = 200;
  boost::asio::thread_pool threads(4);
  ForwarderOptions options = usual_options();
  const ForwarderCounts counts = options.counts;
  auto forwarder = forward::ForwarderMaker::bind(threads.get_executor(),
                                                 std::make_unique<Closed>(),
                                                 SlotSpace{SlotCount{64}}, options)
                       .value();
  ASSERT_TRUE(forwarder->listen());
  boost::asio::io_context io;
  std::vector<std::unique_ptr<Caller>> callers;
  std::string requests;
  for (std::uint64_t i = 0; i < kEach; ++i) requests += get();
  for (int i = 0; i < 20; ++i) {
    callers.push_back(std::make_unique<Caller>(io, *resolve_listen(forwarder->address())));
    callers.back()->send(requests);
  }
  const std::uint64_t all = kEach * callers.size();
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (counts.requests().refused < all && std::chrono::steady_clock::now() < end) {
    io.restart();
    io.run_one_for(5ms);
  }
  EXPECT_EQ(counts.requests().refused, all);
  forwarder.reset();
  threads.join();
}

TEST(ForwarderTest, is_not_held_up_by_a_completion_handler_that_blocks) {
  boost::asio::thread_pool threads(2);
  auto forwarder = forward::ForwarderMaker::bind(threads.get_executor(),
                                                 std::make_unique<Closed>(),
                                                 SlotSpace{SlotCount{64}}, usual_options())
                       .value();
  std::promise<void> blocks, another;
  auto second = another.get_future();
  std::promise<bool> waited;
  forwarder->async_drain(0ms, boost::asio::bind_executor(threads, [&](error_code) {
    blocks.set_value();
    waited.set_value(second.wait_for(30s) == std::future_status::ready);
  }));
  blocks.get_future().wait();
  forwarder->async_drain(0ms, boost::asio::bind_executor(threads, [&](error_code) {
    another.set_value();
  }));
  EXPECT_TRUE(waited.get_future().get());
  forwarder.reset();
  threads.join();
}

}  // namespace
}  // namespace neliroute
