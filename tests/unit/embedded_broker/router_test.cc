// Router and Watcher as a user has them: public headers, an io_context, and a broker.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "neli_core/kafka/embedded_broker.h"
#include "router/router.h"
#include "router/watcher.h"
#include "tests/unit/embedded_broker/io_thread.h"

#if RD_KAFKA_VERSION >= 0x020c0000

namespace neliroute {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 30s;

class RouterOnBroker : public testing::Test {
 protected:
  void SetUp() override {
    auto broker = broker_io_.run([&] {
      return EmbeddedBroker::open(broker_io_.executor(), {0, {{"neliroute", 4}}});
    });
    ASSERT_TRUE(broker.has_value()) << broker.error().message();
    broker_ = std::move(*broker);
  }
  void TearDown() override {
    broker_io_.run([&] { broker_.reset(); });
  }

  RouterOptions options() {
    RouterOptions made;
    made.kafka.brokers = broker_->address();
    made.slots = SlotCount{16};
    made.process.endpoint = "127.0.0.1:7001";
    made.timing.profile = Profile::fast;
    made.log = [this](const Notice&) { ++lines_; };
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
    (*opened)->on_transition([all, left](const Transition& t, BarrierToken) {
      if (t.kind == TransitionKind::acquired && --*left == 0) all->set_value();
    });
    EXPECT_EQ(all->get_future().wait_for(kPatience), std::future_status::ready);
    return std::move(*opened);
  }

  std::atomic<int> lines_{0};
  IoThread broker_io_;
  std::unique_ptr<EmbeddedBroker> broker_;
};

TEST_F(RouterOnBroker, LeadsAnswersAndHandsOut) {
  IoThread io;
  auto router = leading(io.executor());
  ASSERT_NE(router, nullptr);
  EXPECT_EQ(router->route("a key").verdict, Verdict::local);
  EXPECT_EQ(router->route("a key").endpoint(), "127.0.0.1:7001");
  const auto lease = router->acquire(router->slot_of("a key"));
  ASSERT_TRUE(lease.has_value());
  EXPECT_EQ(lease->epoch, router->route("a key").epoch);
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
  router->on_transition([&](const Transition&, BarrierToken) {
    if (!router) return;
    router.reset();
    lines_ = 0;
    gone.set_value();
  });
  ASSERT_EQ(gone.get_future().wait_for(kPatience), std::future_status::ready);
  broker_io_.run([&] { broker_.reset(); });  // which a client that is still there would mention
  io.run([] {});
  EXPECT_EQ(lines_, 0);
}

TEST_F(RouterOnBroker, AWatcherSeesTheOwner) {
  IoThread io;
  auto router = leading(io.executor());
  ASSERT_NE(router, nullptr);
  auto watcher = Watcher::open(io.executor(), options());
  ASSERT_TRUE(watcher.has_value()) << watcher.error().message();
  std::promise<void> seen;
  bool told = false;
  (*watcher)->on_change([&](Partition p) {
    if (told || (*watcher)->route(Slot{p.value()}, boot_now()).verdict != Verdict::remote) return;
    told = true;
    seen.set_value();
  });
  ASSERT_EQ(seen.get_future().wait_for(kPatience), std::future_status::ready);
  std::promise<void> closed;
  (*watcher)->close([&] { closed.set_value(); });
  ASSERT_EQ(closed.get_future().wait_for(kPatience), std::future_status::ready);
}

}  // namespace
}  // namespace neliroute

#endif
