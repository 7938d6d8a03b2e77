#include "router/router.h"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <utility>

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
  // std::function wants a copyable target; the handler is called once all the same.
  auto shared = std::make_shared<decltype(handler)>(std::move(handler));
  // Where it is to run may be an io_context that has nothing else to do until then.
  auto executor = boost::asio::prefer(boost::asio::get_associated_executor(*shared),
                                      boost::asio::execution::outstanding_work.tracked);
  engine_->drain(bound, [shared, executor = std::move(executor)] {
    boost::asio::dispatch(executor, [shared] {
      std::move(*shared)(boost::system::error_code{});
    });
  });
}

}  // namespace neliroute
