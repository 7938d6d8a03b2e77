#include "ledgers/kafka/record_writer.h"

#include <algorithm>
#include <array>
#include <neliroute/clock.h>
#include <string>
#include <utility>

#include "ledgers/kafka/client/kafka_error.h"

namespace neliroute {
namespace {

// Older libraries delay the first record of a topic by up to a second unless its metadata is there.
constexpr int kWarmUpMs = 2000;
constexpr std::uint8_t kBroadcastsInFlightMax = 2;

void* opaque_of(std::uint64_t seq) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(seq));
}

}  // namespace

RecordWriter::RecordWriter(ClientSettings settings, QueueWakeup& wakeup, Answer answer)
    : settings_(settings),
      wakeup_(wakeup),
      answer_(std::move(answer)) {}

RecordWriter::~RecordWriter() {
  if (handle_) wakeup_.detach(queue_.get());
}

Result<void> RecordWriter::open() {
  auto made = make_client(ClientKind::producer, settings_);
  if (!made) return made.error();
  rdkafka::TopicPtr topic{
      rd_kafka_topic_new(made->get(), settings_.kafka.topic.c_str(), nullptr)};
  if (!topic) {
    return Error{Errc::bad_option,
                 std::string("no producer: ") + rd_kafka_err2str(rd_kafka_last_error())};
  }
  handle_ = std::move(*made);
  last_one_refused_ = false;
  has_written_ = false;
  topic_ = std::move(topic);
  queue_.reset(rd_kafka_queue_get_main(handle_.get()));
  wakeup_.attach(queue_.get());
  log_.emplace(handle_.get(), &wakeup_);
  return {};
}

void RecordWriter::warm_up() {
  const struct rd_kafka_metadata* metadata = nullptr;
  if (rd_kafka_metadata(handle_.get(), 0, topic_.get(), &metadata, kWarmUpMs) ==
      RD_KAFKA_RESP_ERR_NO_ERROR) {
    rd_kafka_metadata_destroy(metadata);
  }
}

bool RecordWriter::write(const Write& write) {
  outstanding_.emplace(write.seq, write.log);
  if (!topic_) {
    refused_.emplace_back(write.seq, RD_KAFKA_RESP_ERR__STATE);
    return false;
  }
  const bool taken =
      rd_kafka_produce(topic_.get(), static_cast<std::int32_t>(write.log.value()),
                       RD_KAFKA_MSG_F_COPY, const_cast<char*>(write.value.data()),
                       write.value.size(), nullptr, 0, opaque_of(write.seq)) == 0;
  has_written_ = has_written_ || taken;
  if (!taken) refused_.emplace_back(write.seq, rd_kafka_last_error());
  return taken;
}

void RecordWriter::broadcast(std::uint32_t partition_count) {
  if (!topic_) return;
  broadcasts_.resize(std::max<std::size_t>(broadcasts_.size(), partition_count), 0);
  for (std::uint32_t p = 0; p < partition_count; ++p) {
    if (broadcasts_[p] == kBroadcastsInFlightMax) continue;
    if (rd_kafka_produce(topic_.get(), static_cast<std::int32_t>(p), 0, nullptr, 0, nullptr, 0,
                         opaque_of(0)) == 0) {
      ++broadcasts_[p];
      has_written_ = true;
    }
  }
}

void RecordWriter::note(Log log, rd_kafka_resp_err_t error) {
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    failing_.erase(log);
    has_stored_ = true;
    open_patience_.reset();
    return;
  }
  if (is_own_doing(error)) return;
  const Backoff first{std::max<milliseconds>(Backoff::kFirst, 3 * settings_.timing.lease)};
  Failing& failing = failing_.try_emplace(log, Failing{kNever, kLongAgo, first}).first->second;
  failing.last = boot_now();
  if (failing.since == kNever) failing.since = failing.last;
}

void RecordWriter::note_refusal(rd_kafka_resp_err_t error, std::optional<Log> log) const {
  if (refused_by_broker_ && is_refusal(error)) refused_by_broker_(log);
}

void RecordWriter::answer(std::uint64_t seq, rd_kafka_resp_err_t error, std::int64_t offset) {
  const auto awaited = outstanding_.find(seq);
  if (awaited == outstanding_.end()) return;
  note(awaited->second, error);
  outstanding_.erase(awaited);
  answer_(seq, error, offset);
}

