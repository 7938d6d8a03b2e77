#include "ledgers/kafka/tail/log_reader.h"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <neliroute/clock.h>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "ledgers/kafka/client/client_config.h"
#include "ledgers/kafka/client/client_log.h"
#include "ledgers/kafka/client/kafka_error.h"
#include "ledgers/kafka/client/rdkafka_ptr.h"
#include "ledgers/kafka/topic/topic_setup.h"

namespace neliroute {
namespace {

constexpr int kPollMs = 100;

// What a query says while a log's leader changes, or a broker has just begun to answer again.
bool passes(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION ||
         error == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
         error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
         error == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
}

class BoundedReader {
 public:
  BoundedReader(const LogReading& wanted, bool embedded_broker,
                const RecordSink& record)
      : wanted_(wanted), embedded_broker_(embedded_broker), record_(record) {}

  [[nodiscard]] Result<std::vector<LogRead>> run(std::uint32_t partitions);

 private:
  struct Progress {
    LogRead read;
    std::int64_t next = 0;
    bool done = false;
  };

  Result<void> open();
  Result<void> find_bounds(std::uint32_t partitions);
  [[nodiscard]] rd_kafka_resp_err_t query_bounds(std::int32_t log, std::int64_t* low,
                                                 std::int64_t* high) const;
  Result<void> find_starts();
  Result<void> read();
  void consume();
  Result<void> on_event(rd_kafka_event_t* event);
  Result<void> on_error(Progress& log, rd_kafka_resp_err_t error);
  void on_record(Progress& log, const rd_kafka_message_t& message);
  void advance(Progress& log, std::int64_t next);
  [[nodiscard]] Progress* find(std::int32_t partition);
  [[nodiscard]] Error failed(const char* what, rd_kafka_resp_err_t error) const;
  [[nodiscard]] int timeout_ms() const {
    return static_cast<int>(wanted_.kafka.timeout.count());
  }

