// The settings of the four librdkafka clients of a process, the user's own among them.
//
// A property that has an option of its own, or that the protocol fixes, is refused; any other
// goes to those clients that know it. Secrets are kept out of every text.
//
// Threads: pure functions and values, any.   Units: std::chrono; librdkafka's are milliseconds.
// Errors: bad_option, naming the property and what to do; never its value.
#pragma once

#include <cstddef>
#include <neliroute/error.h>
#include <string>
#include <string_view>
#include <vector>

#include "ledgers/ledger_statistics.h"
#include "ledgers/kafka/client/rdkafka_ptr.h"
#include "ledgers/kafka/kafka_options.h"
#include "neli_core/ready.h"
#include "neli_core/timing.h"

namespace neliroute {

/// What a client's settings are derived from.
struct ClientSettings {
  const KafkaOptions& kafka;
  Timing timing;
  GroupProtocol protocol = GroupProtocol::classic;
  /// librdkafka's mock cluster: an empty fetch is answered late, so it must wait briefly.
  bool embedded_broker = false;
  /// Between two of a client's own statistics; 0: none.
  milliseconds statistics{0};
};

/// How often a client emits statistics. They contain some 2 KB for each partition of the topic, not
/// used here: so the more partitions, the less often; with very many, never.
[[nodiscard]] milliseconds statistics_interval(std::uint32_t partitions) noexcept;

/// Checks that the user's properties are allowed and known.
[[nodiscard]] Result<void> check_properties(const KafkaOptions& options);

/// With an assigner none may be a group's.
[[nodiscard]] Result<void> check_properties_without_group(const KafkaOptions& options);
/// The same once the group protocol is known.
[[nodiscard]] Result<void> check_properties_of(const KafkaOptions& options,
                                               GroupProtocol protocol);

[[nodiscard]] Result<rdkafka::ConfPtr> make_conf(ClientKind kind, const ClientSettings& settings);

/// A client from its settings; its log goes to its main queue.
[[nodiscard]] Result<rdkafka::HandlePtr> make_client(ClientKind kind,
                                                     const ClientSettings& settings);

/// Whether rebalances of the classic protocol are incremental with this assignor list.
[[nodiscard]] bool is_cooperative(const KafkaOptions& options, GroupProtocol protocol) noexcept;

/// Takes the values of the user's secret properties out of texts.
class Secrets {
 public:
  explicit Secrets(const KafkaOptions& options);
  [[nodiscard]] std::string without(std::string_view text) const;

 private:
  std::vector<std::string> values_;
};

/// Passes librdkafka's log on, without secrets and without repetitions.
class LogFilter {
 public:
  explicit LogFilter(const KafkaOptions& options) : secrets_(options) {}
  /// False: not worth a line. `level` is syslog's.
  [[nodiscard]] bool accept(int level, std::string_view facility, std::string_view text,
                            Notice& notice);
  [[nodiscard]] const Secrets& secrets() const noexcept { return secrets_; }

 private:
  Secrets secrets_;
  std::vector<std::string> recent_;  ///< a ring of the last few lines
  std::size_t oldest_ = 0;
};

}  // namespace neliroute
