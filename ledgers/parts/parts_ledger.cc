#include "ledgers/parts/parts_ledger.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <neliroute/clock.h>
#include <utility>

namespace neliroute {

PartsLedger::PartsLedger(boost::asio::any_io_executor strand, LedgerParts parts)
    : strand_(std::move(strand)), deadline_(strand_), parts_(std::move(parts)) {}

void PartsLedger::start(EventSink events, NoticeSink notices) {
  started_ = true;
  events_ = std::move(events);
  parts_.reports->on_notice(std::move(notices));
  parts_.writer->start(
      [this](std::uint64_t seq, std::optional<std::int64_t> position) {
        --parts_.statistics->unsent_records;
        position ? emit(WriteAcknowledged{seq, *position}) : emit(WriteFailed{seq});
      },
      [this](const Error& error) {
        if (const auto refused = refused_) refused(error);
      },
      [this] { parts_.reader->doubt(); });
  parts_.reader->start([this](const Event& event) { emit(event); });
}

void PartsLedger::on_refused(std::function<void(const Error&)> handler) {
  refused_ = std::move(handler);
}

void PartsLedger::write(Write write) {
  ++parts_.statistics->unsent_records;
  parts_.writer->write(std::move(write));
}

void PartsLedger::emit(const Event& event) {
  const EventSink events = events_;  // which may close this
  if (events) events(event, boot_now());
}

// From now on nothing calls back into this, whatever is still under way.
void PartsLedger::end() {
  events_ = nullptr;
  refused_ = nullptr;
  parts_.reports->on_notice(nullptr);
  deadline_.cancel();
  parts_.writer->close();
  parts_.reader->close();
}

void PartsLedger::close(LocalTime deadline, std::function<void()> done) {
  parts_.reader->close();
  events_ = nullptr;
  refused_ = nullptr;
  parts_.reports->on_notice(nullptr);
  closed_ = std::move(done);
  const auto finish = [this, token = std::weak_ptr(alive_)] {
    if (token.expired() || !closed_) return;
    end();
    const auto then = std::exchange(closed_, nullptr);
    then();  // which may destroy this
  };
  // Never from inside this call.
  if (!started_) return boost::asio::post(strand_, finish);
  parts_.writer->finish(finish);
  deadline_.expires_after(std::max(deadline - boot_now(), microseconds{0}));
  deadline_.async_wait([finish](const boost::system::error_code& error) {
    if (!error) finish();
  });
}

}  // namespace neliroute
