#include "ledgers/ledger_address.h"

#include <utility>
#include <variant>

#include "ledgers/topic_name.h"

namespace neliroute {
namespace {

constexpr std::string_view kKafka = "kafka://";
constexpr std::string_view kMemory = "memory:";

Error bad(std::string_view ledger, const std::string& why) {
  return {Errc::bad_option, "`ledger` \"" + std::string(ledger) + "\": " + why};
}

Result<LedgerAddress> in_memory(std::string_view ledger) {
  const std::string_view name = ledger.substr(kMemory.size());
  if (name.empty()) return bad(ledger, "expected a name after memory:, as in memory:test");
  return LedgerAddress{MemoryConnection{std::string(name)}};
}

Result<LedgerAddress> on_kafka(std::string_view ledger, const KafkaConnection& kafka) {
  const KafkaConnection defaults;
  if (kafka.brokers != defaults.brokers || kafka.topic != defaults.topic) {
    return bad(ledger, "it names the brokers and the topic, as `kafka.brokers` and `kafka.topic` "
                       "do; give either the one or the others");
  }
  std::string_view rest = ledger.substr(kKafka.size());
  KafkaConnection found = kafka;
  if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
    found.topic = rest.substr(slash + 1);
    rest = rest.substr(0, slash);
  }
  if (rest.empty()) return bad(ledger, "expected brokers, as in kafka://HOST:9092/TOPIC");
  if (auto fits = check_topic_name(found.topic); !fits) return bad(ledger, fits.error().message());
  found.brokers = rest;
  return LedgerAddress{std::move(found)};
}

const std::string& name_of(const KafkaConnection& kafka) { return kafka.topic; }
const std::string& name_of(const MemoryConnection& memory) { return memory.name; }

}  // namespace

Result<LedgerAddress> ledger_address(std::string_view ledger, const KafkaConnection& kafka) {
  if (ledger.empty()) return LedgerAddress{kafka};
  if (ledger.starts_with(kKafka)) return on_kafka(ledger, kafka);
  if (ledger.starts_with(kMemory)) return in_memory(ledger);
  return bad(ledger, "expected kafka://HOST:PORT,.../TOPIC, or memory:NAME within one program");
}

const std::string& topic_of(const LedgerAddress& address) {
  return std::visit([](const auto& at) -> const std::string& { return name_of(at); }, address);
}

}  // namespace neliroute
