// Listener: notifies an application of the partitions that it owns, and takes its answers.
//
//   struct Service : neliroute::Listener {
//     void acquired(const Transition& t) override { ... }                     // leads from now on
//     void stopped(const Transition& t, BarrierToken done) override { ... }   // finish, drop it
//   } service;
//   const auto subscription = router->subscribe(service);
//
// Threads: called on the router's strand, which renews nothing meanwhile. All calls in a row must
//   take less than an interval; a warning reports it if they do not. Load and store what a
//   partition needs on another thread.
// Units: LocalTime.   Errors: none.
// goNELI: "Barriers" (LeaderAcquired, LeaderRevoked, LeaderFenced).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/transition.h>
#include <utility>

namespace neliroute {

/// Comes with `stopped`. While it or a copy of it lives, the epoch is not released: finish what was
/// begun under it, then complete or drop the token. In exclusive mode the successor waits for that,
/// or for Transition::barrier_deadline. It never holds up a rebalance.
///
/// A handler that completes it later must be mutable, as complete() changes the token:
/// `[done = std::move(token)]() mutable { done.complete(); }`. One that is stored and never called
/// keeps the barrier until it is destroyed.
///
/// Threads: any; it may be copied, and so be kept in a std::function.
class BarrierToken {
 public:
  /// Nothing waits for it.
  BarrierToken() = default;
  explicit BarrierToken(std::function<void()> done)
      : held_(std::make_shared<Held>(std::move(done))) {}

  /// The application is done, even if copies remain. Idempotent.
  void complete() {
    if (const auto held = std::exchange(held_, nullptr)) held->complete();
  }

 private:
  class Held {
   public:
    explicit Held(std::function<void()> done) : done_(std::move(done)) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { complete(); }
    void complete() {
      if (!completed_.test_and_set()) std::exchange(done_, nullptr)();
    }

   private:
    std::function<void()> done_;
    std::atomic_flag completed_;
  };
  std::shared_ptr<Held> held_;
};

class Listener {
 public:
  virtual ~Listener() = default;
  /// This process leads the partition. Called first for what it leads when the listener subscribes.
  virtual void acquired(const Transition& transition) { static_cast<void>(transition); }
  /// It still leads, until a successor does.
  virtual void draining(const Transition& transition) { static_cast<void>(transition); }
  /// It leads no more. The partition's barrier ends when every listener's token and all Work have.
  virtual void stopped(const Transition& transition, BarrierToken barrier) {
    static_cast<void>(transition), static_cast<void>(barrier);
  }
  /// The barrier outlasted the lease: a successor may lead from now on. After another lease this
  /// process gives up.
  virtual void barrier_overdue(const Transition& transition) { static_cast<void>(transition); }
  /// The release was acknowledged: others can read that it leads no more.
  virtual void released(const Transition& transition) { static_cast<void>(transition); }
  /// This process gave up: settings_conflict, barrier_stuck, ledger_refused, or topic_unfit
  /// (variation `broadcast`, exclusive mode: the number of partitions changed). Called once; the
  /// process leaves by itself.
  virtual void failed(const Error& error) { static_cast<void>(error); }

 protected:
  Listener() = default;
  Listener(const Listener&) = default;
  Listener& operator=(const Listener&) = default;
};

class ListenerSlot;

/// While it lives, the listener is called. Its destructor waits for a call that is under way on
/// another thread, so the listener may be destroyed after it. It may itself be destroyed in such a
/// call.
///
/// Threads: any, one at a time.
class [[nodiscard]] Subscription {
 public:
  Subscription() noexcept = default;
  explicit Subscription(std::shared_ptr<ListenerSlot> slot) noexcept : slot_(std::move(slot)) {}
  Subscription(Subscription&& other) noexcept = default;
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      cancel();
      slot_ = std::move(other.slot_);
    }
    return *this;
  }
  ~Subscription() { cancel(); }
  /// The listener is not called any more. Idempotent.
  void cancel() noexcept;

 private:
  std::shared_ptr<ListenerSlot> slot_;
};

}  // namespace neliroute
