#include "ledgers/kafka/tail/tail.h"

#include <algorithm>
#include <neliroute/clock.h>
#include <thread>
#include <utility>

#include "ledgers/kafka/client/kafka_error.h"

namespace neliroute {
namespace {

// How far back the first gallop reaches, in records; each next one reaches further.
constexpr std::int64_t kFirstSpan = 16;
constexpr std::int64_t kSpanGrowth = 8;

}  // namespace

Tail::Tail(ClientFactory make_client, QueueWakeup& wakeup, TailOptions options, EventSink events,
           NoticeSink notices)
    : make_client_(std::move(make_client)),
      wakeup_(wakeup),
      options_(std::move(options)),
      events_(std::move(events)),
      notices_(std::move(notices)),
      logs_(options_.log_count) {}

Tail::~Tail() { release_client(); }

Result<void> Tail::open() {
  auto made = make_client_();
  if (!made) return made.error();
  handle_ = std::move(*made);
  topic_.reset(rd_kafka_topic_new(handle_.get(), options_.topic.c_str(), nullptr));
  queue_.reset(rd_kafka_queue_new(handle_.get()));
  const rdkafka::QueuePtr main{rd_kafka_queue_get_main(handle_.get())};
  rd_kafka_queue_forward(main.get(), queue_.get());
  wakeup_.attach(queue_.get());
  log_.emplace(handle_.get(), &wakeup_);
  return {};
}

void Tail::release_client() {
  if (!handle_) return;
  if (before_) before_();
  wakeup_.detach(queue_.get());
  log_.reset();
  queue_.reset();
  topic_.reset();
  rdkafka::destroy(handle_.release(), milliseconds{0});  // it may be replaced while others read
  for (LogTail& t : logs_) t.consuming = false;
}

// Every log continues where it was; those that were starting start again.
void Tail::replace_client() {
  release_client();
  if (auto opened = open(); !opened) {
    // The same settings worked before; rescue_if_due() tries again.
    if (std::exchange(open_failure_reported_, true)) return;
    return notices_({Severity::error, "nothing can be read, as no new consumer can be created (" +
                                          opened.error().message() + "); still trying"});
  }
  open_failure_reported_ = false;
  for (std::uint32_t l = 0; l < logs_.size(); ++l) {
    if (const auto* reading = logs_[l].in<Reading>()) {
      consume(Log{l}, reading->position());
    } else if (!logs_[l].in<Waiting>()) {
      start(Log{l});
    }
  }
}

void Tail::rescue_if_due(LocalTime now) {
  const bool owed = std::any_of(logs_.begin(), logs_.end(), [&](const LogTail& t) {
    return t.awaited_since != kNever && backoff_.is_over(now - t.awaited_since);
  });
  if (std::exchange(replace_soon_, false)) return replace_client();
  if (!owed && handle_) return;
  backoff_.grow();
  for (LogTail& t : logs_) {
    if (t.awaited_since != kNever) t.awaited_since = now;
  }
  replace_client();
}

void Tail::consume(Log log, std::int64_t offset) {
  LogTail& t = tail(log);
  if (!handle_) return;
  const auto partition = static_cast<std::int32_t>(log.value());
  if (t.consuming) {
    rd_kafka_seek(topic_.get(), partition, offset, /*timeout_ms=*/0);
  } else {
    t.consuming =
        rd_kafka_consume_start_queue(topic_.get(), partition, offset, queue_.get()) == 0;
  }
}

void Tail::start(Log log) {
  LogTail& t = tail(log);
  t.phase = Probing{};
  t.awaited_since = boot_now();
  if (t.consuming) return replace_client();  // which starts it
  consume(log, t.from_end ? std::int64_t{RD_KAFKA_OFFSET_END} : RD_KAFKA_OFFSET_TAIL(1));
}

void Tail::wait(Log log) {
  tail(log).phase = Waiting{};
  tail(log).awaited_since = kNever;
}

void Tail::start_waiting() {
  bool used = false;
  for (std::uint32_t l = 0; l < logs_.size(); ++l) {
    if (!logs_[l].in<Waiting>()) continue;
    used |= logs_[l].consuming;
    logs_[l].consuming = false;
    start(Log{l});
  }
  if (used) replace_client();  // once for all of them
}

bool Tail::waits_for_topic() const {
  return std::any_of(logs_.begin(), logs_.end(),
                     [](const LogTail& t) { return t.in<Waiting>() != nullptr; });
}

bool Tail::serve(const std::function<void(const rd_kafka_event_t*)>& other) {
  if (!handle_) return false;
  const auto lines = log_->serve(other);
  if (lines != ClientLog::Served::all) return lines == ClientLog::Served::some;
  const auto event = rdkafka::poll(queue_.get());
  // After the record was taken, and before it is handled: the line that reports a recreated topic
  // was logged before the new topic's first record arrived.
  if (log_->serve_waiting(other) == ClientLog::Served::gone || !event) return false;
  if (rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_FETCH) {
    while (const auto* message = rd_kafka_event_message_next(event.get())) {
      const Log log{static_cast<std::uint32_t>(message->partition)};
      if (log.value() >= logs_.size()) continue;
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        on_record(log, *message);
      } else {
        on_error(log, message->err);
      }
    }
    return true;
  }
  // The end of a log, and errors of a log, arrive as errors that name it.
  const rdkafka::TopicPartitionPtr named{rd_kafka_event_topic_partition(event.get())};
  const bool is_error = rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_ERROR;
  if (!is_error || !named || named->partition < 0 ||
      static_cast<std::uint32_t>(named->partition) >= logs_.size()) {
    other(event.get());
    return true;
  }
  const Log log{static_cast<std::uint32_t>(named->partition)};
  const rd_kafka_resp_err_t error = rd_kafka_event_error(event.get());
  if (error == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    on_end(log, named->offset);
  } else {
    on_error(log, error);
  }
  return true;
}

