// Router and Watcher as a user has them: public headers, an io_context, and a broker.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <neliroute/observable.h>
#include <neliroute/router.h>
#include <neliroute/watcher.h>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/embedded_broker/broker_on_thread.h"
#include "tests/unit/embedded_broker/clients.h"
#include "tests/unit/embedded_broker/io_thread.h"
#include "tests/unit/router/reader/function_listener.h"

#if RD_KAFKA_VERSION >= 0x020c0000

namespace neliroute {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 30s;

class RouterOnBroker : public testing::Test {
 protected:
  RouterOptions options() {
    RouterOptions made;
    made.kafka.brokers = broker_.address();
    made.slots = SlotCount{16};
    made.process.endpoint = "127.0.0.1:7001";
    made.timing.profile = Profile::fast;
    made.assignment = assignment_;
    if (assignment_ == Assignment::assigner) made.partitions = 4;
    made.on_notice = [this](const Notice& notice) { note(notice); };
    return made;
  }

  WatcherOptions watcher_options() {
    WatcherOptions made;
    made.kafka.brokers = broker_.address();
    made.slots = SlotCount{16};
    made.lease = 1500ms;
    made.on_notice = [this](const Notice& notice) { note(notice); };
    return made;
  }

  // Opens one, and waits until it leads everything.
  std::unique_ptr<Router> leading(const boost::asio::any_io_executor& executor) {
    auto opened = Router::open(executor, options());
    if (!opened) {
      ADD_FAILURE() << opened.error().message();
      return nullptr;
    }
    auto all = std::make_shared<std::promise<void>>();
    auto left = std::make_shared<int>(4);
    testing_reader::FunctionListener listener([all, left](const Transition& t, BarrierToken) {
      if (t.kind == TransitionKind::acquired && --*left == 0) all->set_value();
    });
    const Subscription subscription = (*opened)->subscribe(listener);
    EXPECT_EQ(all->get_future().wait_for(kPatience), std::future_status::ready);
    return std::move(*opened);
  }

  void note(const Notice& notice) {
    const std::lock_guard lock(mutex_);
    said_.push_back(notice.text);
    ++lines_;
  }

  // False: it did not come to hold, and what was said is printed.
  bool wait_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) {
        const std::lock_guard lock(mutex_);
        std::cerr << "waited for " << kPatience.count() << " s in vain; notices:\n";
        for (const std::string& line : said_) std::cerr << "  " << line << '\n';
        return false;
      }
      std::this_thread::sleep_for(5ms);
    }
    return true;
  }
  static std::uint32_t owned_by(const Router& router) {
    std::uint32_t owned = 0;
    for (std::uint32_t p = 0; p < 4; ++p) owned += router.owns(Partition{p}) ? 1U : 0U;
    return owned;
  }

  // A process begins to prepare for its share, and dies.
  void die_preparing();

  Assignment assignment_ = Assignment::group;
  std::atomic<int> lines_{0};
  std::mutex mutex_;
  std::vector<std::string> said_;
  BrokerOnThread broker_;
};

/// Says when it is to prepare, and never does.
struct NeverPrepared : Listener {
  void prepare(Partition, PrepareToken token) override {
    if (kept.empty()) begun.set_value();
    kept.push_back(std::move(token));
  }
  std::promise<void> begun;
  std::vector<PrepareToken> kept;
};

void RouterOnBroker::die_preparing() {
  boost::asio::io_context io;
  RouterOptions made = options();
  made.process.endpoint = "127.0.0.1:7002";
  made.prepare_timeout = kPatience;
  auto opened = Router::open(io.get_executor(), made);
  ASSERT_TRUE(opened) << opened.error();
  NeverPrepared listener;
  const Subscription subscription = (*opened)->subscribe(listener);
  std::thread thread([&] { io.run(); });
  EXPECT_EQ(listener.begun.get_future().wait_for(kPatience), std::future_status::ready);
  io.stop();  // nothing of it runs from here on
  thread.join();
}

// Nobody claimed anything, so nothing moved. Another newcomer gets the share.
TEST_F(RouterOnBroker, WhoDiesWhileItPreparesTakesNothingWithIt) {
  for (const Assignment assignment : {Assignment::group, Assignment::assigner}) {
    assignment_ = assignment;
    TearDown();
    SetUp();  // a log of its own
    IoThread io;
    auto first = leading(io.executor());
    ASSERT_NE(first, nullptr);
    std::atomic<int> stopped{0};
    testing_reader::FunctionListener listener([&](const Transition& t, BarrierToken) {
      stopped += t.kind == TransitionKind::stopped ? 1 : 0;
    });
    const Subscription subscription = first->subscribe(listener);
    die_preparing();
    EXPECT_EQ(stopped, 0);
    EXPECT_EQ(owned_by(*first), 4u);
    RouterOptions made = options();
    made.process.endpoint = "127.0.0.1:7003";
    auto third = Router::open(io.executor(), made);
    ASSERT_TRUE(third) << third.error();
    EXPECT_TRUE(wait_until([&] { return owned_by(*first) == 2 && owned_by(**third) == 2; }));
  }
}

