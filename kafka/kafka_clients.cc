#include "kafka/kafka_clients.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <neliroute/clock.h>
#include <string_view>
#include <utility>

#include "kafka/client/kafka_error.h"
#include "kafka/client/kafka_statistics.h"
#include "kafka/group/group_strategy.h"

namespace neliroute {
namespace {

// A queue that woke nobody is looked at all the same: librdkafka wants to be polled.
constexpr milliseconds kLookAtLeast{250};
constexpr int kEventsPerTurn = 500;
constexpr milliseconds kTurnMost{5};
constexpr milliseconds kTopicCheckFirst{100};
constexpr milliseconds kTopicCheckLast{1000};
constexpr milliseconds kCountEvery{1000};

}  // namespace

KafkaLedger::Clients::Clients(boost::asio::any_io_executor strand,
                              KafkaLedgerParameters parameters)
    : strand_(std::move(strand)),
      parameters_(std::move(parameters)),
      timer_(strand_),
      wakeup_(std::make_shared<QueueWakeup>(strand_)),
      log_filter_(parameters_.kafka),
      rebootstrap_(parameters_.kafka.brokers) {}

KafkaLedger::Clients::~Clients() { release(); }

ClientSettings KafkaLedger::Clients::settings() const {
  return {parameters_.kafka, parameters_.timing, parameters_.facts.session.protocol,
          parameters_.facts.embedded_broker,
          parameters_.statistics ? statistics_interval(parameters_.facts.partitions)
                                 : milliseconds{0}};
}

Result<void> KafkaLedger::Clients::open() {
  if (auto opened = wakeup_->open(); !opened) return opened.error();
  TailOptions options;
  options.topic = parameters_.kafka.topic;
  options.log_count = parameters_.facts.logs;
  options.lease = parameters_.timing.lease;
  options.clock_error = parameters_.timing.clock_error;
  options.believe_broker_time = parameters_.facts.believe_broker_time;
  options.watcher = parameters_.kafka.watcher;
  tail_ = std::make_unique<Tail>(
      [this] { return make_client(ClientKind::tail, settings()); }, *wakeup_, options,
      [this](const Event& e, LocalTime) { emit(e); },
      [this](const Notice& n) { notice(n.severity, n.text); });
  tail_->before_replacement([this] {
    topic_check_.reset();
    partition_count_.reset();
  });
  if (auto opened = tail_->open(); !opened) return opened.error();
  if (parameters_.kafka.watcher) return {};
  writer_ = std::make_unique<RecordWriter>(
      settings(), *wakeup_,
      [this](std::uint64_t seq, rd_kafka_resp_err_t error, std::int64_t offset) {
        on_written(seq, error, offset);
      });
  if (auto opened = writer_->open(); !opened) return opened.error();
  writer_->warm_up();
  group_ = std::make_unique<GroupMember>(
      settings(), *wakeup_, [this](const Event& e) { on_group_event(e); },
      [this](const Notice& n) { notice(n.severity, n.text); });
  if (parameters_.facts.session.protocol == GroupProtocol::consumer) {
    prompter_ = std::make_shared<GroupPrompter>(strand_, *group_, [this] {
      ever_assigned_ = true;
      emit(GroupJoined{});
    });
  }
  writer_->before_replacement([this] {
    forget_others_question();
    if (withdrawal_) withdrawal_->forget_question();
  });
  if (parameters_.self != kNobody && parameters_.kafka.variation == Variation::claimed) {
    make_withdrawal();
  }
  return group_->open();
}

void KafkaLedger::Clients::make_withdrawal() {
  GroupWithdrawalParts parts;
  parts.self = parameters_.self;
  parts.lane = parameters_.kafka.lane;
  parts.topic = parameters_.kafka.topic;
  parts.options = {parameters_.facts.partitions, parameters_.facts.logs,
                   parameters_.timing.lease, parameters_.timing.session};
  parts.statistics = parameters_.statistics;
  parts.client = [this] { return writer_->handle(); };
  parts.count_others = [this](auto answer) {
    if (!others_question_ || !others_question_->asked()) count_others(std::move(answer));
  };
  parts.leave = [this](milliseconds pause) { group_->withdraw(pause); };
  parts.join = [this] { group_->join_soon(); };
  parts.notices = [this](const Notice& n) { notice(n.severity, n.text); };
  withdrawal_ = std::make_unique<GroupWithdrawal>(std::move(parts), *wakeup_);
  writer_->on_refused(
      [this](std::optional<Log> log) { withdrawal_->on_write_refused(log, boot_now()); });
  tail_->on_refused([this](Log log) { withdrawal_->on_read_refused(log); });
}

void KafkaLedger::Clients::start(EventSink events, NoticeSink notices) {
  events_ = std::move(events);
  notices_ = std::move(notices);
  wakeup_->start([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_wake();
  });
  for (std::uint32_t l = 0; l < parameters_.facts.logs; ++l) tail_->start(Log{l});
  arm_timer();
}

void KafkaLedger::Clients::emit(const Event& event) {
  const LocalTime now = boot_now();
  note_heard(event, now);
  const auto* gap = std::get_if<GapFound>(&event);
  if (gap && gap->reason == GapReason::topic_replaced && writer_) renew_writer();
  if (withdrawal_) withdrawal_->note(event, now);
  if (!closing_ && events_) events_(event, now);
}

// Not from inside the clients' own callbacks.
void KafkaLedger::Clients::renew_writer() {
  boost::asio::post(strand_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !self->closing_) self->writer_->on_topic_replaced();
  });
}

