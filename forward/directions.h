// Where a request should go next: what a gateway knows by a Watcher, and an owner by its Router.
//
// Threads: any, one at a time.   Units: milliseconds.   Errors: passed to the waiting handler.
#pragma once

#include <boost/asio/any_completion_handler.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <memory>
#include <neliroute/admission.h>
#include <neliroute/ids.h>
#include <neliroute/lookup.h>
#include <neliroute/observable.h>
#include <neliroute/route.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace neliroute::forward {

/// What a request carries through the processes that it visits.
struct Visit {
  Slot slot;
  Epoch epoch = kNoEpoch;  ///< that sent it here, or that it was refused under
  std::uint32_t hops = 0;
  bool detour = false;  ///< the sender cannot reach the owner of `epoch`
};

struct Direction {
  /// serve: by this process's own application, which `endpoint` names.
  Admit answer = Admit::wait;
  /// Redirect: where to, and under which epoch. Once this process has left, as it knew then.
  std::string endpoint;
  Epoch epoch = kNoEpoch;
  std::shared_ptr<Admission> guard;  ///< serve: kept until the request has ended
  bool leaving = false;     ///< refuse: this process has left, and knew nobody else to send it to
  bool suspected = false;   ///< redirect: the owner could not be reached, and has not written since
  bool stale = false;       ///< serve, redirect: the owner serves on while its log is silent
  bool detour = false;      ///< redirect: to another process, as that owner cannot be reached
};

class Directions {
 public:
  using RouteHandler = boost::asio::any_completion_handler<void(boost::system::error_code, Route)>;

  virtual ~Directions() = default;
  [[nodiscard]] virtual Direction direct(const Visit& visit) = 0;
  /// As async_route_after().
  virtual void wait(Slot slot, const Epoch& after, milliseconds limit, RouteHandler handler) = 0;
  /// The endpoint could not be reached.
  virtual void suspect(std::string_view endpoint) = 0;
  /// It could, after all.
  virtual void reached(std::string_view endpoint) = 0;
  /// Whoever was asked for the slot names this owner, under a greater epoch.
  virtual void redirected(Slot slot, std::string_view endpoint, const Epoch& epoch) = 0;
  /// Whom else to ask, once each, where the owner of a stale route cannot be reached: who claimed
  /// the slot after it, and the owner of another slot. A gateway's; others are such processes.
  [[nodiscard]] virtual std::vector<std::string> detours(Slot) { return {}; }

 protected:
  Directions() = default;
  Directions(const Directions&) = default;
  Directions& operator=(const Directions&) = default;
};

/// A Watcher's: it serves nothing, and sends a request on until it has been `hop_limit` times. One
/// that was refused under an epoch goes only to who has a greater one.
template <class Watching>
class WatchedDirections final : public Directions {
 public:
  /// `hop_limit`: as RouterOptions has it.
  explicit WatchedDirections(Watching watcher, std::uint32_t hop_limit = 3)
      : watcher_(std::forward<Watching>(watcher)), hop_limit_(hop_limit) {}

  [[nodiscard]] Direction direct(const Visit& visit) override {
    const Route route = watcher_.route(visit.slot);
    Direction made;
    made.stale = route.stale;
    if (route.verdict != Verdict::remote || route.epoch <= visit.epoch) return made;
    made.answer = visit.hops >= hop_limit_ ? Admit::refuse : Admit::redirect;
    made.endpoint = route.endpoint();
    made.epoch = route.epoch;
    made.suspected = route.suspected;
    return made;
  }
  void wait(Slot slot, const Epoch& after, milliseconds limit, RouteHandler handler) override {
    watcher_.async_route_after(slot, after, limit, std::move(handler));
  }
  void suspect(std::string_view endpoint) override { watcher_.suspect(endpoint); }
  void reached(std::string_view endpoint) override { watcher_.reached(endpoint); }
  void redirected(Slot slot, std::string_view endpoint, const Epoch& epoch) override {
    watcher_.redirected(slot, endpoint, epoch);
  }
  [[nodiscard]] std::vector<std::string> detours(Slot slot) override {
    const Route route = watcher_.route(slot);
    const std::string_view owner = route.endpoint();
    const std::string_view next = route.next_endpoint();
    std::vector<std::string> made;
    if (!next.empty() && next != owner) made.emplace_back(next);
    const std::string other = watcher_.owner_beside(slot, owner, next);
    if (!other.empty()) made.push_back(other);
    return made;
  }

 private:
  Watching watcher_;  // or a reference, by the type
  std::uint32_t hop_limit_;
};

/// An owner's: what it leads goes to the application behind it, all else to the owner.
template <class Owning>
class AdmittedDirections final : public Directions {
 public:
  /// `application`: HOST:PORT.
  AdmittedDirections(Owning router, std::string application)
      : router_(std::forward<Owning>(router)), application_(std::move(application)) {}

  [[nodiscard]] Direction direct(const Visit& visit) override {
    auto admitted = router_.admit(visit.slot, visit.epoch, visit.hops);
    // Clients that come without a gateway count a refusal as a failure.
    const bool closed = admitted.answer() == Admit::refuse && router_.closed();
    if (closed) admitted = router_.admit_last(visit.slot, visit.epoch, visit.hops);
    if (visit.detour && admitted.answer() == Admit::wait && admitted.epoch() == visit.epoch) {
      // The owner cannot be reached from there, and perhaps from here: it is asked as by a caller
      // that knows nothing. Only a gateway makes detours, so there is no circle of them.
      auto anew = router_.admit(visit.slot, kNoEpoch, visit.hops);
      if (anew.answer() == Admit::redirect) admitted = std::move(anew);
    }
    Direction made;
    made.answer = admitted.answer();
    made.stale = admitted.stale();
    made.epoch = admitted.epoch();
    if (made.answer == Admit::serve) {
      made.endpoint = application_;
      made.guard = std::make_shared<Admission>(std::move(admitted));
      return made;
    }
    made.endpoint = admitted.endpoint();
    made.suspected = admitted.suspected();
    made.leaving = closed && made.answer != Admit::redirect;
    if (made.leaving) made.answer = Admit::refuse;
    return made;
  }
  void wait(Slot slot, const Epoch& after, milliseconds limit, RouteHandler handler) override {
    router_.async_route_after(slot, after, limit, std::move(handler));
  }
  void suspect(std::string_view endpoint) override { router_.suspect(endpoint); }
  void reached(std::string_view endpoint) override { router_.reached(endpoint); }
  void redirected(Slot slot, std::string_view endpoint, const Epoch& epoch) override {
    router_.redirected(slot, endpoint, epoch);
  }

 private:
  Owning router_;  // or a reference, by the type
  std::string application_;
};

}  // namespace neliroute::forward
