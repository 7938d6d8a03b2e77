// --notify: events as POSTs, and servers that answer well, badly or never.
#include "tool/exec/notifier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <neliroute/clock.h>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tests/eventually.h"
#include "tests/exec/little_server.h"

namespace neliroute::tool {
namespace {

using namespace std::chrono_literals;
using Bodies = std::vector<std::string>;

constexpr const char* kGood = "HTTP/1.1 204 No Content\r\n\r\n";
constexpr const char* kBad = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\nno";

NotifierOptions options_for(const std::string& url, milliseconds each = 10s) {
  return {parse_notify_url(url).value(), each};
}

Transition transition(std::uint32_t partition) {
  Transition made;
  made.partition = Partition{partition};
  made.epoch = {17, 4};
  return made;
}

/// What is told to a Notifier, and which of its tokens have ended.
struct Told {
  explicit Told(NotifierOptions options) : notifier(std::move(options), [this] { ++hung; }) {
    notifier.of_process(ProcessId{0xabcd});
  }

  void warm_up(std::uint32_t partition) {
    notifier.warm_up(transition(partition), ReadyToken([this] { ++ended; }));
  }
  void acquired(std::uint32_t partition) { notifier.acquired(transition(partition)); }

  std::atomic<int> ended = 0;
  std::atomic<int> hung = 0;
  Notifier notifier;
};

TEST(Notifier, posts_each_event_as_json) {
  LittleServer server([](const std::string&) { return kGood; });
  Told told(options_for(server.url() + "?a=b"));
  std::stop_source stop;
  told.notifier.prepare(Partition{3}, {[] {}, stop.get_token(), nullptr});
  EXPECT_TRUE(eventually_is(1, [&] { return server.bodies().size(); }));
  EXPECT_EQ(server.bodies()[0],
            R"({"seq":1,"process":"000000000000abcd","event":"prepare","partition":3})");
  const std::string header = server.header();
  EXPECT_TRUE(header.starts_with("POST /events?a=b HTTP/1.1\r\n")) << header;
  EXPECT_NE(header.find("Content-Type: application/json"), std::string::npos) << header;
  EXPECT_NE(header.find("Host: 127.0.0.1:"), std::string::npos) << header;
  stop.request_stop();
  EXPECT_TRUE(eventually_is(2, [&] { return server.bodies().size(); }));
  EXPECT_EQ(server.bodies()[1],
            R"({"seq":2,"process":"000000000000abcd","event":"cancelled","partition":3})");
}

TEST(Notifier, waits_for_the_answer_and_keeps_the_order_of_a_partition) {
  LittleServer server([](const std::string&) { return ""; });
  Told told(options_for(server.url()));
  told.warm_up(1);
  told.acquired(1);
  told.acquired(1);
  EXPECT_TRUE(eventually_is(1, [&] { return server.bodies().size(); }));
  told.warm_up(2);
  EXPECT_TRUE(eventually_is(2, [&] { return server.bodies().size(); })) << "another is not held up";
  EXPECT_EQ(told.ended, 0);
  server.answer_all(kGood);
  EXPECT_TRUE(eventually_is(2, [&] { return told.ended.load(); }));
  EXPECT_TRUE(eventually_is(3, [&] { return server.bodies().size(); }));
  server.answer_all(kGood);
  EXPECT_TRUE(eventually_is(4, [&] { return server.bodies().size(); }));
  server.answer_all(kGood);
  told.notifier.finish(10s);
  Bodies expected;
  for (const char* event : {"warm_up", "acquired", "acquired"}) {
    expected.push_back(R"({"seq":)" + std::to_string(expected.size() + 1) +
                       R"(,"process":"000000000000abcd","event":")" + event +
                       R"(","partition":1,"epoch":{"inc":17,"offset":4}})");
  }
  Bodies of_one;
  for (const std::string& body : server.bodies()) {
    if (body.find(R"("partition":1,)") != std::string::npos) of_one.push_back(body);
  }
  EXPECT_EQ(of_one, expected);
}

TEST(Notifier, tries_three_times_and_goes_on) {
  for (const char* answer : {kBad, "HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", "nonsense\r\n\r\n",
                             "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\n"}) {
    LittleServer server([answer](const std::string&) { return answer; });
    Told told(options_for(server.url()));
    told.warm_up(1);
    told.acquired(1);
    EXPECT_TRUE(eventually_is(6, [&] { return server.bodies().size(); })) << answer;
    told.notifier.finish(10s);
    EXPECT_EQ(told.ended, 1);
    const Bodies bodies = server.bodies();
    ASSERT_EQ(bodies.size(), 6u);
    EXPECT_EQ(bodies[0], bodies[2]);
    EXPECT_NE(bodies[2], bodies[3]);
    EXPECT_EQ(told.hung, 0);
  }
}

