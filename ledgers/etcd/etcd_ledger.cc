#include "ledgers/etcd/etcd_ledger.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <neliroute/clock.h>
#include <utility>

namespace neliroute {

EtcdLedger::EtcdLedger(boost::asio::any_io_executor strand, const EtcdConnection& connection,
                       TlsContextPtr tls, const EtcdLedgerOptions& options)
    : strand_(std::move(strand)),
      deadline_(strand_),
      servers_(std::make_shared<EtcdServers>(strand_, connection, std::move(tls))) {
  const EtcdKeys keys(connection.prefix);
  writer_ = std::make_shared<EtcdWriter>(
      strand_, servers_, keys, EtcdWriterOptions{options.id, options.lease, options.kept});
  for (std::uint32_t log = 0; log < options.logs; ++log) {
    tails_.push_back(std::make_shared<EtcdTail>(
        strand_, servers_, keys,
        EtcdTailOptions{Log{log}, options.lease, options.watcher}));
  }
}

EtcdLedger::~EtcdLedger() {
  end();
  servers_->names().close();
}

void EtcdLedger::start(EventSink events, NoticeSink notices) {
  started_ = true;
  events_ = std::move(events);
  servers_->on_notice(std::move(notices));
  writer_->start(
      [this](std::uint64_t seq, std::optional<std::int64_t> position) {
        position ? emit(WriteAcknowledged{seq, *position}) : emit(WriteFailed{seq});
      },
      [this](const Error& error) {
        if (const auto refused = refused_) refused(error);
      },
      [this] {
        for (const auto& tail : tails_) tail->doubt();
      });
  servers_->on_leave([this](std::size_t server) {
    for (const auto& tail : tails_) tail->left(server);
  });
  for (const auto& tail : tails_) {
    tail->start([this](const Event& event) { emit(event); });
  }
}

void EtcdLedger::on_refused(std::function<void(const Error&)> handler) {
  refused_ = std::move(handler);
}

void EtcdLedger::write(Write write) { writer_->write(std::move(write)); }

void EtcdLedger::restart_tail(Log log) { tails_.at(log.value())->restart(); }

void EtcdLedger::reread(const RereadRequest& request) {
  tails_.at(request.log.value())->reread(request);
}

void EtcdLedger::emit(const Event& event) {
  const EventSink events = events_;  // which may close this
  if (events) events(event, boot_now());
}

// From now on nothing calls back into this, whatever is still under way.
void EtcdLedger::end() {
  events_ = nullptr;
  refused_ = nullptr;
  servers_->on_notice(nullptr);
  servers_->on_leave(nullptr);
  deadline_.cancel();
  writer_->close();
  for (const auto& tail : tails_) tail->close();
}

void EtcdLedger::close(LocalTime deadline, std::function<void()> done) {
  for (const auto& tail : tails_) tail->close();
  events_ = nullptr;
  refused_ = nullptr;
  servers_->on_notice(nullptr);
  closed_ = std::move(done);
  const auto finish = [this, token = std::weak_ptr(alive_)] {
    if (token.expired() || !closed_) return;
    end();
    const auto then = std::exchange(closed_, nullptr);
    then();  // which may destroy this
  };
  // Never from inside this call.
  if (!started_) return boost::asio::post(strand_, finish);
  writer_->finish(finish);
  deadline_.expires_after(std::max(deadline - boot_now(), microseconds{0}));
  deadline_.async_wait([finish](const boost::system::error_code& error) {
    if (!error) finish();
  });
}

}  // namespace neliroute
