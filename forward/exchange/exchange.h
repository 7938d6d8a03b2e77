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
#include "net/await.h"
#include "forward/exchange/owner_search.h"
#include "forward/exchange/proxy.h"
#include "forward/exchange/tunnel.h"
#include "forward/input.h"
#include "forward/rules/message_parser.h"
#include "forward/rules/peer_fields.h"
#include "forward/rules/proxy_rules.h"
#include "forward/text_answer.h"

namespace neliroute::forward {

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
  using Parser = MessageParser<false>;
  /// Whether the request is to be sent once more.
  using Again = bool;
  static constexpr unsigned kMisdirected = 421;

  // exchange.cc: one attempt after the other, and what ends them.
  [[nodiscard]] Awaitable<> run();
  /// None: the request is sent.
  using Unsent = std::optional<Again>;
  [[nodiscard]] bool sent_at_once();
  [[nodiscard]] Awaitable<Unsent> attempt();
  [[nodiscard]] Error begin_attempt();
  void watch_client();
  void on_client_gone();
  [[nodiscard]] Awaitable<> pause_client();
  void follow_guard();
  void when_stopped();
  void on_stopped();
  void on_handed_over();
  /// What the client is answered by this proxy. `owner`: 421: of the slot, as far as is known.
  Again reply(unsigned status, const std::string& text, const Direction& owner = {});
  Again refuse(const OwnerSearch::Refusal& refusal);
  [[nodiscard]] Awaitable<> write_reply();
  void release();
  void end_attempt();

  // request.cc: reading the client's request, and sending it.
  [[nodiscard]] bool is_kept() const;
  [[nodiscard]] Awaitable<bool> keep_body();
  [[nodiscard]] bool hold(std::size_t bytes, bool awaited);
  Again refuse_body(Error error);
  void prepare();
  [[nodiscard]] Awaitable<Error> send();
  void begin_body();
  [[nodiscard]] Awaitable<> pass_body();
  [[nodiscard]] Awaitable<Error> say_continue();
  [[nodiscard]] Awaitable<Error> read_body_part();

  // answer.cc: reading the answer, and passing it on.
  [[nodiscard]] Awaitable<Again> receive();
  void expect_head();
  [[nodiscard]] Error head_at_hand();
  [[nodiscard]] Awaitable<Error> inform(unsigned status);
  [[nodiscard]] Again broken(Error error);
  [[nodiscard]] bool begins_again();
  [[nodiscard]] Again misdirected();
  void heed_redirect();
  void note_forwarded();
  void make_passed_head();
  [[nodiscard]] Error pass_at_once();
  [[nodiscard]] Awaitable<Error> pass_answer();
  [[nodiscard]] Awaitable<Error> write_part();
  void end_answer(Error error);
  [[nodiscard]] Error take_part_at_hand();
  [[nodiscard]] std::size_t part_taken() const;
  [[nodiscard]] Awaitable<Error> read_part();
  void take_part();
  [[nodiscard]] Awaitable<> tunnel();

  /// What is written to the client meanwhile, by another coroutine, goes first.
  [[nodiscard]] Awaitable<> client_turn();
  [[nodiscard]] Awaitable<Error> tell_client(std::function<void(Stream::Moved)> write);
  [[nodiscard]] Awaitable<> await_change();
  /// Beast takes a part of no bytes for a chunk, and writes the body's end twice.
  template <class Message>
  static void set_body(Message& message, char* data, std::size_t size, bool more) {
    message.body().data = size == 0 ? nullptr : data;
    message.body().size = size;
    message.body().more = more;
  }
  /// What `start` does on the stream, within that limit. No error: a part of a body was moved, and
  /// more is to come.
  [[nodiscard]] Awaitable<Error> timed(Stream& stream, milliseconds limit,
                                       std::function<void(Stream::Moved)> start);
  /// The rest of a message, or what there is of it: would_block: the kernel did not take it all.
  template <class Serializer>
  [[nodiscard]] static Error write_at_once(Stream& stream, Serializer& serializer) {
    return unless_more(stream.write_at_once(serializer));
  }
  [[nodiscard]] static Error unless_more(Error error) {
    return error == boost::beast::http::error::need_buffer ? Error{} : error;
  }
  /// After each wait: throws Cancelled.
  void check() const {
    if (!done_) throw Cancelled{};
  }
  void count(ProxyCount what);
  /// How long the owner has for its answer, or for the next part of the request.
  [[nodiscard]] milliseconds answer_limit() const;
  /// Its request was read to its end, so another one may follow.
  [[nodiscard]] bool client_keeps_alive() const {
    return keep_alive_ && client_.request.is_done() && !proxy_.draining;
  }
  [[nodiscard]] bool may_send_again() const;
  [[nodiscard]] bool must_be_sent_once() const { return !whole_ || !is_idempotent(sent_); }

  Proxy& proxy_;
  ClientSide client_;
  Done done_;  ///< none: it has ended, or was cancelled
  const Clock::time_point began_ = Clock::now();
  Allowance allowance_;
  OwnerSearch search_;
  boost::asio::steady_timer limit_;    ///< of the owner's word that it wants the body
  boost::asio::steady_timer changed_;  ///< cancelled when what another coroutine awaits has changed

  // The request.
  using Sent = boost::beast::http::request<BodyBuffer>;
  Sent sent_;  ///< made of the client's; each attempt sets what it tells the next process
  const Slot slot_;
  const std::uint32_t hops_;
  std::string upgrade_;
  bool keep_alive_ = false;
  bool has_body_ = false;
  bool expects_ = false;  ///< the client waits for 100 before it sends its body
  bool whole_ = false;    ///< the body is all in kept_
  bool no_host_ = false;  ///< the request, of HTTP/1.0, names none
  std::string kept_;
  std::size_t got_ = 0;  ///< of kept_
  std::vector<char> body_part_;
  bool passes_body_ = false;         ///< a coroutine of its own does
  std::optional<Error> body_error_;  ///< why that has ended too early
  bool body_sent_ = false;

  // The attempt.
  Direction direction_;
  UpstreamPtr upstream_;  ///< dropped while it is read or written: whoever does that keeps it
  std::shared_ptr<Admission> guard_;                                   ///< of work under way here
  std::optional<std::stop_callback<std::function<void()>>> stopping_;  ///< bounds the guard
  boost::asio::steady_timer grace_;                                    ///< by so much
  bool handed_over_ = false;                                           ///< it is over
  std::optional<boost::beast::http::request_serializer<BodyBuffer>> sending_;

  // The answer.
  std::optional<Parser> answer_;
  using PassedOn = boost::beast::http::response<BodyBuffer>;
  std::optional<PassedOn> passed_;  ///< the final answer's head
  std::optional<boost::beast::http::response_serializer<BodyBuffer>> passing_;
  std::shared_ptr<TextAnswer> reply_;  ///< instead of an owner's
  std::vector<char> part_;
  std::shared_ptr<Tunnel> tunnel_;
  bool tells_client_ = false;  ///< a header is being written to it
  bool answered_ = false;  ///< the final head is being passed on, or it is over
  bool ending_ = false;    ///< the last that the client gets is being written
  bool reusable_ = false;  ///< the client may send another request

  // What becomes of it.
  std::string_view result_;
  std::string owner_;  ///< to whom it was sent last
  std::uint32_t tries_ = 0;
  unsigned status_ = 0;
  std::uint64_t bytes_ = 0;  ///< of the answer's body that the client was sent
};

}  // namespace neliroute::forward
