// The order in which a ledger's clients are closed.
#include <neliroute/clock.h>

#include "ledgers/kafka/ledger/kafka_ledger_impl.h"

namespace neliroute {

// The group is left first, so that others may take over while the last records, the releases, are
// still in flight.
void KafkaLedgerImpl::close(LocalTime deadline, std::function<void()> done) {
  closing_ = true;
  closed_ = std::move(done);
  close_by_ = deadline;
  leave_group();
  serve_later();
}

void KafkaLedgerImpl::advance_close() {
  if (!closed_) return;
  const bool over = (!group_ || group_->gone()) && (!writer_ || writer_->idle());
  if (!over && boot_now() < close_by_) return;
  const auto done = std::exchange(closed_, nullptr);
  release();
  done();
}

// Whatever refers to a client is destroyed before it.
void KafkaLedgerImpl::release() {
  if (!alive_) return;
  alive_.reset();
  closing_ = true;
  events_ = nullptr;
  notices_ = nullptr;
  refused_ = nullptr;
  timer_.cancel();
  tail_probe_.reset();
  spare_probe_.reset();
  writer_probe_.reset();
  if (prompter_) prompter_->stop();
  withdrawal_.reset();
  group_.reset();
  tail_.reset();
  writer_.reset();
  wakeup_->close();
}

}  // namespace neliroute
