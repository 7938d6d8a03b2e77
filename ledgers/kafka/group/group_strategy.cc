#include "ledgers/kafka/group/group_strategy.h"

#include <algorithm>

#include "ledgers/kafka/client/client_config.h"

namespace neliroute {
namespace {

constexpr milliseconds kGoNeliHeartbeat{3000};

std::string strategies(const KafkaOptions& options) {
  const auto own = options.properties.find("partition.assignment.strategy");
  return own == options.properties.end() ? "cooperative-sticky" : own->second;
}

}  // namespace

std::string inconsistent_group(const KafkaOptions& options, GroupProtocol protocol,
                               std::string_view error) {
  const std::string code{error};
  std::string text = "group " + options.group_id() + " has a member that ";
  if (protocol == GroupProtocol::consumer) {
    return text +
           "speaks another group protocol than consumer (" + code +
           "); give all processes the same `group_protocol` (one that may not read the broker's "
           "configuration takes classic by itself), and each application its own `group`";
  }
  return text +
         "shares no assignor with this process, which offers partition.assignment.strategy=" +
         strategies(options) + ", or speaks another group protocol than classic (" + code +
         "); give all members the same `kafka.properties` partition.assignment.strategy (goNELI's "
         "and librdkafka's "
         "default is range,roundrobin, ours cooperative-sticky) and `group_protocol`, and each "
         "application its own `group`";
}

milliseconds inconsistent_group_bound(const Timing& timing) noexcept {
  return std::max<milliseconds>(2 * timing.session, milliseconds{30'000});
}

std::optional<std::string> eager_lease_warning(const KafkaOptions& options, GroupProtocol protocol,
                                               milliseconds lease) {
  const bool trusts_the_group =
      options.variation == Variation::broadcast && options.mode == Mode::exclusive;
  if (!trusts_the_group || is_cooperative(options, protocol) || lease > kGoNeliHeartbeat) {
    return std::nullopt;
  }
  return "partition.assignment.strategy=" + strategies(options) + " with a lease of " +
         std::to_string(lease.count()) +
         " ms: where goNELI shares the group, a member that was removed from it learns so at its "
         "next heartbeat, 3000 ms by default, and both may lead until then; use a longer one, such "
         "as `timing.session` 15s `timing.lease` 5s";
}

}  // namespace neliroute
