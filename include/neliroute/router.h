// Router: owns slots as a member of the group, and resolves a key to its owner.
//
//   boost::asio::io_context io;
//   neliroute::RouterOptions options;
//   options.process.endpoint = "10.0.0.7:8080";
//   auto router = neliroute::Router::open(io.get_executor(), options);
//   if (!router) { std::cerr << router.error().message() << '\n'; return 2; }
//   io.run();                                                   // elsewhere, on any thread:
//   if (auto work = (*router)->begin("user:1000")) serve(work.epoch());
//   else ask((*router)->route("user:1000").endpoint());
//
// Threads: every member function may be called on any thread; docs/getting-started.md has a table
//   for all classes. Changes are carried out on one strand of the given executor, where listeners
//   are called. The executor must outlive the Router. Of its own the library starts a thread that
//   keeps heartbeats going (classic group protocol), and short-lived ones that destroy clients of
//   librdkafka.
// Units: std::chrono; LocalTime is CLOCK_BOOTTIME. If you pass `now`, read it after your last wait:
//   the answer is for that time.
// Errors: open() returns what is wrong; later ones go to Listener::failed() and on_notice.
// Paper: "Protocol definition", "Consistent hashing", "Use in continuously available systems".
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <memory>
#include <neliroute/admission.h>
#include <neliroute/error.h>
#include <neliroute/listener.h>
#include <neliroute/lookup.h>
#include <neliroute/options.h>
#include <neliroute/work.h>
#include <string>
#include <string_view>
#include <utility>

namespace neliroute {

class OwningReader;
class Roles;
class WorkGate;

/// The right to act for a slot: hand the epoch to the store, which refuses an older one.
struct Lease {
  Partition partition;
  Epoch epoch;
  /// It may end earlier, by a release. Only a Work (begin()) keeps a successor away until then.
  /// In non-exclusive mode it is moved on while Kafka is silent, see TimingOptions::serve_stale.
  LocalTime until;
};

class Router : public Lookup {
 public:
  /// Queries the broker (blocking, at most options.kafka.timeout), creates the topic if it is
  /// missing, and joins the group as soon as the executor runs. Errors: bad_option, ledger_unfit,
  /// ledger_unreachable, ledger_refused. Whether the settings are the running group's is known only
  /// later: Listener::failed().
  [[nodiscard]] static Result<std::unique_ptr<Router>> open(boost::asio::any_io_executor executor,
                                                            RouterOptions options);
  /// Leaves without handing over; others take over when the leases and the session are past. No
  /// listener is called any more. Pending async_ready() and async_drain() complete, afterwards. A
  /// handler that runs on another thread right now is not waited for (unless it is a Listener's),
  /// so destroy the Router on its executor, or after async_drain().
  ~Router();

  // --- Whether this process owns it. Each call takes a key, a slot or a partition. --------------

  /// Whether this process leads it: one atomic load.
  [[nodiscard]] bool owns(std::string_view key, LocalTime now = boot_now()) const noexcept;
  [[nodiscard]] bool owns(Slot slot, LocalTime now = boot_now()) const noexcept;
  [[nodiscard]] bool owns(Partition partition, LocalTime now = boot_now()) const noexcept;

  /// The epoch to act under; else not_owner.
  [[nodiscard]] Result<Lease> lease(std::string_view key, LocalTime now = boot_now()) const;
  [[nodiscard]] Result<Lease> lease(Slot slot, LocalTime now = boot_now()) const;
  [[nodiscard]] Result<Lease> lease(Partition partition, LocalTime now = boot_now()) const;
  /// Whether the same ownership goes on: this process leads the partition, under that epoch.
  [[nodiscard]] bool holds(const Lease& lease, LocalTime now = boot_now()) const;

  /// Work under one ownership: while it lives the partition's barrier does not end
  /// (neliroute/work.h). The Work converts to false if this process does not lead it. Not counted
  /// as a lookup.
  [[nodiscard]] Work begin(std::string_view key, LocalTime now = boot_now()) const;
  [[nodiscard]] Work begin(Slot slot, LocalTime now = boot_now()) const;
  [[nodiscard]] Work begin(Partition partition, LocalTime now = boot_now()) const;

