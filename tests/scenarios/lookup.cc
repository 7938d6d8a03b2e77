#include "tests/scenarios/lookup.h"

#include <utility>

namespace neliroute::scenario {

Lookup::Lookup(const DirectoryOptions& options, Peer self, std::shared_ptr<LeaseVector> leases)
    : options_(options),
      directory_(options),
      self_(self.id),
      view_(std::move(self), std::move(leases), options.logs,
            SlotSpace{SlotCount{options.partitions}}) {}

void Lookup::feed(const Event& event, LocalTime now) {
  directory_.tick(now);
  std::visit([&](const auto& e) { directory_.on(e, now); }, event);
  publish(now);
}

void Lookup::on_ready(const Ready& ready,
                      const std::function<std::uint16_t(Partition)>& generation_of,
                      LocalTime now) {
  for (const Log log : ready.restart_tails) directory_.on(GapFound{log}, now);
  for (const Transition& t : ready.transitions) {
    if (t.kind == TransitionKind::acquired) {
      view_.set_local(t.partition, t.epoch, generation_of(t.partition));
    } else if (t.kind == TransitionKind::stopped) {
      view_.set_local(t.partition, kNoEpoch, generation_of(t.partition));
      directory_.forget_owner(t.partition, self_, t.at);
    }
  }
  publish(now);
}

void Lookup::tick(LocalTime now) {
  directory_.tick(now);
  publish(now);
}

void Lookup::publish(LocalTime now) {
  for (const Partition p : directory_.take_changed()) view_.set_hint(p, directory_.hint(p));
  view_.publish(now);
  for (const Partition p : directory_.take_renewed()) {
    view_.set_hint_until(p, directory_.hint(p));
  }
  for (std::uint32_t l = 0; l < options_.logs; ++l) {
    view_.set_log(Log{l}, directory_.answering_until(Log{l}), directory_.history_until(Log{l}));
  }
}

}  // namespace neliroute::scenario
