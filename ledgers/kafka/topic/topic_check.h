// Whether a topic can be the ledger: by its configuration and its description. The start and the
// check of a running process judge alike.
//
// Threads: one.   Units: std::chrono.   Errors: a verdict.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ledgers/kafka/topic/broker_probe.h"
#include "neli_core/options.h"

namespace neliroute {

struct TopicNeeds {
  std::string topic;
  Mode mode = Mode::non_exclusive;
  /// At least.
  std::uint32_t partitions = 0;
  /// It does not know configurations.
  bool embedded_broker = false;
};

struct TopicVerdict {
  enum class Kind {
    fits,     ///< as far as brokers say: reading will show
    missing,  ///< a broker answers that it does not exist
    unfit,
    unknown,  ///< no answer in time
  };
  Kind kind = Kind::fits;
  std::string why;
};

[[nodiscard]] TopicVerdict judge(const Answer<ResourceConfigs>& configs, const TopicNeeds& needs);
[[nodiscard]] TopicVerdict judge(const Answer<TopicDescription>& described,
                                 const TopicNeeds& needs);

/// Queries both, one after the other.
void check_topic(BrokerProbe& probe, const TopicNeeds& needs, milliseconds answer_within,
                 std::function<void(const TopicVerdict&)> then);

}  // namespace neliroute
