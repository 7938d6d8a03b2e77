// The HTTP side of `gateway` and of `run --upstream`, on a thread of its own.
#include "tool/http_front.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <neliroute/admin.h>
#include <string>
#include <thread>
#include <utility>

#include "forward/api/forwarder_maker.h"
#include "forward/rules/key_source.h"
#include "router/text/listen_address.h"

namespace neliroute::tool {
namespace {

/// Nobody owns anything.
class Nowhere : public forward::Directions {
 public:
  [[nodiscard]] forward::Direction direct(const forward::Visit&) override { return {}; }
  void wait(Slot, const Epoch&, milliseconds, RouteHandler) override {}
  void suspect(std::string_view) override {}
  void reached(std::string_view) override {}
  void redirected(Slot, std::string_view, const Epoch&) override {}
};

Result<std::unique_ptr<Forwarder>> nowhere(boost::asio::any_io_executor executor,
                                           const ForwarderOptions& options) {
  return forward::ForwarderMaker::bind(std::move(executor), std::make_unique<Nowhere>(),
                                       SlotSpace{SlotCount{64}}, options);
}

TEST(HttpFrontTest, HasAsManyFilesAsTheSystemPermits) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_GT(before.rlim_max, 100u);
  rlimit lowered = before;
  lowered.rlim_cur = 100;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
  FrontOptions options;
  options.key = forward::KeySource::parse("host").value();
  const auto front = HttpFront::bind(options, "127.0.0.1:0", nowhere);
  EXPECT_TRUE(front);
  rlimit now{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, before.rlim_max);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

/// Bound to the address, and not listening.
class Bound {
 public:
  explicit Bound(const std::string& listen = "127.0.0.1:0", FrontOptions options = {})
      : options_(std::move(options)) {
    options_.key = forward::KeySource::parse("host").value();
    front_ = HttpFront::bind(options_, listen, nowhere).value();
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
  socket.connect(*resolve_listen(address), error);
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

/// A client's connection, on which it has asked for something.
boost::asio::ip::tcp::socket asking(boost::asio::io_context& io, const std::string& address) {
  boost::asio::ip::tcp::socket socket(io);
  socket.connect(*resolve_listen(address));
  const std::string request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  boost::asio::write(socket, boost::asio::buffer(request));
  return socket;
}

TEST(HttpFrontTest, HasNoMoreRequestsWaitThanItMay) {
  FrontOptions options;
  options.waiting = 2;
  const ForwarderCounts counts = options.counts;
  Bound front("127.0.0.1:0", std::move(options));
  ASSERT_TRUE(front->listen());
  boost::asio::io_context io;
  const auto first = asking(io, front->address());
  const auto second = asking(io, front->address());
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (counts.requests().waited < 2) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    std::this_thread::yield();
  }
  auto third = asking(io, front->address());
  std::string answer(12, ' ');
  boost::asio::read(third, boost::asio::buffer(answer));
  EXPECT_EQ(answer, "HTTP/1.1 503");
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
