// What a Router or Watcher is told at open().
//
// Threads: values.   Units: std::chrono.   Errors: open() names the option, what was expected
// and what to do.
#pragma once

#include <cstdint>
#include <functional>
#include <neliroute/error.h>
#include <neliroute/slot.h>
#include <neliroute/slot_space.h>
#include <optional>
#include <string>
#include <string_view>

#include "kafka/kafka_options.h"
#include "neli_core/options.h"
#include "neli_core/ready.h"
#include "neli_core/record/record.h"
#include "neli_core/timing.h"

namespace neliroute {

struct RouterOptions {
  /// Brokers, topic, group, lane, partitions; any librdkafka property (TLS, SASL).
  KafkaOptions kafka;
  Mode mode = Mode::non_exclusive;
  /// `claimed` unless the paper's own protocol is wanted, with what it assumes.
  Variation variation = Variation::claimed;
  /// How many roles there are at first; no value: as many as slots. Router::set_role_count().
  std::optional<std::uint32_t> roles;
  /// `broadcast`: whether claims travel beside, by which others find the owner.
  bool hints = true;
  /// Profile, or single durations.
  TimingRequest timing;
  SlotCount slots{1024};
  HashScheme hash;
  /// Whether partitions may carry unequal numbers of slots.
  bool allow_uneven = false;
  /// Name (default host_pid_startms), the endpoint that callers connect to (HOST:PORT; empty:
  /// nobody can), opaque tags.
  ProcessInfo process;
  /// Where log lines go; called on the strand. Default: nowhere.
  std::function<void(const Notice&)> log;
};

/// Whether every slot can get a key.
[[nodiscard]] Result<void> check_hash(SlotCount slots, HashScheme hash);

/// Whether callers can connect to it: HOST:PORT, where HOST is a name, an IPv4 address, or an IPv6
/// address in brackets.
[[nodiscard]] Result<void> check_endpoint(std::string_view endpoint);

/// host_pid_startms of this process.
[[nodiscard]] std::string default_process_name();

}  // namespace neliroute
