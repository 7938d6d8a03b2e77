#include "router/owner/preparing.h"

namespace neliroute {

Run Preparing::begin(RunKind kind, Partition partition, LocalTime now) {
  Begun begun{++last_id_, now};
  if (kind == RunKind::prepare) {
    begun.stop = std::stop_source();
    times_.erase(partition);
  }
  const std::uint64_t id = begun.id;
  runs_.insert_or_assign({partition, kind}, std::move(begun));
  return {kind, partition, id};
}

std::stop_token Preparing::cancelled(Partition partition) const {
  const auto run = runs_.find({partition, RunKind::prepare});
  return run == runs_.end() ? std::stop_token() : run->second.stop.get_token();
}

std::optional<microseconds> Preparing::end(const Run& run, LocalTime now) {
  const auto at = runs_.find({run.partition, run.kind});
  if (at == runs_.end() || at->second.id != run.id || at->second.took) return std::nullopt;
  return at->second.took = now - at->second.at;
}

bool Preparing::pass(RunKind kind, Partition partition, LocalTime now) {
  const auto node = runs_.extract({partition, kind});
  if (!node) return false;
  const Begun& begun = node.mapped();
  const microseconds took = begun.took.value_or(now - begun.at);
  if (took.count() > 0) {
    RunTimes& times = times_[partition];
    (kind == RunKind::prepare ? times.prepare : times.warm_up) = took;
  }
  return !begun.took;
}

RunTimes Preparing::take_times(Partition partition) {
  const auto node = times_.extract(partition);
  return node ? node.mapped() : RunTimes{};
}

void Preparing::forget(Partition partition) {
  runs_.erase({partition, RunKind::prepare});
  runs_.erase({partition, RunKind::warm_up});
  times_.erase(partition);
}

void Preparing::cancel(Partition partition) {
  auto node = runs_.extract({partition, RunKind::prepare});
  if (node) node.mapped().stop.request_stop();
  times_.erase(partition);
}

void Preparing::cancel_all() {
  times_.clear();
  for (auto& [key, begun] : std::exchange(runs_, {})) begun.stop.request_stop();
}

}  // namespace neliroute