  /// What to do with a request that came here: neliroute/admission.h. `epoch`: under which its
  /// sender routed it here, if any. `hops`: how often it was forwarded before. A request that is
  /// served counts as begin() does.
  [[nodiscard]] Admission admit(std::string_view key, const Epoch& epoch = kNoEpoch,
                                std::uint32_t hops = 0, LocalTime now = boot_now()) const;
  [[nodiscard]] Admission admit(Slot slot, const Epoch& epoch = kNoEpoch, std::uint32_t hops = 0,
                                LocalTime now = boot_now()) const;
  [[nodiscard]] Admission admit(Partition partition, const Epoch& epoch = kNoEpoch,
                                std::uint32_t hops = 0, LocalTime now = boot_now()) const;

  /// Reports that a store refused this process's epoch, since it knows a greater one: it was
  /// restored, or served another topic. The process claims the partition again with an epoch above
  /// `stored` and leads on meanwhile; write again when lease() or begin() returns a greater epoch.
  /// Does nothing if this process holds no lower epoch, and with `broadcast`. An epoch whose
  /// incarnation is a lifetime ahead of the broker's clock is not believed; on_notice reports it.
  void refused(std::string_view key, const Epoch& stored);
  void refused(Slot slot, const Epoch& stored);
  void refused(Partition partition, const Epoch& stored);

  /// The application cannot serve: hands over what this process owns, and takes nothing more until
  /// set_healthy(). `why` is for operators: one notice, /readyz and metrics. Called right after
  /// open(), the process takes nothing before. With Assignment::assigner it stays a member, as a
  /// cordoned one: if no member is healthy, each keeps what it leads. Of a group it leaves, and
  /// joins again. Repeated calls cost next to nothing.
  void set_unhealthy(std::string why);
  void set_healthy();

  // --- Roles: slots with names of their own. ----------------------------------------------------

  /// Whether this process leads role j: it does if it leads partition j mod M. A role >=
  /// role_count() is led by nobody.
  [[nodiscard]] bool leads(Role role, LocalTime now = boot_now()) const noexcept;
  [[nodiscard]] std::uint32_t role_count() const noexcept;
  /// How many roles this process leads.
  [[nodiscard]] std::uint32_t led_role_count(LocalTime now = boot_now()) const noexcept;
  /// May change at any time, in this process alone: no record carries it. 0 is bad_option.
  [[nodiscard]] Result<void> set_role_count(std::uint32_t count);

  // --- Notifications, and the end. --------------------------------------------------------------

  /// Calls the listener from now on, until the Subscription is destroyed; first for what is led
  /// already. There may be several: a barrier ends when all of them have completed their tokens.
  [[nodiscard]] Subscription subscribe(Listener& listener);

  /// Planned leave: hands over, and closes within `bound`. Two things may take longer: barriers,
  /// which have a lease; and brokers that do not answer, 2 s if `bound` is short. At once if nobody
  /// else is in the group. `timing().drain` is the usual bound: with Assignment::assigner a shorter
  /// one may end before a second successor was named, and leave slots unowned. Raise it by the
  /// successors' `prepare_timeout`. A bound of 0 hands nothing over; of several calls the earliest
  /// bound counts. Not cancellable. Completes with no error; after it, every answer is unknown.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(boost::system::error_code)) Token>
  auto async_drain(milliseconds bound, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
        [this, bound](auto handler) { drain(bound, std::move(handler)); }, token);
  }

  // --- What it was opened with. -----------------------------------------------------------------

  [[nodiscard]] const Timing& timing() const noexcept { return timing_; }
  /// Of no meaning with Assignment::assigner.
  [[nodiscard]] GroupProtocol group_protocol() const noexcept { return protocol_; }
  [[nodiscard]] const ProcessInfo& process() const noexcept { return process_; }
  [[nodiscard]] ProcessId id() const noexcept { return id_; }

 private:
  friend class Forwarder;  // which may outlive this
  struct Parts;
  explicit Router(Parts parts);
  void drain(milliseconds bound, Completion handler);

  Timing timing_;
  GroupProtocol protocol_;
  ProcessInfo process_;
  ProcessId id_;
  std::unique_ptr<Roles> roles_;
  std::shared_ptr<OwningReader> owner_;
  WorkGate& gate_;
  Mode mode_;
  std::uint32_t hop_limit_;
};

}  // namespace neliroute
