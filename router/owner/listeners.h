// The application's listeners, and what all of them finish together. Private.
//
// Threads: ListenerSlot: any; Listeners: the strand.   Units: none.   Errors: none.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <neliroute/listener.h>
#include <utility>
#include <vector>

namespace neliroute {

/// One listener, until its subscription is cancelled.
class ListenerSlot {
 public:
  explicit ListenerSlot(Listener& listener) : listener_(&listener) {}

  /// False if it was cancelled. Otherwise `call(listener)` has run, and cancel() waits for it.
  template <class Call>
  bool run(const Call& call) {
    const std::lock_guard lock(mutex_);
    if (listener_ != nullptr) call(*listener_);
    return listener_ != nullptr;
  }
  [[nodiscard]] bool cancelled() {
    const std::lock_guard lock(mutex_);
    return listener_ == nullptr;
  }
  void cancel() {
    const std::lock_guard lock(mutex_);
    listener_ = nullptr;
  }

 private:
  std::recursive_mutex mutex_;  ///< a listener may cancel itself while it runs
  Listener* listener_;
};

class Listeners {
 public:
  /// Drops those that were cancelled: cancel() runs on any thread, perhaps after the router's end,
  /// and nothing may move for long, so that each() does not run.
  void add(std::shared_ptr<ListenerSlot> slot) {
    std::erase_if(slots_, [](const auto& one) { return one->cancelled(); });
    slots_.push_back(std::move(slot));
  }

  template <class Call>
  void each(const Call& call) {
    std::erase_if(slots_, [&](const auto& slot) { return !slot->run(call); });
  }

  [[nodiscard]] bool empty() const noexcept { return slots_.empty(); }

 private:
  std::vector<std::shared_ptr<ListenerSlot>> slots_;
};

/// Tokens of one barrier, or of what else listeners finish together: `done` is called when all of
/// them have completed, and this is destroyed.
class SharedCompletion {
 public:
  explicit SharedCompletion(std::function<void()> done)
      : all_(nullptr, [done = std::move(done)](std::nullptr_t) { done(); }) {}
  template <class Token = BarrierToken, class... More>
  [[nodiscard]] Token token(More&&... more) const {
    return Token([all = all_] {}, std::forward<More>(more)...);
  }

 private:
  std::shared_ptr<void> all_;
};

}  // namespace neliroute
