// A listener that is one function: what tests subscribe with.
#pragma once

#include <functional>
#include <neliroute/listener.h>
#include <utility>

namespace neliroute::testing_engine {

class FunctionListener : public Listener {
 public:
  using On = std::function<void(const Transition&, BarrierToken)>;
  explicit FunctionListener(On on) : on_(std::move(on)) {}

  void acquired(const Transition& t) override { on_(t, {}); }
  void draining(const Transition& t) override { on_(t, {}); }
  void stopped(const Transition& t, BarrierToken barrier) override { on_(t, std::move(barrier)); }
  void barrier_overdue(const Transition& t) override { on_(t, {}); }
  void released(const Transition& t) override { on_(t, {}); }

 private:
  On on_;
};

}  // namespace neliroute::testing_engine
