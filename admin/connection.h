// One client of the admin port, from its first byte until it goes, or becomes an event stream.
// Private to the admin port.
//
// Threads: one (the server's strand).   Units: bytes, std::chrono.
// Errors: what a client does wrong is answered, and the connection closed.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "admin/answer_budget.h"
#include "admin/event_hub.h"

namespace neliroute::admin {

class Connection;

/// What connections share; outlives them.
struct Service {
  virtual ~Service() = default;
  virtual Site& site() = 0;
  virtual EventHub& hub() = 0;
  virtual AnswerBudget& budget() = 0;
  [[nodiscard]] virtual const AdminLimits& limits() const = 0;
  /// The connection is no more.
  virtual void left(Connection& connection) = 0;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<Service> service, Place place);
  ~Connection() { service_->left(*this); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  /// The same where there are too many: health is told, and all else refused.
  void start_refused();
  void close();

 private:
  enum class Phase { idle, header, writing, lingering, closed };

  void await_request();
  void read();
  void on_read(const boost::system::error_code& error, std::size_t read);
  void handle(const Request& request);
  void send(Answer answer, bool head, bool keep_alive);
  void on_sent(const boost::system::error_code& error, bool keep_alive);
  void linger();
  void discard();
  void enter(Phase phase, milliseconds bound);
  void on_deadline();

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer deadline_;
  std::shared_ptr<Service> service_;
  Place place_;
  Phase phase_ = Phase::header;
  bool refused_ = false;
  std::string received_;  ///< and not answered
  std::string header_;
  Text body_;
  AnswerBudget::Held held_;  ///< while body_ is on its way
  std::size_t discarded_ = 0;
  std::array<char, 2048> chunk_{};
};

}  // namespace neliroute::admin
