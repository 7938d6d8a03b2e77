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

/// Kafka's own limit: it makes folders of them.
inline constexpr std::size_t kTopicNameMax = 249;
/// Whether Kafka accepts it: 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-', but not . or .. alone.
[[nodiscard]] constexpr bool is_topic_name(std::string_view name) noexcept {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !name.empty() && name.size() <= kTopicNameMax && name != "." && name != ".." &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

}  // namespace neliroute
