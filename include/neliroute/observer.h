// Observer: notifies dashboards, the admin port and metrics of what happens in a Router or Watcher.
//
// Observers exist beside the application's own listeners, and there may be several. The creator of
// an observer keeps it alive: Observable::observe() takes a weak pointer.
//
// Threads: called on the router's strand, so an observer must not block. If its last owner releases
// it during a call, it lives until the call returns.
// Units: LocalTime.   Errors: none; a call that throws ends the process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/route.h>
#include <neliroute/time.h>
#include <neliroute/transition.h>
#include <span>
#include <string>
#include <vector>

namespace neliroute {

/// A process, as its newest record describes it.
struct Peer {
  ProcessId id = kNobody;
  ProcessInfo info;
};
using PeerPtr = std::shared_ptr<const Peer>;

/// The route of a partition's slots, with what callers do not need: ids, and since when.
struct ObservedRoute {
  Verdict verdict = Verdict::unknown;
  PeerPtr owner;           ///< local and remote
  PeerPtr next;            ///< the process that claimed last, and does not lead yet
  PeerPtr designee;        ///< the process that an assigner named for it, unless it is the owner
  Epoch epoch = kNoEpoch;  ///< local and remote
  bool draining = false;
  bool stale = false;    ///< as Route::stale
  bool looking = false;  ///< this process waits to lead it: its claim is under way, or in grace
  /// The owner's lease: the route ends that long after the owner's last renewal was read (sent, if
  /// the owner is this process).
  milliseconds lease{0};
  /// Since when the verdict and the owner are these; kLongAgo: since before this process saw it.
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
  /// Of the owners and epochs of all partitions, as the logs show them: processes that have read
  /// the same records have the same digest.
  std::uint64_t digest = 0;
  std::span<const ChangedRoute> routes;
};

enum class MemberState : std::uint8_t {
  living,
  leaving,  ///< it hands over what it has, and then ends
  silent,   ///< for longer than its session: it counts as dead
};

/// A process of a lane in which one of them assigns, as its records show it.
struct ObservedMember {
  PeerPtr peer;
  MemberState state = MemberState::living;
  milliseconds session{0};
  std::uint32_t weight = 1;  ///< an operator's override, or else its own
  bool cordoned = false;     ///< the same: it is to own nothing
  /// It was silent and is heard again: for a while it is given nothing.
  bool on_probation = false;
  /// Its application prepares for what it was named for (Listener::prepare(), warm_up()).
  bool preparing = false;
  std::string host;
  std::string zone;
  std::uint32_t seat_priority = 50;  ///< RouterOptions::seat_priority
};

/// Operators' overrides (`neliroute cordon`, …), by the names of processes.
struct ObservedOverrides {
  std::vector<std::string> cordoned;
  std::map<std::string, std::uint32_t> weights;
  std::map<std::string, std::string> pins;  ///< partitions, as in "0-9,12"
  bool moves_paused = false;
  friend bool operator==(const ObservedOverrides&, const ObservedOverrides&) = default;
};

/// Where a process of the lane assigns, and not Kafka's group: who does, and what changed of the
/// members. The spans live as long as the call.
struct AssignmentNews {
  PeerPtr assigner;        ///< null: nobody, as far as is known
  Epoch seat = kNoEpoch;   ///< its claim of the right to assign: inc is the broker's time of it
  bool assigning = false;  ///< it says that it assigns; not while it is cut off from a log
  std::span<const ObservedMember> members;
  std::span<const ProcessId> gone;
  std::shared_ptr<const ObservedOverrides> overrides = nullptr;  ///< all that stand; null: none
};

class Observer {
 public:
  virtual ~Observer() = default;
  /// The first call reports every partition, as it is when the observer joins; later ones report
  /// those that changed. Readers on other threads see the change already.
  virtual void on_view(const ViewChange& change) = 0;
  /// The first call reports every member; later ones report those that changed. Never called where
  /// a group assigns. Partitions whose designee changed come with on_view().
  virtual void on_assignment(const AssignmentNews& news) { static_cast<void>(news); }
  /// What the application's listeners are notified of, without the barrier. Never from a watcher.
  virtual void on_transition(const Transition& transition) { static_cast<void>(transition); }
  /// This process gave up, or a watcher's settings differ from the owners'. Called once; also for
  /// an observer that joins later.
  virtual void on_failure(const Error& error) { static_cast<void>(error); }
  /// A watcher's settings equal the owners' again.
  virtual void on_recovery() {}

 protected:
  Observer() = default;
  Observer(const Observer&) = default;
  Observer& operator=(const Observer&) = default;
};

}  // namespace neliroute
