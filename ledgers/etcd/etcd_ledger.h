// A ledger on an etcd, by its JSON gateway.
//
// Positions are revisions, so they have gaps; stamps are the writers'. A tail reads the newest
// record of each kind first (`Below::unread`).
//
// Threads: the strand.   Units: std::chrono.   Errors: those of the port.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <vector>

#include "ledgers/etcd/etcd_tail.h"
#include "ledgers/etcd/etcd_writer.h"
#include "neli_core/ledger.h"

namespace neliroute {

struct EtcdLedgerOptions {
  ProcessId id = kNobody;  ///< drawn: of no other writer
  std::uint32_t logs = 1;
  milliseconds lease{0};  ///< T
  milliseconds kept{0};   ///< for how long records are kept, at least
  /// It reads from the end.
  bool watcher = false;
};

class EtcdLedger final : public Ledger {
 public:
  EtcdLedger(boost::asio::any_io_executor strand, const EtcdConnection& connection,
             TlsContextPtr tls, const EtcdLedgerOptions& options);
  /// On the strand, but not from inside its own events.
  ~EtcdLedger() override;

  void start(EventSink events, NoticeSink notices) override;
  void on_refused(std::function<void(const Error&)> handler) override;
  void write(Write write) override;
  void restart_tail(Log log) override;
  void reread(const RereadRequest& request) override;
  void close(LocalTime deadline, std::function<void()> done) override;

 private:
  void emit(const Event& event);
  void end();

  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  boost::asio::any_io_executor strand_;
  boost::asio::steady_timer deadline_;
  std::shared_ptr<EtcdServers> servers_;
  std::shared_ptr<EtcdWriter> writer_;
  std::vector<std::shared_ptr<EtcdTail>> tails_;
  EventSink events_;
  std::function<void(const Error&)> refused_;
  std::function<void()> closed_;
  bool started_ = false;
};

}  // namespace neliroute
