// A link to a server of this machine. It may be slow, and it can be frozen: nothing passes then,
// and nothing is lost.
//
// Threads: the test's; it forwards on one of its own.   Units: bytes.   Errors: none.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

namespace neliroute {

class TestLink {
 public:
  /// `slow`: answers come by 1.6 MB a second.
  explicit TestLink(std::uint16_t port, bool slow = false)
      : slow_(slow),
        server_(boost::asio::ip::address_v4::loopback(), port),
        acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}) {
    boost::asio::co_spawn(io_, accept(), boost::asio::detached);
    thread_ = std::thread([this] { io_.run(); });
  }
  ~TestLink() {
    io_.stop();
    thread_.join();
  }
  TestLink(const TestLink&) = delete;
  TestLink& operator=(const TestLink&) = delete;
  [[nodiscard]] std::string port() { return std::to_string(acceptor_.local_endpoint().port()); }
  void freeze() { frozen_ = true; }
  void thaw() { frozen_ = false; }

 private:
  using Socket = std::shared_ptr<boost::asio::ip::tcp::socket>;
  static constexpr std::size_t kPiece = 16'384;
  static constexpr std::chrono::milliseconds kEach{10};  ///< where it is slow
  static constexpr std::chrono::milliseconds kTurn{2};   ///< while it is frozen

  boost::asio::awaitable<void> accept() {
    for (;;) {
      const auto client = std::make_shared<boost::asio::ip::tcp::socket>(io_);
      const auto server = std::make_shared<boost::asio::ip::tcp::socket>(io_);
      boost::system::error_code error;
      auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
      co_await acceptor_.async_accept(*client, token);
      if (!error) co_await server->async_connect(server_, token);
      if (error) continue;
      client->set_option(boost::asio::ip::tcp::no_delay(true), error);
      server->set_option(boost::asio::ip::tcp::no_delay(true), error);
      boost::asio::co_spawn(io_, forward(client, server, false), boost::asio::detached);
      boost::asio::co_spawn(io_, forward(server, client, slow_), boost::asio::detached);
    }
  }
  boost::asio::awaitable<void> forward(Socket from, Socket to, bool slowly) {
    boost::asio::steady_timer timer(io_);
    std::array<char, kPiece> piece{};
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    while (!error) {
      const std::size_t size =
          co_await from->async_read_some(boost::asio::buffer(piece), token);
      while (frozen_) {
        timer.expires_after(kTurn);
        co_await timer.async_wait(boost::asio::use_awaitable);
      }
      if (error) break;
      co_await boost::asio::async_write(*to, boost::asio::buffer(piece.data(), size), token);
      if (!slowly || error) continue;
      timer.expires_after(kEach);
      co_await timer.async_wait(boost::asio::use_awaitable);
    }
    boost::system::error_code ignored;
    from->close(ignored);
    to->close(ignored);
  }

  const bool slow_;
  boost::asio::io_context io_{1};
  boost::asio::ip::tcp::endpoint server_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::atomic<bool> frozen_ = false;
  std::thread thread_;
};

}  // namespace neliroute