void Tail::on_record(Log log, const rd_kafka_message_t& message) {
  LogTail& t = tail(log);
  rd_kafka_timestamp_type_t type{};
  const BrokerTime stamped{milliseconds{rd_kafka_message_timestamp(&message, &type)}};
  const Decoded value =
      decode_record({static_cast<const char*>(message.payload), message.len});
  if (t.in<Probing>()) {
    HistoryHorizon horizon;
    horizon.note(value, stamped, options_.lease);
    return probed(log, message.offset + 1, horizon);
  }
  if (auto* galloping = t.in<Galloping>()) {
    galloping->horizon.note(value, stamped, options_.lease);
    // The horizon of docs/protocol.md rule 6: nobody may still lead by an older record.
    const BrokerTime old_enough = galloping->horizon.at() - options_.clock_error;
    if (!galloping->from_beginning && stamped > old_enough) return gallop_further(log);
    // Offsets without a record may precede it; the log begins where it was created.
    const bool whole = galloping->from_beginning && galloping->low == 0;
    begin(log, {log, whole ? 0 : message.offset, galloping->end,
                galloping->from_beginning ? Below::expired : Below::older});
  }
  if (t.in<Reading>()) {
    read(log, message.offset, value, stamped, type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME);
  }
}

void Tail::read(Log log, std::int64_t offset, const Decoded& value, BrokerTime stamped,
                bool store_stamped) {
  LogTail& t = tail(log);
  if (t.in<Reading>()->again) {
    if (go_back(log) || !answer_reread(log, offset, &value, stamped)) return;
  }
  Reading& reading = *t.in<Reading>();
  if (offset < reading.next) return;
  reading.next = offset + 1;
  t.fault_reported = false;
  events_(Received{log, offset, stamped, store_stamped, &value}, boot_now());
}