  const LogReading& wanted_;
  bool embedded_broker_;
  const RecordSink& record_;
  rdkafka::HandlePtr handle_;
  rdkafka::TopicPtr topic_;
  rdkafka::QueuePtr queue_;
  std::optional<ClientLog> log_;
  std::vector<Progress> logs_;
  std::size_t left_ = 0;
  bool replace_client_ = false;
};

Error BoundedReader::failed(const char* what, rd_kafka_resp_err_t error) const {
  return {is_refusal(error) ? Errc::ledger_refused : Errc::ledger_unreachable,
          std::string(what) + " topic " + wanted_.kafka.topic + ": " + describe(error)};
}

Result<void> BoundedReader::open() {
  Timing timing;
  timing.lease = milliseconds{3000};  // only bounds how long a request may take
  auto made = make_client(ClientKind::tail,
                          {wanted_.kafka, timing, GroupProtocol::classic, embedded_broker_});
  if (!made) return made.error();
  handle_ = std::move(*made);
  topic_.reset(rd_kafka_topic_new(handle_.get(), wanted_.kafka.topic.c_str(), nullptr));
  queue_.reset(rd_kafka_queue_new(handle_.get()));
  const rdkafka::QueuePtr main{rd_kafka_queue_get_main(handle_.get())};
  rd_kafka_queue_forward(main.get(), queue_.get());
  log_.emplace(handle_.get(), nullptr);
  return {};
}

Result<void> BoundedReader::find_bounds(std::uint32_t partitions) {
  for (std::uint32_t p = 0; p < partitions; ++p) {
    Progress log;
    log.read.log = Log{p};
    const rd_kafka_resp_err_t error =
        query_bounds(static_cast<std::int32_t>(p), &log.read.low, &log.read.end);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return failed("cannot read the bounds of", error);
    if (log.read.end > 0) logs_.push_back(std::move(log));
  }
  return {};
}

rd_kafka_resp_err_t BoundedReader::query_bounds(std::int32_t log, std::int64_t* low,
                                                std::int64_t* high) const {
  const LocalTime deadline = later(boot_now(), wanted_.kafka.timeout);
  for (;;) {
    const rd_kafka_resp_err_t error = rd_kafka_query_watermark_offsets(
        handle_.get(), wanted_.kafka.topic.c_str(), log, low, high, timeout_ms());
    if (!passes(error) || boot_now() >= deadline) return error;
    std::this_thread::sleep_for(milliseconds{kPollMs});
    const struct rd_kafka_metadata* raw = nullptr;
    const rd_kafka_resp_err_t found =
        rd_kafka_metadata(handle_.get(), 0, topic_.get(), &raw, timeout_ms());
    const rdkafka::MetadataPtr metadata{raw};
    if (found != RD_KAFKA_RESP_ERR_NO_ERROR) return found;
  }
}

Result<void> BoundedReader::find_starts() {
  for (Progress& log : logs_) log.read.start = log.read.low;
  // The embedded broker cannot look up times; there the records' own stamps are compared.
  if (wanted_.since && !embedded_broker_ && !logs_.empty()) {
    const rdkafka::TopicPartitionsPtr asked{
        rd_kafka_topic_partition_list_new(static_cast<int>(logs_.size()))};
    for (const Progress& log : logs_) {
      rd_kafka_topic_partition_list_add(asked.get(), wanted_.kafka.topic.c_str(),
                                        static_cast<std::int32_t>(log.read.log.value()))
          ->offset = wanted_.since->time_since_epoch().count();
    }
    const rd_kafka_resp_err_t error =
        rd_kafka_offsets_for_times(handle_.get(), asked.get(), timeout_ms());
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return failed("cannot find the time in", error);
    for (int i = 0; i < asked->cnt; ++i) {
      Progress* log = find(asked->elems[i].partition);
      if (asked->elems[i].err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return failed("cannot find the time in", asked->elems[i].err);
      }
      const std::int64_t offset = asked->elems[i].offset;
      if (log == nullptr) continue;
      // Below 0: no record is that recent.
      log->read.start = offset < 0 ? log->read.end : std::max(offset, log->read.low);
    }
  }
  for (Progress& log : logs_) {
    log.next = log.read.start;
    // Records just below the oldest one may have been requested, too.
    log.read.cut_short = log.read.low > 0 && log.read.start == log.read.low;
    log.done = log.read.start >= log.read.end;
    if (!log.done) ++left_;
  }
  return {};
}

BoundedReader::Progress* BoundedReader::find(std::int32_t partition) {
  const auto found = std::find_if(logs_.begin(), logs_.end(), [&](const Progress& log) {
    return static_cast<std::int32_t>(log.read.log.value()) == partition;
  });
  return found == logs_.end() ? nullptr : &*found;
}

void BoundedReader::advance(Progress& log, std::int64_t next) {
  log.next = std::max(log.next, next);
  if (log.done || log.next < log.read.end) return;
  log.done = true;
  --left_;
}

void BoundedReader::on_record(Progress& log, const rd_kafka_message_t& message) {
  if (log.done || message.offset < log.next) return;
  if (message.offset >= log.read.end) return advance(log, message.offset);  // none before it
  rd_kafka_timestamp_type_t type{};
  const BrokerTime stamped{milliseconds{rd_kafka_message_timestamp(&message, &type)}};
  const bool wanted = log.read.first || !wanted_.since || stamped >= *wanted_.since;
  if (wanted) {
    if (!log.read.first) {
      log.read.first = stamped;
      log.read.start = message.offset;
    }
    log.read.last = stamped;
    const Decoded value = decode_record({static_cast<const char*>(message.payload), message.len});
    record_({log.read.log, message.offset, stamped,
             type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME, &value});
  } else {
    log.read.cut_short = false;  // an older one exists
  }
  advance(log, message.offset + 1);
}

Result<void> BoundedReader::on_error(Progress& log, rd_kafka_resp_err_t error) {
  switch (tail_fault_of(error)) {
    case TailFault::none:
      return {};
    case TailFault::out_of_range:
      break;
    case TailFault::truncated:
    case TailFault::replaced:
    case TailFault::missing:
      return Error{Errc::ledger_unreachable, "topic " + wanted_.kafka.topic +
                                                 " was deleted or truncated meanwhile (" +
                                                 describe(error) + "); try again"};
    case TailFault::refused:
    case TailFault::unreadable:
      return failed("cannot read", error);
  }
  // Retention was faster. After such an error the library does not seek any more, and stopping a
  // log can block for ever (see tail.h).
  std::int64_t low = 0;
  std::int64_t high = 0;
  const auto partition = static_cast<std::int32_t>(log.read.log.value());
  const rd_kafka_resp_err_t asked = query_bounds(partition, &low, &high);
  if (asked != RD_KAFKA_RESP_ERR_NO_ERROR) return failed("cannot read the bounds of", asked);
  if (low <= log.next) return {};
  log.read.cut_short = true;
  advance(log, low);
  replace_client_ = true;
  return {};
}

Result<void> BoundedReader::on_event(rd_kafka_event_t* event) {
  if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_FETCH) {
    while (const auto* message = rd_kafka_event_message_next(event)) {
      Progress* log = find(message->partition);
      if (log == nullptr) continue;
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        on_record(*log, *message);
      } else if (auto outcome = on_error(*log, message->err); !outcome) {
        return outcome;
      }
    }
    return {};
  }
  if (rd_kafka_event_type(event) != RD_KAFKA_EVENT_ERROR) return {};
  const rd_kafka_resp_err_t error = rd_kafka_event_error(event);
  const rdkafka::TopicPartitionPtr named{rd_kafka_event_topic_partition(event)};
  Progress* log = named ? find(named->partition) : nullptr;
  if (log == nullptr) return is_refusal(error) ? failed("cannot read", error) : Result<void>{};
  if (error != RD_KAFKA_RESP_ERR__PARTITION_EOF) return on_error(*log, error);
  advance(*log, named->offset);
  return {};
}

