#include "router/options/option_parts.h"

#include <unistd.h>

namespace neliroute {

std::string_view implies_group(const RouterOptions& options) noexcept {
  if (options.assignment) return {};
  if (options.variation == Variation::broadcast) return "`variation` broadcast";
  if (options.group_protocol) return "`group_protocol`";
  if (options.timing.hang_limit) return "`timing.hang_limit`";
  return {};
}

Assignment assignment_of(const RouterOptions& options) noexcept {
  return options.assignment.value_or(implies_group(options).empty() ? Assignment::assigner
                                                                    : Assignment::group);
}

TimingRequest timing_request(const RouterOptions& options) {
  TimingRequest request;
  static_cast<TimingOptions&>(request) = options.timing;
  request.mode = options.mode;
  request.variation = options.variation;
  request.assignment = assignment_of(options);
  return request;
}

Result<LedgerAddress> ledger_address(const RouterOptions& options) {
  return ledger_address(options.ledger, options.kafka);
}

LedgerNeeds ledger_needs(const RouterOptions& options) {
  LedgerNeeds needs;
  needs.group = options.group;
  needs.lane = options.lane;
  needs.mode = options.mode;
  needs.variation = options.variation;
  needs.assignment = assignment_of(options);
  needs.partitions = options.partitions;
  needs.logs = options.logs;
  needs.protocol = options.group_protocol;
  needs.session = options.timing.session;
  needs.prepare_timeout = options.prepare_timeout;
  return needs;
}

WatcherOptions watcher_options(const RouterOptions& options) {
  WatcherOptions watcher;
  watcher.kafka = options.kafka;
  watcher.ledger = options.ledger;
  watcher.lane = options.lane;
  watcher.partitions = options.partitions;
  watcher.logs = options.logs;
  watcher.slots = options.slots;
  watcher.hash = options.hash;
  watcher.allow_uneven = options.allow_uneven;
  watcher.lease = watcher_timing(timing_request(options)).lease;
  watcher.serve_stale = options.timing.serve_stale.value_or(kServeStaleDefault);
  watcher.on_notice = options.on_notice;
  return watcher;
}

// Containers may have one host name, process number and time of start: the id tells them apart.
std::string default_process_name(ProcessId id) {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  return std::string(host) + "_" + std::to_string(::getpid()) + "_" + to_string(id);
}

}  // namespace neliroute
