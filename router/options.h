// What a Router or Watcher is told at open().
//
// Threads: values.   Units: std::chrono.   Errors: open() names the option, what was expected
// and what to do.
#pragma once

#include <functional>
#include <string>

#include "neli_core/kafka/kafka_options.h"
#include "neli_core/options.h"
#include "neli_core/ready.h"
#include "neli_core/record.h"
#include "neli_core/result.h"
#include "neli_core/timing.h"
#include "slots/slot.h"
#include "slots/slot_space.h"

namespace neliroute {

struct RouterOptions {
  /// Brokers, topic, group, lane, partitions; any librdkafka property (TLS, SASL).
  KafkaOptions kafka;
  Mode mode = Mode::non_exclusive;
  /// Profile, or single durations.
  TimingRequest timing;
  SlotCount slots{1024};
  HashScheme hash;
  /// Whether partitions may carry unequal numbers of slots.
  bool allow_uneven = false;
  /// Name (default host_pid_startms), the endpoint that callers connect to, opaque tags.
  ProcessInfo process;
  /// Where log lines go; called on the strand. Default: nowhere.
  std::function<void(const Notice&)> log;
};

/// Whether every slot can get a key.
[[nodiscard]] Result<void> check_hash(SlotCount slots, HashScheme hash);

/// host_pid_startms of this process.
[[nodiscard]] std::string default_process_name();

}  // namespace neliroute
