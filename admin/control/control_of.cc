#include <neliroute/admin.h>
#include <neliroute/router.h>
#include <neliroute/watcher.h>
#include <utility>

namespace neliroute {
namespace {

template <class Lookup>
auto waiting_at(Lookup& lookup) {
  return [&lookup](Slot slot, const Epoch& after, milliseconds limit,
                   AdminControl::RouteHandler handler) {
    lookup.async_route_after(slot, after, limit, std::move(handler));
  };
}

}  // namespace

AdminControl AdminControl::of(Router& router, std::function<void()> drain) {
  AdminControl made;
  made.wait = waiting_at(router);
  made.admit = [&router](Slot slot, const Epoch& epoch, std::uint32_t hops) {
    return router.admit(slot, epoch, hops);
  };
  made.subscribe = [&router](Listener& listener) { return router.subscribe(listener); };
  made.drain = std::move(drain);
  return made;
}

AdminControl AdminControl::of(Watcher& watcher) {
  AdminControl made;
  made.wait = waiting_at(watcher);
  return made;
}

}  // namespace neliroute