void KafkaLedger::Clients::note_heard(const Event& event, LocalTime now) {
  if (const auto* received = std::get_if<Received>(&event)) {
    troubles_.clear();  // it reads again
    heard_[received->log] = now;
  } else if (const auto* position = std::get_if<LogPosition>(&event)) {
    heard_[position->log] = now;
  } else if (const auto* reread = std::get_if<Reread>(&event)) {
    heard_[reread->log] = now;
  } else if (const auto* heard = std::get_if<Heard>(&event)) {
    heard_[Log{heard->partition.value()}] = now;  // of a broadcast: each partition is a log
  }
}

// In `broadcast` most partitions that are written to are read by others.
LocalTime KafkaLedger::Clients::heard(Log log) const {
  if (parameters_.kafka.variation == Variation::broadcast) return last_heard();
  const auto found = heard_.find(log);
  return found == heard_.end() ? kLongAgo : found->second;
}

LocalTime KafkaLedger::Clients::last_heard() const {
  LocalTime last = kLongAgo;
  for (const auto& [log, at] : heard_) last = std::max(last, at);
  return last;
}

void KafkaLedger::Clients::notice(Severity severity, std::string text) {
  if (!released_ && notices_) notices_({severity, std::move(text)});
}

bool KafkaLedger::Clients::serve_once() {
  const auto other_of = [this](ClientKind kind) {
    return [this, kind](const rd_kafka_event_t* event) { on_other(kind, event); };
  };
  bool any = false;
  if (tail_) any |= tail_->serve(other_of(ClientKind::tail));
  if (released_) return false;
  if (writer_) any |= writer_->serve(other_of(ClientKind::producer));
  if (released_) return false;
  if (group_) any |= group_->serve(other_of(ClientKind::group));
  if (released_) return false;
  if (topic_check_) any |= topic_check_->serve();
  if (partition_count_) any |= partition_count_->serve();
  if (withdrawal_) any |= withdrawal_->serve();
  if (others_question_) any |= others_question_->serve();
  return any && !released_;
}

void KafkaLedger::Clients::on_wake() {
  const auto self = shared_from_this();  // an event may lead to the end of the ledger
  int left = kEventsPerTurn;
  const LocalTime end = later(boot_now(), kTurnMost);
  while (left > 0 && serve_once()) left = boot_now() < end ? left - 1 : 0;
  if (released_) return;
  advance_close();
  if (left == 0) serve_later();  // others on this executor want their turn
}

void KafkaLedger::Clients::serve_later() {
  boost::asio::post(strand_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !self->released_) self->on_wake();
  });
}

