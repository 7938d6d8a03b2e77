// An HTTP server on this machine that answers as a test wants it to, and writes down what came.
//
// Threads: one of its own; its functions may be called on any.   Units: none.   Errors: none.
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace neliroute::tool {

class LittleServer {
  using tcp = boost::asio::ip::tcp;

 public:
  /// Of a body: the whole answer, as bytes. Empty: none, for ever.
  using Answers = std::function<std::string(const std::string& body)>;

  explicit LittleServer(Answers answers)
      : answers_(std::move(answers)),
        acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}),
        port_(acceptor_.local_endpoint().port()) {
    accept();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~LittleServer() {
    io_.stop();
    thread_.join();
  }
  LittleServer(const LittleServer&) = delete;
  LittleServer& operator=(const LittleServer&) = delete;

  [[nodiscard]] std::string url() const { return "http://" + address() + "/events"; }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  /// The bodies so far, in the order in which they came.
  [[nodiscard]] std::vector<std::string> bodies() const {
    const std::lock_guard lock(mutex_);
    return bodies_;
  }
  /// The header of the last one.
  [[nodiscard]] std::string header() const {
    const std::lock_guard lock(mutex_);
    return header_;
  }
  /// Answers all that have got no answer yet.
  void answer_all(const std::string& answer) {
    boost::asio::post(io_, [this, answer] {
      for (const auto& session : std::exchange(silent_, {})) session->answer(answer);
    });
  }

 private:
  struct Session : std::enable_shared_from_this<Session> {
    Session(LittleServer& of, tcp::socket accepted) : server(of), socket(std::move(accepted)) {}

    void read() {
      socket.async_read_some(boost::asio::buffer(chunk),
                             [self = shared_from_this()](const auto& error, std::size_t count) {
                               if (error) return;
                               self->received.append(self->chunk.data(), count);
                               self->look();
                             });
    }
    void look() {
      const auto end = received.find("\r\n\r\n");
      const auto at = received.find("Content-Length: ");
      if (end == std::string::npos || at == std::string::npos) return read();
      const std::size_t length = std::stoul(received.substr(at + 16));
      if (received.size() < end + 4 + length) return read();
      server.take(shared_from_this(), received.substr(0, end), received.substr(end + 4));
    }
    void answer(const std::string& text) {
      const auto kept = std::make_shared<std::string>(text);
      boost::asio::async_write(socket, boost::asio::buffer(*kept),
                               [self = shared_from_this(), kept](const auto&, std::size_t) {
                                 boost::system::error_code ignored;
                                 self->socket.shutdown(tcp::socket::shutdown_send, ignored);
                               });
    }

    LittleServer& server;
    tcp::socket socket;
    std::array<char, 4096> chunk{};
    std::string received;
  };

  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
      if (error) return;
      std::make_shared<Session>(*this, std::move(socket))->read();
      accept();
    });
  }
  void take(const std::shared_ptr<Session>& session, std::string header, const std::string& body) {
    {
      const std::lock_guard lock(mutex_);
      bodies_.push_back(body);
      header_ = std::move(header);
    }
    const std::string answer = answers_(body);
    if (answer.empty()) {
      silent_.push_back(session);
    } else {
      session->answer(answer);
    }
  }

  Answers answers_;
  mutable std::mutex mutex_;
  std::vector<std::string> bodies_;
  std::string header_;
  boost::asio::io_context io_{1};
  tcp::acceptor acceptor_;
  std::uint16_t port_;
  std::vector<std::shared_ptr<Session>> silent_;
  std::thread thread_;
};

}  // namespace neliroute::tool
