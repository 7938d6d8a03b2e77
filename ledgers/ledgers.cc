#include "ledgers/ledgers.h"

#include <variant>

#include "ledgers/etcd/prepared_etcd.h"
#include "ledgers/kafka/kafka_store.h"
#include "ledgers/memory/prepared_memory.h"
#include "ledgers/quorum/prepared_quorum.h"
#ifdef NELIROUTE_WITH_POSTGRES
#include "ledgers/postgres/postgres_schema.h"
#include "ledgers/postgres/prepared_postgres.h"
#endif

namespace neliroute {
namespace {

// One of each for every store: the compiler misses a store that has none.
auto prepare(const KafkaConnection& kafka, const LedgerNeeds& needs, const NoticeSink& waiting,
             const BeforeCreation& before_creation) {
  return prepare_kafka({kafka, needs}, waiting, before_creation);
}
auto prepare(const EtcdConnection& etcd, const LedgerNeeds& needs, const NoticeSink& waiting,
             const BeforeCreation& before_creation) {
  return prepare_etcd(etcd, needs, waiting, before_creation);
}
#ifdef NELIROUTE_WITH_POSTGRES
auto prepare(const PostgresConnection& postgres, const LedgerNeeds& needs,
             const NoticeSink& waiting, const BeforeCreation& before_creation) {
  return prepare_postgres(postgres, needs, waiting, before_creation);
}
auto read(const PostgresConnection& postgres, const LedgerNeeds&, std::optional<BrokerTime> since,
          const RecordSink& record, const NoticeSink&) {
  return read_postgres(postgres, since, record);
}
#else
constexpr const char* kNoPostgres = "this build has no PostgreSQL";
// There is no such address (ledger_address.cc).
Result<std::unique_ptr<PreparedStore>> prepare(const PostgresConnection&, const LedgerNeeds&,
                                               const NoticeSink&, const BeforeCreation&) {
  return Error{Errc::bad_option, kNoPostgres};
}
Result<std::vector<LogRead>> read(const PostgresConnection&, const LedgerNeeds&,
                                  std::optional<BrokerTime>, const RecordSink&,
                                  const NoticeSink&) {
  return Error{Errc::bad_option, kNoPostgres};
}
#endif
auto prepare(const QuorumConnection& quorum, const LedgerNeeds& needs, const NoticeSink& waiting,
             const BeforeCreation& before_creation) {
  return prepare_quorum(quorum, needs, waiting, before_creation);
}
auto prepare(const MemoryConnection& memory, const LedgerNeeds& needs, const NoticeSink&,
             const BeforeCreation& before_creation) {
  return prepare_memory(memory.name, needs, before_creation);
}

auto read(const KafkaConnection& kafka, const LedgerNeeds& needs, std::optional<BrokerTime> since,
          const RecordSink& record, const NoticeSink& notices) {
  return read_logs({{kafka, needs}, since}, record, notices);
}
auto read(const EtcdConnection& etcd, const LedgerNeeds&, std::optional<BrokerTime> since,
          const RecordSink& record, const NoticeSink&) {
  return read_etcd(etcd, since, record);
}
auto read(const QuorumConnection& quorum, const LedgerNeeds&, std::optional<BrokerTime> since,
          const RecordSink& record, const NoticeSink&) {
  return read_quorum(quorum, since, record);
}
auto read(const MemoryConnection& memory, const LedgerNeeds&, std::optional<BrokerTime> since,
          const RecordSink& record, const NoticeSink&) {
  return read_memory(memory.name, since, record);
}

}  // namespace

Result<std::unique_ptr<PreparedStore>> prepare_store(const LedgerAddress& address,
                                                     const LedgerNeeds& needs,
                                                     const NoticeSink& waiting,
                                                     const BeforeCreation& before_creation) {
  const bool may_group = needs.watcher || std::holds_alternative<KafkaConnection>(address);
  if (!may_group && needs.assignment == Assignment::group) {
    return Error{Errc::bad_option, "`ledger` " + describe(address) +
                                       " has no group; leave `assignment`, `variation` and "
                                       "`group_protocol` out, or use Kafka"};
  }
  return std::visit([&](const auto& at) { return prepare(at, needs, waiting, before_creation); },
                    address);
}

Result<std::vector<LogRead>> read_store(const LedgerAddress& address, const LedgerNeeds& needs,
                                        std::optional<BrokerTime> since, const RecordSink& record,
                                        const NoticeSink& notices) {
  return std::visit([&](const auto& at) { return read(at, needs, since, record, notices); },
                    address);
}

Result<std::string> schema_text(std::string_view schema) {
#ifdef NELIROUTE_WITH_POSTGRES
  if (auto fits = check_schema_name(schema); !fits) return fits.error();
  return postgres_schema(schema);
#else
  return Error{Errc::bad_option, "schema " + std::string(schema) + ": " + kNoPostgres};
#endif
}

}  // namespace neliroute