void KafkaLedger::Clients::arm_timer() {
  timer_.expires_after(topic_check_pause_.count() > 0 ? std::min(kLookAtLeast, topic_check_pause_)
                                                      : kLookAtLeast);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (self && !error && !self->released_) self->on_timer();
  });
}

void KafkaLedger::Clients::on_timer() {
  const LocalTime now = boot_now();
  if (!closing_) {
    check_topic_if_due(now);
    count_partitions_if_due(now);
    tell_broker_names_if_due(now);
    tail_->rescue_if_due(now);
    if (writer_) {
      if (const auto told = writer_->rescue_if_due(now, [this](Log log) { return heard(log); })) {
        notice(told->severity, log_filter_.secrets().without(told->text));
      }
    }
    if (group_ && group_->rejoin_if_due(now)) {
      await_membership();
      if (withdrawal_) withdrawal_->on_joined();
    }
    if (withdrawal_ && !leaving_) withdrawal_->tick(now);
  }
  on_wake();
  if (!released_) arm_timer();
}

void KafkaLedger::Clients::tell_broker_names_if_due(LocalTime now) {
  rebootstrap_.rebootstrap_if_due(ClientKind::tail, tail_->handle(), now);
  if (writer_) rebootstrap_.rebootstrap_if_due(ClientKind::producer, writer_->handle(), now);
  if (group_) rebootstrap_.rebootstrap_if_due(ClientKind::group, group_->handle(), now);
}

// A log that waits is one whose topic may be gone: nothing is read before it is seen to fit.
void KafkaLedger::Clients::check_topic_if_due(LocalTime now) {
  if (!tail_->waits_for_topic() || now < next_topic_check_) return;
  topic_check_pause_ = std::clamp(2 * topic_check_pause_, kTopicCheckFirst, kTopicCheckLast);
  next_topic_check_ = later(now, topic_check_pause_);
  make_topic_check();
  if (!topic_check_) return;
  topic_check_->ask([this](TopicCheck::Outcome outcome, const std::string& why) {
    if (closing_) return;
    std::string trouble;
    if (outcome == TopicCheck::Outcome::unfit) trouble = why;
    if (outcome == TopicCheck::Outcome::missing) {
      trouble = "topic " + parameters_.kafka.topic + " is not there (" + why +
                "); waiting for it, a running process makes none";
    }
    if (outcome == TopicCheck::Outcome::unanswered) {
      trouble = "nobody says whether topic " + parameters_.kafka.topic + " is there (" + why +
                "); asking on";
    }
    if (trouble != topic_trouble_ && !trouble.empty()) notice(Severity::error, trouble);
    topic_trouble_ = trouble;
    if (outcome != TopicCheck::Outcome::fits) return;
    topic_check_pause_ = milliseconds{0};
    // Not from inside the check: it goes with the client, which may be replaced.
    boost::asio::post(strand_, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && !self->closing_) self->tail_->start_waiting();
    });
  });
}

// In `broadcast` nothing that is read would tell that the topic has grown.
void KafkaLedger::Clients::count_partitions_if_due(LocalTime now) {
  const bool wanted = parameters_.kafka.variation == Variation::broadcast &&
                      !parameters_.kafka.watcher && !parameters_.facts.embedded_broker;
  if (!wanted || now < next_count_ || tail_->handle() == nullptr) return;
  next_count_ = later(now, kCountEvery);
  if (!partition_count_) partition_count_ = topic_check();
  partition_count_->count([this](std::uint32_t count) { emit(PartitionsCounted{count}); });
}

