// A client's connection to the gateway: reads one request after the other, and has each exchanged.
//
// Threads: one (the gateway's executor).   Units: std::chrono, bytes.
// Errors: a client's mistake is answered, and the connection closed.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <neliroute/slot_space.h>
#include <optional>
#include <string>

#include "forward/byte_budget.h"
#include "forward/exchange/exchange.h"
#include "forward/rules/key_source.h"
#include "router/listen/accept_gate.h"

namespace neliroute::forward {

struct FrontLimits {
  milliseconds header{10'000};  ///< from a request's first byte to its header's end
  milliseconds idle{60'000};    ///< between two requests
  /// How long a draining proxy still takes requests on connections that are open: a client may have
  /// sent one before it could know.
  milliseconds last_requests{500};
  std::uint32_t header_bytes = 16 * 1024;
  std::size_t connections = 10'000;
  /// Over all connections, of requests that have not come whole.
  std::size_t request_bytes = std::size_t{64} * 1024 * 1024;
};

class FrontConnection;

/// What the connections of one executor share.
struct FrontService {
  Proxy& proxy;
  KeySource key;
  SlotSpace slots;
  FrontLimits limits;
  /// Whether what the address says in fields of ours counts.
  std::function<bool(const boost::asio::ip::address&)> trusts;
  /// Whether what it says of its own client does, too; if `trusts` says so, it does.
  std::function<bool(const boost::asio::ip::address&)> trusts_forwarded;
  std::shared_ptr<TlsIdentity> tls;  ///< null: clients speak without
  std::function<void(const ForwardedRequest&)> on_request;  ///< has ended; empty: nobody asks
  ByteBudget budget{limits.request_bytes};
  bool takes_no_more = false;        ///< draining, and last_requests is over
};

class FrontConnection : public std::enable_shared_from_this<FrontConnection> {
 public:
  /// `left` is called when it has ended.
  FrontConnection(boost::asio::ip::tcp::socket socket, FrontService& service,
                  AcceptGate::PlacePtr place, std::function<void()> left);
  ~FrontConnection();
  FrontConnection(const FrontConnection&) = delete;
  FrontConnection& operator=(const FrontConnection&) = delete;

  void start();
  /// There are too many of them.
  void refuse();
  /// Ends it: at once, or after the request that is under way.
  void close();
  void close_when_idle();

 private:
  using Error = boost::system::error_code;
  using Clock = std::chrono::steady_clock;

  void await_request();
  void await_beginning();
  void begin_request();
  [[nodiscard]] bool has_begun();
  void read_header();
  void on_header(Error error);
  void handle();
  void exchange(const Target& target, Slot slot, const PeerFields& said);
  void on_done(bool keep_alive);
  void tell_ended();
  void tell_refused(unsigned status, std::size_t bytes);
  void answer(unsigned status, const std::string& text);
  void linger();
  void end_sending();
  void discard();

  Stream stream_;
  Input input_{stream_};
  std::optional<RequestParser> request_;
  boost::asio::steady_timer header_end_;
  FrontService& service_;
  std::function<void()> left_;
  std::string address_;
  bool trusted_ = false;
  bool is_proxy_ = false;  ///< what it says of its own client is kept
  std::shared_ptr<Exchange> exchange_;
  bool late_ = false;   ///< the header has not ended in time
  bool idle_ = true;    ///< no byte of a request has come
  bool skipped_ = false;  ///< an empty line before it has
  bool has_asked_ = false;
  AcceptGate::PlacePtr place_;
  ByteBudget::Share held_;
  bool closed_ = false;
  std::size_t discarded_ = 0;
};

}  // namespace neliroute::forward
