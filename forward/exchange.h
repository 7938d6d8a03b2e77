// One request of a client, on its way to the owner of its key and back.
//
// A body of at most `kept_body` is read whole before anything is sent, so that the request can be
// sent again where the first process did not take it. A longer one is sent on as it comes, after
// the owner has said that it wants it; both sides wait for the slower one.
//
// Threads: one (an executor of its own).   Units: std::chrono, bytes.
// Errors: answered to the client, as docs/routing.md lists them.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <neliroute/ids.h>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "forward/directions.h"
#include "forward/rules/peer_fields.h"
#include "forward/proxy_counters.h"
#include "forward/rules/proxy_rules.h"
#include "forward/upstreams.h"

namespace neliroute::forward {

struct ExchangeLimits {
  milliseconds deadline{10'000};  ///< from a request's header to its answer's
  milliseconds progress{30'000};  ///< for which neither side sends or takes anything
  milliseconds tunnel{300'000};   ///< the same, of an upgraded connection
  std::size_t kept_body = std::size_t{64} * 1024;
  std::uint32_t resends = 3;
};

/// What all exchanges of one executor share.
struct Proxy {
  Directions& directions;
  Upstreams& upstreams;
  ProxyCounters& counters;
  ExchangeLimits limits;
  std::string name = "neliroute";  ///< in Via
  bool draining = false;           ///< answers say that their connections are closed
};

/// What is read and passed on at a time.
inline constexpr std::size_t kPart = std::size_t{16} * 1024;

using BodyBuffer = boost::beast::http::buffer_body;
using RequestParser = boost::beast::http::request_parser<BodyBuffer>;

/// The client's side of a request whose header was read.
struct ClientSide {
  Stream& stream;
  boost::beast::flat_buffer& received;
  RequestParser& request;
  std::string address;
  bool trusted = false;  ///< another proxy of ours: what it says of its client is kept
  std::shared_ptr<void> keeps_alive;  ///< all of these
};

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  /// `keep_alive`: the client may send another request on this connection.
  using Done = std::function<void(bool keep_alive)>;

  Exchange(Proxy& proxy, ClientSide client, const Target& target, Slot slot, PeerFields said);

  void start(Done done);
  /// The client's connection is being closed.
  void cancel();

 private:
  using Clock = std::chrono::steady_clock;
  using Error = boost::system::error_code;
  // exchange_request.cc: reading and sending the request.
  void say_continue();
  void keep_body();
  void on_kept(Error error);
  void choose();
  void await_owner(const Epoch& after, milliseconds limit);
  void connect(const Direction& direction);
  void on_connected(Error error, UpstreamPtr upstream, const Direction& direction);
  void send(const Direction& direction);
  void begin_body();
  void pass_body();
  void read_body_part();
  void on_body_part(Error error);
  void send_body_part();

  // exchange_answer.cc: reading the answer, and passing it on.
  void read_head();
  void on_head(Error error);
  void on_informational(unsigned status);
  void on_broken(Error error);
  void on_misdirected();
  void note_forwarded();
  void pass_head();
  void pass_part();
  void on_answer_part(Error error);
  void tunnel();
  void follow_ownership();
  void watch_tunnel();
  void end_tunnel();
  void pass_bytes(Stream& from, Stream& to, std::vector<char>& buffer);
  void end_direction(Stream& to);
  void answer(unsigned status, const std::string& text);
  void unowned();
  void finish(bool keep_alive);

  [[nodiscard]] milliseconds left() const;
  /// Its request was read to its end, so another one may follow.
  [[nodiscard]] bool client_keeps_alive() const {
    return keep_alive_ && client_.request.is_done() && !proxy_.draining;
  }
  [[nodiscard]] bool may_send_again() const;

  Proxy& proxy_;
  ClientSide client_;
  RequestHeader head_;
  Slot slot_;
  Visit visit_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point deadline_;
  std::string upgrade_;
  bool keep_alive_ = false;
  bool has_body_ = false;
  bool expects_ = false;    ///< the client waits for 100 before it sends its body
  bool whole_ = false;      ///< the body is all in kept_
  std::string kept_;
  std::size_t got_ = 0;     ///< of kept_
  Epoch failed_ = kNoEpoch; ///< whose owner could not be reached last
  std::uint32_t failures_ = 0;
  std::uint32_t resends_ = 0;
  UpstreamPtr upstream_;
  Epoch sent_under_ = kNoEpoch;
  std::shared_ptr<Admission> guard_;  ///< of work under way here
  std::optional<std::stop_callback<std::function<void()>>> stopping_;  ///< ends a tunnel
  using Sent = boost::beast::http::request<BodyBuffer>;
  std::unique_ptr<Sent> sent_;
  std::unique_ptr<boost::beast::http::request_serializer<BodyBuffer>> sending_;
  bool body_begun_ = false;
  bool body_sent_ = false;
  bool answered_ = false;   ///< the final head is being passed on
  std::unique_ptr<boost::beast::http::response_parser<BodyBuffer>> answer_;
  using PassedOn = boost::beast::http::response<BodyBuffer>;
  std::unique_ptr<PassedOn> passed_;
  std::unique_ptr<boost::beast::http::response_serializer<BodyBuffer>> passing_;
  std::vector<char> part_;      ///< of the answer's body, or from the owner in a tunnel
  std::vector<char> body_part_; ///< of the request's, or from the client
  boost::asio::steady_timer continue_limit_;  ///< and a tunnel's
  std::uint32_t attempt_ = 0;   ///< which upstream's; what belongs to an earlier one is void
  std::uint32_t tunnel_ends_ = 0;
  Clock::time_point tunnel_used_;
  boost::asio::cancellation_signal wait_cancelled_;
  Done done_;
};

}  // namespace neliroute::forward
