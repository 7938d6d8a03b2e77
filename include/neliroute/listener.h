// Listener: notifies an application of the partitions that it owns, and takes its answers.
//
//   struct Service : neliroute::Listener {
//     void acquired(const Transition& t) override { ... }                     // leads from now on
//     void stopped(const Transition& t, BarrierToken done) override { ... }   // finish, drop it
//   } service;
//   const auto subscription = router->subscribe(service);
//
// acquired() may come again without stopped() in between, under the same or a greater epoch; what
// that means for state in memory: docs/operating.md, "Fencing".
//
// Threads: called on the router's strand, which renews nothing meanwhile. All calls in a row must
//   take less than an interval; a warning reports it if they do not. Load and store what a
//   partition needs on another thread.
// Units: LocalTime.   Errors: none; a call that throws ends the process.
// goNELI: "Barriers" (LeaderAcquired, LeaderRevoked, LeaderFenced).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/transition.h>
#include <stop_token>
#include <utility>

namespace neliroute {

/// The router waits until complete() is called, or until the last copy of the token is destroyed. A
/// lambda that completes a token later must be mutable, as complete() changes the token:
/// `[done = std::move(token)]() mutable { done.complete(); }`. A lambda that is stored and never
/// called keeps its token until it is destroyed.
///
/// Threads: any; it may be copied, and so be kept in a std::function.
class CompletionToken {
 public:
  /// Nothing waits for it.
  CompletionToken() = default;
  explicit CompletionToken(std::function<void()> done)
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

/// Comes with `stopped`. While it lives, the epoch is not released: finish what was begun under it.
/// In exclusive mode the successor waits for that, or for Transition::barrier_deadline. It never
/// holds up a rebalance.
class BarrierToken : public CompletionToken {
 public:
  using CompletionToken::CompletionToken;
};

/// Comes with `warm_up`. While it lives, lookups do not say that this process leads; at most for
/// RouterOptions::prepare_timeout.
class ReadyToken : public CompletionToken {
 public:
  using CompletionToken::CompletionToken;
};

/// Comes with `prepare`. While it lives, the partition is not claimed; at most for
/// RouterOptions::prepare_timeout.
class PrepareToken : public CompletionToken {
 public:
  PrepareToken() = default;
  PrepareToken(std::function<void()> done, std::stop_token cancelled,
               std::shared_ptr<const Predecessor> predecessor)
      : CompletionToken(std::move(done)),
        cancelled_(std::move(cancelled)),
        predecessor_(std::move(predecessor)) {}

  /// Who leads the partition now, or led it last: where its state can be fetched. Null: nobody that
  /// records tell of.
  [[nodiscard]] const Predecessor* predecessor() const noexcept { return predecessor_.get(); }
  /// Requested when this process will not lead the partition after all: drop what was prepared. No
  /// `stopped` follows then. Callbacks run on the router's strand.
  [[nodiscard]] const std::stop_token& cancelled() const noexcept { return cancelled_; }

 private:
  std::stop_token cancelled_;
  std::shared_ptr<const Predecessor> predecessor_;
};

class Listener {
 public:
  virtual ~Listener() = default;
  /// This process is about to claim the partition, which another process may lead until then: load
  /// what can be loaded beforehand. Not called when this process leads again after its own lease
  /// lapsed, nor when a partition that it gave up is given back to it. Variation `broadcast` calls
  /// neither this nor warm_up().
  virtual void prepare(Partition partition, PrepareToken token) {
    static_cast<void>(partition), static_cast<void>(token);
  }
  /// Nothing but this keeps the process from leading: load what the predecessor saved last.
  /// `acquired` follows when the token has ended, or `stopped` if it did not come to that.
  virtual void warm_up(const Transition& transition, ReadyToken token) {
    static_cast<void>(transition), static_cast<void>(token);
  }
  /// This process leads the partition. Called first for what it leads when the listener subscribes.
  virtual void acquired(const Transition& transition) { static_cast<void>(transition); }
  /// It still leads, until a successor does.
  virtual void draining(const Transition& transition) { static_cast<void>(transition); }
  /// It leads no more. The partition's barrier ends when every listener's token and all Work have.
  virtual void stopped(const Transition& transition, BarrierToken barrier) {
    static_cast<void>(transition), static_cast<void>(barrier);
  }
  /// After stopped(): the last Work under that epoch has ended, or was abandoned at the barrier's
  /// deadline. Nothing that was admitted changes the partition's state any more, so that state can
  /// be saved or sent to the successor, which waits while the barrier of stopped() is kept.
  virtual void work_ended(Partition partition, const Epoch& epoch) {
    static_cast<void>(partition), static_cast<void>(epoch);
  }
  /// The barrier outlasted the lease: a successor may lead from now on. After another lease this
  /// process gives up.
  virtual void barrier_overdue(const Transition& transition) { static_cast<void>(transition); }
  /// The release was acknowledged: others can read that it leads no more.
  virtual void released(const Transition& transition) { static_cast<void>(transition); }
  /// This process gave up: settings_conflict, barrier_stuck, ledger_refused, or ledger_unfit
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
