// Watcher: the same lookup for a process that owns nothing. It joins no group and writes nothing;
// READ and DESCRIBE on the topic suffice.
//
// Threads: as Router.   Units: LocalTime is CLOCK_BOOTTIME.
// Errors: open() returns what is wrong; later failures come to on_failure() and to the log.
#pragma once

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <functional>
#include <memory>
#include <neliroute/clock.h>
#include <neliroute/error.h>
#include <neliroute/slot_space.h>
#include <optional>
#include <string_view>
#include <vector>

#include "router/observable.h"
#include "router/options.h"
#include "router/route.h"

namespace neliroute {

class Engine;
class RouteView;

class Watcher {
 public:
  /// Of the options, mode, group, process and timing mean nothing here: the lease is the owners',
  /// as their records tell (until one is read, that of `timing` stands in for it). Blocks, at most
  /// for options.kafka.timeout, until a broker answers and the topic is there, which owners make;
  /// options.kafka.missing_topic may say to wait for that as long as it takes, or not at all.
  [[nodiscard]] static Result<std::unique_ptr<Watcher>> open(
      boost::asio::any_io_executor executor, RouterOptions options);
  /// As ~Router: on its executor, or after close().
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  [[nodiscard]] Slot slot_of(std::string_view key) const noexcept { return space_.slot_of(key); }
  [[nodiscard]] Partition partition_of(Slot slot) const noexcept;
  [[nodiscard]] Route route(std::string_view key, LocalTime now) const {
    return route(space_.slot_of(key), now);
  }
  [[nodiscard]] Route route(std::string_view key) const { return route(key, boot_now()); }
  [[nodiscard]] Route route(Slot slot, LocalTime now) const;
  /// One answer a partition.
  [[nodiscard]] std::vector<RouteCopy> view(LocalTime now) const;

  /// Called on the strand when what route() answers for a partition changed.
  void on_change(std::function<void(Partition)> handler);
  /// Called on the strand when the running group has other slots, partitions, logs or hash. From
  /// then on every answer is unknown; once its settings are the ones here again, the owners are
  /// answered by themselves, and other ones are told again. The log tells both.
  void on_failure(std::function<void(const Error&)> handler);
  /// Completes when every slot is known. With an error when that cannot be any more (closed), or
  /// not while what on_failure() told lasts. Cancellable: operation_aborted.
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
  /// Closes; `done` is called on the strand.
  void close(std::function<void()> done);

  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  /// T of the owners, as far as they told it: how long to wait for all of them to be heard. Any
  /// thread.
  [[nodiscard]] milliseconds lease() const noexcept;

 private:
  void ready(boost::asio::any_completion_handler<void(boost::system::error_code)> handler);
  Watcher(SlotSpace space) : space_(space) {}

  SlotSpace space_;
  Settings settings_;
  std::shared_ptr<Engine> engine_;
  std::optional<Observable> observable_;
  const RouteView* view_ = nullptr;
};

}  // namespace neliroute
