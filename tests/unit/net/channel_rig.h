// Connections on loopback, whose coroutines the test runs on its own thread.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "net/await.h"
#include "net/channel.h"

namespace neliroute::net_test {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;

/// What a coroutine that was begun returns, when it has.
template <class T>
using Later = std::shared_ptr<std::optional<T>>;

class ChannelRig : public testing::Test {
 protected:
  static constexpr milliseconds kSoon{10'000};

  template <class T>
  Later<T> begin(Awaitable<T> work) {
    auto later = std::make_shared<std::optional<T>>();
    boost::asio::co_spawn(io, std::move(work), [later](const std::exception_ptr& thrown, T result) {
      if (!thrown) *later = std::move(result);
    });
    return later;
  }
  template <class Condition>
  bool run_until(const Condition& holds) {
    const auto end = std::chrono::steady_clock::now() + kSoon;
    while (!holds() && std::chrono::steady_clock::now() < end) {
      io.restart();
      io.run_one_until(end);
    }
    return holds();
  }
  template <class T>
  T end(const Later<T>& later) {
    EXPECT_TRUE(run_until([&] { return later->has_value(); }));
    return *later ? std::move(**later) : T();
  }
  template <class T>
  T run(Awaitable<T> work) {
    return end(begin(std::move(work)));
  }

  std::pair<tcp::socket, tcp::socket> connected() {
    tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
    tcp::socket one(io);
    one.connect(acceptor.local_endpoint());
    tcp::socket other = acceptor.accept();
    return {std::move(one), std::move(other)};
  }
  static std::unique_ptr<Channel> over(tcp::socket socket, Channel::Side side,
                                       ChannelOptions options) {
    return std::make_unique<Channel>(std::make_unique<Stream>(std::move(socket)), side,
                                     std::move(options));
  }
  /// So many bytes, which come soon.
  std::string take(tcp::socket& from, std::size_t count) {
    std::string bytes(count, '\0');
    bool came = false;
    boost::asio::async_read(from, boost::asio::buffer(bytes),
                            [&](auto error, std::size_t) { came = !error; });
    EXPECT_TRUE(run_until([&] { return came; }));
    return bytes;
  }
  static void give(tcp::socket& to, std::string_view bytes) {
    boost::asio::write(to, boost::asio::buffer(bytes));
  }

  boost::asio::io_context io;
};

}  // namespace neliroute::net_test
