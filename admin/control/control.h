// The control calls of the admin port: what a program in another language asks of this process, as
// a sidecar. docs/routing.md describes them.
//
// A call is refused by its header, before its body is read, if it may not be made at all.
//
// Threads: one (the server's strand).   Units: milliseconds.
// Errors: answers with a status of 400 and above, and {"error":..}.
#pragma once

#include <prometheus/collectable.h>

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <neliroute/admin.h>
#include <neliroute/observable.h>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "admin/control/calls.h"
#include "admin/control/held_works.h"
#include "admin/control/route_wait.h"
#include "admin/control/steps.h"
#include "admin/request.h"
#include "admin/site.h"

namespace neliroute::admin {

class Control {
 public:
  static constexpr std::string_view kSteps = "/v1/steps";

  Control(const boost::asio::any_io_executor& strand, Observable observable,
          std::shared_ptr<Calls> calls, const AdminLimits& limits,
          std::function<void(const Notice&)> on_notice);

  /// Whether the path is one that is POSTed to.
  [[nodiscard]] static bool takes(std::string_view path) noexcept;
  /// As a PostRule, of a path that it takes.
  [[nodiscard]] std::variant<std::size_t, Refusal> may_post(const Request& header) const;
  /// Answers a POST that may_post() let pass.
  [[nodiscard]] Answer act(const Request& request);

  /// Of a GET of kSteps: that it may join steps(), or why not.
  [[nodiscard]] Answer follow(const Request& request) const;
  [[nodiscard]] Steps& steps() const noexcept { return *steps_; }

  /// Why this request may not wait for a newer owner.
  [[nodiscard]] std::optional<Refusal> may_not_wait(const Request& request) const;
  /// Calls `done` once, unless the wait is cancelled or the strand ends before.
  [[nodiscard]] std::weak_ptr<RouteWait> wait(Slot slot, const Epoch& after, milliseconds limit,
                                              RouteWait::Done done);
  /// Ends all guards, and heeds the router no more.
  void close();
  /// What it counts, for /metrics. Null: control is off.
  [[nodiscard]] std::shared_ptr<prometheus::Collectable> metrics() const { return metrics_; }

 private:
  class Metrics;
  [[nodiscard]] std::optional<Refusal> may_not_call(const Request& header) const;
  /// The same of what only owners answer.
  [[nodiscard]] std::optional<Refusal> may_not_act(const Request& header) const;
  [[nodiscard]] Answer admit(const Request& request);
  [[nodiscard]] Answer done(const Request& request);
  [[nodiscard]] Answer drain(const Request& request);

  /// Shared with waits at the router, which must not keep it.
  std::shared_ptr<const boost::asio::any_io_executor> strand_;
  Observable observable_;
  std::shared_ptr<Calls> calls_;
  std::size_t waits_most_;
  std::shared_ptr<std::size_t> waits_ = std::make_shared<std::size_t>(0);
  std::shared_ptr<HeldWorks> works_;
  std::shared_ptr<Steps> steps_;
  std::shared_ptr<prometheus::Collectable> metrics_;
};

}  // namespace neliroute::admin
