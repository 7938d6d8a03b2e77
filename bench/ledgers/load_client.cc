#include "bench/ledgers/load_client.h"

#include <neliroute/clock.h>
#include <string>
#include <utility>
#include <variant>

#include "neli_core/record/record.h"

namespace neliroute::bench {
namespace {

/// A renewal that holds nothing, with an endpoint that makes it as long as this.
std::string record_text(ProcessId id, std::uint64_t seq, std::size_t bytes) {
  Record record;
  record.type = RecordType::renewal;
  record.id = id;
  record.seq = seq;
  record.lease = milliseconds{9000};
  record.max_lease = record.lease;
  std::string text = encode_record(record);
  if (text.size() >= bytes) return text;
  record.process.endpoint = "x";
  const std::size_t least = encode_record(record).size();
  if (bytes > least) record.process.endpoint.append(bytes - least, 'x');
  return encode_record(record);
}

}  // namespace

LoadClient::LoadClient(boost::asio::any_io_executor strand, std::unique_ptr<Ledger> ledger,
                       ProcessId id, const Load& load)
    : timer_(std::move(strand)), ledger_(std::move(ledger)), id_(id), load_(load) {}

void LoadClient::start(std::function<void()> read) {
  read_ = std::move(read);
  const auto weak = weak_from_this();
  ledger_->start(
      [weak](const Event& event, LocalTime now) {
        if (const auto self = weak.lock()) self->on_event(event, now);
      },
      [](const Notice&) {});
}

void LoadClient::write(std::uint64_t members) {
  if (load_.every.count() != 0) {
    return wait_for(load_.every * (id_.value() - 1) / members);
  }
  for (std::size_t one = 0; one < load_.in_flight; ++one) write_one();
}

void LoadClient::wait_for(milliseconds time) {
  timer_.expires_after(time);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || !self || self->stopped_) return;
    self->write_one();
    // Of the time at which it was due: late ones do not make the load less.
    const auto due = self->timer_.expiry() + self->load_.every;
    self->wait_for(std::chrono::ceil<milliseconds>(due - std::chrono::steady_clock::now()));
  });
}

void LoadClient::write_one() {
  ++seq_;
  written_.emplace(seq_, boot_now());
  ledger_->write({Log{0}, seq_, record_text(id_, seq_, load_.bytes)});
}

void LoadClient::write_next() {
  if (load_.every.count() == 0 && !stopped_) write_one();
}

void LoadClient::on_event(const Event& event, LocalTime now) {
  if (std::holds_alternative<TailStarted>(event)) {
    if (const auto read = std::exchange(read_, nullptr)) read();
  } else if (std::holds_alternative<WriteAcknowledged>(event)) {
    if (counting_) ++counts_.stored;
    write_next();
  } else if (std::holds_alternative<WriteFailed>(event)) {
    ++counts_.failed;
    write_next();
  } else if (const auto* received = std::get_if<Received>(&event)) {
    if (counting_) ++counts_.delivered;
    const auto* record = std::get_if<Record>(received->value);
    if (record == nullptr || record->id != id_) return;
    const auto mine = written_.find(record->seq);
    if (mine == written_.end()) return;
    if (counting_) counts_.read_back.push_back(now - mine->second);
    written_.erase(mine);
  }
}

void LoadClient::count() {
  counts_ = {};
  counting_ = true;
}

Counts LoadClient::stop() {
  stopped_ = true;
  counting_ = false;
  timer_.cancel();
  return std::move(counts_);
}

void LoadClient::close(LocalTime deadline, std::function<void()> done) {
  ledger_->close(deadline, std::move(done));
}

}  // namespace neliroute::bench
