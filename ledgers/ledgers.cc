#include "ledgers/ledgers.h"

#include "ledgers/kafka/kafka_store.h"
#include "ledgers/memory/prepared_memory.h"

namespace neliroute {

Result<std::unique_ptr<PreparedStore>> prepare_store(const LedgerAddress& address,
                                                     const LedgerNeeds& needs,
                                                     const NoticeSink& waiting,
                                                     const BeforeCreation& before_creation) {
  if (const auto* memory = std::get_if<MemoryConnection>(&address)) {
    return prepare_memory(memory->name, needs, before_creation);
  }
  return prepare_kafka({std::get<KafkaConnection>(address), needs}, waiting, before_creation);
}

Result<std::vector<LogRead>> read_store(const LedgerAddress& address, const LedgerNeeds& needs,
                                        std::optional<BrokerTime> since, const RecordSink& record,
                                        const NoticeSink& notices) {
  if (const auto* memory = std::get_if<MemoryConnection>(&address)) {
    return read_memory(memory->name, since, record);
  }
  return read_logs({{std::get<KafkaConnection>(address), needs}, since}, record, notices);
}

}  // namespace neliroute
