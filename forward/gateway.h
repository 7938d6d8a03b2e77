// A reverse proxy that sends each request to the owner of its key. One executor, one thread.
//
// Threads: open(), bind(), and listen() before anything else: any; the rest the executor's.
// Units: std::chrono.
// Errors: open(), bind() and listen(): the address cannot be listened on.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <set>
#include <vector>

#include "forward/front_connection.h"
#include "router/listen/accept_gate.h"

namespace neliroute::forward {

struct GatewayOptions {
  boost::asio::ip::tcp::endpoint listen;
  KeySource key;
  SlotSpace slots;
  FrontLimits front;
  ExchangeLimits exchange;
  UpstreamLimits upstream;
  std::string name = "neliroute";
  std::function<bool(const boost::asio::ip::address&)> trusts;
  std::shared_ptr<TlsIdentity> tls;  ///< null: clients speak without
  std::function<void(const ForwardedRequest&)> on_request{};
  std::shared_ptr<ProxyCounters> counters = std::make_shared<ProxyCounters>();
  bool shares_port = false;  ///< others may listen at the same address (SO_REUSEPORT)
  std::function<void(const Notice&)> on_notice{};
  std::shared_ptr<void> keeps{};  ///< what lives as long: the Directions, say
  std::function<bool(const boost::asio::ip::address&)> trusts_forwarded{};
};

class Gateway : public std::enable_shared_from_this<Gateway> {
 public:
  /// bind() and listen(). `directions` outlives it.
  [[nodiscard]] static Result<std::shared_ptr<Gateway>> open(
      boost::asio::any_io_executor executor, GatewayOptions options, Directions& directions);
  /// Has the address, at which connections are refused until listen().
  [[nodiscard]] static Result<std::shared_ptr<Gateway>> bind(
      boost::asio::any_io_executor executor, GatewayOptions options, Directions& directions);
  /// Once.
  [[nodiscard]] Result<void> listen();

  [[nodiscard]] boost::asio::ip::tcp::endpoint endpoint() const;
  [[nodiscard]] const ProxyCounters& counters() const noexcept { return *counters_; }
  [[nodiscard]] std::size_t connections() const noexcept { return connections_.size(); }
  /// As its options say, or as few as the process may have files open for.
  [[nodiscard]] std::size_t most_connections() const noexcept { return gate_.most(); }
  /// Stops accepting, and ends when every request that is under way has, or `bound` is over.
  void drain(milliseconds bound, std::function<void()> done);
  /// Ends at once whatever is under way. A drain() that was under way does not complete.
  void close();

 private:
  Gateway(boost::asio::ip::tcp::acceptor acceptor, GatewayOptions options, Directions& directions);
  void take(boost::asio::ip::tcp::socket socket, AcceptGate::PlacePtr place, bool refused);
  void end_if_drained();
  void close_all();
  [[nodiscard]] std::vector<std::shared_ptr<FrontConnection>> living() const;

  std::shared_ptr<void> keeps_;
  boost::asio::any_io_executor executor_;
  boost::asio::steady_timer later_;
  boost::asio::steady_timer last_requests_;
  Upstreams upstreams_;
  std::shared_ptr<ProxyCounters> counters_;
  Proxy proxy_;
  FrontService service_;
  std::set<FrontConnection*> connections_;
  std::function<void()> drained_;
  AcceptGate gate_;
};

}  // namespace neliroute::forward
