// The producer.
#include <neliroute/clock.h>
#include <utility>

#include "ledgers/kafka/client/kafka_error.h"
#include "ledgers/kafka/ledger/kafka_ledger_impl.h"

namespace neliroute {

Result<void> KafkaLedgerImpl::open_writer() {
  writer_ = std::make_unique<RecordWriter>(
      settings(), *wakeup_,
      [this](std::uint64_t seq, rd_kafka_resp_err_t error, std::int64_t offset) {
        on_written(seq, error, offset);
      });
  if (auto opened = writer_->open(); !opened) return opened;
  writer_->warm_up();
  writer_->before_replacement([this] {
    if (const auto probe = std::move(writer_probe_)) probe->give_up();
  });
  return {};
}

/// For requests that do not concern the tail's topic; null while the producer has no client.
BrokerProbe* KafkaLedgerImpl::writer_probe() {
  if (!writer_probe_ && writer_ && writer_->handle() != nullptr) {
    writer_probe_ = std::make_unique<BrokerProbe>(writer_->handle(), wakeup_.get());
  }
  return writer_probe_.get();
}

// Not from inside the clients' own callbacks; and once for all logs that say so.
void KafkaLedgerImpl::renew_writer(bool other_topic) {
  const bool posted = renews_writer_.has_value();
  renews_writer_ = renews_writer_.value_or(false) || other_topic;
  if (posted) return;
  post([this] {
    const bool other = *std::exchange(renews_writer_, std::nullopt);
    if (closing_) return;
    other ? writer_->renew() : writer_->on_topic_gone();
  });
}

void KafkaLedgerImpl::rescue_writer_if_due(LocalTime now) {
  if (writer_probe_ && writer_probe_->is_overdue(now)) return writer_->renew();
  const auto report = writer_->rescue_if_due(now, [this](Log log) { return last_answer(log); });
  if (report) notice(report->severity, log_filter_.secrets().without(report->text));
}

void KafkaLedgerImpl::on_written(std::uint64_t seq, rd_kafka_resp_err_t error,
                                 std::int64_t offset) {
  const bool stored = error == RD_KAFKA_RESP_ERR_NO_ERROR;
  if (stored) {
    ever_stored_ = true;
    write_troubles_.clear();
  } else if (!closing_ && !is_own_doing(error)) {
    on_trouble(write_troubles_, error, "a record cannot be written");
  }
  if (seq == 0) return;  // a broadcast record
  if (stored) return emit(WriteAcknowledged{seq, offset});
  emit(WriteFailed{seq});
}

void KafkaLedgerImpl::write(Write write) {
  if (closing_) return;
  if (!writer_->write(write)) serve_later();
}

void KafkaLedgerImpl::broadcast() {
  if (!closing_) writer_->broadcast(parameters_.facts.partitions);
}

}  // namespace neliroute
