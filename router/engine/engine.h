// The strand behind a Router or Watcher: carries events from the ledger to the state machine and
// the directory, carries out their requests, and publishes what readers see. Private.
//
// Threads: everything on the strand, unless stated otherwise.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <neliroute/error.h>
#include <neliroute/options.h>
#include <neliroute/slot_space.h>
#include <neliroute/transition.h>
#include <optional>
#include <string_view>
#include <vector>

#include "neli_core/assigner/lane_reader.h"
#include "neli_core/core.h"
#include "neli_core/group_port.h"
#include "neli_core/ledger.h"
#include "neli_core/settings_agreement.h"
#include "router/engine/handler_watch.h"
#include "router/engine/listeners.h"
#include "router/engine/meter.h"
#include "router/engine/observers.h"
#include "router/engine/preparing.h"
#include "router/engine/readiness.h"
#include "router/engine/route_waiters.h"
#include "router/engine/stopped_work.h"
#include "router/engine/suspects.h"
#include "router/view/directory.h"
#include "router/view/member_directory.h"
#include "router/view/route_view.h"
#include "router/view/same_endpoint.h"
#include "router/view/work_gate.h"

namespace neliroute {

using Strand = boost::asio::strand<boost::asio::any_io_executor>;
using ChangeHandler = std::function<void(Partition)>;
using FailureHandler = std::function<void(const Error&)>;

struct EngineParts {
  Strand strand;
  std::unique_ptr<Ledger> ledger;
  /// A part of the ledger; null: no group assigns.
  GroupPort* group = nullptr;
  /// Of either variation; null: a watcher.
  std::unique_ptr<Core> core;
  DirectoryOptions directory;
  Peer self;
  /// What a watcher compares with the records it reads.
  Settings settings;
  SlotSpace slots;
  NoticeHandler on_notice;
  /// CLOCK_BOOTTIME; an argument so that tests can set it.
  std::function<LocalTime()> clock;
  /// How long handlers may hold the strand; zero: for ever.
  milliseconds interval{0};
  /// How many callers may wait for an owner at once.
  std::size_t waiters_max = 100'000;
};

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  explicit Engine(EngineParts parts);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  // Any thread.
  void on_work_ended();
  [[nodiscard]] const RouteView& view() const noexcept { return view_; }
  /// Null: a watcher.
  [[nodiscard]] const std::shared_ptr<WorkGate>& work() const noexcept { return gate_; }
  void start();
  /// Calls it on the strand once every slot is known, or this process leads everything the group
  /// assigned to it; with an error when that cannot happen any more, or it was cancelled.
  void when_ready(std::uint64_t id, ReadyHandler handler);
  void cancel_ready(std::uint64_t id);
  [[nodiscard]] std::uint64_t next_ready_id() noexcept { return ++ready_ids_; }
  /// Calls it on the strand with the first answer that is local or of an epoch greater than
  /// `after`; with an error and what is known when that does not come, or it was cancelled.
  void wait_for_route(RouteWaiters::Id id, Slot slot, const Epoch& after, milliseconds limit,
                      RouteHandler handler);
  void cancel_wait(RouteWaiters::Id id);
  [[nodiscard]] RouteWaiters::Id next_wait_id() noexcept { return ++wait_ids_; }
  [[nodiscard]] std::size_t waiters() const noexcept { return waiters_.size(); }
  /// Called from now on, first for what is led already, until its slot is cancelled.
  [[nodiscard]] std::shared_ptr<ListenerSlot> subscribe(Listener& listener);
  void set_change_handler(ChangeHandler handler);
  void set_failure_handler(FailureHandler handler);
  /// Notifies it of everything from now on, for as long as it lives.
  void observe(std::weak_ptr<Observer> observer);
  /// When the strand must run at the latest; in the past only while it does not run.
  [[nodiscard]] LocalTime due() const noexcept { return due_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  /// Once it has closed, when it reads nothing any more: what was known last. Of an owner.
  [[nodiscard]] const Route& last_route(Partition partition) const {
    return last_view_.at(partition.value());
  }
  /// This process's own; a watcher's mode and variation as far as it has read them in records.
  [[nodiscard]] Settings settings() const;
  /// T: this process's own; a watcher's is the owners', as far as it has read their records.
  [[nodiscard]] milliseconds lease() const noexcept {
    return lease_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] const Meter& meter() const noexcept { return meter_; }
  /// A store refused the epoch that is held, as it knows `stored`.
  void refused(Partition partition, const Epoch& stored);
  /// Why the application cannot serve; no value: it can.
  void set_health(std::optional<std::string> unhealthy);
  [[nodiscard]] std::optional<std::string> unhealthy() const;
  /// A caller could not reach the process that has this endpoint.
  void suspect(std::string_view endpoint);
  void reached(std::string_view endpoint);
  /// Whoever was asked for the slot says that this one leads it.
  void redirected(Slot slot, std::string_view endpoint, const Epoch& epoch);
  /// Hands over within the bound, closes the ledger, then calls `done` on the strand.
  void drain(milliseconds bound, std::function<void()> done);
  /// Closes without handing over. No handler is called from now on, except by drain(); a call may
  /// be under way on another thread.
  void abandon();

 private:
  void on_event(const Event& event, LocalTime now);
  void feed_directory(const Event& event, LocalTime now);
  void watch_event(const Event& event, LocalTime now);
  void note_same_endpoint(const Event& event, LocalTime now);
  void learn(const Record& record);
  void compare_settings(LocalTime now);
  void tell_difference();
  void publish_hint(Partition partition);
  [[nodiscard]] LocalTime history_until(Log log) const;
  void watch_silence(LocalTime now);
  void tell_silence(LocalTime now);
  void tell_change(Partition partition) const;
  LocalTime no_earlier(LocalTime now);
  void step(const Event& event, LocalTime now);
  void touch(const AssignmentChange& change);
  void note_assignments(const Ready& ready, LocalTime now);
  [[nodiscard]] const KnownLane* known_lane() const;
  void touch_designated(const Event& event);
  void tell_assignment();
  void count_others(std::function<void(std::optional<std::size_t>)> answer);
  void tell_observers(LocalTime now);
  [[nodiscard]] Observers::Seen look(Partition partition, LocalTime now) const;
  void carry_out(LocalTime now);
  /// On the strand, and publishes what becomes of it.
  void tell_directory(std::function<void(Directory&)> what);
  void mark_suspects(LocalTime now);
  void publish(const std::vector<Transition>& transitions, LocalTime now);
  void tell(const std::vector<Transition>& transitions, LocalTime now);
  [[nodiscard]] Transition completed(const Transition& transition, LocalTime now);
  void tell_listeners(const Transition& transition);
  [[nodiscard]] SharedCompletion barrier_of(const Transition& transition);
  void end_barriers();
  void tell_work_ended();
  // engine_preparing.cc
  [[nodiscard]] bool let_prepare(const Ready& ready, LocalTime now);
  void pass_runs(const Ready& ready, LocalTime now);
  [[nodiscard]] RunTimes end_runs(Partition partition, LocalTime now);
  [[nodiscard]] SharedCompletion completion_of_run(const Run& run);
  void on_run_ended(const Run& run);
  [[nodiscard]] bool take_ended_runs(LocalTime now);
  [[nodiscard]] std::shared_ptr<const Predecessor> predecessor_of(Partition partition) const;
  [[nodiscard]] std::shared_ptr<const ProcessInfo> successor_of(Partition partition) const;
  void abandon_work(LocalTime now);
  void tell_ready(LocalTime now);
  void end_wait(const RouteWaiter& waiter, boost::system::error_code error, const Route& route);
  void wake_waiters(LocalTime now);
  void end_waiters(boost::system::error_code error);
  void end_turn();
  void replay_leading(const std::shared_ptr<ListenerSlot>& slot);
  void fail(const Error& error);
  void tell_failed(Listener& listener, const Error& error);
  void tell_failure(const Error& error);
  /// Why it gave up; a watcher's: how its settings differ now.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept {
    return failure_ ? failure_ : differs_;
  }
  void log(const Notice& notice) const;
  void close_ledger();
  void finish_close();
  void on_timer();
  void arm();
  void close_unless_alone(milliseconds bound);
  void leave();
  [[nodiscard]] bool is_alone(std::optional<std::size_t> others) const;
  void close_when_nobody_is_left(int in_a_row);
  void request_close(LocalTime until);
  void stop_draining_if_silent(LocalTime now);
  [[nodiscard]] bool is_news(Partition partition, std::int64_t incarnation);

