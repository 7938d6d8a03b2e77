// A server that answers everybody alike, each connection once, whatever it is asked.
//
// Threads: the test's; it serves on one of its own.   Units: std::chrono.   Errors: none.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <neliroute/time.h>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace neliroute {

struct Sickness {
  const char* name;
  std::string answer;         ///< to whatever it is asked
  bool stays = true;          ///< connected after that
  milliseconds each_byte{0};  ///< how long it takes over each
};

inline void PrintTo(const Sickness& sickness, std::ostream* out) { *out << sickness.name; }

class SickServer {
 public:
  explicit SickServer(Sickness sickness)
      : sickness_(std::move(sickness)),
        acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}),
        thread_([this] { serve(); }) {}
  ~SickServer() {
    done_ = true;
    boost::system::error_code ignored;
    boost::asio::ip::tcp::socket wake(io_);
    wake.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }
  SickServer(const SickServer&) = delete;
  SickServer& operator=(const SickServer&) = delete;
  [[nodiscard]] std::string port() { return std::to_string(acceptor_.local_endpoint().port()); }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  void serve() {
    std::vector<std::unique_ptr<boost::asio::ip::tcp::socket>> kept;
    while (!done_) {
      auto socket = std::make_unique<boost::asio::ip::tcp::socket>(io_);
      boost::system::error_code error;
      acceptor_.accept(*socket, error);
      if (error || done_) continue;
      ++asked_;
      char first = 0;
      boost::asio::read(*socket, boost::asio::buffer(&first, 1), error);
      answer(*socket);
      if (sickness_.stays) kept.push_back(std::move(socket));
    }
  }
  void answer(boost::asio::ip::tcp::socket& socket) {
    boost::system::error_code error;
    if (sickness_.each_byte == milliseconds{0}) {
      boost::asio::write(socket, boost::asio::buffer(sickness_.answer), error);
      return;
    }
    for (const char byte : sickness_.answer) {
      if (error || done_) return;
      boost::asio::write(socket, boost::asio::buffer(&byte, 1), error);
      std::this_thread::sleep_for(sickness_.each_byte);  // it is slow: that is what is tested
    }
  }

  Sickness sickness_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::atomic<bool> done_ = false;
  std::atomic<int> asked_ = 0;
  std::thread thread_;
};

}  // namespace neliroute
