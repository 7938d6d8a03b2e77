// Router: owns slots as a member of the group, and tells for every key who owns it now.
//
//   boost::asio::io_context io;
//   auto router = neliroute::Router::open(io.get_executor(), options);
//   if (!router) { std::cerr << router.error().message() << '\n'; return 2; }
//   io.run();                                    // elsewhere: (*router)->route(key)
//
// Threads: route(), owns(), acquire(), slot_of(), view(): any thread, wait-free, no allocation (a
//   thread's first call and view() apart); begin(): the same, but lock-free. Everything else: any
//   thread, carried out on one strand of the given executor. No thread is started but librdkafka's
//   own and, with the classic group protocol, one that keeps its heartbeats going.
// Units: LocalTime is CLOCK_BOOTTIME; the overloads without `now` read it (20 ns).
// Errors: open() returns what is wrong; later failures come to on_failure() and to the log.
// Paper: "Protocol definition", "Consistent hashing", "Use in continuously available systems".
#pragma once

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <functional>
#include <memory>
#include <neliroute/clock.h>
#include <neliroute/error.h>
#include <neliroute/slot_space.h>
#include <neliroute/transition.h>
#include <optional>
#include <string_view>
#include <vector>

#include "neli_core/roles.h"
#include "neli_core/timing.h"
#include "router/observable.h"
#include "router/options.h"
#include "router/route.h"
#include "router/work.h"

namespace neliroute {

class Engine;
class RouteView;
class WorkGate;

class Router {
 public:
  /// Asks the broker (blocking, at most options.kafka.timeout), creates the topic if it is
  /// missing, and joins the group as soon as the executor runs.
  [[nodiscard]] static Result<std::unique_ptr<Router>> open(boost::asio::any_io_executor executor,
                                                            RouterOptions options);
  /// Leaves without handing over; others take over when the leases and the session are past. No
  /// handler is called any more; one that runs on another thread right now is not waited for, so
  /// destroy it on its executor, or after async_drain().
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  [[nodiscard]] Slot slot_of(std::string_view key) const noexcept { return space_.slot_of(key); }
  [[nodiscard]] Partition partition_of(Slot slot) const noexcept;

  /// Who owns this key.
  [[nodiscard]] Route route(std::string_view key, LocalTime now) const {
    return route(space_.slot_of(key), now);
  }
  [[nodiscard]] Route route(std::string_view key) const { return route(key, boot_now()); }
  [[nodiscard]] Route route(Slot slot, LocalTime now) const;

  /// Whether this process leads the slot: one atomic load.
  [[nodiscard]] bool owns(Slot slot, LocalTime now) const noexcept;
  /// The right to act for a slot, with the epoch that a store should compare; else not_owner.
  [[nodiscard]] Result<Lease> acquire(Slot slot, LocalTime now) const;
  [[nodiscard]] Result<Lease> acquire(Slot slot) const { return acquire(slot, boot_now()); }

  /// Work for a slot: while it lives the partition's barrier does not end (router/work.h). False:
  /// not the owner. Not counted as a lookup.
  [[nodiscard]] Work begin(Slot slot, LocalTime now) const;
  [[nodiscard]] Work begin(Slot slot) const { return begin(slot, boot_now()); }

  /// A store refused this slot's epoch, since it knows a greater one: it was restored, or served
  /// another topic. The process claims the partition again with an epoch above `stored` and leads
  /// on meanwhile; write again when acquire() or begin() names a greater epoch. Does nothing where
  /// this process holds no epoch, or one that is no lower. An epoch whose incarnation is a lifetime
  /// ahead of the broker's clock is not believed, which the log says. Any thread.
  void refused(Slot slot, const Epoch& stored);

  /// Whether this process leads role j: whoever leads partition j mod M does. A slot is a role that
  /// a key leads to; roles may as well be few and have names of their own, and their number may
  /// change at any time. Any thread.
  [[nodiscard]] bool leads_role(Role role, LocalTime now) const noexcept {
    return roles_->leads(role, now);
  }
  [[nodiscard]] const Roles& roles() const noexcept { return *roles_; }
  [[nodiscard]] Result<void> set_role_count(std::uint32_t count) {
    return roles_->set_count(count);
  }

  /// One answer a partition; route(slot) of every slot j with j mod M equal says the same.
  [[nodiscard]] std::vector<RouteCopy> view(LocalTime now) const;

  /// Called on the strand for every change; first for what is led already. Replaces the last.
  /// Nothing is renewed meanwhile: all calls in one go must take less than an interval, which is
  /// warned of; load what a partition needs elsewhere.
  void on_transition(TransitionHandler handler);
  /// Called on the strand once, when this process gives up: settings_conflict, barrier_stuck.
  void on_failure(std::function<void(const Error&)> handler);

  /// Completes when every slot is known, or this process leads all that the group gave it. With an
  /// error when that cannot be any more: closed, or what on_failure() tells. Cancellable:
  /// operation_aborted.
  template <class Token>
  auto async_ready(Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
        [this](auto handler) {
          ready(boost::asio::any_completion_handler<void(boost::system::error_code)>(
              std::move(handler)));
        },
        token);
  }

  /// For dashboards, metrics and the admin port, beside the handlers above.
  [[nodiscard]] const Observable& observable() const noexcept { return *observable_; }

  /// Planned leave: hands over and closes within `bound`, whether the brokers answer or not. What
  /// may take longer: barriers, which have a lease; and brokers that do not answer, 2 s where
  /// `bound` is short. At once if nobody else is in the group. Completes with no error; after it,
  /// every answer is unknown.
  template <class Token>
  auto async_drain(milliseconds bound, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
        [this, bound](auto handler) {
          drain(bound, boost::asio::any_completion_handler<void(boost::system::error_code)>(
                           std::move(handler)));
        },
        token);
  }

  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] const Timing& timing() const noexcept { return timing_; }
  [[nodiscard]] GroupProtocol group_protocol() const noexcept { return protocol_; }
  [[nodiscard]] const ProcessInfo& process() const noexcept { return process_; }
  [[nodiscard]] ProcessId id() const noexcept { return id_; }

 private:
  Router(SlotSpace space) : space_(space) {}
  void ready(boost::asio::any_completion_handler<void(boost::system::error_code)> handler);
  void drain(milliseconds bound,
             boost::asio::any_completion_handler<void(boost::system::error_code)> handler);

  SlotSpace space_;
  Settings settings_;
  Timing timing_;
  GroupProtocol protocol_ = GroupProtocol::classic;
  ProcessInfo process_;
  ProcessId id_;
  std::unique_ptr<Roles> roles_;
  std::shared_ptr<Engine> engine_;
  std::optional<Observable> observable_;
  const RouteView* view_ = nullptr;
  WorkGate* gate_ = nullptr;
};

}  // namespace neliroute
