// Reads the logs, in no group: READ and DESCRIBE on the topic are all it needs.
//
// A log is read in phases. Probing: its last record, which shows its end. Galloping: back from the
// end until the first record read is old enough that nothing below it can matter (an owner; a
// watcher starts at the end). Reading: every record becomes an event.
//
// The position moves by seeking, which does not block. If that is not enough, after an error or
// to learn the end again, the client is replaced: stopping a log was seen to block for ever when
// its broker goes away at that moment.
//
// Threads: the strand.   Units: offsets, std::chrono.
// Errors: a gap is an event; a log that cannot be read is retried, and reported once.
#pragma once

#include <librdkafka/rdkafka.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ledgers/kafka/client/backoff.h"
#include "ledgers/kafka/client/client_log.h"
#include "ledgers/kafka/client/queue_wakeup.h"
#include "ledgers/kafka/client/rdkafka_ptr.h"
#include "ledgers/parts/history_horizon.h"
#include "neli_core/event.h"
#include "neli_core/ledger.h"
#include "neli_core/ready.h"

namespace neliroute {

struct TailOptions {
  std::string topic;
  std::uint32_t log_count = 0;
  milliseconds lease{0};
  milliseconds clock_error{0};
  bool believe_broker_time = false;
  bool watcher = false;
};

/// The id that the topic has now, if this line of librdkafka's log contains it. The library logs it
/// at debug level only, and continues to read the new topic at the old offset.
[[nodiscard]] std::string_view topic_id_in(std::string_view line, std::string_view topic) noexcept;

class Tail {
 public:
  using ClientFactory = std::function<Result<rdkafka::HandlePtr>()>;

  Tail(ClientFactory make_client, QueueWakeup& wakeup, TailOptions options, EventSink events,
       NoticeSink notices);
  ~Tail();

  [[nodiscard]] Result<void> open();
  /// Called before the client is replaced: nothing may refer to it afterwards.
  void before_replacement(std::function<void()> handler) { before_ = std::move(handler); }

  /// Called when the broker refuses to let this process read a log.
  void on_refused(std::function<void(Log)> handler) { refused_ = std::move(handler); }

  /// Reads the log from its history on.
  void start(Log log);
  /// Stops reading it until the topic has been checked.
  void wait(Log log);
  /// Starts the logs that wait: the topic exists, and fits.
  void start_waiting();
  /// Whether a log waits for the topic's check.
  [[nodiscard]] bool waits_for_topic() const;
  /// False: there is no record to read again, so the log's leader must be queried otherwise.
  bool reread(const RereadRequest& request);
  /// Replaces the client if a log's answer is overdue.
  void rescue_if_due(LocalTime now);
  /// The next rescue_if_due() replaces the client, whatever it does.
  void renew() { replace_soon_ = true; }
  /// Takes events off the queues; false: none was left.
  bool serve(const std::function<void(const rd_kafka_event_t*)>& other);
  /// A line of the client's log: some contain information that no event carries. True: the topic is
  /// another one than before, which logs that wait for it report by no gap.
  bool on_log_line(std::string_view line);
  [[nodiscard]] rd_kafka_t* handle() const { return handle_.get(); }
  /// Records up to the logs' ends, as of the last answers, that were not taken yet.
  [[nodiscard]] std::uint64_t unread() const;

 private:
  /// For the topic's check.
  struct Waiting {};
  struct Probing {};
  /// Back from `end`, by `span` records so far.
  struct Galloping {
    HistoryHorizon horizon;
    std::int64_t end = -1;
    std::int64_t span = 0;
    std::int64_t low = -1;  ///< the first offset that is still there; -1: not known
    bool from_beginning = false;
  };
  /// What was read before is being read again. `beyond`: `next` is asked for instead, as the log
  /// seemed to end below.
  struct Rereading {
    RereadRequest request;
    bool beyond = false;
  };
  struct Reading {
    std::int64_t next = 0;
    std::optional<Rereading> again;
    /// What the client is to read from.
    [[nodiscard]] std::int64_t position() const noexcept {
      const bool back = again && again->request.offset >= 0 && !again->beyond;
      return back ? again->request.offset : next;
    }
  };
  struct LogTail {
    std::variant<Waiting, Probing, Galloping, Reading> phase;
    bool consuming = false;
    bool from_end = false;        ///< retention took even the last record
    bool fault_reported = false;  ///< since anything new was read
    /// Since when an answer is awaited; kNever: none is.
    LocalTime awaited_since = kNever;

    template <class Phase>
    [[nodiscard]] Phase* in() noexcept { return std::get_if<Phase>(&phase); }
    template <class Phase>
    [[nodiscard]] const Phase* in() const noexcept { return std::get_if<Phase>(&phase); }
  };

  void release_client();
  void replace_client();
  void topic_replaced();
  void consume(Log log, std::int64_t offset);
  void on_record(Log log, const rd_kafka_message_t& message);
  void on_end(Log log, std::int64_t offset);
  void on_error(Log log, rd_kafka_resp_err_t error);
  void probed(Log log, std::int64_t end, const HistoryHorizon& horizon);
  void gallop(Log log, Galloping galloping);
  void gallop_further(Log log);
  void begin(Log log, const TailStarted& started);
  void read(Log log, std::int64_t offset, const Decoded& value, BrokerTime stamped,
            bool store_stamped);
  bool go_back(Log log);
  bool answer_reread(Log log, std::int64_t offset, const Decoded* value, BrokerTime stamped);
  void gap(Log log, GapReason reason);
  [[nodiscard]] LogTail& tail(Log log) { return logs_[log.value()]; }

  ClientFactory make_client_;
  std::function<void()> before_;
  std::function<void(Log)> refused_;
  rdkafka::HandlePtr handle_;
  QueueWakeup& wakeup_;
  TailOptions options_;
  EventSink events_;
  NoticeSink notices_;
  rdkafka::TopicPtr topic_;
  rdkafka::QueuePtr queue_;
  std::optional<ClientLog> log_;
  std::vector<LogTail> logs_;
  Backoff backoff_;  ///< with a log whose answer is awaited
  bool open_failure_reported_ = false;
  bool replace_soon_ = false;
  std::string topic_id_;  ///< from the clients' logs; outlives them
};

}  // namespace neliroute
