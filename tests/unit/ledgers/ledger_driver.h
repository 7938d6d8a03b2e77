// A ledger of any kind on a thread of its own, and what it handed back.
//
// Threads: the test's; events are noted on the ledger's.   Units: std::chrono.
// Errors: they fail the test.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "neli_core/ledger.h"
#include "tests/unit/embedded_broker/io_thread.h"

namespace neliroute {

struct SeenRecord {
  std::int64_t offset = -1;
  std::uint64_t seq = 0;
  BrokerTime stamped;
  friend bool operator==(const SeenRecord&, const SeenRecord&) = default;
};

/// What a ledger handed back, in order.
struct Seen {
  std::vector<TailStarted> started;
  std::vector<std::vector<SeenRecord>> received;  ///< one for each log
  std::vector<Reread> rereads;
  std::vector<std::uint64_t> acknowledged;
  std::map<std::uint64_t, std::int64_t> offsets;  ///< that were acknowledged, by seq
  std::vector<std::uint64_t> failed;
  std::vector<PartitionRanges> assigned;
  std::vector<GroupRevoked> revoked;
  std::vector<GapFound> gaps;
  std::vector<Notice> notices;
  bool closed = false;
};

/// For the message of a test that failed.
std::ostream& operator<<(std::ostream& out, const Seen& seen);

class LedgerDriver {
 public:
  using Make = std::function<std::unique_ptr<Ledger>(boost::asio::any_io_executor)>;

  LedgerDriver() = default;
  LedgerDriver(const LedgerDriver&) = delete;
  LedgerDriver& operator=(const LedgerDriver&) = delete;
  ~LedgerDriver();

  void open(std::uint32_t logs, const Make& make);
  void start();
  void close(milliseconds within);
  /// The same from the strand, within an event.
  void close_now(milliseconds within);
  /// Without close().
  void destroy();
  /// Carries it out on the ledger's strand.
  void run(const std::function<void(Ledger&)>& work);
  /// Called on the strand after an event was noted. Before start().
  void after_event(std::function<void(const Event&)> work) { after_event_ = std::move(work); }
  /// The same with the time that the ledger passed with it. Before start().
  void after_timed_event(std::function<void(const Event&, LocalTime)> work) {
    after_timed_event_ = std::move(work);
  }

  /// A claim that says this lease, and that it knows none longer.
  /// `read_until`: of its log, as the record says; no value: all.
  void write(Log log, std::uint64_t seq, milliseconds lease = milliseconds{2000},
             std::optional<BrokerTime> read_until = std::nullopt);
  /// Starts, and waits until every log is read.
  void start_and_read();

  /// False after `at_most`; what was seen until then is printed.
  [[nodiscard]] bool wait(const std::function<bool(const Seen&)>& condition,
                          milliseconds at_most = std::chrono::seconds{20});
  /// Whether it does not come to hold meanwhile.
  [[nodiscard]] bool never(const std::function<bool(const Seen&)>& condition, milliseconds during);
  [[nodiscard]] Seen seen() const;
  [[nodiscard]] static ProcessId id() { return ProcessId{7}; }
  /// Returns when nothing is left on the ledger's thread: hangs if it left anything behind.
  void join_thread() { io_.join(); }

 protected:
  std::unique_ptr<Ledger> ledger_;

 private:
  void note(const Event& event, LocalTime now);
  void check_end(const Event& event);

  std::uint32_t logs_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Seen seen_;
  bool closing_ = false;  ///< the strand's
  std::map<Log, std::int64_t> known_ends_;  ///< the strand's
  std::function<void(const Event&)> after_event_;
  std::function<void(const Event&, LocalTime)> after_timed_event_;
  IoThread io_;
};

/// A claim of id(), as write() writes it.
[[nodiscard]] std::string claim_text(std::uint64_t seq, milliseconds lease,
                                     std::optional<BrokerTime> read_until = std::nullopt);

}  // namespace neliroute
