// One client of the admin port, from its first byte until it closes, or becomes an event stream.
// Private to the admin port.
//
// Boost.Beast parses requests, makes and writes answers, and closes a client that is too slow to
// read one or idle for too long. This adds what Beast lacks: it answers a header that does not end
// in time (Beast's deadlines close without an answer), refuses TLS and endless targets before a
// header ends (its async_read_header() waits for the end), and bounds what is discarded.
//
// Threads: one (the server's strand).   Units: bytes, std::chrono.
// Errors: a client's mistake is answered, and the connection closed.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <neliroute/admin.h>
#include <unordered_set>

#include "admin/answer_budget.h"
#include "admin/event_hub.h"
#include "router/listen/accept_gate.h"

namespace neliroute::admin {

class Connection;
class Steps;

/// Whether only this machine can reach it.
[[nodiscard]] bool is_for_here(const boost::asio::ip::tcp::acceptor& acceptor);

/// A server: whom it accepts, and what its connections share. It outlives them.
class Service : public std::enable_shared_from_this<Service> {
 public:
  /// `acceptor`: of an executor that runs one thing at a time. Notices as AdminOptions has them.
  Service(boost::asio::ip::tcp::acceptor acceptor, const AdminLimits& limits,
          std::function<void(const Notice&)> on_notice);
  virtual ~Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void accept() { gate_.start(); }
  /// All connections, and those to come.
  void close_connections();

  virtual Pages& pages() = 0;
  /// Of pages that are streams.
  virtual EventHub& hub() = 0;
  virtual Steps& steps() = 0;
  [[nodiscard]] AnswerBudget& budget() noexcept { return budget_; }
  [[nodiscard]] const AdminLimits& limits() const noexcept { return limits_; }
  /// The connection has ended.
  void left(Connection& connection) { connections_.erase(&connection); }

 private:
  void take(boost::asio::ip::tcp::socket socket, AcceptGate::PlacePtr place, bool refused);

  const AdminLimits limits_;
  AnswerBudget budget_;
  std::unordered_set<Connection*> connections_;
  AcceptGate gate_;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<Service> service,
             AcceptGate::PlacePtr place);
  ~Connection() { service_->left(*this); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// `refused`: there are too many; health is answered, and all else refused.
  void start(bool refused);
  void close();
 private:
  using Time = std::chrono::steady_clock::time_point;
  template <class Step>
  void or_close(const Step& step);
  void expire_after(milliseconds bound);
  void begin_header(milliseconds bound);
  void await_request();
  void read();
  void on_read(const boost::system::error_code& error, std::size_t read);
  void handle(const Request& request);
  void await_route(const RouteQuestion& question, bool keep_alive);
  void watch_client();
  void send(Answer answer, bool head, bool keep_alive);
  void on_sent(const boost::system::error_code& error, bool keep_alive);
  void linger();
  void discard();
  [[nodiscard]] bool closed() const noexcept { return !place_; }

  boost::beast::tcp_stream stream_;
  boost::asio::steady_timer header_end_;
  std::shared_ptr<Service> service_;
  AcceptGate::PlacePtr place_;
  bool refused_ = false;
  Time ends_by_ = Time::max();     ///< a refused connection, whatever it is at
  bool idle_ = false;  ///< waits for another request
  bool late_ = false;  ///< the header has not ended in time
  boost::beast::flat_buffer received_;  ///< and not answered
  Searched searched_;                   ///< of received_, for the end of a header
  Text body_;                           ///< of the answer that is being written
  AnswerBudget::Held held_;             ///< while body_ is on its way
  std::size_t discarded_ = 0;
  std::weak_ptr<RouteWait> wait_;  ///< for which the client waits
  bool watched_ = false;           ///< whether a byte or an end of it will be noticed
};

}  // namespace neliroute::admin
