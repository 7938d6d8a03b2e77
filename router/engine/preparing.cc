#include "router/engine/preparing.h"

namespace neliroute {

Run Preparing::begin(RunKind kind, Partition partition, LocalTime now) {
  Begun begun{++last_id_, now};
  if (kind == RunKind::prepare) begun.stop = std::stop_source();
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
  if (at == runs_.end() || at->second.id != run.id || at->second.ended) return std::nullopt;
  at->second.ended = true;
  return now - at->second.at;
}

bool Preparing::pass(RunKind kind, Partition partition) {
  const auto node = runs_.extract({partition, kind});
  return node && !node.mapped().ended;
}

void Preparing::cancel(Partition partition) {
  auto node = runs_.extract({partition, RunKind::prepare});
  if (node) node.mapped().stop.request_stop();
}

}  // namespace neliroute
