// The HTTP side of `gateway` and of `run --upstream`, on a thread of its own.
#include "tool/http_front.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>
#include <utility>

#include "admin/listen_address.h"
#include "forward/rules/key_source.h"

namespace neliroute::tool {
namespace {

/// Nobody owns anything.
class Nowhere : public forward::Directions {
 public:
  [[nodiscard]] forward::Direction direct(const forward::Visit&) override { return {}; }
  void wait(Slot, const Epoch&, milliseconds, RouteHandler) override {}
  void suspect(std::string_view) override {}
};

TEST(HttpFrontTest, HasAsManyFilesAsTheSystemPermits) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_GT(before.rlim_max, 100u);
  rlimit lowered = before;
  lowered.rlim_cur = 100;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
  FrontOptions options;
  options.key = forward::KeySource::parse("host").value();
  const auto front = HttpFront::bind(options, "127.0.0.1:0", SlotSpace{SlotCount{64}},
                                     std::make_unique<Nowhere>());
  EXPECT_TRUE(front);
  rlimit now{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, before.rlim_max);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

/// Bound to the address, and not listening.
class Bound {
 public:
  explicit Bound(const std::string& listen = "127.0.0.1:0") {
    options_.key = forward::KeySource::parse("host").value();
    front_ = HttpFront::bind(options_, listen, SlotSpace{SlotCount{64}},
                             std::make_unique<Nowhere>())
                 .value();
  }
  [[nodiscard]] HttpFront* operator->() { return front_.get(); }

 private:
  FrontOptions options_;
  std::unique_ptr<HttpFront> front_;
};

bool accepts(const std::string& address) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::socket socket(io);
  boost::system::error_code error;
  socket.connect(*admin::resolve_listen(address), error);
  EXPECT_TRUE(!error || error == boost::asio::error::connection_refused) << error.message();
  return !error;
}

TEST(HttpFrontTest, RefusesConnectionsUntilItListens) {
  Bound front;
  EXPECT_FALSE(accepts(front->address()));
  EXPECT_TRUE(front->listen());
  EXPECT_TRUE(accepts(front->address()));
}

TEST(HttpFrontTest, EndsAtOnceIfItNeverListened) {
  Bound front;
  bool ended = false;
  front->drain([&ended] { ended = true; });
  EXPECT_TRUE(ended);
}

// Both may have the address while neither listens.
TEST(HttpFrontTest, SaysIfAnotherOneListensThere) {
  Bound first;
  Bound second(first->address());
  ASSERT_TRUE(first->listen());
  const auto refused = second->listen();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find(first->address()), std::string::npos)
      << refused.error().message();
}

}  // namespace
}  // namespace neliroute::tool