TEST(Notifier, succeeds_with_a_later_try) {
  std::atomic<int> tries = 0;
  LittleServer server([&tries](const std::string&) { return ++tries < 3 ? kBad : kGood; });
  Told told(options_for(server.url()));
  told.warm_up(1);
  EXPECT_TRUE(eventually_is(1, [&] { return told.ended.load(); }));
  told.notifier.finish(10s);
  EXPECT_EQ(server.bodies().size(), 3u);
}

TEST(Notifier, gives_up_where_nobody_listens) {
  std::string url;
  {
    const LittleServer gone([](const std::string&) { return kGood; });
    url = gone.url();
  }
  Told told(options_for(url));
  told.warm_up(1);
  EXPECT_TRUE(eventually_is(1, [&] { return told.ended.load(); }));
}

TEST(Notifier, waits_no_longer_than_it_may_for_a_server_that_never_answers) {
  LittleServer server([](const std::string&) { return ""; });
  Told told(options_for(server.url(), /*each=*/50ms));
  told.warm_up(1);
  told.warm_up(1);
  EXPECT_TRUE(eventually_is(2, [&] { return told.ended.load(); }));
  EXPECT_TRUE(eventually_is(2, [&] { return server.bodies().size(); })) << "it learns of both";
  const auto begin = std::chrono::steady_clock::now();
  told.warm_up(2);
  told.notifier.finish(10ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s) << "nor does the process, at its end";
}

TEST(Notifier, waits_no_longer_than_a_barrier_does) {
  LittleServer server([](const std::string&) { return ""; });
  Told told(options_for(server.url()));
  Transition t = transition(1);
  t.kind = TransitionKind::stopped;
  t.barrier_deadline = boot_now() - 1ms;
  told.notifier.stopped(t, BarrierToken([&] { ++told.ended; }));
  EXPECT_TRUE(eventually_is(1, [&] { return told.ended.load(); }));
  EXPECT_TRUE(eventually_is(1, [&] { return server.bodies().size(); }))
      << "it is told all the same";
}

TEST(Notifier, counts_a_program_as_hung_that_leaves_too_much_unanswered) {
  LittleServer server([](const std::string&) { return ""; });
  NotifierOptions options = options_for(server.url());
  options.queue = 2;
  Told told(std::move(options));
  told.warm_up(1);
  told.warm_up(1);
  told.warm_up(2);
  EXPECT_TRUE(eventually_is(2, [&] { return server.bodies().size(); }));
  EXPECT_EQ(told.hung, 0);
  told.warm_up(1);
  told.warm_up(1);
  EXPECT_TRUE(eventually_is(2, [&] { return told.ended.load(); })) << "nothing waits for those";
  EXPECT_EQ(told.hung, 1);
}

TEST(Notifier, posts_so_many_at_once_and_no_more) {
  LittleServer server([](const std::string&) { return ""; });
  NotifierOptions options = options_for(server.url());
  options.at_once = 2;
  Told told(std::move(options));
  for (std::uint32_t p = 0; p < 6; ++p) told.warm_up(p);
  for (int answered = 2; answered <= 6; answered += 2) {
    EXPECT_TRUE(
        eventually_is(static_cast<std::size_t>(answered), [&] { return server.bodies().size(); }));
    EXPECT_EQ(told.ended, answered - 2);
    server.answer_all(kGood);
    EXPECT_TRUE(eventually_is(answered, [&] { return told.ended.load(); }));
  }
}

TEST(Notifier, delivers_what_is_left_at_the_end) {
  LittleServer server([](const std::string&) { return kGood; });
  Told told(options_for(server.url()));
  for (std::uint32_t p = 0; p < 100; ++p) told.acquired(p);
  told.notifier.finish(10s);
  EXPECT_EQ(server.bodies().size(), 100u);
}

TEST(Notifier, drops_its_tokens_when_it_is_destroyed) {
  LittleServer server([](const std::string&) { return ""; });
  std::atomic<int> ended = 0;
  {
    Notifier notifier(options_for(server.url()), [] {});
    notifier.warm_up(transition(1), ReadyToken([&] { ++ended; }));
    notifier.warm_up(transition(1), ReadyToken([&] { ++ended; }));
  }
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace neliroute::tool
