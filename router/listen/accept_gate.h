// Whom a server of this process accepts, and whom it lets go for that: the same for a proxy and for
// the admin port.
//
// Where all places are taken, the client that has taken longest over its TLS handshake or over its
// request's header goes first, then the one that has been idle longest: who has never said anything
// must not keep others out, nor must who has nothing to say now. If all are at work, a further one
// is refused with an answer, and where many are, it is only closed. One address gets three quarters
// of the places: at its share, its own clients go. Where the process has no descriptor left, the
// same clients go, and accepting is tried again.
//
// Threads: one (the executor's); Place: the same.   Units: std::chrono.   Errors: told as notices.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <optional>
#include <string>

namespace neliroute {

/// At most so many connections, or as many as this share of the files that the process may have
/// open allows: "a half" is 2.
[[nodiscard]] std::size_t places_for(std::size_t connections, std::size_t files_each);

/// An IPv4 client of a socket that takes IPv6 too is one of IPv4.
[[nodiscard]] boost::asio::ip::address plain_address(const boost::asio::ip::address& address);

class AcceptGate {
  struct Shared;

 public:
  /// One client's. It leaves as its last owner does.
  class Place {
   public:
    Place(std::shared_ptr<Shared> shared, const boost::asio::ip::address& address, bool refused);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// Called once, where the client has to go.
    void on_evicted(std::function<void()> close) { close_ = std::move(close); }
    /// What the client is at: it has still to say what it wants; has been answered; has asked.
    void arrives();
    void idles();
    void works();

   private:
    friend class AcceptGate;
    using Line = std::list<Place*>;
    void stand_in(Line& line);
    void leave();

    std::shared_ptr<Shared> shared_;
    boost::asio::ip::address address_;
    std::function<void()> close_;
    Line* line_ = nullptr;  ///< none: it counts no more, or was refused
    Line::iterator at_;
    bool refused_;
  };
  using PlacePtr = std::shared_ptr<Place>;

  struct Options {
    std::size_t connections = 0;
    std::string name;  ///< in notices: "the admin port"
    /// Has no share, as many clients may come from there.
    std::function<bool(const boost::asio::ip::address&)> is_exempt{};
    std::function<void(const Notice&)> on_notice{};
  };
  /// `refused`: the client is to be told that there is no place for it.
  using Take = std::function<void(boost::asio::ip::tcp::socket, PlacePtr, bool refused)>;

  AcceptGate(boost::asio::ip::tcp::acceptor acceptor, Options options, Take take);
  ~AcceptGate();
  AcceptGate(const AcceptGate&) = delete;
  AcceptGate& operator=(const AcceptGate&) = delete;

  /// Clients may connect from now on. Any thread, before start().
  void listen(boost::system::error_code& error);
  /// Accepts them from now on. Once.
  void start();
  /// Accepts those that have connected by now, and nobody from now on.
  void stop();
  [[nodiscard]] boost::asio::ip::tcp::endpoint endpoint() const;
  [[nodiscard]] std::size_t connections() const noexcept;
  [[nodiscard]] std::size_t most() const noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  void accept();
  void on_accept(const boost::system::error_code& error, boost::asio::ip::tcp::socket socket);
  void admit_safely(boost::asio::ip::tcp::socket socket);
  void admit(boost::asio::ip::tcp::socket socket);
  void tell(const boost::system::error_code& error);

  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer again_;
  Options options_;
  Take take_;
  std::shared_ptr<Shared> shared_;
  std::optional<Clock::time_point> told_;
  enum class Phase { open, stopped, ended };
  std::shared_ptr<Phase> phase_ = std::make_shared<Phase>(Phase::open);
};

}  // namespace neliroute
