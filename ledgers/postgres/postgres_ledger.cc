#include "ledgers/postgres/postgres_ledger.h"

#include <utility>

#include "ledgers/parts/parts_ledger.h"
#include "ledgers/postgres/postgres_reader.h"
#include "ledgers/postgres/postgres_writer.h"

namespace neliroute {

OpenedLedger make_postgres_ledger(boost::asio::any_io_executor strand,
                                  const PostgresConnection& connection,
                                  const PostgresLedgerOptions& options) {
  const auto servers = std::make_shared<PostgresServers>(connection);
  LedgerParts parts;
  parts.reports = servers->shared_reports();
  parts.statistics = servers->shared_statistics();
  parts.reader = std::make_shared<PostgresReader>(
      strand, servers,
      PostgresReaderOptions{options.logs, options.lease, options.interval, options.clock_error,
                            options.watcher});
  parts.writer = std::make_shared<PostgresWriter>(
      strand, servers, PostgresWriterOptions{options.lease, options.kept, options.exclusive});
  return {std::make_unique<PartsLedger>(std::move(strand), std::move(parts)), nullptr,
          servers->shared_statistics()};
}

}  // namespace neliroute
