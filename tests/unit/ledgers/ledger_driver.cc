#include "tests/unit/ledgers/ledger_driver.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <neliroute/clock.h>

namespace neliroute {

std::string claim_text(std::uint64_t seq, milliseconds lease,
                       std::optional<BrokerTime> read_until) {
  Record record;
  record.id = LedgerDriver::id();
  record.seq = seq;
  record.parts = LogParts::of({Partition{0}}, 1);
  record.lease = lease;
  record.max_lease = record.lease;
  record.read_until = read_until.value_or(BrokerTime{milliseconds{kIncarnationMax}});
  return encode_record(record);
}

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

LedgerDriver::~LedgerDriver() {
  destroy();
  io_.join();
}

void LedgerDriver::open(std::uint32_t logs, const Make& make) {
  {
    const std::lock_guard lock(mutex_);
    logs_ = logs;
    seen_ = Seen{};
    seen_.received.resize(logs);
  }
  io_.run([&] {
    closing_ = false;
    ledger_ = make(io_.executor());
  });
}

void LedgerDriver::start() {
  run([this](Ledger& ledger) {
    ledger.start([this](const Event& event, LocalTime now) { note(event, now); },
                 [this](const Notice& notice) {
                   const std::lock_guard lock(mutex_);
                   seen_.notices.push_back(notice);
                   changed_.notify_all();
                 });
  });
}

void LedgerDriver::close(milliseconds within) {
  run([this, within](Ledger&) { close_now(within); });
}

void LedgerDriver::close_now(milliseconds within) {
  closing_ = true;
  ledger_->close(later(boot_now(), within), [this] {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(seen_.closed) << "closed twice";
    seen_.closed = true;
    changed_.notify_all();
  });
}

void LedgerDriver::destroy() {
  if (ledger_) io_.run([this] { ledger_.reset(); });
}

void LedgerDriver::run(const std::function<void(Ledger&)>& work) {
  io_.run([&] {
    ASSERT_TRUE(ledger_);
    work(*ledger_);
  });
}

void LedgerDriver::write(Log log, std::uint64_t seq, milliseconds lease,
                         std::optional<BrokerTime> read_until) {
  run([&](Ledger& ledger) { ledger.write({log, seq, claim_text(seq, lease, read_until)}); });
}

void LedgerDriver::start_and_read() {
  start();
  EXPECT_TRUE(wait([this](const Seen& seen) { return seen.started.size() >= logs_; }));
}

// P2: a log's end is said to be no earlier than what it is known to hold.
void LedgerDriver::check_end(const Event& event) {
  if (const auto* started = std::get_if<TailStarted>(&event)) {
    known_ends_[started->log] = started->end;
  } else if (const auto* received = std::get_if<Received>(&event)) {
    std::int64_t& end = known_ends_[received->log];
    end = std::max(end, received->offset + 1);
  } else if (const auto* gap = std::get_if<GapFound>(&event)) {
    known_ends_.erase(gap->log);
  } else if (const auto* position = std::get_if<LogPosition>(&event)) {
    EXPECT_GE(position->next, known_ends_[position->log]) << "log " << position->log.value();
  }
}

void LedgerDriver::note(const Event& event, LocalTime now) {
  EXPECT_FALSE(closing_) << "an event after close(), kind " << event.index();
  check_end(event);
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
      seen_.offsets[stored->seq] = stored->offset;
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

bool LedgerDriver::wait(const std::function<bool(const Seen&)>& condition, milliseconds at_most) {
  if (!never(condition, at_most)) return true;
  std::cerr << "waited for " << at_most.count() << " ms in vain; seen: " << seen() << std::endl;
  return false;
}

bool LedgerDriver::never(const std::function<bool(const Seen&)>& condition, milliseconds during) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, during, [&] { return condition(seen_); });
}

Seen LedgerDriver::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

}  // namespace neliroute
