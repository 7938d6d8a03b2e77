#include <neliroute/observable.h>
#include <neliroute/router.h>
#include <utility>

#include "neli_core/roles.h"
#include "neli_core/settings_mode.h"
#include "router/open.h"
#include "router/reader/completion.h"
#include "router/view/admissions.h"

namespace neliroute {

struct Router::Parts {
  Opened opened;
  std::uint32_t roles;
  Mode mode;
  std::uint32_t hop_limit;
};

Result<std::unique_ptr<Router>> Router::open(boost::asio::any_io_executor executor,
                                             RouterOptions options) {
  const std::uint32_t roles = options.roles.value_or(options.slots.value());
  const std::uint32_t hop_limit = options.hop_limit;
  auto opened = open_owner(std::move(executor), std::move(options));
  if (!opened) return opened.error();
  const Mode mode = serving_mode(opened->settings);
  std::unique_ptr<Router> router(new Router({std::move(*opened), roles, mode, hop_limit}));
  router->owner_->start();
  return router;
}

Router::Router(Parts parts)
    : Lookup(parts.opened.owner->view(), std::move(parts.opened.settings), parts.opened.owner,
             std::move(parts.opened.observable)),
      timing_(std::move(parts.opened.timing)),
      protocol_(parts.opened.protocol),
      process_(std::move(parts.opened.process)),
      id_(parts.opened.id),
      roles_(std::make_unique<Roles>(std::move(parts.opened.leases), parts.roles)),
      owner_(std::move(parts.opened.owner)),
      gate_(*owner_->work()),
      mode_(parts.mode),
      hop_limit_(parts.hop_limit) {}

Router::~Router() { owner_->abandon(); }

bool Router::owns(std::string_view key, LocalTime now) const noexcept {
  return view_.owns(view_.slots().slot_of(key), now);
}

bool Router::owns(Slot slot, LocalTime now) const noexcept { return view_.owns(slot, now); }

bool Router::owns(Partition partition, LocalTime now) const noexcept {
  return view_.owns(view_.first_slot_of(partition), now);
}

namespace {

Result<Lease> lease_of(const Route& route, LocalTime now) {
  if (route.verdict != Verdict::local) return Error{Errc::not_owner};
  return Lease{route.partition, route.epoch, now + route.valid_for};
}

}  // namespace

Result<Lease> Router::lease(std::string_view key, LocalTime now) const {
  return lease_of(route(key, now), now);
}

Result<Lease> Router::lease(Slot slot, LocalTime now) const {
  return lease_of(route(slot, now), now);
}

Result<Lease> Router::lease(Partition partition, LocalTime now) const {
  return lease_of(route(partition, now), now);
}

bool Router::holds(const Lease& lease, LocalTime now) const {
  const Route now_routed = route(lease.partition, now);
  return now_routed.verdict == Verdict::local && now_routed.epoch == lease.epoch;
}

Work Router::begin(std::string_view key, LocalTime now) const {
  return gate_.begin(partition_of(key), now);
}

Work Router::begin(Slot slot, LocalTime now) const {
  return gate_.begin(view_.partition_of(slot), now);
}

Work Router::begin(Partition partition, LocalTime now) const {
  return begin(view_.first_slot_of(partition), now);
}

Admission Router::admit(std::string_view key, const Epoch& epoch, std::uint32_t hops,
                        LocalTime now) const {
  return admit(slot_of(key), epoch, hops, now);
}

Admission Router::admit(Slot slot, const Epoch& epoch, std::uint32_t hops, LocalTime now) const {
  return Admissions(view_, gate_, mode_, hop_limit_).admit(slot, {epoch, hops}, now);
}

Admission Router::admit(Partition partition, const Epoch& epoch, std::uint32_t hops,
                        LocalTime now) const {
  return admit(view_.first_slot_of(partition), epoch, hops, now);
}

void Router::refused(std::string_view key, const Epoch& stored) {
  owner_->refused(partition_of(key), stored);
}

void Router::refused(Slot slot, const Epoch& stored) {
  owner_->refused(partition_of(slot), stored);
}

void Router::refused(Partition partition, const Epoch& stored) {
  refused(view_.first_slot_of(partition), stored);
}

void Router::set_unhealthy(std::string why) { owner_->set_health(std::move(why)); }

void Router::set_healthy() { owner_->set_health(std::nullopt); }

bool Router::leads(Role role, LocalTime now) const noexcept { return roles_->leads(role, now); }

std::uint32_t Router::role_count() const noexcept { return roles_->count(); }

std::uint32_t Router::led_role_count(LocalTime now) const noexcept {
  return roles_->led_count(now);
}

Result<void> Router::set_role_count(std::uint32_t count) { return roles_->set_count(count); }

Subscription Router::subscribe(Listener& listener) {
  return Subscription(owner_->subscribe(listener));
}

void Router::drain(milliseconds bound, Completion handler) {
  owner_->drain(bound,
                [done = completion_of(owner_->executors(), std::move(handler))] { done({}); });
}

}  // namespace neliroute
