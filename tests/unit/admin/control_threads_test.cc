// Control calls where the admin port has a thread of its own, as in the command.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "tests/unit/admin/control_rig.h"

namespace neliroute {
namespace {

using boost::asio::ip::tcp;
using testing_admin::ControlRig;
using testing_admin::request;
using testing_admin::writer;

/// An AdminServer on a thread of its own, before the rig's reader, which the test's thread runs.
class OtherThread {
 public:
  explicit OtherThread(ControlRig& rig) {
    AdminOptions wanted;
    wanted.control = rig.control(/*watcher=*/true);
    auto opened = AdminServer::open(io_.get_executor(), rig.observable(), std::move(wanted));
    EXPECT_TRUE(opened);
    server_ = std::move(*opened);
    const std::string& address = server_->address();
    port_ = static_cast<unsigned short>(std::stoul(address.substr(address.rfind(':') + 1)));
    thread_ = std::thread([this] { io_.run(); });
  }
  ~OtherThread() { end(); }
  OtherThread(const OtherThread&) = delete;
  OtherThread& operator=(const OtherThread&) = delete;

  [[nodiscard]] unsigned short port() const noexcept { return port_; }
  /// Closes the server, and waits until its thread has ended.
  void end() {
    server_.reset();
    work_.reset();
    if (thread_.joinable()) thread_.join();
  }

 private:
  boost::asio::io_context io_{1};
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_{
      std::in_place, io_.get_executor()};
  std::unique_ptr<AdminServer> server_;
  unsigned short port_ = 0;
  std::thread thread_;
};

/// A connection that blocks.
class Caller {
 public:
  explicit Caller(unsigned short port) : socket_(io_) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), port});
  }
  void send(const std::string& text) { boost::asio::write(socket_, boost::asio::buffer(text)); }
  /// The beginning of an answer; empty: the server has closed it.
  std::string answer() {
    std::string text(4096, '\0');
    boost::system::error_code error;
    text.resize(socket_.read_some(boost::asio::buffer(text), error));
    return text;
  }

 private:
  boost::asio::io_context io_;
  tcp::socket socket_;
};

// The router runs no more, so that it ends no wait: nobody may wait for that.
TEST(ControlThreads, end_although_the_router_ends_no_wait) {
  ControlRig rig(/*watcher=*/true);
  OtherThread other(rig);
  Caller caller(other.port());
  caller.send(request("/v1/route?slot=0&wait=60s"));
  EXPECT_TRUE(rig.run_until([&] { return rig.reader->waiters() == 1; }));
  other.end();
  EXPECT_EQ(caller.answer(), "") << "it is closed";
  EXPECT_TRUE(rig.run_until([&] { return rig.reader->waiters() == 0; }));
}

TEST(ControlThreads, cross_while_owners_change) {
  ControlRig rig(/*watcher=*/true);
  rig.append(0, writer(2).leads(9, "0"));
  OtherThread other(rig);
  std::atomic<bool> done = false;
  std::atomic<int> answered = 0;
  std::thread callers([&] {
    for (int turn = 0; turn < 150; ++turn) {
      Caller caller(other.port());
      const std::string after = "&after=1700000000000:" + std::to_string(100 + turn);
      caller.send(
          request("/v1/route?slot=0" + after + (turn % 3 == 0 ? "&wait=2ms" : "&wait=60s")));
      if (turn % 3 == 1) continue;  // it goes away
      answered += caller.answer().starts_with("HTTP/1.1 200 ") ? 1 : 0;
    }
    done = true;
  });
  for (std::int64_t claim = 10; !done; ++claim) {
    rig.append(0, writer(2 + static_cast<std::uint64_t>(claim % 2)).leads(claim, "0"));
  }
  callers.join();
  EXPECT_EQ(answered, 100);
  EXPECT_TRUE(rig.run_until([&] { return rig.reader->waiters() == 0; }));
}

}  // namespace
}  // namespace neliroute
