#include <neliroute/lookup.h>
#include <neliroute/observable.h>
#include <utility>

#include "router/view/route_view.h"

namespace neliroute {

Lookup::Lookup(const RouteView& view, Settings settings, std::shared_ptr<Reader> reader,
               std::unique_ptr<const Observable> observable)
    : view_(view),
      settings_(std::move(settings)),
      reader_(std::move(reader)),
      observable_(std::move(observable)) {}

Lookup::~Lookup() = default;

Route Lookup::route(std::string_view key, LocalTime now) const {
  return view_.route(view_.slots().slot_of(key), now);
}

Route Lookup::route(Slot slot, LocalTime now) const { return view_.route(slot, now); }

Route Lookup::route(Partition partition, LocalTime now) const {
  return view_.route(view_.first_slot_of(partition), now);
}

std::vector<Route> Lookup::view(LocalTime now) const { return view_.look_at_all(now); }

Slot Lookup::slot_of(std::string_view key) const noexcept { return view_.slots().slot_of(key); }

Partition Lookup::partition_of(std::string_view key) const noexcept {
  return view_.partition_of(slot_of(key));
}

Partition Lookup::partition_of(Slot slot) const noexcept { return view_.partition_of(slot); }

std::vector<Slot> Lookup::slots_of(Partition partition) const {
  const std::uint32_t count = view_.slots().count().value();
  std::vector<Slot> slots;
  slots.reserve(count / view_.partition_count() + 1);
  for (std::uint32_t slot = view_.first_slot_of(partition).value(); slot < count;
       slot += view_.partition_count()) {
    slots.emplace_back(slot);
  }
  return slots;
}

}  // namespace neliroute
