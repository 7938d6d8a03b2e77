// A listener that is one function: what tests subscribe with.
#pragma once

#include <functional>
#include <neliroute/listener.h>
#include <utility>

namespace neliroute::testing_reader {

class FunctionListener : public Listener {
 public:
  using On = std::function<void(const Transition&, BarrierToken)>;
  using OnFailed = std::function<void(const Error&)>;
  explicit FunctionListener(On on, OnFailed on_failed = {})
      : on_(std::move(on)), on_failed_(std::move(on_failed)) {}

  void acquired(const Transition& t) override { on_(t, {}); }
  void draining(const Transition& t) override { on_(t, {}); }
  void stopped(const Transition& t, BarrierToken barrier) override { on_(t, std::move(barrier)); }
  void barrier_overdue(const Transition& t) override { on_(t, {}); }
  void released(const Transition& t) override { on_(t, {}); }
  void failed(const Error& error) override {
    if (on_failed_) on_failed_(error);
  }

 private:
  On on_;
  OnFailed on_failed_;
};

}  // namespace neliroute::testing_reader
