// An OwningReader or a WatchingReader on a ledger in memory, an io_context of its own, and a
// hand-turned clock.
//
// The ledger stores what is written and returns it at once, unless set not to; it writes down
// what is requested of it, in one story with what the application is notified of.
//
// Threads: one, that of the test; it runs the io_context.   Units: milliseconds.   Errors: none.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/owner/owning_reader.h"
#include "router/reader/watching_reader.h"
#include "tests/unit/router/reader/function_listener.h"
#include "tests/unit/router/view/records.h"

namespace neliroute::testing_reader {

using Story = std::vector<std::string>;

/// What a FakeLedger was asked for, and how it behaves; outlives it.
struct LedgerState {
  std::function<void(const Error&)> refused;  ///< tells that the ledger cannot go on
  EventSink events;
  Story* story = nullptr;
  std::vector<RereadRequest> rereads;
  std::vector<std::string> written[2];  ///< per log, by offset
  bool hold_writes = false;             ///< stored, but neither acknowledged nor read back
  bool answers_count = true;
  std::optional<std::size_t> others = 1;
  std::function<void(std::optional<std::size_t>)> count_answer;
  bool answers_close = true;
  std::function<void()> close_done;
  LocalTime close_deadline;
  bool closed = false;
  bool destroyed = false;
};

struct ReaderRigOptions {
  Mode mode = Mode::non_exclusive;
  bool watcher = false;
  milliseconds lease = testing_records::kLease;
  Variation variation = Variation::claimed;
  Assignment assignment = Assignment::group;
  milliseconds prepare_timeout{0};
  milliseconds serve_stale{0};
  std::optional<std::size_t> waiters_max = std::nullopt;  ///< no value: the reader's own
};

class ReaderRig {
 public:
  explicit ReaderRig(ReaderRigOptions options = {});
  ~ReaderRig();
  ReaderRig(const ReaderRig&) = delete;
  ReaderRig& operator=(const ReaderRig&) = delete;

  /// Starts the reader and the tails of both logs.
  void start();
  /// Runs everything that is ready.
  void poll();
  /// Polls, in real time, until the condition holds; false: it never did within 10 s, and what was
  /// seen is printed.
  [[nodiscard]] bool run_until(const std::function<bool()>& condition);
  void event(const Event& event);
  void assign(const std::string& partitions);
  void revoke(const std::string& partitions);
  /// Is assigned partitions 0 to 3, and waits until they are led.
  void lead_all();
  /// Appends a record that somebody else wrote, and reads it. Returns its offset.
  std::int64_t append(std::uint32_t log, const Record& record);
  /// Hands back what was written while writes were held.
  void read_back(std::uint32_t log, std::int64_t offset);
  /// Time passes, and is noticed with the next answer of a log's leader.
  void pass(milliseconds time, std::uint32_t log = 1);

  /// Writes each notification, and what a reader sees at that time, into the story. Barriers are
  /// kept while `keep_tokens`.
  void listen();
  /// Subscribes; a call of poll() puts it into force.
  std::shared_ptr<ListenerSlot> listen(FunctionListener::On on);
  /// Drops the only owning reference to the reader that the test has.
  void let_go();
  /// Destroys the executor, whatever waits in it.
  void destroy_executor();

  [[nodiscard]] Route route(std::uint32_t slot) const {
    return reader->view().route(Slot{slot}, now);
  }
  /// The broker's time; it stands still unless the log is to flow.
  [[nodiscard]] BrokerTime stamp() const {
    const auto passed = std::chrono::duration_cast<milliseconds>(now - kStart);
    return BrokerTime{milliseconds{testing_records::kInc} + (flows ? passed : milliseconds{0})};
  }
  [[nodiscard]] Verdict verdict(std::uint32_t slot) const { return route(slot).verdict; }
  [[nodiscard]] bool told(const std::string& line) const;
  /// Where the line stands in the story; its length if nowhere.
  [[nodiscard]] std::size_t place(const std::string& line) const;

  ReaderRigOptions options;
  static constexpr LocalTime kStart = testing_records::at_ms(100'000);
  LocalTime now = kStart;
  bool flows = false;
  Story story;
  std::vector<BarrierToken> tokens;
  bool keep_tokens = false;
  std::vector<Notice> notices;
  std::shared_ptr<LedgerState> ledger = std::make_shared<LedgerState>();
  std::unique_ptr<boost::asio::io_context> io = std::make_unique<boost::asio::io_context>();
  std::shared_ptr<Reader> reader;
  std::shared_ptr<OwningReader> owner;       ///< the same; null: it watches
  std::shared_ptr<WatchingReader> watching;  ///< the same; null: it owns
  std::weak_ptr<Reader> watched;

 private:
  friend class FakeLedger;
  void print_seen() const;
  void store(const Write& write);

  std::vector<std::unique_ptr<FunctionListener>> listeners_;
};

/// Of the reader under test.
inline constexpr std::uint64_t kOwnId = 100;

}  // namespace neliroute::testing_reader
