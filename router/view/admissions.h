// Decides what is done with a request that came to this process: include/neliroute/admission.h.
//
// The guard comes first and the lookup only where there is none, so that a request that is served
// costs a begin() and one comparison.
//
// Threads: any.   Units: LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/admission.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <utility>

#include "router/view/admission_rules.h"
#include "router/view/route_view.h"
#include "router/view/work_gate.h"

namespace neliroute {

class Admissions {
 public:
  Admissions(const RouteView& view, WorkGate& gate, Mode mode, std::uint32_t hop_limit) noexcept
      : view_(view), gate_(gate), mode_(mode), hop_limit_(hop_limit) {}

  [[nodiscard]] Admission admit(Slot slot, const Asked& asked, LocalTime now) const {
    const Partition partition = view_.partition_of(slot);
    Work work = gate_.begin(partition, now);
    const bool stale = view_.leases().get(partition).stale;
    if (work && may_serve(mode_, stale, work.epoch(), asked.epoch)) [[likely]] {
      view_.count(Admit::serve);
      return Admission(std::move(work), stale);
    }
    work.end();
    return admit_anew(slot, asked, now);
  }

 private:
  [[nodiscard]] Admission admit_anew(Slot slot, const Asked& asked, LocalTime now) const;

  const RouteView& view_;
  WorkGate& gate_;
  Mode mode_;
  std::uint32_t hop_limit_;
};

}  // namespace neliroute
