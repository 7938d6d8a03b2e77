// When an owner begins to accept requests: as soon as it knows who owns every slot, or owns some
// itself. Before that it could only have them wait. Whoever is refused a connection goes to another
// owner, and balancers send nobody.
//
// Threads: one, the router's executor.   Units: none.   Errors: none.
#pragma once

#include <functional>
#include <memory>
#include <neliroute/listener.h>
#include <neliroute/router.h>

namespace neliroute::tool {

class WhenReady : public Listener {
 public:
  /// Calls `then` once. The router outlives it.
  WhenReady(Router& router, std::function<void()> then);

  /// Others read of it later than this process does.
  void acquired(const Transition& transition) override;

 private:
  std::shared_ptr<std::function<void()>> then_;  ///< empty: it was called
  Subscription subscription_;
};

}  // namespace neliroute::tool
