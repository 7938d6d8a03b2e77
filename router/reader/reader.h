// What a Router and a Watcher have in common, on their strand: carries events from the ledger to
// the directory, publishes what readers see, and notifies whoever waits for it or observes it.
// WatchingReader is a Watcher's; OwningReader is a Router's. Private.
//
// Threads: everything on the strand, unless stated otherwise.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/options.h>
#include <neliroute/slot_space.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neli_core/assigner/known_lane.h"
#include "neli_core/lease_vector.h"
#include "neli_core/ledger.h"
#include "router/reader/completion.h"
#include "router/reader/handler_watch.h"
#include "router/reader/meter.h"
#include "router/reader/observers.h"
#include "router/reader/readiness.h"
#include "router/reader/route_waiters.h"
#include "router/reader/suspects.h"
#include "router/view/directory.h"
#include "router/view/member_directory.h"
#include "router/view/route_view.h"

namespace neliroute {

using Strand = boost::asio::strand<boost::asio::any_io_executor>;

struct ReaderParts {
  Strand strand;
  std::unique_ptr<Ledger> ledger;
  DirectoryOptions directory;
  /// Which process this is; a watcher owns nothing, but writes overrides under an id.
  Peer self;
  SlotSpace slots;
  NoticeHandler on_notice;
  /// CLOCK_BOOTTIME; an argument so that tests can set it.
  std::function<LocalTime()> clock;
  /// How long handlers may hold the strand; zero: for ever.
  milliseconds interval{0};
  /// How many callers may wait for an owner at once.
  std::size_t waiters_max = 100'000;
};

class Reader : public std::enable_shared_from_this<Reader> {
 public:
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  virtual ~Reader() = default;

  // Any thread.
  virtual void start();
  [[nodiscard]] CompletionExecutors executors() const {
    return {strand_.get_inner_executor(), strand_};
  }
  [[nodiscard]] const RouteView& view() const noexcept { return view_; }
  /// Calls it on the strand once every slot is known, or this process leads everything that was
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
  /// Notifies it of everything from now on, for as long as it lives.
  void observe(std::weak_ptr<Observer> observer);
  /// When the strand must run at the latest; in the past only while it does not run.
  [[nodiscard]] LocalTime due() const noexcept { return due_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  /// This process's own; a watcher's mode and variation as far as it has read them in records.
  [[nodiscard]] virtual Settings settings() const = 0;
  /// T: this process's own; a watcher's is the owners', as far as it has read their records.
  [[nodiscard]] milliseconds lease() const noexcept {
    return lease_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] const Meter& meter() const noexcept { return meter_; }
  /// Why the application cannot serve; no value: it can.
  [[nodiscard]] virtual std::optional<std::string> unhealthy() const { return std::nullopt; }
  /// A caller could not reach the process that has this endpoint.
  void suspect(std::string_view endpoint);
  void reached(std::string_view endpoint);
  /// Whoever was asked for the slot says that this one leads it.
  void redirected(Slot slot, std::string_view endpoint, const Epoch& epoch);
  /// Hands over what it owns within the bound, closes the ledger, then calls `done` on the strand.
  void drain(milliseconds bound, std::function<void()> done);
  /// Closes without handing over. No handler is called from now on, except by drain(); a call may
  /// be under way on another thread.
  void abandon();

 protected:
  /// `leases`: null if it owns nothing.
  explicit Reader(ReaderParts parts, std::shared_ptr<LeaseVector> leases = nullptr);

  // What a Router's process adds to reading, or a Watcher's.
  /// settings(), on the strand: nothing is copied or locked.
  [[nodiscard]] virtual const Settings& settings_on_strand() const noexcept = 0;
  /// After the directory took the event.
  virtual void step(const Event& event, LocalTime now) = 0;
  /// Time passed: due at own_deadline().
  virtual void own_tick(LocalTime now) = 0;
  [[nodiscard]] virtual LocalTime own_deadline() const = 0;
  /// Carries out what follows from all steps since the last call.
  virtual void carry_out(LocalTime now) = 0;
  /// All of an event, or of what time changed, was carried out.
  virtual void after_turn(LocalTime) {}
  /// Null: no member assigns.
  [[nodiscard]] virtual const KnownLane* known_lane() const = 0;
  /// Completes what observers are told of a partition by what this process does there itself.
  virtual void look_at_own(Partition, ObservedRoute&) const {}
  [[nodiscard]] virtual bool leads_all_assigned() const { return false; }
  /// Somebody is to be told of what time alone changes, too.
  [[nodiscard]] virtual bool tells_changes() const { return false; }
  virtual void tell_change(Partition) const {}
  /// The application's own handlers.
  virtual void tell_application(const Error& error) = 0;
  /// The ledger cannot go on.
  virtual void on_ledger_refused(const Error& error) { fail(error); }
  /// On the strand, of a reader that is not closed.
  virtual void begin_drain(milliseconds bound) = 0;
  virtual void before_close(LocalTime) {}
  virtual void after_close() {}
  /// A planned leave ends by then.
  [[nodiscard]] virtual LocalTime close_bound() const { return kNever; }

  void on_event(const Event& event, LocalTime now);
  /// Readers see what changed in the directory before anybody is notified of it.
  void publish(LocalTime now);
  /// Its waiting callers are looked at again.
  void wake(Partition partition);
  void tell_observers(LocalTime now);
  void tell_assignment();
  /// The end of carry_out(): what time alone changed, and callers that wait.
  void end_turn(LocalTime now);
  void warn_of_handlers();
  /// On the strand, and publishes what becomes of it.
  void tell_directory(std::function<void(Directory&)> what);
  void mark_suspects(LocalTime now);
  void fail(const Error& error);
  void tell_failure(const Error& error);
  /// Why it gave up; a watcher's: how its settings differ now.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept {
    return failure_ ? failure_ : differs_;
  }
  void log(const Notice& notice) const noexcept;
  void close_ledger();
  void arm();
  /// An event's clock reading may be older than that of a timer that was handled before it.
  LocalTime no_earlier(LocalTime now) { return last_now_ = std::max(now, last_now_); }

