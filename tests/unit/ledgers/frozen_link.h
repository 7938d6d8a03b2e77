// A link to a server of this machine that can be frozen: nothing passes then, and nothing is lost.
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

class FrozenLink {
 public:
  explicit FrozenLink(std::uint16_t port)
      : server_(boost::asio::ip::address_v4::loopback(), port),
        acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}) {
    boost::asio::co_spawn(io_, accept(), boost::asio::detached);
    thread_ = std::thread([this] { io_.run(); });
  }
  ~FrozenLink() {
    io_.stop();
    thread_.join();
  }
  FrozenLink(const FrozenLink&) = delete;
  FrozenLink& operator=(const FrozenLink&) = delete;
  [[nodiscard]] std::string address() {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  void freeze() { frozen_ = true; }
  void thaw() { frozen_ = false; }

 private:
  using Socket = std::shared_ptr<boost::asio::ip::tcp::socket>;
  static constexpr std::size_t kPiece = 65'536;
  static constexpr std::chrono::milliseconds kTurn{2};

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
      boost::asio::co_spawn(io_, forward(client, server), boost::asio::detached);
      boost::asio::co_spawn(io_, forward(server, client), boost::asio::detached);
    }
  }
  boost::asio::awaitable<void> forward(Socket from, Socket to) {
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
    }
    boost::system::error_code ignored;
    from->close(ignored);
    to->close(ignored);
  }

  boost::asio::io_context io_{1};
  boost::asio::ip::tcp::endpoint server_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::atomic<bool> frozen_ = false;
  std::thread thread_;
};

}  // namespace neliroute
