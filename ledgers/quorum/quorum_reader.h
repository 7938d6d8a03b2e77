// Reads all logs, each from its leader: its history, and then what is committed.
//
// Threads: the strand.   Units: positions (indices of the quorum's entries), std::chrono.
// Errors: events; that nobody answers the links report.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <vector>

#include "ledgers/parts/parts_ledger.h"
#include "ledgers/quorum/quorum_link.h"
#include "net/await.h"
#include "quorum/client_message.h"

namespace neliroute {

struct QuorumReaderOptions {
  milliseconds lease{0};  ///< T
  milliseconds clock_error{0};
  /// It reads from the end.
  bool watcher = false;
};

/// One for each log.
using QuorumLinks = std::vector<std::shared_ptr<QuorumLink>>;

class QuorumReader final : public LedgerReader, public std::enable_shared_from_this<QuorumReader> {
 public:
  QuorumReader(const boost::asio::any_io_executor& strand, QuorumLinks links,
               QuorumReaderOptions options);

  /// And the links.
  void start(Happened happened) override;
  void restart(Log log) override;
  void reread(const RereadRequest& request) override;
  void doubt() override {}  ///< whoever leads another log is not written to
  /// The links go on: whoever writes needs to know that it is the same log.
  void close() override;

 private:
  struct Tail {
    Tail(Log its, std::shared_ptr<QuorumLink> its_link, const boost::asio::any_io_executor& strand)
        : log(its), link(std::move(its_link)), wake(strand) {}
    Log log;
    std::shared_ptr<QuorumLink> link;
    boost::asio::steady_timer wake;
    bool wanted = true;    ///< to be started, or running
    bool running = false;  ///< it was started: what follows is known
    bool at_end = false;   ///< that it has read all was said
    std::uint64_t turn = 0;  ///< counts starts: what was begun before one is void
    quorum::LogId id;
    quorum::Index next = 0;
    quorum::Index end = 0;  ///< when it was started
    std::optional<quorum::Entry> last;  ///< the one below `next`, if it is known
    std::optional<RereadRequest> reread;
  };

  /// As long as a channel lasts.
  [[nodiscard]] Awaitable<> tend(Tail& tail, std::uint64_t channel);
  /// Whether it is the log that was read.
  [[nodiscard]] Awaitable<> check(Tail& tail);
  [[nodiscard]] Awaitable<> begin(Tail& tail);
  [[nodiscard]] Awaitable<std::optional<quorum::Answer>> newest(Tail& tail);
  [[nodiscard]] Awaitable<> answer(Tail& tail);
  void start_tail(Tail& tail, const quorum::Answer& answer, quorum::Index start, Below below);
  [[nodiscard]] std::optional<GapReason> gap(const Tail& tail, const quorum::Answer& answer) const;
  void follow(Tail& tail);
  void take(Tail& tail, quorum::Entries& entries);
  void deliver(Tail& tail, quorum::Entry entry);
  void say_end(Tail& tail);
  [[nodiscard]] BrokerTime old_enough(const quorum::Answer& newest) const;
  void lose(Tail& tail, GapReason reason);
  void emit(const Event& event);

  boost::asio::any_io_executor strand_;
  QuorumReaderOptions options_;
  Happened happened_;
  std::deque<Tail> tails_;
};

}  // namespace neliroute
