#include "tool/exec/when_ready.h"

#include <boost/system/error_code.hpp>
#include <utility>

namespace neliroute::tool {

WhenReady::WhenReady(Router& router, std::function<void()> then)
    : then_(std::make_shared<std::function<void()>>(std::move(then))) {
  router.async_ready([weak = std::weak_ptr(then_)](boost::system::error_code error) {
    const auto pending = weak.lock();
    if (!pending || error || !*pending) return;
    std::exchange(*pending, nullptr)();
  });
  subscription_ = router.subscribe(*this);
}

void WhenReady::acquired(const Transition&) {
  if (*then_) std::exchange(*then_, nullptr)();
}

}  // namespace neliroute::tool