void KafkaLedger::Clients::on_other(ClientKind kind, const rd_kafka_event_t* constant) {
  auto* event = const_cast<rd_kafka_event_t*>(constant);
  if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_LOG) {
    const char* facility = nullptr;
    const char* text = nullptr;
    int level = 0;
    if (rd_kafka_event_log(event, &facility, &text, &level) != 0) return;
    if (!closing_) tail_->on_log_line(text);
    Notice told;
    if (!closing_ && log_filter_.accept(level, facility, text, told)) {
      notice(told.severity, told.text);
    }
    return;
  }
  const bool statistics = rd_kafka_event_type(event) == RD_KAFKA_EVENT_STATS;
  if (statistics && parameters_.statistics && !closing_) {
    parameters_.statistics->note(
        kind, rd_kafka_event_stats(event), boot_now(),
        kind == ClientKind::tail ? std::optional{tail_->unread()} : std::nullopt);
  }
  if (rd_kafka_event_type(event) != RD_KAFKA_EVENT_ERROR || closing_) return;
  const rd_kafka_resp_err_t error = rd_kafka_event_error(event);
  if (kind == ClientKind::group && is_inconsistent_group(error)) {
    return on_inconsistent_group(error);
  }
  // A broker that is away is told by the log; each client would say it again here.
  if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    rebootstrap_.note_all_down(kind, boot_now(), last_heard());
    on_trouble(troubles_, error, "no broker can be reached; still trying");
  } else if (!is_unreachable(error)) {
    on_trouble(troubles_, error, rd_kafka_event_error_string(event));
  }
}

void KafkaLedger::Clients::on_group_event(const Event& event) {
  const auto* revoked = std::get_if<GroupRevoked>(&event);
  if (revoked && revoked->lost) {
    await_membership();
  } else {
    ever_assigned_ = true;
    inconsistent_since_.reset();
  }
  emit(event);
}

// librdkafka asks again every two seconds for as long as it lives. Who was a member goes on asking,
// as others may be changing their assignor one by one; who never was gives up.
void KafkaLedger::Clients::on_inconsistent_group(rd_kafka_resp_err_t error) {
  const LocalTime now = boot_now();
  const std::string text =
      inconsistent_group(parameters_.kafka, parameters_.facts.session.protocol, error);
  const milliseconds bound = inconsistent_group_bound(parameters_.timing);
  if (!inconsistent_since_) {
    inconsistent_since_ = now;
    notice(Severity::error,
           text + (ever_assigned_ ? "; asking on"
                                  : "; asking on for " + std::to_string(bound.count()) + " ms"));
  }
  if (ever_assigned_ || !refused_ || now < later(*inconsistent_since_, bound)) return;
  boost::asio::post(strand_, [handler = std::exchange(refused_, nullptr), text] {
    handler(Error{Errc::ledger_refused, text});
  });
}

void KafkaLedger::Clients::on_written(std::uint64_t seq, rd_kafka_resp_err_t error,
                                      std::int64_t offset) {
  const bool stored = error == RD_KAFKA_RESP_ERR_NO_ERROR;
  if (stored) {
    ever_stored_ = true;
    write_troubles_.clear();
  } else if (!closing_ && !is_own_doing(error)) {
    on_trouble(write_troubles_, error, "a record cannot be written");
  }
  if (seq == 0) return;  // of a broadcast
  if (stored) return emit(WriteAcknowledged{seq, offset});
  emit(WriteFailed{seq});
}

// Told once, until something works again. What never worked is not waited for.
void KafkaLedger::Clients::on_trouble(Troubles& told, rd_kafka_resp_err_t error,
                                      std::string text) {
  if (!told.is_new(error)) return;
  std::string trouble = log_filter_.secrets().without(describe(error, text));
  const bool of_group = error == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
  const bool of_topic = error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
                        error == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
  if (refused_ && ((of_group && !ever_assigned_) || (of_topic && !ever_stored_))) {
    // Not from inside the clients' own callbacks: it may end them.
    boost::asio::post(strand_, [handler = std::exchange(refused_, nullptr), trouble] {
      handler(Error{Errc::ledger_refused, trouble});
    });
  }
  notice(Severity::error, std::move(trouble));
}

void KafkaLedger::Clients::write(const Write& write) {
  if (closing_) return;
  if (!writer_->write(write)) serve_later();
}

void KafkaLedger::Clients::broadcast() {
  if (!closing_) writer_->broadcast(parameters_.facts.partitions);
}

