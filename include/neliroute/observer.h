// Observer: what dashboards, the admin port and metrics learn of a Router or Watcher.
//
// Observers stand beside the application's own listeners, and there may be several. The one that
// made an observer keeps it: Observable::observe() takes a weak pointer.
//
// Threads: called on the router's strand, so an observer must not block. A call may be under way
// while the last owner lets go; the observer lives until it returns.
// Units: LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/route.h>
#include <neliroute/time.h>
#include <neliroute/transition.h>
#include <span>

namespace neliroute {

/// A process, as its newest record describes it.
struct Peer {
  ProcessId id = kNobody;
  ProcessInfo info;
};
using PeerPtr = std::shared_ptr<const Peer>;

/// The route of a partition's slots with what callers do not need: who by id, and since when.
struct ObservedRoute {
  Verdict verdict = Verdict::unknown;
  PeerPtr owner;           ///< local and remote
  PeerPtr next;            ///< who claimed last, and does not lead yet
  Epoch epoch = kNoEpoch;  ///< local and remote
  bool draining = false;
  bool looking = false;  ///< this process waits to lead it: its claim is under way, or in grace
  /// The owner's: its last renewal was read (sent, if it is this process) that long before the
  /// route ends.
  milliseconds lease{0};
  /// Since when this process, that one, or nobody leads; kLongAgo: it began unobserved.
  LocalTime since = kLongAgo;
};

struct ChangedRoute {
  Partition partition;
  ObservedRoute route;
};

/// What one publication changed. The spans live as long as the call.
struct ViewChange {
  LocalTime at;
  /// Grows with every change.
  std::uint64_t version = 0;
  /// Of all partitions' owners and epochs, as the logs tell them: who read the same has the same.
  std::uint64_t digest = 0;
  std::span<const ChangedRoute> routes;
};

class Observer {
 public:
  virtual ~Observer() = default;
  /// First of every partition, as it is when the observer joins; then of those that changed.
  /// Readers on other threads see it already.
  virtual void on_view(const ViewChange& change) = 0;
  /// What the application is told, without its barrier. Never of a watcher.
  virtual void on_transition(const Transition& transition) { static_cast<void>(transition); }
  /// This process gave up, or a watcher's settings differ from the owners'; told once, to who
  /// joins later, too.
  virtual void on_failure(const Error& error) { static_cast<void>(error); }
  /// A watcher's settings are the owners' again.
  virtual void on_recovery() {}

 protected:
  Observer() = default;
  Observer(const Observer&) = default;
  Observer& operator=(const Observer&) = default;
};

}  // namespace neliroute
