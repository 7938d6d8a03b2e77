// What a proxy asks of a Router or Watcher, for as long as its reader lives, which may be longer
// than it does: then everything is unknown, and closed.
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

#include "router/owner/owning_reader.h"
#include "router/reader/completion.h"
#include "router/view/admission_rules.h"
#include "router/view/admissions.h"

namespace neliroute::forward {

class ReaderCalls {
 public:
  explicit ReaderCalls(std::shared_ptr<Reader> reader) : reader_(std::move(reader)) {}

  [[nodiscard]] Route route(Slot slot) const { return reader_->view().route(slot, boot_now()); }
  void async_route_after(Slot slot, const Epoch& after, milliseconds limit,
                         RouteCompletion handler) const {
    wait_until_routed(*reader_, slot, after, limit, std::move(handler));
  }
  void suspect(std::string_view endpoint) const { reader_->suspect(endpoint); }
  void reached(std::string_view endpoint) const { reader_->reached(endpoint); }
  void redirected(Slot slot, std::string_view endpoint, const Epoch& epoch) const {
    reader_->redirected(slot, endpoint, epoch);
  }
  /// Somebody else who owns something, as far as is known: the owner of one of the next partitions.
  [[nodiscard]] std::string owner_beside(Slot slot, std::string_view owner,
                                         std::string_view next) const {
    const std::uint32_t count = reader_->view().partition_count();
    const std::uint32_t first = reader_->view().partition_of(slot).value();
    for (std::uint32_t i = 1; i < std::min(count, kLookedAt); ++i) {
      const Route one = route(Slot{(first + i) % count});
      const std::string_view endpoint = one.endpoint();
      const bool fits = one.verdict == Verdict::remote && !one.suspected && !endpoint.empty();
      if (fits && endpoint != owner && endpoint != next) return std::string(endpoint);
    }
    return {};
  }
  [[nodiscard]] bool closed() const noexcept { return reader_->closed(); }

 private:
  static constexpr std::uint32_t kLookedAt = 1024;
  std::shared_ptr<Reader> reader_;
};

/// A Router's.
class OwnerCalls : public ReaderCalls {
 public:
  OwnerCalls(std::shared_ptr<OwningReader> owner, Mode mode, std::uint32_t hop_limit)
      : ReaderCalls(owner),
        owner_(std::move(owner)),
        admissions_(owner_->view(), *owner_->work(), mode, hop_limit),
        hop_limit_(hop_limit) {}

  [[nodiscard]] Admission admit(Slot slot, const Epoch& epoch, std::uint32_t hops) const {
    return admissions_.admit(slot, {epoch, hops}, boot_now());
  }
  /// Once it has closed: as it would have been then.
  [[nodiscard]] Admission admit_last(Slot slot, const Epoch& epoch, std::uint32_t hops) const {
    const Route& last = owner_->last_route(owner_->view().partition_of(slot));
    if (last.verdict != Verdict::remote) return Admission(Admit::wait, Route{});
    return Admission(admit_elsewhere(last, {epoch, hops}, hop_limit_), last);
  }

 private:
  std::shared_ptr<OwningReader> owner_;
  Admissions admissions_;
  std::uint32_t hop_limit_;
};

}  // namespace neliroute::forward
