// What the control calls may do to the Router or Watcher, until the server closes: AdminControl
// behind a lock, so that none begins once ~AdminServer() has returned.
//
// Threads: any.   Units: milliseconds.   Errors: none; closed calls do nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <neliroute/admin.h>
#include <neliroute/listener.h>
#include <optional>
#include <string>
#include <utility>

namespace neliroute::admin {

class Calls {
 public:
  explicit Calls(std::optional<AdminControl> control)
      : enabled_(control.has_value()),
        owner_(control && control->admit),
        token_(control ? control->token : ""),
        control_(std::move(control)) {}

  [[nodiscard]] bool enabled() const noexcept { return enabled_; }
  /// Whether there is more than waiting.
  [[nodiscard]] bool is_owner() const noexcept { return owner_; }
  [[nodiscard]] const std::string& token() const noexcept { return token_; }

  void wait(Slot slot, const Epoch& after, milliseconds limit, AdminControl::RouteHandler handler) {
    const std::lock_guard lock(mutex_);
    if (control_) control_->wait(slot, after, limit, std::move(handler));
  }
  [[nodiscard]] std::optional<Admission> admit(Slot slot, const Epoch& epoch, std::uint32_t hops) {
    const std::lock_guard lock(mutex_);
    if (!control_) return std::nullopt;
    return control_->admit(slot, epoch, hops);
  }
  /// To what happens to partitions.
  void subscribe(std::unique_ptr<Listener> listener) {
    const std::lock_guard lock(mutex_);
    if (!control_ || !control_->subscribe) return;
    listener_ = std::move(listener);
    subscription_ = control_->subscribe(*listener_);
  }
  void drain() {
    const std::lock_guard lock(mutex_);
    if (control_ && control_->drain) control_->drain();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    subscription_ = {};
    listener_.reset();
    control_.reset();
  }

 private:
  const bool enabled_;
  const bool owner_;
  const std::string token_;
  std::mutex mutex_;
  std::optional<AdminControl> control_;
  std::unique_ptr<Listener> listener_;
  Subscription subscription_;  ///< of it
};

}  // namespace neliroute::admin
