// A ledger on a MemoryStore: the smallest that fulfils the port.
//
// Threads: the strand; the store's other users wake it from theirs.   Units: std::chrono.
// Errors: those of the port.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <vector>

#include "ledgers/memory/memory_store.h"
#include "neli_core/ledger.h"

namespace neliroute {

struct MemoryLedgerOptions {
  /// T: what the store does not answer within half of it has failed.
  milliseconds lease{0};
  /// It reads from the end.
  bool watcher = false;
};

class MemoryLedger final : public Ledger {
 public:
  MemoryLedger(boost::asio::any_io_executor strand, std::shared_ptr<MemoryStore> store,
               MemoryLedgerOptions options);
  /// On the strand, but not from inside its own events.
  ~MemoryLedger() override;

  void start(EventSink events, NoticeSink notices) override;
  void on_refused(std::function<void(const Error&)> handler) override;
  void write(Write write) override;
  void restart_tail(Log log) override;
  void reread(const RereadRequest& request) override;
  void close(LocalTime deadline, std::function<void()> done) override;

 private:
  struct Tail {
    bool wanted = false;  ///< to be started, or running
    bool running = false;
    std::uint64_t made = 0;
    std::size_t cuts = 0;
    std::int64_t next = 0;
  };
  struct Pending {
    Write write;
    LocalTime due;
  };

  void serve_soon();
  void serve();
  void serve_writes();
  void fail_overdue();
  void serve_tail(Log log);
  void start_tail(Log log, const MemoryStore::Answer& answer);
  void lose_tail(Log log, GapReason reason);
  void serve_rereads();
  void arm();
  void end();
  void emit(const Event& event);

  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  boost::asio::any_io_executor strand_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<MemoryStore> store_;
  MemoryLedgerOptions options_;
  std::uint64_t watching_ = 0;
  EventSink events_;
  NoticeSink notices_;
  std::function<void(const Error&)> refused_;
  std::vector<Tail> tails_;
  std::deque<Pending> writes_;
  std::deque<RereadRequest> rereads_;
  bool ever_stored_ = false;
  bool refusal_told_ = false;
  bool serve_posted_ = false;
  std::function<void()> closed_;
  LocalTime close_by_ = kNever;
};

}  // namespace neliroute
