// Lookup: what a Router and a Watcher have in common; says who owns a key, slot or partition now.
//
//   const neliroute::Route route = router->route("user:1000");
//   if (route.verdict == neliroute::Verdict::remote) connect(route.endpoint());
//
// Every lookup takes a key (any bytes), a Slot or a Partition, and optionally a time that the
// caller has read already.
//
// Threads: any. Wait-free, without allocation except for a thread's first call; but view() and
//   slots_of() allocate their results.
// Units: LocalTime is CLOCK_BOOTTIME; reading it costs 20 ns.
// Errors: none; a lookup always answers. A partition that does not exist aborts.
// Paper: "Consistent hashing".
#pragma once

#include <neliroute/ids.h>
#include <neliroute/route.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <string_view>
#include <vector>

namespace neliroute {

class RouteView;

[[nodiscard]] LocalTime boot_now() noexcept;  // neliroute/clock.h

class Lookup {
 public:
  /// Who owns it.
  [[nodiscard]] Route route(std::string_view key, LocalTime now = boot_now()) const;
  [[nodiscard]] Route route(Slot slot, LocalTime now = boot_now()) const;
  [[nodiscard]] Route route(Partition partition, LocalTime now = boot_now()) const;
  /// One answer for each partition, in their order, all from one snapshot. Unlike route() it
  /// allocates, and does not count as lookups.
  [[nodiscard]] std::vector<Route> view(LocalTime now = boot_now()) const;

  /// hash(key) % slots.
  [[nodiscard]] Slot slot_of(std::string_view key) const noexcept;
  /// Slot j is on partition j mod M.
  [[nodiscard]] Partition partition_of(std::string_view key) const noexcept;
  [[nodiscard]] Partition partition_of(Slot slot) const noexcept;
  /// In rising order. Allocates.
  [[nodiscard]] std::vector<Slot> slots_of(Partition partition) const;

  /// What the processes of the topic must agree on.
  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }

 protected:
  Lookup(const RouteView& view, Settings settings);
  ~Lookup() = default;
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  const RouteView& view_;

 private:
  Settings settings_;
};

}  // namespace neliroute
