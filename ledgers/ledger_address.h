// Where a lane's ledger is: `kafka://HOST:PORT,.../TOPIC`, or `memory:NAME` in the same program.
//
// Threads: pure functions, any.   Units: none.
// Errors: bad_option, naming the text, what was expected and what to do.
#pragma once

#include <cstddef>
#include <neliroute/error.h>
#include <neliroute/options.h>
#include <string>
#include <string_view>
#include <variant>

namespace neliroute {

/// A store in this program's memory, by its name.
struct MemoryConnection {
  std::string name;
};

using LedgerAddress = std::variant<KafkaConnection, MemoryConnection>;

/// Where `ledger` is empty, `kafka` alone says it; else `kafka` has the properties and the timeout
/// for a Kafka that the address names.
[[nodiscard]] Result<LedgerAddress> ledger_address(std::string_view ledger,
                                                   const KafkaConnection& kafka);
/// The topic, or what another store calls it.
[[nodiscard]] const std::string& topic_of(const LedgerAddress& address);

}  // namespace neliroute