void Tail::on_end(Log log, std::int64_t offset) {
  LogTail& t = tail(log);
  if (t.in<Probing>()) return probed(log, offset, {});
  if (const auto* galloping = t.in<Galloping>()) {
    if (!galloping->from_beginning) return gallop_further(log);
    // No record that far back: there are only markers, or retention removed the rest meanwhile.
    return begin(log, {log, offset, galloping->end, Below::expired});
  }
  auto* reading = t.in<Reading>();
  if (reading == nullptr) return;
  if (reading->again) {
    // A log's new leader may not know yet how far the others have read: then the log seems to end
    // before its last record. The next offset shows whether it does: it is out of range if the log
    // is shorter, and there is no answer while only the leader's knowledge lags.
    const bool ends_below = offset < reading->next;
    if (ends_below && !std::exchange(reading->again->beyond, true)) {
      return consume(log, reading->next);
    }
    if (!ends_below && go_back(log)) return;
    if (!answer_reread(log, offset, nullptr, {})) return;
    reading = t.in<Reading>();
  }
  if (offset < reading->next) return gap(log, GapReason::truncated);  // what was read is gone
  reading->next = offset;
  t.fault_reported = false;
  events_(LogPosition{log, offset}, boot_now());
}

// The last record of the log, or its end where it has none, is known. A record is enough: the end
// is reported only when a fetch finds nothing new, and where many write, that may be never.
void Tail::probed(Log log, std::int64_t end, const HistoryHorizon& horizon) {
  if (options_.watcher || end <= 0) return begin(log, {log, end, end, Below::older});
  gallop(log, {horizon, end, kFirstSpan});
}

std::uint64_t Tail::unread() const {
  std::int64_t sum = 0;
  for (std::size_t log = 0; handle_ && log < logs_.size(); ++log) {
    const auto* reading = logs_[log].in<Reading>();
    std::int64_t low = -1;
    std::int64_t high = -1;
    const bool known = reading != nullptr &&
                       rd_kafka_get_watermark_offsets(handle_.get(), options_.topic.c_str(),
                                                      static_cast<std::int32_t>(log), &low,
                                                      &high) == RD_KAFKA_RESP_ERR_NO_ERROR;
    if (known) sum += std::max<std::int64_t>(high - reading->next, 0);
  }
  return static_cast<std::uint64_t>(sum);
}

// Querying an offset by time blocks, and not every broker can answer; records are small, so reading
// back in growing steps costs little more.
void Tail::gallop(Log log, Galloping galloping) {
  std::int64_t high = -1;
  galloping.low = -1;
  rd_kafka_get_watermark_offsets(handle_.get(), options_.topic.c_str(),
                                 static_cast<std::int32_t>(log.value()), &galloping.low, &high);
  const std::int64_t low = galloping.low;
  const std::int64_t start = galloping.end - galloping.span;
  galloping.from_beginning =
      !options_.believe_broker_time || start <= std::max<std::int64_t>(low, 0);
  // By number where it is known: after OFFSET_TAIL(1) librdkafka subtracts 1 from a beginning that
  // it remembers, and below the first record there is nothing to read.
  const std::int64_t beginning = low >= 0 ? low : std::int64_t{RD_KAFKA_OFFSET_BEGINNING};
  tail(log).phase = galloping;
  consume(log, galloping.from_beginning ? beginning : start);
}

void Tail::gallop_further(Log log) {
  Galloping galloping = *tail(log).in<Galloping>();
  galloping.span *= kSpanGrowth;
  gallop(log, galloping);
}

void Tail::begin(Log log, const TailStarted& started) {
  LogTail& t = tail(log);
  t.phase = Reading{started.start, std::nullopt};
  t.fault_reported = false;
  t.awaited_since = kNever;
  t.from_end = false;
  backoff_.reset();
  TailStarted event = started;
  if (event.start == 0) event.below = Below::nothing;
  events_(event, boot_now());
}

