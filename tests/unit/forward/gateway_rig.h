// A gateway between a client and owners that are a few lines each, on loopback, on one io_context.
//
// Threads: one, that of the test; it runs the io_context.   Units: bytes.   Errors: none.
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "forward/gateway.h"

namespace neliroute::testing_forward {

using OwnerRequest = boost::beast::http::request<boost::beast::http::string_body>;

/// What an owner sends, as bytes; empty: nothing, and the connection stays open.
struct OwnerAnswer {
  std::string bytes;
  bool close = false;
};
[[nodiscard]] OwnerAnswer ok(const std::string& body);
[[nodiscard]] OwnerAnswer misdirected();

class Owner {
 public:
  using Serve = std::function<OwnerAnswer(const OwnerRequest&)>;
  Owner(boost::asio::io_context& io, Serve serve);

  [[nodiscard]] const std::string& endpoint() const noexcept { return endpoint_; }
  /// From now on nobody can connect, and those that are connected are cut off.
  void stop();
  /// After stop(): at the same endpoint.
  void start();
  /// Those that are connected are cut off, or are sent this, which they did not ask for.
  void cut();
  void say(const std::string& bytes);
  /// What has come of the bodies of requests that were not served yet.
  [[nodiscard]] std::string bodies_so_far() const;
  [[nodiscard]] std::size_t bodies_size_so_far() const;

  Serve serve;
  bool says_continue = true;  ///< as a server does that knows Expect
  bool answers_early = false;  ///< as soon as it has a header, and reads the body then
  std::vector<OwnerRequest> requests;
  std::size_t connections = 0;
  std::size_t given_up = 0;  ///< connections that were closed before they got an answer

 private:
  struct Connection;
  void accept();
  void for_each_body(const std::function<void(const std::string&)>& visit) const;

  boost::asio::io_context& io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::string endpoint_;
  std::vector<std::weak_ptr<Connection>> open_;
  std::vector<std::shared_ptr<Connection>> silent_;  ///< whose requests are never answered
  std::shared_ptr<bool> there_ = std::make_shared<bool>(true);  ///< what has come finds it, or not
};

/// Who leads each slot, as the test says.
class ToldDirections : public forward::Directions {
 public:
  explicit ToldDirections(boost::asio::io_context& io) : io_(io) {}
  [[nodiscard]] forward::Direction direct(const forward::Visit& visit) override;
  void wait(Slot slot, const Epoch& after, milliseconds limit, RouteHandler handler) override;
  void suspect(std::string_view endpoint) override {
    suspects.emplace_back(endpoint);
    suspected_ |= endpoint == endpoint_;
  }
  void reached(std::string_view endpoint) override {
    reports.emplace_back(endpoint);
    if (endpoint == endpoint_) suspected_ = false;
  }
  void redirected(Slot slot, std::string_view endpoint, const Epoch& epoch) override;
  [[nodiscard]] std::vector<std::string> detours(Slot) override { return others; }
  /// A record of who leads was read.
  void writes() { suspected_ = false; }
  /// From now on; with a greater epoch than whoever led before. Wakes who waits.
  void leads(const std::string& endpoint);
  void nobody_leads();
  /// As a router whose executor hangs: waits are not heard, nor their limits; then all at once.
  void hang() { hangs_ = true; }
  void come_back();
  /// This process has left, as an owner does; who waits is told.
  void leave();

  std::vector<std::string> suspects;
  std::vector<std::string> reports;    ///< who was reached after all
  std::vector<std::string> redirects;  ///< "to whom under which epoch"; each is obeyed
  bool stale = false;                  ///< as who leads is
  std::vector<std::string> others;     ///< whom to ask where that one cannot be reached
  std::size_t waits = 0;
  Epoch waited_after = kNoEpoch;           ///< the last one
  boost::system::error_code refuses_with;  ///< waits, if it is one
  std::size_t cancelled = 0;  ///< of these
  bool own = false;           ///< the endpoint is of this process's own application
  std::function<Work()> work = [] { return Work(); };  ///< under which it serves then
  std::weak_ptr<Admission> guarded;                    ///< the last one that was given out

 private:
  struct Waiter;
  boost::asio::io_context& io_;
  std::string endpoint_;
  bool suspected_ = false;
  bool left_ = false;
  Epoch epoch_ = kNoEpoch;
  std::int64_t last_ = 0;
  bool hangs_ = false;
  std::vector<std::shared_ptr<Waiter>> waiters_;
};

/// A client's connection.
class Caller {
 public:
  Caller(boost::asio::io_context& io, const boost::asio::ip::tcp::endpoint& to);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  void send(std::string text);
  void shutdown();
  void close();
  /// At once, with a reset.
  void reset();
  [[nodiscard]] const std::string& received() const noexcept { return received_; }
  void forget() { received_.clear(); }
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] bool unsent() const noexcept { return unsent_ > 0; }
  /// What each that lives has received.
  static void print_all();

 private:
  void read();

  inline static std::vector<const Caller*> living_;

  std::shared_ptr<boost::asio::ip::tcp::socket> socket_;  ///< what writes keeps it
  std::vector<char> chunk_ = std::vector<char>(65536);
  std::string received_;
  bool ended_ = false;
  std::size_t unsent_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

struct GatewayRigOptions {
  std::string key = "header:X-Key";
  forward::FrontLimits front;
  forward::ExchangeLimits exchange;
  std::function<bool(const boost::asio::ip::address&)> trusts;
  forward::UpstreamLimits upstream;
};

class GatewayRig {
 public:
  explicit GatewayRig(GatewayRigOptions options = {});
  ~GatewayRig();

  /// Runs until it holds; false: it never did within 30 s, and what was seen is printed.
  [[nodiscard]] bool run_until(const std::function<bool()>& condition);
  /// Waits until they have sent what they were to, and the gateway has read it.
  template <class Callers>
  [[nodiscard]] bool has_read(const Callers& callers) {
    const bool sent = run_until([&] {
      return std::none_of(callers.begin(), callers.end(),
                          [](const Caller& caller) { return caller.unsent(); });
    });
    for (int i = 0; i < 10; ++i) {  // it lies in the kernel: nothing of it is still to come
      io.restart();
      io.poll();
    }
    return sent;
  }
  /// Sends it on a new connection, and waits until the answer is whole or the connection ended.
  [[nodiscard]] std::string exchange(const std::string& request);
  [[nodiscard]] Caller call() { return Caller(io, gateway->endpoint()); }
  /// Waits for as many whole answers.
  [[nodiscard]] bool answered(const Caller& caller, std::size_t count = 1);
  [[nodiscard]] std::uint64_t count(forward::ProxyCount what) const {
    return gateway->counters().count(what);
  }

  boost::asio::io_context io;
  ToldDirections directions{io};
  std::shared_ptr<forward::Gateway> gateway;

 private:
  void print_seen() const;
};

/// A request with a key.
[[nodiscard]] std::string get(const std::string& target = "/", const std::string& more = "");
[[nodiscard]] std::string post(const std::string& body, const std::string& more = "");
/// Whether the caller, which must live on, has so many whole answers, or was cut off.
[[nodiscard]] std::function<bool()> has_answers(const Caller& caller, std::size_t count = 1);
/// How many whole answers the bytes are; counts a cut one as none.
[[nodiscard]] std::size_t answers_in(const std::string& bytes, bool ended);
[[nodiscard]] unsigned status_of(const std::string& answer);
/// The body, without its chunks' frames.
[[nodiscard]] std::string body_of(const std::string& answer);

}  // namespace neliroute::testing_forward
