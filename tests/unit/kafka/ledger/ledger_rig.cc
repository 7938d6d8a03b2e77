#include "tests/unit/kafka/ledger/ledger_rig.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <neliroute/clock.h>

namespace neliroute {
namespace {

std::string record(std::uint64_t seq, milliseconds lease,
                   std::optional<BrokerTime> read_until = std::nullopt) {
  Record record;
  record.id = LedgerRig::id();
  record.seq = seq;
  record.parts = LogParts::of({Partition{0}}, 1);
  record.lease = lease;
  record.max_lease = record.lease;
  record.read_until = read_until.value_or(BrokerTime{milliseconds{kIncarnationMax}});
  return encode_record(record);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  for (const TailStarted& one : seen.started) {
    out << "\n  log " << one.log.value() << " starts at " << one.start << ", ends at " << one.end;
  }
  for (std::size_t log = 0; log < seen.received.size(); ++log) {
    const auto& records = seen.received[log];
    out << "\n  log " << log << ": " << records.size() << " records";
    if (records.empty()) continue;
    out << ", the last at " << records.back().offset << " with seq " << records.back().seq;
  }
  for (const Reread& one : seen.rereads) {
    out << "\n  question " << one.question << ": offset " << one.offset
        << (one.found ? " found" : " not found");
  }
  for (const GapFound& one : seen.gaps) {
    out << "\n  gap in log " << one.log.value() << ": " << to_string(one.reason);
  }
  out << "\n  acknowledged " << seen.acknowledged.size() << ", failed " << seen.failed.size();
  for (const PartitionRanges& one : seen.assigned) out << "\n  assigned " << one.to_string();
  for (const GroupRevoked& one : seen.revoked) {
    out << "\n  " << (one.lost ? "lost " : "revoked ") << one.partitions.to_string();
  }
  for (const Notice& one : seen.notices) out << "\n  said: " << one.text;
  return out << (seen.closed ? "\n  closed" : "\n  not closed");
}

LedgerRig::~LedgerRig() {
  destroy();
  io_.join();
  close_broker();
}

void LedgerRig::open_broker() {
  broker_io_.run([this] {
    auto broker = EmbeddedBroker::open(broker_io_.executor(), {0, {{"neliroute", kPartitions}}});
    ASSERT_TRUE(broker.has_value()) << broker.error().message();
    broker_ = std::move(*broker);
  });
}

void LedgerRig::close_broker() {
  silence_.reset();
  if (broker_) broker_io_.run([this] { broker_.reset(); });
}

std::string LedgerRig::address() const { return broker_ ? broker_->address() : "127.0.0.1:1"; }

// By hand, as prepare_topic() needs a broker.
KafkaLedgerParameters LedgerRig::parameters(bool watcher) const {
  using std::chrono::seconds;
  KafkaLedgerParameters parameters;
  parameters.kafka.brokers = address();
  parameters.kafka.watcher = watcher;
  parameters.facts.partitions = parameters.facts.topic_partitions = kPartitions;
  parameters.facts.logs = kLogs;
  parameters.facts.session.protocol = GroupProtocol::classic;
  parameters.facts.embedded_broker = true;
  parameters.timing.interval = milliseconds{100};
  parameters.timing.lease = seconds{2};
  parameters.timing.clock_error = milliseconds{100};
  parameters.timing.session = seconds{6};
  parameters.timing.heartbeat = milliseconds{200};
  return parameters;
}

void LedgerRig::open(const KafkaLedgerParameters& parameters) {
  {
    const std::lock_guard lock(mutex_);
    seen_ = Seen{};
    seen_.received.resize(parameters.facts.logs);
  }
  io_.run([&] {
    closing_ = false;
    auto ledger = KafkaLedger::open(io_.executor(), parameters);
    ASSERT_TRUE(ledger.has_value()) << ledger.error().message();
    ledger_ = std::move(*ledger);
  });
}

void LedgerRig::start() {
  on_ledger([this](KafkaLedger& ledger) {
    ledger.start([this](const Event& event, LocalTime now) { note(event, now); },
                 [this](const Notice& notice) {
                   const std::lock_guard lock(mutex_);
                   seen_.notices.push_back(notice);
                   changed_.notify_all();
                 });
  });
}

void LedgerRig::close(milliseconds within) {
  on_ledger([this, within](KafkaLedger& ledger) { close(ledger, within); });
}

void LedgerRig::close(KafkaLedger& ledger, milliseconds within) {
  closing_ = true;
  ledger.close(later(boot_now(), within), [this] {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(seen_.closed) << "closed twice";
    seen_.closed = true;
    changed_.notify_all();
  });
}

void LedgerRig::destroy() {
  if (ledger_) io_.run([this] { ledger_.reset(); });
}

void LedgerRig::on_ledger(const std::function<void(KafkaLedger&)>& work) {
  io_.run([&] {
    ASSERT_TRUE(ledger_);
    work(*ledger_);
  });
}

void LedgerRig::write(Log log, std::uint64_t seq, milliseconds lease,
                      std::optional<BrokerTime> read_until) {
  on_ledger([&](KafkaLedger& ledger) { ledger.write({log, seq, record(seq, lease, read_until)}); });
}

void LedgerRig::start_and_read() {
  start();
  EXPECT_TRUE(wait([](const Seen& seen) { return seen.started.size() >= kLogs; }));
}

void LedgerRig::join_group(bool finish) {
  on_ledger([](KafkaLedger& ledger) { ledger.subscribe(); });
  EXPECT_TRUE(wait([](const Seen& seen) { return !seen.assigned.empty(); }));
  if (finish) on_ledger([](KafkaLedger& ledger) { ledger.finish_rebalances(1); });
}

void LedgerRig::answer_rebalances() {
  after_event([this](const Event& event) {
    const bool rebalance = std::holds_alternative<GroupAssigned>(event) ||
                           std::holds_alternative<GroupRevoked>(event);
    if (rebalance) ledger_->finish_rebalances(1);
  });
}

void LedgerRig::note(const Event& event, LocalTime now) {
  EXPECT_FALSE(closing_) << "an event after close(), kind " << event.index();
  {
    const std::lock_guard lock(mutex_);
    if (const auto* started = std::get_if<TailStarted>(&event)) seen_.started.push_back(*started);
    if (const auto* received = std::get_if<Received>(&event)) {
      const auto* value = std::get_if<Record>(received->value);
      seen_.received.at(received->log.value())
          .push_back({received->offset, value ? value->seq : 0, received->stamped});
    }
    if (const auto* reread = std::get_if<Reread>(&event)) seen_.rereads.push_back(*reread);
    if (const auto* stored = std::get_if<WriteAcknowledged>(&event)) {
      seen_.acknowledged.push_back(stored->seq);
    }
    if (const auto* failed = std::get_if<WriteFailed>(&event)) seen_.failed.push_back(failed->seq);
    if (const auto* given = std::get_if<GroupAssigned>(&event)) {
      seen_.assigned.push_back(given->partitions);
    }
    if (const auto* revoked = std::get_if<GroupRevoked>(&event)) seen_.revoked.push_back(*revoked);
    if (const auto* gap = std::get_if<GapFound>(&event)) seen_.gaps.push_back(*gap);
    changed_.notify_all();
  }
  if (after_event_) after_event_(event);
  if (after_timed_event_) after_timed_event_(event, now);
}

bool LedgerRig::wait(const std::function<bool(const Seen&)>& condition, milliseconds at_most) {
  if (!never(condition, at_most)) return true;
  std::cerr << "waited for " << at_most.count() << " ms in vain; seen: " << seen() << std::endl;
  return false;
}

bool LedgerRig::never(const std::function<bool(const Seen&)>& condition, milliseconds during) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, during, [&] { return condition(seen_); });
}

Seen LedgerRig::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

}  // namespace neliroute