void KafkaLedger::Clients::restart_tail(Log log) {
  if (closing_) return;
  tail_->wait(log);
  next_topic_check_ = kLongAgo;
  check_topic_if_due(boot_now());
}

void KafkaLedger::Clients::reread(const RereadRequest& request) {
  if (closing_ || tail_->reread(request)) return;
  // An empty log: whether the topic is there is all that can be asked.
  make_topic_check();
  if (!topic_check_) return;
  empty_logs_asked_.push_back(request);
  if (empty_logs_asked_.size() > 1 && topic_check_->asked()) return;  // one answer is for all
  topic_check_->ask([this](TopicCheck::Outcome outcome, const std::string&) {
    for (const RereadRequest& r : std::exchange(empty_logs_asked_, {})) {
      if (outcome == TopicCheck::Outcome::missing || outcome == TopicCheck::Outcome::unanswered) {
        continue;
      }
      emit(Reread{r.log, r.question, r.offset, std::nullopt});
    }
  });
}

void KafkaLedger::Clients::make_topic_check() {
  if (!topic_check_ && tail_->handle() != nullptr) topic_check_ = topic_check();
}

std::unique_ptr<TopicCheck> KafkaLedger::Clients::topic_check() const {
  return std::make_unique<TopicCheck>(tail_->handle(), *wakeup_, parameters_.kafka.topic,
                                      parameters_.kafka.mode, parameters_.facts.partitions,
                                      parameters_.facts.embedded_broker);
}

void KafkaLedger::Clients::subscribe() {
  if (closing_) return;
  if (auto joined = group_->join(); !joined) notice(Severity::error, joined.error().message());
  await_membership();
}

void KafkaLedger::Clients::await_membership() {
  if (prompter_) prompter_->await_membership();
}

void KafkaLedger::Clients::expedite(milliseconds within) {
  if (prompter_ && !closing_) prompter_->expedite(within);
}

void KafkaLedger::Clients::finish_rebalances(std::uint32_t count) {
  if (!group_ || closing_) return;
  for (; count > 0; --count) group_->finish();
  boost::asio::post(strand_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !self->closing_ && self->group_) self->group_->announce_next();
  });
}

void KafkaLedger::Clients::leave_group() {
  leaving_ = true;
  if (prompter_) prompter_->stop();
  if (group_) group_->leave();
}

void KafkaLedger::Clients::count_others(
    std::function<void(std::optional<std::size_t>)> answer) {
  if (!writer_ || closing_ || writer_->handle() == nullptr) return answer(std::nullopt);
  if (!others_question_) {
    others_question_ = std::make_unique<OthersQuestion>(writer_->handle(), *wakeup_,
                                                        parameters_.kafka.group_id());
  }
  others_question_->ask(group_->member_id(), group_->is_leaving(), std::move(answer));
}

void KafkaLedger::Clients::forget_others_question() {
  if (const auto question = std::exchange(others_question_, nullptr)) question->give_up();
}

// In this order: the group is left first, so that others may take over while what was written
// last, the releases, is still on its way.
void KafkaLedger::Clients::close(LocalTime deadline, std::function<void()> done) {
  closing_ = true;
  closed_ = std::move(done);
  close_by_ = deadline;
  leave_group();
  serve_later();
}

void KafkaLedger::Clients::advance_close() {
  if (!closed_) return;
  const bool over = (!group_ || group_->gone()) && (!writer_ || writer_->idle());
  if (!over && boot_now() < close_by_) return;
  const auto done = std::exchange(closed_, nullptr);
  release();
  done();
}

void KafkaLedger::Clients::release() {
  if (released_) return;
  released_ = true;
  closing_ = true;
  events_ = nullptr;
  notices_ = nullptr;
  timer_.cancel();
  refused_ = nullptr;
  others_question_.reset();
  topic_check_.reset();
  partition_count_.reset();
  if (prompter_) prompter_->stop();
  withdrawal_.reset();
  group_.reset();
  tail_.reset();
  writer_.reset();
  wakeup_->close();
}

}  // namespace neliroute
