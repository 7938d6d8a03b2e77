// Directions until they are closed: from then on, nothing is asked of the Router or Watcher.
//
// Threads: close(): any; the rest as Directions has it.   Units: milliseconds.
// Errors: as of a process that has left.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "forward/directions.h"

namespace neliroute::forward {

class ClosableDirections final : public Directions {
 public:
  explicit ClosableDirections(std::unique_ptr<Directions> open) : open_(std::move(open)) {}

  [[nodiscard]] Direction direct(const Visit& visit) override {
    const std::lock_guard lock(mutex_);
    if (open_) return open_->direct(visit);
    Direction left;
    left.answer = Admit::refuse;
    left.leaving = true;
    return left;
  }
  void wait(Slot slot, const Epoch& after, milliseconds limit, RouteHandler handler) override {
    const std::lock_guard lock(mutex_);
    if (open_) open_->wait(slot, after, limit, std::move(handler));
  }
  void suspect(std::string_view endpoint) override {
    const std::lock_guard lock(mutex_);
    if (open_) open_->suspect(endpoint);
  }
  void reached(std::string_view endpoint) override {
    const std::lock_guard lock(mutex_);
    if (open_) open_->reached(endpoint);
  }
  void redirected(Slot slot, std::string_view endpoint, const Epoch& epoch) override {
    const std::lock_guard lock(mutex_);
    if (open_) open_->redirected(slot, endpoint, epoch);
  }
  [[nodiscard]] std::vector<std::string> detours(Slot slot) override {
    const std::lock_guard lock(mutex_);
    return open_ ? open_->detours(slot) : std::vector<std::string>();
  }

  void close() {
    std::unique_ptr<Directions> last;  // ends outside of the lock
    const std::lock_guard lock(mutex_);
    last = std::move(open_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Directions> open_;
};

}  // namespace neliroute::forward