  Strand strand_;
  std::unique_ptr<Ledger> ledger_;
  Directory directory_;
  RouteView view_;
  Observers observers_;
  Meter meter_;
  mutable HandlerWatch handlers_;
  std::function<LocalTime()> clock_;
  PeerPtr self_;
  std::uint32_t log_count_;
  std::atomic<milliseconds> lease_;
  milliseconds interval_;
  std::optional<Error> failure_;
  /// A watcher's: how its settings differ from the owners', at present. Every answer is `unknown`.
  std::optional<Error> differs_;
  LocalTime last_now_ = kLongAgo;
  std::atomic<bool> closed_ = false;
  std::atomic<bool> abandoned_ = false;

 private:
  void touch_designated(const Event& event);
  void publish_hint(Partition partition);
  [[nodiscard]] LocalTime history_until(Log log) const;
  void tell_silence(LocalTime now);
  [[nodiscard]] Observers::Seen look(Partition partition, LocalTime now) const;
  void tell_ready(LocalTime now);
  void end_wait(const RouteWaiter& waiter, boost::system::error_code error, const Route& route);
  void wake_waiters(LocalTime now);
  void end_waiters(boost::system::error_code error);
  void finish_close();
  void on_timer();

  boost::asio::steady_timer timer_;
  MemberDirectory members_;
  Readiness ready_;
  std::atomic<std::uint64_t> ready_ids_ = 0;
  RouteWaiters waiters_;
  std::vector<Partition> to_wake_;
  std::atomic<RouteWaiters::Id> wait_ids_ = 0;
  Suspects suspects_;
  NoticeHandler on_notice_;
  std::vector<std::function<void()>> drained_;
  /// The state of a log's partitions that nobody leads: it changes by time alone.
  enum class Silence { unknown, unheard, unowned };
  std::vector<Silence> silences_;
  LocalTime armed_for_ = kNever;
  std::atomic<LocalTime> due_{kNever};
};

}  // namespace neliroute