void BoundedReader::consume() {
  for (const Progress& log : logs_) {
    if (log.done) continue;
    rd_kafka_consume_start_queue(topic_.get(), static_cast<std::int32_t>(log.read.log.value()),
                                 log.next, queue_.get());
  }
}

Result<void> BoundedReader::read() {
  consume();
  LocalTime silent_since = boot_now();
  while (left_ > 0) {
    // Log lines are dropped: what prevents reading arrives as an error, too.
    while (log_->serve([](const rd_kafka_event_t*) {}) == ClientLog::Served::some) {
    }
    const auto event = rdkafka::poll(queue_.get(), kPollMs);
    const bool heard = event && rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_FETCH;
    if (heard) silent_since = boot_now();
    if (event) {
      if (auto outcome = on_event(event.get()); !outcome) return outcome;
    }
    if (std::exchange(replace_client_, false)) {
      log_.reset();
      queue_.reset();
      topic_.reset();
      if (auto outcome = open(); !outcome) return outcome;
      consume();
    }
    if (boot_now() - silent_since > wanted_.kafka.timeout) {
      return Error{Errc::ledger_unreachable,
                   "topic " + wanted_.kafka.topic + " sent nothing for " +
                       std::to_string(wanted_.kafka.timeout.count()) +
                       " ms, and reading is incomplete; raise `kafka.timeout`, or try again later"};
    }
  }
  return {};
}

Result<std::vector<LogRead>> BoundedReader::run(std::uint32_t partitions) {
  if (auto outcome = open(); !outcome) return outcome.error();
  if (auto outcome = find_bounds(partitions); !outcome) return outcome.error();
  if (auto outcome = find_starts(); !outcome) return outcome.error();
  if (auto outcome = read(); !outcome) return outcome.error();
  std::vector<LogRead> all;
  all.reserve(logs_.size());
  for (Progress& log : logs_) all.push_back(log.read);
  return all;
}

}  // namespace

Result<std::vector<LogRead>> read_logs(LogReading wanted, const RecordSink& record,
                                       const NoticeSink& notices) {
  wanted.kafka.watcher = true;
  wanted.kafka.partitions.reset();  // of the topic, all are read
  wanted.kafka.logs.reset();
  wanted.kafka.missing_topic = MissingTopic::fail;  // no record was ever written to it
  const auto facts = prepare_topic(wanted.kafka, notices);
  if (!facts) return facts.error();
  for (const Notice& notice : facts->notices) {
    if (notices) notices(notice);
  }
  return BoundedReader(wanted, facts->embedded_broker, record).run(facts->topic_partitions);
}

}  // namespace neliroute
