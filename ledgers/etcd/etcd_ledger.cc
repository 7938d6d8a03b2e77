#include "ledgers/etcd/etcd_ledger.h"

#include <utility>
#include <vector>

#include "ledgers/etcd/etcd_tail.h"
#include "ledgers/etcd/etcd_writer.h"
#include "ledgers/parts/parts_ledger.h"

namespace neliroute {
namespace {

/// A tail for each log.
class EtcdReader final : public LedgerReader {
 public:
  EtcdReader(const boost::asio::any_io_executor& strand, std::shared_ptr<EtcdServers> servers,
             const EtcdKeys& keys, const EtcdLedgerOptions& options)
      : servers_(std::move(servers)) {
    for (std::uint32_t log = 0; log < options.logs; ++log) {
      tails_.push_back(
          std::make_shared<EtcdTail>(strand, servers_, keys,
                                     EtcdTailOptions{Log{log}, options.lease, options.watcher}));
    }
  }

  void start(Happened happened) override {
    servers_->on_leave([this](std::size_t server) {
      for (const auto& tail : tails_) tail->left(server);
    });
    for (const auto& tail : tails_) tail->start(happened);
  }
  void restart(Log log) override { tails_.at(log.value())->restart(); }
  void reread(const RereadRequest& request) override {
    tails_.at(request.log.value())->reread(request);
  }
  void doubt() override {
    for (const auto& tail : tails_) tail->doubt();
  }
  void close() override {
    servers_->on_leave(nullptr);
    for (const auto& tail : tails_) tail->close();
  }

 private:
  std::shared_ptr<EtcdServers> servers_;
  std::vector<std::shared_ptr<EtcdTail>> tails_;
};

}  // namespace

OpenedLedger make_etcd_ledger(boost::asio::any_io_executor strand,
                              const EtcdConnection& connection, TlsContextPtr tls,
                              const EtcdLedgerOptions& options) {
  const auto servers = std::make_shared<EtcdServers>(strand, connection, std::move(tls));
  const EtcdKeys keys(connection.prefix);
  LedgerParts parts;
  parts.reports = servers->shared_reports();
  parts.statistics = servers->shared_statistics();
  parts.reader = std::make_shared<EtcdReader>(strand, servers, keys, options);
  parts.writer = std::make_shared<EtcdWriter>(
      strand, servers, keys, EtcdWriterOptions{options.id, options.lease, options.kept});
  return {std::make_unique<PartsLedger>(std::move(strand), std::move(parts)), nullptr,
          servers->shared_statistics()};
}

}  // namespace neliroute
