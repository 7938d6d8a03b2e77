// The tail, and whether the topic that it reads exists and fits.
#include <algorithm>
#include <neliroute/clock.h>

#include "ledgers/kafka/ledger/kafka_ledger_impl.h"

namespace neliroute {
namespace {

constexpr milliseconds kTopicCheckFirst{100};
constexpr milliseconds kTopicCheckLast{1000};
constexpr milliseconds kTopicAnswerWithin{5000};
constexpr milliseconds kCountEvery{1000};

}  // namespace

using Verdict = TopicVerdict::Kind;

Result<void> KafkaLedgerImpl::open_tail() {
  TailOptions options;
  options.topic = parameters_.kafka.topic;
  options.log_count = parameters_.facts.logs;
  options.lease = parameters_.timing.lease;
  options.clock_error = parameters_.timing.clock_error;
  options.believe_broker_time = parameters_.facts.believe_broker_time;
  options.watcher = is_watcher();
  tail_ = std::make_unique<Tail>(
      [this] { return make_client(ClientKind::tail, settings()); }, *wakeup_, options,
      [this](const Event& e, LocalTime) { emit(e); },
      [this](const Notice& n) { notice(n.severity, n.text); });
  tail_->before_replacement([this] {
    tail_probe_.reset();
    if (const auto probe = std::move(spare_probe_)) probe->give_up();
  });
  return tail_->open();
}

void KafkaLedgerImpl::note_answer(const Event& event, LocalTime now) {
  if (const auto* received = std::get_if<Received>(&event)) {
    troubles_.clear();  // it reads again
    last_answers_[received->log] = now;
  } else if (const auto* position = std::get_if<LogPosition>(&event)) {
    last_answers_[position->log] = now;
  } else if (const auto* reread = std::get_if<Reread>(&event)) {
    last_answers_[reread->log] = now;
  } else if (const auto* heard = std::get_if<Heard>(&event)) {
    last_answers_[Log{heard->partition.value()}] = now;  // with broadcast, each partition is a log
  }
}

// In `broadcast` most partitions that are written to are read by others.
LocalTime KafkaLedgerImpl::last_answer(Log log) const {
  if (parameters_.kafka.variation == Variation::broadcast) return last_answer();
  const auto found = last_answers_.find(log);
  return found == last_answers_.end() ? kLongAgo : found->second;
}

LocalTime KafkaLedgerImpl::last_answer() const {
  LocalTime last = kLongAgo;
  for (const auto& [log, at] : last_answers_) last = std::max(last, at);
  return last;
}

TopicNeeds KafkaLedgerImpl::topic_needs() const {
  return {parameters_.kafka.topic, parameters_.kafka.mode, needed_partitions(parameters_.facts),
          parameters_.facts.embedded_broker};
}

/// Null while the tail has no client.
KafkaLedgerImpl::TailProbe* KafkaLedgerImpl::tail_probe() {
  if (!tail_probe_ && tail_->handle() != nullptr) {
    tail_probe_ = std::make_unique<TailProbe>(tail_->handle(), wakeup_.get());
  }
  return tail_probe_.get();
}

void KafkaLedgerImpl::rescue_tail_if_due(LocalTime now) {
  if (spare_probe_ && spare_probe_->is_overdue(now)) tail_->renew();
  tail_->rescue_if_due(now);
}

// A log waits if its topic may be gone: nothing is read until the topic was found to fit.
void KafkaLedgerImpl::check_topic_if_due(LocalTime now) {
  if (!tail_->waits_for_topic() || now < next_topic_check_) return;
  topic_check_pause_ = std::clamp(2 * topic_check_pause_, kTopicCheckFirst, kTopicCheckLast);
  next_topic_check_ = later(now, topic_check_pause_);
  TailProbe* tail = tail_probe();
  if (tail == nullptr || std::exchange(tail->checking_topic, true)) return;
  check_topic(tail->probe, topic_needs(), kTopicAnswerWithin, [this](const TopicVerdict& verdict) {
    tail_probe_->checking_topic = false;
    on_topic_checked(verdict);
  });
}

void KafkaLedgerImpl::on_topic_checked(const TopicVerdict& verdict) {
  if (closing_) return;
  std::string trouble;
  if (verdict.kind == Verdict::unfit) trouble = verdict.why;
  if (verdict.kind == Verdict::missing) {
    trouble = "topic " + parameters_.kafka.topic + " is not there (" + verdict.why +
              "); waiting for it, a running process does not create it";
  }
  if (verdict.kind == Verdict::unknown) {
    trouble = "no broker says whether topic " + parameters_.kafka.topic + " exists (" +
              verdict.why + "); still trying";
  }
  if (trouble != topic_trouble_ && !trouble.empty()) notice(Severity::error, trouble);
  topic_trouble_ = trouble;
  if (verdict.kind != Verdict::fits) return;
  topic_check_pause_ = milliseconds{0};
  // Not from inside the check: its probe is destroyed with the client, which may be replaced.
  post([this] {
    if (!closing_) tail_->start_waiting();
  });
}

// With `broadcast`, no record would show that the topic has grown.
void KafkaLedgerImpl::count_partitions_if_due(LocalTime now) {
  const bool wanted = parameters_.kafka.variation == Variation::broadcast && !is_watcher() &&
                      !parameters_.facts.embedded_broker;
  if (!wanted || now < next_count_) return;
  TailProbe* tail = tail_probe();
  if (tail == nullptr) return;
  next_count_ = later(now, kCountEvery);
  if (std::exchange(tail->counting_partitions, true)) return;
  tail->probe.topic(parameters_.kafka.topic, kTopicAnswerWithin,
                    [this](const Answer<TopicDescription>& described) {
                      tail_probe_->counting_partitions = false;
                      const auto& topic = described.value;
                      if (topic && topic->error == RD_KAFKA_RESP_ERR_NO_ERROR &&
                          topic->partitions > 0) {
                        emit(PartitionsCounted{topic->partitions});
                      }
                    });
}

void KafkaLedgerImpl::restart_tail(Log log) {
  if (closing_) return;
  tail_->wait(log);
  next_topic_check_ = kLongAgo;
  check_topic_if_due(boot_now());
}

void KafkaLedgerImpl::reread(const RereadRequest& request) {
  if (closing_ || tail_->reread(request)) return;
  // An empty log: whether its topic exists is all that can be queried.
  TailProbe* tail = tail_probe();
  if (tail == nullptr) return;
  empty_logs_.push_back(request);
  if (std::exchange(tail->checking_empty_logs, true)) return;  // one answer is for all
  check_topic(tail->probe, topic_needs(), kTopicAnswerWithin, [this](const TopicVerdict& verdict) {
    tail_probe_->checking_empty_logs = false;
    const bool exists = verdict.kind == Verdict::fits || verdict.kind == Verdict::unfit;
    for (const RereadRequest& r : std::exchange(empty_logs_, {})) {
      if (exists) emit(Reread{r.log, r.question, r.offset, std::nullopt});
    }
  });
}

}  // namespace neliroute
