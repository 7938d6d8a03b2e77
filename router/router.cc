#include "router/router.h"

#include <utility>

#include "router/completion.h"
#include "router/open.h"

namespace neliroute {

Result<std::unique_ptr<Router>> Router::open(boost::asio::any_io_executor executor,
                                             RouterOptions options) {
  const SlotSpace space(options.slots, options.hash);
  const std::uint32_t roles = options.roles.value_or(options.slots.value());
  auto opened = open_engine(std::move(executor), std::move(options), /*watcher=*/false);
  if (!opened) return opened.error();
  std::unique_ptr<Router> router(new Router(space));
  router->settings_ = std::move(opened->settings);
  router->timing_ = std::move(opened->timing);
  router->protocol_ = opened->protocol;
  router->process_ = std::move(opened->process);
  router->id_ = opened->id;
  router->roles_ = std::make_unique<Roles>(std::move(opened->leases), roles);
  router->engine_ = std::move(opened->engine);
  router->observable_ = std::move(opened->observable);
  router->view_ = &router->engine_->view();
  router->gate_ = router->engine_->work().get();
  router->engine_->start();
  return router;
}

Router::~Router() { engine_->abandon(); }

Partition Router::partition_of(Slot slot) const noexcept { return view_->partition_of(slot); }

Route Router::route(Slot slot, LocalTime now) const { return view_->route(slot, now); }

bool Router::owns(Slot slot, LocalTime now) const noexcept { return view_->owns(slot, now); }

Result<Lease> Router::acquire(Slot slot, LocalTime now) const {
  const Route route = view_->route(slot, now);
  if (route.verdict != Verdict::local) return Error{Errc::not_owner};
  return Lease{route.epoch, now + route.valid_for};
}

Work Router::begin(Slot slot, LocalTime now) const {
  return gate_->begin(view_->partition_of(slot), now);
}

void Router::refused(Slot slot, const Epoch& stored) {
  engine_->refused(view_->partition_of(slot), stored);
}

std::vector<RouteCopy> Router::view(LocalTime now) const {
  return view_->look_at_all(now);
}

void Router::on_transition(TransitionHandler handler) {
  engine_->set_transition_handler(std::move(handler));
}

void Router::on_failure(std::function<void(const Error&)> handler) {
  engine_->set_failure_handler(std::move(handler));
}

void Router::drain(milliseconds bound,
                   boost::asio::any_completion_handler<void(boost::system::error_code)> handler) {
  engine_->drain(bound, [done = completion_of(std::move(handler))] { done({}); });
}

void Router::ready(boost::asio::any_completion_handler<void(boost::system::error_code)> handler) {
  wait_until_ready(*engine_, std::move(handler));
}

}  // namespace neliroute
