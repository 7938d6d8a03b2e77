// A Router's reader: beside reading, it drives the state machine, writes its records, and lets the
// application prepare, take over and hand over. Private.
//
// Threads: everything on the strand, unless stated otherwise.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <neliroute/error.h>
#include <neliroute/settings.h>
#include <neliroute/transition.h>
#include <optional>
#include <string>
#include <vector>

#include "neli_core/core.h"
#include "neli_core/group_port.h"
#include "router/owner/listeners.h"
#include "router/owner/preparing.h"
#include "router/owner/refusals.h"
#include "router/owner/same_endpoint.h"
#include "router/owner/stopped_work.h"
#include "router/reader/reader.h"
#include "router/view/work_gate.h"

namespace neliroute {

struct OwnerParts {
  /// Of either variation.
  std::unique_ptr<Core> core;
  Settings settings;
  /// A part of the ledger; null: no group assigns.
  GroupPort* group = nullptr;
};

class OwningReader : public Reader {
 public:
  OwningReader(ReaderParts reading, OwnerParts parts);
  ~OwningReader() override;

  // Any thread.
  void start() override;
  [[nodiscard]] const std::shared_ptr<WorkGate>& work() const noexcept { return gate_; }
  /// Called from now on, first for what is led already, until its slot is cancelled.
  [[nodiscard]] std::shared_ptr<ListenerSlot> subscribe(Listener& listener);
  /// Once it has closed, when it reads nothing any more: what was known last.
  [[nodiscard]] const Route& last_route(Partition partition) const {
    return last_view_.at(partition.value());
  }
  [[nodiscard]] Settings settings() const override { return settings_; }
  /// A store refused the epoch that is held, as it knows `stored`.
  void refused(Partition partition, const Epoch& stored);
  /// Why the application cannot serve; no value: it can.
  void set_health(std::optional<std::string> unhealthy);
  [[nodiscard]] std::optional<std::string> unhealthy() const override;

 private:
  [[nodiscard]] const Settings& settings_on_strand() const noexcept override { return settings_; }
  void step(const Event& event, LocalTime now) override;
  void own_tick(LocalTime now) override { core_->tick(now); }
  [[nodiscard]] LocalTime own_deadline() const override;
  void carry_out(LocalTime now) override;
  void after_turn(LocalTime now) override { stop_draining_if_silent(now); }
  [[nodiscard]] const KnownLane* known_lane() const override { return core_->known_lane(); }
  void look_at_own(Partition partition, ObservedRoute& seen) const override;
  [[nodiscard]] bool leads_all_assigned() const override { return meter_.leads_all_assigned(); }
  void tell_application(const Error& error) override;
  void on_ledger_refused(const Error& error) override;
  void begin_drain(milliseconds bound) override;
  void before_close(LocalTime now) override;
  void after_close() override;
  [[nodiscard]] LocalTime close_bound() const override;

  void note_same_endpoint(const Event& event, LocalTime now);
  void touch(const AssignmentChange& change);
  void note_assignments(const Ready& ready, LocalTime now);
  void give_up(const Error& error);
  void pass_on(Ready& ready);
  void publish_own(const std::vector<Transition>& transitions);
  // owner_calls.cc
  void tell(const std::vector<Transition>& transitions, LocalTime now);
  [[nodiscard]] Transition completed(const Transition& transition, LocalTime now);
  void tell_listeners(const Transition& transition);
  [[nodiscard]] SharedCompletion barrier_of(const Transition& transition);
  void on_work_ended();
  void end_barriers();
  void tell_work_ended();
  void abandon_work(LocalTime now);
  void replay_leading(const std::shared_ptr<ListenerSlot>& slot);
  void tell_failed(Listener& listener, const Error& error);
  // owner_preparing.cc
  [[nodiscard]] bool let_prepare(const Ready& ready, LocalTime now);
  void pass_runs(const Ready& ready, LocalTime now);
  [[nodiscard]] RunTimes end_runs(Partition partition, LocalTime now);
  [[nodiscard]] SharedCompletion completion_of_run(const Run& run);
  void on_run_ended(const Run& run);
  [[nodiscard]] bool take_ended_runs(LocalTime now);
  [[nodiscard]] std::shared_ptr<const Predecessor> predecessor_of(Partition partition) const;
  [[nodiscard]] std::shared_ptr<const ProcessInfo> successor_of(Partition partition) const;
  // owner_leaving.cc
  void close_unless_alone(milliseconds bound);
  void leave();
  void count_others(std::function<void(std::optional<std::size_t>)> answer);
  [[nodiscard]] bool is_alone(std::optional<std::size_t> others) const;
  void close_when_nobody_is_left(int in_a_row);
  void request_close(LocalTime until);
  void stop_draining_if_silent(LocalTime now);

  [[nodiscard]] std::shared_ptr<OwningReader> self() {
    return std::static_pointer_cast<OwningReader>(shared_from_this());
  }
  [[nodiscard]] std::weak_ptr<OwningReader> weak() { return self(); }

  boost::asio::steady_timer count_again_;
  GroupPort* group_;  ///< of the ledger; null: no group assigns
  std::unique_ptr<Core> core_;
  const Settings settings_;
  /// This reader, for threads that end work.
  std::shared_ptr<std::weak_ptr<OwningReader>> work_ended_for_;
  std::shared_ptr<WorkGate> gate_;
  StoppedWork stopped_;
  std::vector<EndedBarrier> barriers_done_;
  Preparing preparing_;
  EndedRuns ended_runs_;
  Listeners listeners_;
  Refusals refusals_;
  mutable std::mutex health_mutex_;
  std::optional<std::string> unhealthy_;
  bool away_ = false;  ///< what the ledger was told of it
  SameEndpoint same_endpoint_;
  bool closing_ = false;
  LocalTime drained_by_ = kNever;  ///< the bound of a planned leave
  LocalTime look_at_drain_ = kNever;
  std::vector<Route> last_view_;  ///< written before closed_
};

}  // namespace neliroute