bool Tail::reread(const RereadRequest& request) {
  LogTail& t = tail(request.log);
  auto* reading = t.in<Reading>();
  if (reading == nullptr) return true;
  const std::int64_t offset = request.offset >= 0 ? request.offset : reading->next - 1;
  if (offset < 0) return false;
  if (!reading->again) t.awaited_since = boot_now();
  reading->again = Rereading{request};
  consume(request.log, offset);
  return true;
}

// The log reaches beyond its last record after all: what was to be read again can be read now.
// False: any answer will do, or the log never seemed to be shorter.
bool Tail::go_back(Log log) {
  Rereading& again = *tail(log).in<Reading>()->again;
  if (!std::exchange(again.beyond, false) || again.request.offset < 0) return false;
  consume(log, again.request.offset);
  return true;
}

// The first event after the seek is the answer. False: it started something else.
bool Tail::answer_reread(Log log, std::int64_t offset, const Decoded* value, BrokerTime stamped) {
  const RereadRequest request =
      std::exchange(tail(log).in<Reading>()->again, std::nullopt)->request;
  tail(log).awaited_since = kNever;
  backoff_.reset();
  std::optional<RecordIdentity> found;
  if (value != nullptr && offset == request.offset) found = identity_of(*value, stamped);
  events_(Reread{log, request.question, request.offset, found}, boot_now());
  return tail(log).in<Reading>() != nullptr;
}

void Tail::gap(Log log, GapReason reason) {
  const bool reading = tail(log).in<Reading>() != nullptr;
  if (!reading && reason == GapReason::out_of_range) return;
  wait(log);
  if (reading) events_(GapFound{log, reason}, boot_now());
}

std::string_view topic_id_in(std::string_view line, std::string_view topic) noexcept {
  constexpr std::string_view kChanged = " changed id from ";
  constexpr std::string_view kTo = " to ";
  const auto changed = line.find(kChanged);
  if (changed == std::string_view::npos) return {};
  const auto to = line.find(kTo, changed + kChanged.size());
  const std::string_view before = line.substr(0, changed);
  const bool of_topic = before.size() > topic.size() && before.ends_with(topic) &&
                        before[before.size() - topic.size() - 1] == ' ';
  if (!of_topic || to == std::string_view::npos) return {};
  return line.substr(to + kTo.size());
}

// Each client logs the id once, and a new client continues at the previous one's offsets: another
// id is another topic.
bool Tail::on_log_line(std::string_view line) {
  const std::string_view id = topic_id_in(line, options_.topic);
  if (id.empty() || id == topic_id_) return false;
  const bool replaced = !topic_id_.empty();
  topic_id_ = id;
  if (replaced) topic_replaced();
  return replaced;
}

void Tail::topic_replaced() {
  for (std::uint32_t l = 0; l < logs_.size(); ++l) {
    if (logs_[l].in<Reading>()) gap(Log{l}, GapReason::replaced);
  }
}

void Tail::on_error(Log log, rd_kafka_resp_err_t error) {
  LogTail& t = tail(log);
  switch (tail_fault_of(error)) {
    case TailFault::none:
      return;
    case TailFault::out_of_range:
      // Retention may overtake a tail that is only starting.
      // After such an error the library does not seek any more.
      replace_soon_ = replace_soon_ || !t.in<Reading>();
      t.from_end = t.in<Probing>() != nullptr;
      return gap(log, GapReason::out_of_range);
    case TailFault::truncated:
      return gap(log, GapReason::truncated);
    case TailFault::replaced:
      return gap(log, GapReason::replaced);
    case TailFault::missing:
      return gap(log, GapReason::missing);
    case TailFault::refused:
      if (refused_) refused_(log);
      break;
    case TailFault::unreadable:
      break;
  }
  if (std::exchange(t.fault_reported, true)) return;
  notices_({Severity::error,
            "log " + std::to_string(log.value()) + " cannot be read: " + describe(error)});
}

}  // namespace neliroute
