#include "ledgers/kafka/relay.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <string>
#include <unordered_set>
#include <utility>

#include "neli_core/system_refusal.h"

namespace neliroute {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBufferBytes = std::size_t{16} * 1024;
/// How long the end of one side waits for data still in flight to the other.
constexpr std::chrono::milliseconds kFarewell{1000};
constexpr std::chrono::milliseconds kDrainStep{5};
/// After a failed accept, which means a lack of file descriptors or memory.
constexpr std::chrono::milliseconds kAcceptPause{100};

tcp::endpoint local(std::uint16_t port) { return {asio::ip::address_v4::loopback(), port}; }

/// Everything written to the socket has reached the peer's kernel.
bool drained(tcp::socket& socket) {
  int bytes = 0;
  return ::ioctl(socket.native_handle(), SIOCOUTQ, &bytes) != 0 || bytes == 0;
}

Error listen_error(std::uint16_t port, const error_code& error) {
  const std::string where = "port " + std::to_string(port) + " of 127.0.0.1";
  if (error == asio::error::address_in_use) {
    return {Errc::bad_option, where + " is in use: stop the program that listens there, or choose "
                                      "another port (0 takes any that is free)"};
  }
  if (error == asio::error::access_denied) {
    return {Errc::bad_option, "not allowed to listen on " + where +
                                  ": choose a port above 1023 (0 takes any that is free)"};
  }
  const std::string what = "cannot listen on " + where;
  if (auto refused = system_refusal(what, error)) return *refused;
  return {Errc::bad_option, what + ": " + error.message()};
}

}  // namespace

// --- One client and its connection to the upstream -----------------------------------------------

class Relay::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket client, std::weak_ptr<Listener> listener)
      : client_(std::move(client)),
        upstream_(client_.get_executor()),
        timer_(client_.get_executor()),
        listener_(std::move(listener)) {}

  void start(std::uint16_t upstream_port) {
    upstream_.async_connect(local(upstream_port),
                            [self = shared_from_this()](const error_code& error) {
                              if (error || self->ended_) return self->end();
                              error_code ignored;
                              self->client_.set_option(tcp::no_delay(true), ignored);
                              self->upstream_.set_option(tcp::no_delay(true), ignored);
                              self->read_client();
                              self->read_upstream();
                            });
  }

  void end();

 private:
  void read_client() {
    client_.async_read_some(asio::buffer(requests_), [self = shared_from_this()](
                                                         const error_code& error, std::size_t n) {
      if (error) return self->client_ended();
      if (self->upstream_deaf_) return self->read_client();  // until its end is seen: discarded
      self->write_upstream(n);
    });
  }

  void write_upstream(std::size_t bytes) {
    asio::async_write(upstream_, asio::buffer(requests_, bytes),
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        // What the upstream sent before it ended is still being read.
                        if (error) self->upstream_deaf_ = true;
                        self->read_client();
                      });
  }

  void read_upstream() {
    upstream_.async_read_some(
        asio::buffer(answers_),
        [self = shared_from_this()](const error_code& error, std::size_t n) {
          if (error) return self->upstream_ended();
          self->write_client(n);
        });
  }

  void write_client(std::size_t bytes) {
    asio::async_write(client_, asio::buffer(answers_, bytes),
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        if (error) return self->client_ended();
                        self->read_upstream();
                      });
  }

  void client_ended() {
    if (ended_ || client_gone_) return;
    if (upstream_gone_) return end();
    client_gone_ = true;
    give_up_ = Clock::now() + kFarewell;
    reset_when_drained();
  }

  void reset_when_drained() {
    if (ended_) return;
    if (drained(upstream_) || Clock::now() >= give_up_) return end();
    timer_.expires_after(kDrainStep);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->reset_when_drained();
    });
  }

  void upstream_ended() {
    if (ended_) return;
    if (client_gone_) return end();
    upstream_gone_ = upstream_deaf_ = true;
    // Closing with unread data here would discard what is in flight to the client: so wait for the
    // client's end, and discard what it still sends.
    error_code ignored;
    client_.shutdown(tcp::socket::shutdown_send, ignored);
    timer_.expires_after(kFarewell);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->end();
    });
  }

  tcp::socket client_;
  tcp::socket upstream_;
  asio::steady_timer timer_;
  std::weak_ptr<Listener> listener_;
  std::array<char, kBufferBytes> requests_;
  std::array<char, kBufferBytes> answers_;
  Clock::time_point give_up_;
  bool client_gone_ = false;
  bool upstream_deaf_ = false;  // writing to it failed
  bool upstream_gone_ = false;  // and all it sent was read
  bool ended_ = false;
};

// --- The port ------------------------------------------------------------------------------------

class Relay::Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(const asio::any_io_executor& executor, std::size_t connections_max)
      : acceptor_(executor), pause_(executor), connections_max_(connections_max) {}

  error_code bind(std::uint16_t port) {
    error_code error;
    acceptor_.open(tcp::v4(), error);
    // A port with lingering old connections is free; one that somebody listens on is not.
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(local(port), error);
    if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    return error;
  }

  void accept(std::uint16_t upstream_port) {
    acceptor_.async_accept([self = shared_from_this(), upstream_port](const error_code& error,
                                                                      tcp::socket client) {
      if (self->closed_) return;
      if (error) return self->accept_later(upstream_port);
      if (self->connections_.size() < self->connections_max_) {
        auto connection = std::make_shared<Connection>(std::move(client), self->weak_from_this());
        self->connections_.insert(connection);
        connection->start(upstream_port);
      }
      self->accept(upstream_port);
    });
  }

  void forget(const std::shared_ptr<Connection>& connection) { connections_.erase(connection); }

  void close() {
    closed_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    const auto connections = std::exchange(connections_, {});
    for (const auto& connection : connections) connection->end();
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::size_t connections() const noexcept { return connections_.size(); }

 private:
  void accept_later(std::uint16_t upstream_port) {
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([self = shared_from_this(), upstream_port](const error_code& error) {
      if (!error && !self->closed_) self->accept(upstream_port);
    });
  }

  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::size_t connections_max_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  std::uint16_t port_ = 0;
  bool closed_ = false;
};

void Relay::Connection::end() {
  if (ended_) return;
  ended_ = true;
  error_code ignored;
  upstream_.set_option(asio::socket_base::linger(true, 0), ignored);  // a reset, not a mere end
  upstream_.close(ignored);
  client_.close(ignored);
  timer_.cancel();
  if (const auto listener = listener_.lock()) listener->forget(shared_from_this());
}

// --- Relay ---------------------------------------------------------------------------------------

Relay::Relay(std::shared_ptr<Listener> listener) : listener_(std::move(listener)) {}

Relay::~Relay() { listener_->close(); }

Result<std::unique_ptr<Relay>> Relay::listen(const asio::any_io_executor& executor,
                                             std::uint16_t port, std::size_t connections_max) {
  auto listener = std::make_shared<Listener>(executor, connections_max);
  if (const error_code error = listener->bind(port)) return listen_error(port, error);
  return std::unique_ptr<Relay>(new Relay(std::move(listener)));
}

void Relay::forward_to(std::uint16_t upstream_port) { listener_->accept(upstream_port); }

std::uint16_t Relay::port() const noexcept { return listener_->port(); }
std::size_t Relay::connections() const noexcept { return listener_->connections(); }

}  // namespace neliroute