TEST_F(RouterOnBroker, ReadyIsCancelledThroughItsSlot) {
  boost::asio::io_context io;
  auto opened = Router::open(io.get_executor(), options());
  ASSERT_TRUE(opened) << opened.error();
  boost::asio::cancellation_signal signal;
  std::optional<boost::system::error_code> told;
  const auto run = [&] {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!told && std::chrono::steady_clock::now() < end) io.run_one_for(20ms);
  };
  // Nothing has run yet, so nothing is known.
  (*opened)->async_ready(boost::asio::bind_cancellation_slot(
      signal.slot(), [&](boost::system::error_code error) { told = error; }));
  signal.emit(boost::asio::cancellation_type::terminal);
  run();
  EXPECT_EQ(told, boost::asio::error::operation_aborted);
  told.reset();
  (*opened)->async_ready([&](boost::system::error_code error) { told = error; });
  run();
  EXPECT_EQ(told, boost::system::error_code());
  EXPECT_NE((*opened)->route("a key").verdict, Verdict::unknown);
}

TEST_F(RouterOnBroker, LeadsAnswersAndHandsOut) {
  IoThread io;
  auto router = leading(io.executor());
  ASSERT_NE(router, nullptr);
  EXPECT_EQ(router->route("a key").verdict, Verdict::local);
  EXPECT_EQ(router->route("a key").endpoint(), "127.0.0.1:7001");
  const auto lease = router->lease("a key");
  ASSERT_TRUE(lease.has_value());
  EXPECT_EQ(lease->epoch, router->route("a key").epoch);
  EXPECT_TRUE(router->holds(*lease));
}

TEST_F(RouterOnBroker, TheHandlerOfADrainKeepsItsOwnExecutorAtWork) {
  IoThread io;
  auto router = leading(io.executor());
  ASSERT_NE(router, nullptr);
  boost::asio::io_context other;
  std::thread::id ran_on;
  router->async_drain(0ms, boost::asio::bind_executor(other.get_executor(), [&](auto error) {
                        EXPECT_FALSE(error);
                        ran_on = std::this_thread::get_id();
                      }));
  other.run_for(kPatience);
  EXPECT_EQ(ran_on, std::this_thread::get_id()) << "run() has nothing else to wait for";
  EXPECT_TRUE(other.stopped());
  EXPECT_EQ(router->route("a key").verdict, Verdict::unknown);
}

TEST_F(RouterOnBroker, MayBeDestroyedByItsOwnHandlerAndSaysNothingAfter) {
  IoThread io;
  auto router = leading(io.executor());
  ASSERT_NE(router, nullptr);
  std::promise<void> gone;
  testing_reader::FunctionListener listener([&](const Transition&, BarrierToken) {
    if (!router) return;
    router.reset();
    lines_ = 0;
    gone.set_value();
  });
  const Subscription subscription = router->subscribe(listener);
  ASSERT_EQ(gone.get_future().wait_for(kPatience), std::future_status::ready);
  broker_.close();  // which a client that is still there would mention
  io.run([] {});
  EXPECT_EQ(lines_, 0);
}

// No group's client ends its membership: its renewals come from the executor that hangs.
TEST_F(RouterOnBroker, WithAnAssignerWhoHangsIsReplaced) {
  assignment_ = Assignment::assigner;
  IoThread first_io;
  IoThread second_io;
  auto first = leading(first_io.executor());
  ASSERT_NE(first, nullptr);
  auto second = Router::open(second_io.executor(), options());
  ASSERT_TRUE(second.has_value()) << second.error().message();
  ASSERT_TRUE(wait_until([&] { return owned_by(*first) == 2 && owned_by(**second) == 2; }));
  {
    const Hang hang(first_io);
    EXPECT_TRUE(wait_until([&] { return owned_by(**second) == 4; }));
    EXPECT_TRUE(wait_until([&] { return owned_by(*first) == 0; })) << "its lease ends by itself";
  }
  EXPECT_TRUE(wait_until([&] {
    return first->route("a key").verdict == Verdict::remote && owned_by(*first) == 0;
  })) << "and it follows";
}

