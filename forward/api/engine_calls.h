// What a proxy asks of a Router or Watcher, for as long as their engine lives, which may be longer
// than they do: then everything is unknown, and closed.
//
// Threads: any.   Units: milliseconds.   Errors: passed to handlers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <neliroute/admission.h>
#include <neliroute/clock.h>
#include <neliroute/ids.h>
#include <neliroute/route.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>
#include <utility>

#include "router/engine/completion.h"
#include "router/engine/engine.h"
#include "router/view/admission_rules.h"
#include "router/view/admissions.h"

namespace neliroute::forward {

class EngineCalls {
 public:
  explicit EngineCalls(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}

  [[nodiscard]] Route route(Slot slot) const { return engine_->view().route(slot, boot_now()); }
  void async_route_after(Slot slot, const Epoch& after, milliseconds limit,
                         RouteCompletion handler) const {
    wait_until_routed(*engine_, slot, after, limit, std::move(handler));
  }
  void suspect(std::string_view endpoint) const { engine_->suspect(endpoint); }
  void reached(std::string_view endpoint) const { engine_->reached(endpoint); }
  void redirected(Slot slot, std::string_view endpoint, const Epoch& epoch) const {
    engine_->redirected(slot, endpoint, epoch);
  }
  /// Somebody else who owns something, as far as is known: the owner of one of the next partitions.
  [[nodiscard]] std::string owner_beside(Slot slot, std::string_view owner,
                                         std::string_view next) const {
    const std::uint32_t count = engine_->view().partition_count();
    const std::uint32_t first = engine_->view().partition_of(slot).value();
    for (std::uint32_t i = 1; i < std::min(count, kLookedAt); ++i) {
      const Route one = route(Slot{(first + i) % count});
      const std::string_view endpoint = one.endpoint();
      const bool fits = one.verdict == Verdict::remote && !one.suspected && !endpoint.empty();
      if (fits && endpoint != owner && endpoint != next) return std::string(endpoint);
    }
    return {};
  }
  [[nodiscard]] const Engine& observable() const noexcept { return *engine_; }

 private:
  static constexpr std::uint32_t kLookedAt = 1024;
  std::shared_ptr<Engine> engine_;
};

/// A Router's.
class OwnerCalls : public EngineCalls {
 public:
  OwnerCalls(std::shared_ptr<Engine> engine, Mode mode, std::uint32_t hop_limit)
      : EngineCalls(std::move(engine)),
        admissions_(observable().view(), *observable().work(), mode, hop_limit),
        hop_limit_(hop_limit) {}

  [[nodiscard]] Admission admit(Slot slot, const Epoch& epoch, std::uint32_t hops) const {
    return admissions_.admit(slot, {epoch, hops}, boot_now());
  }
  /// Once it has closed: as it would have been then.
  [[nodiscard]] Admission admit_last(Slot slot, const Epoch& epoch, std::uint32_t hops) const {
    const Route& last = observable().last_route(observable().view().partition_of(slot));
    if (last.verdict != Verdict::remote) return Admission(Admit::wait, Route{});
    return Admission(admit_elsewhere(last, {epoch, hops}, hop_limit_), last);
  }

 private:
  Admissions admissions_;
  std::uint32_t hop_limit_;
};

}  // namespace neliroute::forward
