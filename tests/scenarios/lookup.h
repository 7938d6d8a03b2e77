// What one process, or a watcher, would answer about slots: the production directory and view,
// fed with the events of the rig as a Reader feeds them.
//
// Threads: one.   Units: LocalTime.   Errors: none.
#pragma once

#include <memory>

#include "neli_core/event.h"
#include "neli_core/ready.h"
#include "router/view/directory.h"
#include "router/view/route_view.h"

namespace neliroute::scenario {

class Lookup {
 public:
  /// `leases`: the state machine's; one that never holds for a watcher.
  Lookup(const DirectoryOptions& options, Peer self, std::shared_ptr<LeaseVector> leases);

  void feed(const Event& event, LocalTime now);
  /// What the state machine decided; `generation_of` tells the lease word's.
  void on_ready(const Ready& ready, const std::function<std::uint16_t(Partition)>& generation_of,
                LocalTime now);
  void tick(LocalTime now);
  [[nodiscard]] LocalTime next_expiry() const { return directory_.next_expiry(); }
  [[nodiscard]] const Directory& directory() const { return directory_; }
  [[nodiscard]] Route route(Slot slot, LocalTime now) const { return view_.route(slot, now); }

 private:
  void publish(LocalTime now);

  DirectoryOptions options_;
  Directory directory_;
  ProcessId self_;
  RouteView view_;
};

}  // namespace neliroute::scenario