TEST_F(RouterOnBroker, AWatcherSeesTheOwner) {
  IoThread io;
  auto router = leading(io.executor());
  ASSERT_NE(router, nullptr);
  auto watcher = Watcher::open(io.executor(), watcher_options());
  ASSERT_TRUE(watcher.has_value()) << watcher.error().message();
  std::promise<void> seen;
  bool told = false;
  (*watcher)->on_change([&](Partition p) {
    if (told || (*watcher)->route(p).verdict != Verdict::remote) return;
    told = true;
    seen.set_value();
  });
  ASSERT_EQ(seen.get_future().wait_for(kPatience), std::future_status::ready);
  std::promise<void> closed;
  (*watcher)->async_close([&](auto) { closed.set_value(); });
  ASSERT_EQ(closed.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST_F(RouterOnBroker, AWatchersLeaseIsTheOwners) {
  IoThread io;
  auto router = leading(io.executor());
  ASSERT_NE(router, nullptr);
  WatcherOptions other = watcher_options();
  other.lease = 700ms;  // no profile's
  auto watcher = Watcher::open(io.executor(), other);
  ASSERT_TRUE(watcher.has_value()) << watcher.error().message();
  EXPECT_EQ((*watcher)->observable().facts().lease, 700ms) << "until an owner tells its own";
  ASSERT_NE((*watcher)->lease(), router->timing().lease);
  std::promise<boost::system::error_code> known;
  (*watcher)->async_ready([&](auto error) { known.set_value(error); });
  auto waited = known.get_future();
  ASSERT_EQ(waited.wait_for(kPatience), std::future_status::ready);
  EXPECT_FALSE(waited.get());
  EXPECT_EQ((*watcher)->lease(), router->timing().lease);
}

// Who makes a topic here is a client that asks for it and may: a producer.
struct LateTopic {
  explicit LateTopic(std::string name) : topic(std::move(name)) {}
  std::function<void(const Notice&)> log() {
    return [this](const Notice& notice) {
      if (notice.text.find("topic " + topic + " is not there yet") == 0) waits.set_value();
    };
  }
  std::string topic;
  std::promise<void> waits;
};

TEST_F(RouterOnBroker, AWatcherWaitsForItsTopicWithinTheTimeoutOrForEver) {
  for (const bool for_ever : {false, true}) {
    IoThread io;
    LateTopic late(for_ever ? "later" : "soon");
    WatcherOptions wanted = watcher_options();
    wanted.kafka.topic = late.topic;
    wanted.on_notice = late.log();
    if (for_ever) {
      wanted.missing_topic = MissingTopic::wait_for_ever;
      wanted.kafka.timeout = 2s;
    } else {
      wanted.kafka.timeout = kPatience;
    }
    const LocalTime began = boot_now();
    auto opening =
        std::async(std::launch::async, [&] { return Watcher::open(io.executor(), wanted); });
    ASSERT_EQ(late.waits.get_future().wait_for(kPatience), std::future_status::ready);
    // Until the timeout is over, in which nothing can be waited for but that.
    if (for_ever) opening.wait_until(std::chrono::steady_clock::now() +
                                     (later(began, wanted.kafka.timeout + 500ms) - boot_now()));
    produce(broker_.address(), late.topic, 0, {"made"});
    auto watcher = opening.get();
    ASSERT_TRUE(watcher.has_value()) << watcher.error().message();
    EXPECT_EQ((*watcher)->settings().partitions, 4u);
  }
}

TEST_F(RouterOnBroker, AWatcherWhoseTopicNeverComesSaysWhatToDo) {
  for (const MissingTopic missing : {MissingTopic::fail, MissingTopic::wait_for_timeout}) {
    IoThread io;
    WatcherOptions wanted = watcher_options();
    wanted.kafka.topic = "never";
    wanted.missing_topic = missing;
    wanted.kafka.timeout = missing == MissingTopic::fail ? milliseconds{kPatience} : 1500ms;
    auto watcher = Watcher::open(io.executor(), wanted);
    ASSERT_FALSE(watcher.has_value());
    EXPECT_EQ(watcher.error().code(), Errc::ledger_unfit);
    const std::string message = watcher.error().message();
    for (const char* words : {"topic never does not exist", "start an owner"}) {
      EXPECT_NE(message.find(words), std::string::npos) << message;
    }
    const bool waited = missing != MissingTopic::fail;
    EXPECT_EQ(message.find("`missing_topic`") != std::string::npos, waited) << message;
    EXPECT_EQ(lines_, waited ? 1 : 0) << "that it waits";
  }
}

}  // namespace
}  // namespace neliroute

#endif