  Strand strand_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer count_again_;
  std::unique_ptr<Ledger> ledger_;
  GroupPort* group_;  ///< of the ledger; null: no group assigns
  std::unique_ptr<Core> core_;
  Directory directory_;
  std::optional<LaneReader> reader_;  ///< a watcher's; a member's core reads that itself
  MemberDirectory members_;
  RouteView view_;
  Observers observers_;
  Meter meter_;
  /// This engine, for threads that end work.
  std::shared_ptr<std::weak_ptr<Engine>> work_ended_for_;
  std::shared_ptr<WorkGate> gate_;
  StoppedWork stopped_;
  Preparing preparing_;
  EndedRuns ended_runs_;
  Readiness ready_;
  std::atomic<std::uint64_t> ready_ids_ = 0;
  RouteWaiters waiters_;
  std::vector<Partition> to_wake_;
  std::atomic<RouteWaiters::Id> wait_ids_ = 0;
  SettingsAgreement agreement_;
  mutable std::mutex settings_mutex_;
  Settings settings_;
  /// The greatest incarnation that a store reported, and when the strand was notified of it.
  struct Refusal {
    std::int64_t incarnation = -1;
    LocalTime told = kLongAgo;
  };
  std::mutex refusals_mutex_;
  std::map<Partition, Refusal> refusals_;
  mutable std::mutex health_mutex_;
  std::optional<std::string> unhealthy_;
  Suspects suspects_;
  SameEndpoint same_endpoint_;
  NoticeHandler on_notice_;
  std::function<LocalTime()> clock_;
  mutable HandlerWatch handlers_;
  Listeners listeners_;
  ChangeHandler on_change_;
  FailureHandler on_failure_;
  std::optional<Error> failure_;
  std::optional<Error> differs_;  ///< how a watcher's settings differ from the owners', at present
  bool difference_told_ = false;
  std::vector<std::function<void()>> drained_;
  PeerPtr self_;
  std::uint32_t log_count_;
  std::atomic<milliseconds> lease_;
  milliseconds interval_;
  std::vector<std::int64_t> ends_at_start_;
  /// The state of a log's partitions that nobody leads: it changes by time alone.
  enum class Silence { unknown, unheard, unowned };
  std::vector<Silence> silences_;
  std::uint64_t question_ = 0;
  LocalTime next_probe_ = kLongAgo;
  LocalTime last_now_ = kLongAgo;
  std::vector<EndedBarrier> barriers_done_;
  LocalTime armed_for_ = kNever;
  bool closing_ = false;
  LocalTime drained_by_ = kNever;      ///< the bound of a planned leave
  LocalTime look_at_drain_ = kNever;
  std::vector<Route> last_view_;  ///< written before closed_
  std::atomic<bool> closed_ = false;
  std::atomic<bool> abandoned_ = false;
  std::atomic<LocalTime> due_{kNever};
};

}  // namespace neliroute
