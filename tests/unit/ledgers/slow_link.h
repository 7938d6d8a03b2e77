// A link to a server of this machine, over which its answers come slowly.
//
// Threads: the test's; it forwards on one of its own.   Units: bytes.   Errors: none.
#pragma once

#include <array>
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

class SlowLink {
 public:
  explicit SlowLink(const std::string& port)
      : server_(boost::asio::ip::address_v4::loopback(),
                static_cast<std::uint16_t>(std::stoi(port))),
        acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}) {
    boost::asio::co_spawn(io_, accept(), boost::asio::detached);
    thread_ = std::thread([this] { io_.run(); });
  }
  ~SlowLink() {
    io_.stop();
    thread_.join();
  }
  SlowLink(const SlowLink&) = delete;
  SlowLink& operator=(const SlowLink&) = delete;
  [[nodiscard]] std::string port() { return std::to_string(acceptor_.local_endpoint().port()); }

 private:
  using Socket = std::shared_ptr<boost::asio::ip::tcp::socket>;
  /// 1.6 MB a second.
  static constexpr std::size_t kPiece = 16'384;
  static constexpr std::chrono::milliseconds kEach{10};

  boost::asio::awaitable<void> accept() {
    for (;;) {
      const auto client = std::make_shared<boost::asio::ip::tcp::socket>(io_);
      const auto server = std::make_shared<boost::asio::ip::tcp::socket>(io_);
      co_await acceptor_.async_accept(*client, boost::asio::use_awaitable);
      co_await server->async_connect(server_, boost::asio::use_awaitable);
      boost::asio::co_spawn(io_, forward(client, server, false), boost::asio::detached);
      boost::asio::co_spawn(io_, forward(server, client, true), boost::asio::detached);
    }
  }
  boost::asio::awaitable<void> forward(Socket from, Socket to, bool slowly) {
    boost::asio::steady_timer pause(io_);
    std::array<char, kPiece> piece{};
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    while (!error) {
      const std::size_t size =
          co_await from->async_read_some(boost::asio::buffer(piece), token);
      if (error) break;
      co_await boost::asio::async_write(*to, boost::asio::buffer(piece.data(), size), token);
      if (!slowly || error) continue;
      pause.expires_after(kEach);
      co_await pause.async_wait(boost::asio::use_awaitable);
    }
    boost::system::error_code ignored;
    from->close(ignored);
    to->close(ignored);
  }

  boost::asio::io_context io_{1};
  boost::asio::ip::tcp::endpoint server_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::thread thread_;
};

}  // namespace neliroute
