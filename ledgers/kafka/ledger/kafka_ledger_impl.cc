#include "ledgers/kafka/ledger/kafka_ledger_impl.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <neliroute/clock.h>
#include <neliroute/detail/assert.h>

#include "ledgers/kafka/client/kafka_error.h"
#include "ledgers/kafka/client/kafka_statistics.h"

namespace neliroute {
namespace {

// Queues are served this often even if none woke the strand: librdkafka must be polled.
constexpr milliseconds kServeAtLeast{250};
constexpr int kEventsPerTurn = 500;
constexpr milliseconds kTurnMost{5};

}  // namespace

Result<std::unique_ptr<KafkaLedger>> KafkaLedger::open(boost::asio::any_io_executor strand,
                                                       KafkaLedgerParameters parameters) {
  auto ledger = std::make_unique<KafkaLedgerImpl>(std::move(strand), std::move(parameters));
  if (auto opened = ledger->open_clients(); !opened) return opened.error();
  return std::unique_ptr<KafkaLedger>(std::move(ledger));
}

KafkaLedgerImpl::KafkaLedgerImpl(boost::asio::any_io_executor strand,
                                 KafkaLedgerParameters parameters)
    : strand_(std::move(strand)),
      parameters_(std::move(parameters)),
      timer_(strand_),
      wakeup_(std::make_shared<QueueWakeup>(strand_)),
      log_filter_(parameters_.kafka),
      rebootstrap_(parameters_.kafka.brokers) {}

KafkaLedgerImpl::~KafkaLedgerImpl() {
  NELIROUTE_ASSERT(!serving_, "a ledger was destroyed from inside one of its events");
  release();
}

ClientSettings KafkaLedgerImpl::settings() const {
  return {parameters_.kafka, parameters_.timing, parameters_.facts.session.protocol,
          parameters_.facts.embedded_broker,
          parameters_.statistics ? statistics_interval(parameters_.facts.topic_partitions)
                                 : milliseconds{0}};
}

Result<void> KafkaLedgerImpl::open_clients() {
  if (auto opened = wakeup_->open(); !opened) return opened.error();
  if (auto opened = open_tail(); !opened) return opened;
  if (is_watcher() && !parameters_.kafka.writes) return {};
  if (auto opened = open_writer(); !opened) return opened;
  if (is_watcher() || parameters_.kafka.assignment == Assignment::assigner) return {};
  return open_group();
}

void KafkaLedgerImpl::start(EventSink events, NoticeSink notices) {
  events_ = std::move(events);
  notices_ = std::move(notices);
  wakeup_->start(while_alive([this] { on_wake(); }));
  for (std::uint32_t l = 0; l < parameters_.facts.logs; ++l) tail_->start(Log{l});
  arm_timer();
}

void KafkaLedgerImpl::on_refused(std::function<void(const Error&)> handler) {
  refused_ = std::move(handler);
}

void KafkaLedgerImpl::post(std::function<void()> work) {
  boost::asio::post(strand_, while_alive(std::move(work)));
}

bool KafkaLedgerImpl::serve_once() {
  const auto other_of = [this](ClientKind kind) {
    return [this, kind](const rd_kafka_event_t* event) { on_other(kind, event); };
  };
  bool any = tail_->serve(other_of(ClientKind::tail));
  if (writer_) any |= writer_->serve(other_of(ClientKind::producer));
  if (group_) any |= group_->serve(other_of(ClientKind::group));
  if (tail_probe_) any |= tail_probe_->probe.serve();
  if (writer_probe_) any |= writer_probe_->serve();
  if (spare_probe_) any |= spare_probe_->serve();
  return any;
}

void KafkaLedgerImpl::on_wake() {
  serving_ = true;
  int left = kEventsPerTurn;
  const LocalTime end = later(boot_now(), kTurnMost);
  while (left > 0 && serve_once()) left = boot_now() < end ? left - 1 : 0;
  serving_ = false;
  if (left == 0) serve_later();  // let others on this executor run
  advance_close();  // last: it may destroy this object
}

// One at a time: under load each of them would post another one, and nobody else would have a turn.
void KafkaLedgerImpl::serve_later() {
  if (std::exchange(serve_posted_, true)) return;
  post([this] {
    serve_posted_ = false;
    on_wake();
  });
}

void KafkaLedgerImpl::arm_timer() {
  timer_.expires_after(topic_check_pause_.count() > 0
                           ? std::min(kServeAtLeast, topic_check_pause_)
                           : kServeAtLeast);
  timer_.async_wait(while_alive([this](const boost::system::error_code& error) {
    if (!error) on_timer();
  }));
}

void KafkaLedgerImpl::on_timer() {
  const LocalTime now = boot_now();
  if (!closing_) {
    check_topic_if_due(now);
    count_partitions_if_due(now);
    rebootstrap_.rebootstrap_if_due(ClientKind::tail, tail_->handle(), now);
    if (writer_) rebootstrap_.rebootstrap_if_due(ClientKind::producer, writer_->handle(), now);
    if (group_) rebootstrap_.rebootstrap_if_due(ClientKind::group, group_->handle(), now);
    rescue_tail_if_due(now);
    if (writer_) rescue_writer_if_due(now);
    if (group_ && group_->rejoin_if_due(now)) on_rejoined();
    withdraw_if_due(now);
  }
  const std::weak_ptr<bool> token = alive_;
  on_wake();
  if (!token.expired()) arm_timer();
}

void KafkaLedgerImpl::emit(const Event& event) {
  const LocalTime now = boot_now();
  note_answer(event, now);
  const auto* gap = std::get_if<GapFound>(&event);
  // A topic that is missing now may be another one when it is back.
  const bool topic_gone =
      gap && (gap->reason == GapReason::replaced || gap->reason == GapReason::missing);
  if (topic_gone && writer_) renew_writer(false);
  if (withdrawal_) withdrawal_->note(event, now);
  if (!closing_ && events_) events_(event, now);
}

void KafkaLedgerImpl::notice(Severity severity, std::string text) {
  if (notices_) notices_({severity, std::move(text)});
}

void KafkaLedgerImpl::on_log_line(ClientKind kind, rd_kafka_event_t* event) {
  const char* facility = nullptr;
  const char* text = nullptr;
  int level = 0;
  if (rd_kafka_event_log(event, &facility, &text, &level) != 0) return;
  // Another client may learn late of what the tail knows: by its lines the topic would change back
  // and forth. Logs that wait for a missing topic find no gap when it is back.
  if (kind == ClientKind::tail && tail_->on_log_line(text) && writer_) renew_writer(true);
  Notice line;
  if (log_filter_.accept(level, facility, text, line)) notice(line.severity, line.text);
}

void KafkaLedgerImpl::on_other(ClientKind kind, const rd_kafka_event_t* constant) {
  if (closing_) return;
  auto* event = const_cast<rd_kafka_event_t*>(constant);
  const rd_kafka_event_type_t type = rd_kafka_event_type(event);
  if (type == RD_KAFKA_EVENT_LOG) return on_log_line(kind, event);
  if (type == RD_KAFKA_EVENT_STATS && parameters_.statistics) {
    parameters_.statistics->note(
        kind, rd_kafka_event_stats(event), boot_now(),
        kind == ClientKind::tail ? std::optional{tail_->unread()} : std::nullopt);
  }
  if (type != RD_KAFKA_EVENT_ERROR) return;
  const rd_kafka_resp_err_t error = rd_kafka_event_error(event);
  if (kind == ClientKind::group && is_inconsistent_group(error)) {
    return on_inconsistent_group(error);
  }
  // The log reports a broker that cannot be reached; each client would report it again here.
  if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    rebootstrap_.note_all_down(kind, boot_now(), last_answer());
    on_trouble(troubles_, error, "no broker can be reached; still trying");
  } else if (!is_unreachable(error)) {
    on_trouble(troubles_, error, rd_kafka_event_error_string(event));
  }
}

// Reported once, until something works again. Does not wait for what never worked.
void KafkaLedgerImpl::on_trouble(Troubles& reported, rd_kafka_resp_err_t error, std::string text) {
  if (!reported.is_new(error)) return;
  std::string trouble = log_filter_.secrets().without(describe(error, text));
  const bool of_group = error == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
  const bool of_topic = error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
                        error == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
  if ((of_group && !ever_assigned_) || (of_topic && !ever_stored_)) refuse(trouble);
  notice(Severity::error, std::move(trouble));
}

// Not from inside the clients' own callbacks: the handler may destroy them.
void KafkaLedgerImpl::refuse(const std::string& why) {
  if (!refused_) return;
  post([handler = std::exchange(refused_, nullptr), why] {
    handler(Error{Errc::ledger_refused, why});
  });
}

}  // namespace neliroute
