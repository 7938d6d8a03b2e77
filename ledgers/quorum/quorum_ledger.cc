#include "ledgers/quorum/quorum_ledger.h"

#include <memory>
#include <utility>

#include "ledgers/parts/parts_ledger.h"
#include "ledgers/quorum/quorum_link.h"
#include "ledgers/quorum/quorum_reader.h"
#include "ledgers/quorum/quorum_writer.h"

namespace neliroute {

OpenedLedger make_quorum_ledger(boost::asio::any_io_executor strand,
                                const QuorumConnection& connection, TlsContextPtr tls,
                                const QuorumLedgerOptions& options) {
  const auto voters = std::make_shared<QuorumVoters>(strand, connection, std::move(tls));
  QuorumLinks links;
  for (std::uint32_t log = 0; log < options.logs; ++log) {
    links.push_back(std::make_shared<QuorumLink>(strand, voters, Log{log}, options.lease / 2));
  }
  LedgerParts parts;
  parts.reports = voters->shared_reports();
  parts.statistics = voters->shared_statistics();
  parts.writer = std::make_shared<QuorumWriter>(strand, links, options.lease);
  parts.reader = std::make_shared<QuorumReader>(
      strand, std::move(links),
      QuorumReaderOptions{options.lease, options.clock_error, options.watcher});
  return {std::make_unique<PartsLedger>(std::move(strand), std::move(parts)), nullptr,
          voters->shared_statistics()};
}

}  // namespace neliroute
