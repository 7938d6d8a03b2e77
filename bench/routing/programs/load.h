// The load: requests at a fixed rate, whatever becomes of those before (an open loop), or so many
// under way at all times (a closed one). A Caller decides where each one goes.
//
// Threads: one (an io_context's).   Units: LocalTime.
// Errors: counted; the load goes on.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <neliroute/slot_space.h>
#include <neliroute/time.h>
#include <string>
#include <utility>
#include <vector>

#include "bench/routing/programs/call.h"
#include "bench/routing/programs/client_connection.h"

namespace neliroute::bench {

class Load;

/// What came of an attempt, other than 200.
enum class Miss : std::uint8_t {
  status,       ///< of the answer
  broken,       ///< the connection broke
  stale,        ///< the same, on one that had been idle: nobody may have read the request
  unreachable,  ///< no connection could be made
  unanswered,   ///< within Caller::patience()
};

class Caller {
 public:
  virtual ~Caller() = default;
  /// Sends the call, by Load::send(), or ends it, by Load::end(): then or later.
  virtual void begin(const CallPtr& call) = 0;
  /// Sends it again, or ends it. `status`: 0 if there was no answer.
  virtual void missed(const CallPtr& call, Miss miss, unsigned status) = 0;
  /// How long to wait for the answer of this attempt; zero: until the call's deadline.
  [[nodiscard]] virtual milliseconds patience(const Call&) const { return milliseconds{0}; }

 protected:
  Caller() = default;
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
};

struct LoadOptions {
  double rate = 5000;             ///< a second; 0: a closed loop
  std::uint32_t connections = 0;  ///< open loop: kept open to the first target, all used in turn,
                                  ///< and never more: calls wait for one (0: as many as needed);
                                  ///< closed loop: calls under way
  std::uint32_t keys = 10'000;
  std::uint32_t most_connections = 16'000;
  milliseconds deadline{15'000};  ///< from when a call was due
  bool plain = false;             ///< GET, and any 200 is right
  std::uint32_t without_keys = 0;  ///< percent of the calls that have no idempotency key
};

class Load {
 public:
  Load(boost::asio::io_context& io, const LoadOptions& options, SlotSpace slots);

  void start(Caller& caller, std::function<void()> started);
  /// Begins no more calls; `done` is called when all have ended.
  void stop(std::function<void()> done);

  // For callers.
  /// One more attempt. `under`: the epoch of the lookup, if there was one.
  void send(const CallPtr& call, Target& target, const Epoch& under = kNoEpoch, bool fresh = false);
  void end(const CallPtr& call, Outcome outcome, unsigned status = 0, std::uint32_t value = 0);
  [[nodiscard]] milliseconds left(const Call& call) const;
  /// Of this name, made at first use.
  Target& target(const std::string& name);
  [[nodiscard]] const std::vector<Target*>& targets() const noexcept { return in_order_; }
  [[nodiscard]] Slot slot_of(const Call& call) const;
  [[nodiscard]] boost::asio::io_context& io() noexcept { return io_; }

  [[nodiscard]] const std::vector<CallRecord>& records() const noexcept { return records_; }
  /// What the first refusals said: number of the call, status, text.
  struct Refusal {
    std::uint64_t call = 0;
    unsigned status = 0;
    std::string text;
  };
  [[nodiscard]] const std::vector<Refusal>& refusals() const noexcept { return refusals_; }
  [[nodiscard]] LocalTime started() const noexcept { return started_; }

 private:
  struct Expiry {
    LocalTime at;
    CallPtr call;
    std::uint32_t attempt;  ///< 0: the call itself
  };
  void open_fixed(std::uint32_t left, std::function<void()> started);
  void begin_all(std::function<void()> started);
  void begin_next(LocalTime due);
  void tick();
  void arm(LocalTime at);
  void expire(std::deque<Expiry>& expiries, LocalTime now);
  [[nodiscard]] ConnectionPtr take(Target& target, bool fresh);
  void send_by(const CallPtr& call, Target& target, bool fresh);
  void send_waiting();
  void request(const CallPtr& call, Target& target, const ConnectionPtr& connection);
  void on_answer(const CallPtr& call, Target& target, const HttpResponse* response);
  void on_served(const CallPtr& call, const HttpResponse& response);
  [[nodiscard]] std::string request_text(const Call& call) const;

  boost::asio::io_context& io_;
  LoadOptions options_;
  SlotSpace slots_;
  Caller* caller_ = nullptr;
  boost::asio::steady_timer timer_;
  std::map<std::string, std::unique_ptr<Target>> targets_;
  std::vector<Target*> in_order_;
  std::size_t open_ = 0;
  LocalTime started_;
  std::uint64_t under_way_ = 0;
  std::deque<Expiry> deadlines_;   ///< of calls, in order
  std::deque<Expiry> impatience_;  ///< of attempts, in order
  std::deque<std::pair<CallPtr, Target*>> waiting_;  ///< for a connection
  std::vector<CallRecord> records_;
  std::vector<Refusal> refusals_;
  bool stopped_ = false;
  std::function<void()> done_;
};

}  // namespace neliroute::bench