bool RecordWriter::serve(const std::function<void(const rd_kafka_event_t*)>& other) {
  for (const auto& [seq, error] : std::exchange(refused_, {})) answer(seq, error);
  if (!queue_) return false;
  const auto lines = log_->serve(other);
  if (lines == ClientLog::Served::gone) return false;
  const auto event = rdkafka::poll(queue_.get());
  if (!event) return lines == ClientLog::Served::some;
  if (rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_DR) {
    while (const auto* message = rd_kafka_event_message_next(event.get())) {
      const Log log{static_cast<std::uint32_t>(message->partition)};
      note_refusal(message->err, log);
      if (message->_private == nullptr) {
        --broadcasts_[log.value()];
        note(log, message->err);
        answer_(0, message->err, -1);
        continue;
      }
      answer(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(message->_private)),
             message->err, message->offset);
    }
    return true;
  }
  if (rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_ERROR) {
    note_refusal(rd_kafka_event_error(event.get()), std::nullopt);
  }
  other(event.get());
  std::array<char, 512> text{};
  const rd_kafka_resp_err_t fatal =
      rd_kafka_fatal_error(handle_.get(), text.data(), text.size());
  if (fatal != RD_KAFKA_RESP_ERR_NO_ERROR) {
    note_refusal(fatal, std::nullopt);
    last_one_refused_ = is_refusal(fatal);
    replace(RD_KAFKA_RESP_ERR__FATAL);
  }
  return true;
}

// An idempotent producer that lost count of its records refuses all further ones. Safety never
// rests on idempotence, so a new one continues; what was in flight counts as not stored.
void RecordWriter::replace(rd_kafka_resp_err_t error) {
  if (before_) before_();
  if (queue_) wakeup_.detach(queue_.get());
  log_.reset();
  queue_.reset();
  topic_.reset();
  rdkafka::destroy(handle_.release(), milliseconds{0});  // leases wait for the next one
  broadcasts_.clear();
  // It failed before it stored anything: a right is missing, say, and the next one fails as well.
  const bool waits = error == RD_KAFKA_RESP_ERR__FATAL && !has_stored_;
  if (waits) open_patience_.grow();
  // The same settings worked before, but a thread may be unavailable just now.
  if (waits || !open()) opening_since_ = boot_now();
  const auto outstanding = outstanding_;
  for (const auto& [seq, log] : outstanding) answer(seq, error);
  // The new client's time counts from its own first failure; a log that nobody writes to needs no
  // other client.
  for (auto& [log, failing] : failing_) failing.since = kNever;
  has_stored_ = false;
}

// A client that knows the old topic may write nothing to the next one: it keeps the epochs of the
// old one's leaders, and takes the next one's, which begin at 0 again, for outdated (librdkafka's
// issue 4898). One that was made meanwhile knows it, too, if it asked a broker that did not know
// yet that the topic had gone.
void RecordWriter::on_topic_gone() {
  if (handle_ && has_written_) replace(RD_KAFKA_RESP_ERR__PURGE_INFLIGHT);
}

void RecordWriter::renew() {
  if (handle_) replace(RD_KAFKA_RESP_ERR__PURGE_INFLIGHT);
}

void RecordWriter::retry() {
  if (!handle_) open_patience_.reset();
}

std::optional<Notice> RecordWriter::open_again_if_due(LocalTime now) {
  if (!open_patience_.is_over(now - opening_since_)) return std::nullopt;
  if (const auto opened = open(); !opened) {
    opening_since_ = now;
    open_patience_.grow();
    if (std::exchange(open_failure_reported_, true)) return std::nullopt;
    return Notice{Severity::error, "nothing can be written, as no new producer can be created (" +
                                       opened.error().message() + "); still trying"};
  }
  if (!std::exchange(open_failure_reported_, false)) return std::nullopt;
  return Notice{Severity::warning, "a new producer was created; writing continues"};
}

bool RecordWriter::awaits(Log log) const {
  if (log.value() < broadcasts_.size() && broadcasts_[log.value()] > 0) return true;
  return std::any_of(outstanding_.begin(), outstanding_.end(),
                     [&](const auto& record) { return record.second == log; });
}

std::optional<Notice> RecordWriter::rescue_if_due(LocalTime now, const LastAnswer& last_answer) {
  if (!handle_) return open_again_if_due(now);
  std::optional<Log> stuck;
  for (auto& [log, failing] : failing_) {
    // A log that was given up, or belongs to another process now, needs no other client.
    const bool tries = awaits(log) || now <= later(failing.last, 2 * settings_.timing.lease);
    if (!tries) failing.since = kNever;
    if (failing.since == kNever) continue;
    // If the log did not answer, its broker cannot be reached: the client's time starts again when
    // it is back. A log that is merely idle is queried, and so answers, within T.
    if (later(last_answer(log), 2 * settings_.timing.lease) < now) failing.since = now;
    if (!failing.backoff.is_over(now - failing.since)) continue;
    failing.backoff.grow();
    stuck = log;
  }
  if (!stuck) return std::nullopt;
  replace(RD_KAFKA_RESP_ERR__PURGE_INFLIGHT);
  return Notice{Severity::warning, "log " + std::to_string(stuck->value()) +
                                       ": no record was stored for long; a new producer keeps "
                                       "trying"};
}

bool RecordWriter::idle() const { return !handle_ || rd_kafka_outq_len(handle_.get()) == 0; }

}  // namespace neliroute
