// Lookup: what a Router and a Watcher have in common; says who owns a key, slot or partition now.
//
//   const neliroute::Route route = router->route("user:1000");
//   if (route.verdict == neliroute::Verdict::remote) connect(route.endpoint());
//
// Every lookup takes a key (any bytes), a Slot or a Partition, and optionally a time that the
// caller has read already.
//
// Threads: any. Lookups are wait-free, without allocation except for a thread's first call; but
//   view() and slots_of() allocate their results. A completion handler runs on its associated
//   executor; one that has none runs on the strand, and must not block.
// Units: LocalTime is CLOCK_BOOTTIME; reading it costs 20 ns.
// Errors: a lookup has none, it always answers. A partition that does not exist aborts.
// Paper: "Consistent hashing".
#pragma once

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/async_result.hpp>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/route.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <string_view>
#include <utility>
#include <vector>

namespace neliroute {

class Observable;
class Reader;
class RouteView;

[[nodiscard]] LocalTime boot_now() noexcept;  // neliroute/clock.h

class Lookup {
 public:
  /// Who owns it.
  [[nodiscard]] Route route(std::string_view key, LocalTime now = boot_now()) const;
  [[nodiscard]] Route route(Slot slot, LocalTime now = boot_now()) const;
  [[nodiscard]] Route route(Partition partition, LocalTime now = boot_now()) const;
  /// One answer for each partition, in their order, all from one snapshot. Unlike route() it
  /// allocates, and does not count as lookups.
  [[nodiscard]] std::vector<Route> view(LocalTime now = boot_now()) const;

  /// hash(key) % slots.
  [[nodiscard]] Slot slot_of(std::string_view key) const noexcept;
  /// Slot j is on partition j mod M.
  [[nodiscard]] Partition partition_of(std::string_view key) const noexcept;
  [[nodiscard]] Partition partition_of(Slot slot) const noexcept;
  /// In rising order. Allocates.
  [[nodiscard]] std::vector<Slot> slots_of(Partition partition) const;

  /// Completes when every slot is known, or this process leads everything that was assigned to it.
  /// Completes with an error when that cannot happen any more: `closed`, or the failure that
  /// Listener::failed() or Watcher::on_failure() reports. Cancellable: operation_aborted.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(boost::system::error_code)) Token>
  auto async_ready(Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
        [this](auto handler) { ready(std::move(handler)); }, token);
  }
  /// Completes with the first answer for the slot that is local or whose epoch is greater than
  /// `after`: what a caller needs that knows `after` and was not served. (Exclusive mode: local
  /// with an epoch of `after` or greater, as Router::admit() serves nothing else.) Completes with
  /// an error and what is known then: timed_out after `limit` (at most a day), too_many_waiters,
  /// `closed`, or the reported failure. Cancellable: operation_aborted.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(boost::system::error_code, Route)) Token>
  auto async_route_after(Slot slot, const Epoch& after, milliseconds limit, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, Route)>(
        [this, slot, after, limit](auto handler) {
          wait_for_route(slot, after, limit, std::move(handler));
        },
        token);
  }
  /// The same for a caller that knows nothing: completes when somebody owns the key.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(boost::system::error_code, Route)) Token>
  auto async_route(std::string_view key, milliseconds limit, Token&& token) {
    return async_route_after(slot_of(key), kNoEpoch, limit, std::forward<Token>(token));
  }

  /// The caller could not reach this endpoint. Lookups mark that process's slots as
  /// Route::suspected, until a record of it is read; they say so at most for the rest of its lease,
  /// after which it owns nothing, or for 2 s at a time if its route is stale. Repeated reports cost
  /// next to nothing.
  void suspect(std::string_view endpoint);
  /// The caller could reach it after all: it is suspected no more.
  void reached(std::string_view endpoint);
  /// The process that was asked for this slot named another owner, under a greater epoch. A stale
  /// route moves to `endpoint`, if records have named a process there, until the next record that
  /// says who leads.
  void redirected(Slot slot, std::string_view endpoint, const Epoch& epoch);

  /// What the processes of the topic must agree on.
  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  /// For dashboards, metrics and the admin port (neliroute/observable.h).
  [[nodiscard]] const Observable& observable() const noexcept { return *observable_; }

 protected:
  using Completion = boost::asio::any_completion_handler<void(boost::system::error_code)>;

  /// `reader`, `observable`: null in benchmarks of lookups alone.
  Lookup(const RouteView& view, Settings settings, std::shared_ptr<Reader> reader = nullptr,
         std::unique_ptr<const Observable> observable = nullptr);
  ~Lookup();
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  const RouteView& view_;

 private:
  void ready(Completion handler);
  void wait_for_route(
      Slot slot, const Epoch& after, milliseconds limit,
      boost::asio::any_completion_handler<void(boost::system::error_code, Route)> handler);

  Settings settings_;
  std::shared_ptr<Reader> reader_;
  std::unique_ptr<const Observable> observable_;
};

}  // namespace neliroute
