// Appends records to logs: the one producer.
//
// Threads: the strand.   Units: none.
// Errors: every record gets one answer, stored or not; never from inside write().
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ledgers/kafka/client/backoff.h"
#include "ledgers/kafka/client/client_config.h"
#include "ledgers/kafka/client/client_log.h"
#include "ledgers/kafka/client/queue_wakeup.h"
#include "ledgers/kafka/client/rdkafka_ptr.h"
#include "neli_core/ready.h"

namespace neliroute {

class RecordWriter {
 public:
  /// `error`: none if it was stored, at `offset` if that is not negative. Seq 0: a record of a
  /// broadcast; only its error matters.
  using Answer =
      std::function<void(std::uint64_t seq, rd_kafka_resp_err_t error, std::int64_t offset)>;

  RecordWriter(ClientSettings settings, QueueWakeup& wakeup, Answer answer);
  ~RecordWriter();

  [[nodiscard]] Result<void> open();
  /// Called before a client is replaced: nothing of it may be used any more.
  void before_replacement(std::function<void()> handler) { before_ = std::move(handler); }
  /// Called when the broker refuses a record for lack of a right; no log: it refuses all of them.
  void on_refused(std::function<void(std::optional<Log>)> handler) {
    refused_by_broker_ = std::move(handler);
  }
  /// Blocks for at most 2 s; at the start only.
  void warm_up();
  /// False: refused at once; serve() will answer it.
  bool write(const Write& write);
  /// Appends a record without key and value to each of so many partitions, except those with two
  /// in flight: a broker that comes back is not flooded with old ones.
  void broadcast(std::uint32_t partition_count);
  /// Takes events off the producer's queue; false: none was left.
  bool serve(const std::function<void(const rd_kafka_event_t*)>& other);
  /// When a log last answered a reader.
  using LastAnswer = std::function<LocalTime(Log)>;
  /// Replaces the client if a log that answers readers stored nothing for long: librdkafka's
  /// idempotent producer was seen to store nothing any more, in some logs or in all, after many
  /// records in a row had timed out. Also creates one where that failed before.
  /// What an operator should read, if anything.
  std::optional<Notice> rescue_if_due(LocalTime now, const LastAnswer& last_answer);
  /// The topic is missing: the client that knows it is replaced, unless nothing was written by it
  /// yet, as each log says so.
  void on_topic_gone();
  /// Replaces the client, whatever it does. Records in flight count as not stored.
  void renew();
  /// There is no client for now, as the broker refused the last one for lack of a right.
  [[nodiscard]] bool is_refused() const noexcept { return !handle_ && last_one_refused_; }
  /// If there is no client, the next one is tried soon.
  void retry();
  [[nodiscard]] bool idle() const;
  /// Null while no client can be created.
  [[nodiscard]] rd_kafka_t* handle() const { return handle_.get(); }
  [[nodiscard]] std::size_t outstanding_count() const { return outstanding_.size(); }

  /// How long to wait before trying again to create a client; twice as long each time.
  static constexpr milliseconds kOpenAgain{200};

 private:
  /// Records in flight are answered with this error.
  void replace(rd_kafka_resp_err_t error);
  std::optional<Notice> open_again_if_due(LocalTime now);
  [[nodiscard]] bool awaits(Log log) const;
  void note(Log log, rd_kafka_resp_err_t error);
  void note_refusal(rd_kafka_resp_err_t error, std::optional<Log> log) const;
  void answer(std::uint64_t seq, rd_kafka_resp_err_t error, std::int64_t offset = -1);
  /// A log that stored nothing of what was tried.
  struct Failing {
    LocalTime since = kNever;  ///< by this client
    LocalTime last = kLongAgo;
    Backoff backoff;
  };

  ClientSettings settings_;
  QueueWakeup& wakeup_;
  Answer answer_;
  rdkafka::HandlePtr handle_;
  rdkafka::TopicPtr topic_;
  rdkafka::QueuePtr queue_;
  std::optional<ClientLog> log_;
  std::map<std::uint64_t, Log> outstanding_;  ///< by seq
  std::vector<std::uint8_t> broadcasts_;  ///< in flight to each partition
  /// Refused at once; answered by the next serve().
  std::vector<std::pair<std::uint64_t, rd_kafka_resp_err_t>> refused_;
  std::function<void()> before_;
  std::function<void(std::optional<Log>)> refused_by_broker_;
  std::map<Log, Failing> failing_;
  bool has_written_ = false;  ///< by this client, stored or not
  bool has_stored_ = false;   ///< by this client
  /// While there is no client: when creating one was last tried. The patience grows with each that
  /// cannot be created, or fails before it has stored anything.
  LocalTime opening_since_ = kNever;
  Backoff open_patience_{kOpenAgain};
  bool open_failure_reported_ = false;
  bool last_one_refused_ = false;  ///< why the last client ended
};

}  // namespace neliroute
