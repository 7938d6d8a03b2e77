// One request of a client, on its way to the owner of its key and back.
//
// A body of at most `kept_body` is read whole before anything is sent, so that the request can be
// sent again where the first process did not take it. A longer one is sent on as it comes, after
// the owner has said that it wants it; both sides wait for the slower one.
//
// A client that closes its connection, or its sending side, has no use for the answer: what is
// under way for it ends, be it a wait or a connection to an owner.
//
// Threads: one (an executor of its own).   Units: std::chrono, bytes.
// Errors: answered to the client, as docs/routing.md lists them.
#pragma once

#include <neliroute/forwarder.h>
#include <neliroute/ids.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/serializer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "forward/byte_budget.h"
#include "forward/directions.h"
#include "forward/input.h"
#include "forward/proxy_counters.h"
#include "forward/rules/message_parser.h"
#include "forward/rules/peer_fields.h"
#include "forward/rules/proxy_rules.h"
#include "forward/upstream/caution.h"
#include "forward/upstream/upstreams.h"

namespace neliroute::forward {

struct ExchangeLimits {
  milliseconds deadline{10'000};  ///< from a request's header to its answer's
  milliseconds progress{30'000};  ///< for which neither side sends or takes anything
  milliseconds tunnel{300'000};   ///< the same, of an upgraded connection
  std::size_t kept_body = std::size_t{64} * 1024;
  std::uint32_t resends = 3;
  /// For which a request may hold up its partition's hand-over. No value: nobody waits for it.
  std::optional<milliseconds> handover_grace;
  /// At a time, of those who wait for an owner. Includes waits that were given up and that the
  /// router has not ended: while its executor hangs, they would pile up there.
  std::size_t waits = 20'000;
};

/// What all exchanges of one executor share.
struct Proxy {
  Directions& directions;
  Upstreams& upstreams;
  ProxyCounters& counters;
  ExchangeLimits limits;
  std::string name = "neliroute";  ///< in Via
  bool draining = false;           ///< answers say that their connections are closed
  /// Shared, as a wait may outlive the proxy in the router.
  std::shared_ptr<std::atomic<std::size_t>> waits = std::make_shared<std::atomic<std::size_t>>(0);
  Caution caution{};
};

/// 503, where all clients together have sent too much.
inline constexpr const char* kTooMuch = "too much of requests waits to become whole; try again";

using RequestParser = MessageParser<true>;

/// The client's side of a request whose header was read.
struct ClientSide {
  Stream& stream;
  Input& input;
  RequestParser& request;
  ByteBudget::Share& held;  ///< what is kept of the request
  std::string address;
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
  /// What became of it, once it has ended.
  [[nodiscard]] ForwardedRequest ended() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Error = boost::system::error_code;
  struct Wait;
  // exchange_request.cc: reading and sending the request.
  void say_continue();
  void keep_body();
  void keep_more();
  [[nodiscard]] std::size_t kept_most() const;
  void on_kept(Error error);
  void on_broken_body(Error error);
  void watch_client();
  void on_client_gone();
  void send(const Direction& direction);
  void begin_body();
  void pass_body();
  void read_body_part();
  void read_paused_body();
  void on_body_part(Error error);
  void send_body_part(std::size_t size);
  void on_body_part_sent();

  // exchange_choice.cc: choosing an owner, connecting to it, and waiting for one.
  void choose();
  void note_failure(const Epoch& epoch);
  void note_unreached(const Direction& direction, std::optional<ConnectFault> fault);
  void try_again(bool own);
  [[nodiscard]] bool take_detour(const Direction& from);
  void await_owner(const Epoch& after, milliseconds limit);
  void on_waited(Error error);
  void on_closed();
  void say_left(const Direction& direction);
  void say_no_way(const Direction& direction);
  void give_up_wait();
  void connect(const Direction& direction);
  void on_connected(Error error, UpstreamPtr upstream, const Direction& direction);

  // exchange_answer.cc: reading the answer, and passing it on.
  void read_head();
  void await_head();
  void on_head(Error error);
  void on_informational(unsigned status);
  void begin_informing();
  void on_informed(Error error, void (Exchange::*then)());
  void on_broken(Error error);
  [[nodiscard]] bool begins_again();
  void on_misdirected();
  void heed_redirect();
  void note_forwarded();
  void pass_head();
  void make_passed_head();
  [[nodiscard]] Error take_part_at_hand();
  [[nodiscard]] std::size_t part_taken() const;
  void pass_part();
  void on_answer_part(Error error);
  void write_part(std::size_t part);
  void drop_upstream();
  void tunnel();
  void begin_tunnel();
  void follow_ownership();
  void when_stopped(void (Exchange::*then)());
  void on_stopped();
  void on_handed_over();
  void watch_tunnel();
  void end_tunnel();
  void pass_bytes(Stream& from, Stream& to, std::vector<char>& buffer);
  void end_direction(Stream& to);
  /// `owner`: 421: of the slot, as far as is known.
  void answer(unsigned status, const std::string& text, const Direction& owner = {});
  void unowned();
  void disowned();
  void finish(bool keep_alive);
  void end(bool keep_alive);

  void count(ProxyCount what);
  [[nodiscard]] milliseconds left() const;
  /// How long the owner has for its answer, or for the next part of the request.
  [[nodiscard]] milliseconds answer_limit() const;
  /// Its request was read to its end, so another one may follow.
  [[nodiscard]] bool client_keeps_alive() const {
    return keep_alive_ && client_.request.is_done() && !proxy_.draining;
  }
  [[nodiscard]] bool may_send_again() const;

  Proxy& proxy_;
  ClientSide client_;
  using Sent = boost::beast::http::request<BodyBuffer>;
  Sent sent_;  ///< made of the client's; each attempt sets what it tells the next process
  Slot slot_;
  Visit visit_;
  Clock::time_point began_ = Clock::now();
  milliseconds allowed_;  ///< from when what is kept of the request was read, or the rest was sent
  Clock::time_point deadline_;
  std::string upgrade_;
  bool keep_alive_ = false;
  bool has_body_ = false;
  bool expects_ = false;  ///< the client waits for 100 before it sends its body
  bool whole_ = false;    ///< the body is all in kept_
  bool no_host_ = false;  ///< the request, of HTTP/1.0, names none
  std::string kept_;
  std::size_t got_ = 0;      ///< of kept_
  Epoch failed_ = kNoEpoch;  ///< whose owner could not be reached last
  std::uint32_t failures_ = 0;
  /// Why nobody has served the request yet, for a client that has to be told.
  enum class Lack : std::uint8_t { owner, owner_that_takes_it, way_to_owner, way_to_application };
  Lack lack_ = Lack::owner;
  std::optional<ConnectFault> fault_;  ///< of the last connection that could not be made
  std::string_view result_;
  std::string owner_;  ///< to whom it was sent last
  std::uint32_t tries_ = 0;
  unsigned status_ = 0;
  std::uint64_t bytes_ = 0;  ///< of the answer's body that the client was sent
  bool stale_ = false;       ///< the owner that was named last serves on while its log is silent
  std::uint32_t resends_ = 0;
  std::optional<std::vector<std::string>> detours_;  ///< that are left; no value: none was taken
  std::string around_;                               ///< whom, as Caution has it
  bool on_detour_ = false;
  Upstreams::Attempt connecting_;
  UpstreamPtr upstream_;
  Epoch sent_under_ = kNoEpoch;
  std::shared_ptr<Admission> guard_;                                   ///< of work under way here
  std::optional<std::stop_callback<std::function<void()>>> stopping_;  ///< bounds the guard
  std::optional<boost::beast::http::request_serializer<BodyBuffer>> sending_;
  bool body_begun_ = false;
  bool body_sent_ = false;
  bool reads_body_ = false;  ///< a part of it is being read
  bool finished_ = false;    ///< and ends when that has
  bool informs_ = false;     ///< 100 or another status below 200 is being written to the client
  std::optional<Error> head_;  ///< has come meanwhile
  bool body_due_ = false;      ///< the same
  bool answered_ = false;  ///< the final head is being passed on
  bool ending_ = false;    ///< the last that the client gets is being written
  std::optional<MessageParser<false>> answer_;
  using PassedOn = boost::beast::http::response<BodyBuffer>;
  std::optional<PassedOn> passed_;  ///< the final answer's head
  std::optional<boost::beast::http::response_serializer<BodyBuffer>> passing_;
  std::vector<char> part_;           ///< of the answer's body, or from the owner in a tunnel
  std::vector<char> body_part_;      ///< of the request's, or from the client
  boost::asio::steady_timer limit_;  ///< of a wait for an owner or for 100, or a tunnel's
  std::uint32_t attempt_ = 0;        ///< which upstream's; what belongs to an earlier one is void
  std::uint32_t tunnel_ends_ = 0;
  Clock::time_point tunnel_used_;
  std::shared_ptr<Wait> wait_;  ///< that is under way
  Done done_;
};

}  // namespace neliroute::forward
