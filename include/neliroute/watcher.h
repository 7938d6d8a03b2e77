// Watcher: the same lookup for a process that owns nothing. It joins no group and writes nothing;
// READ and DESCRIBE on the topic suffice.
//
// Threads: as Router.   Units: LocalTime is CLOCK_BOOTTIME.
// Errors: open() returns what is wrong; later ones go to on_failure() and on_notice.
#pragma once

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/lookup.h>
#include <neliroute/options.h>
#include <string_view>
#include <utility>

namespace neliroute {

class WatchingReader;
class Observable;

class Watcher : public Lookup {
 public:
  /// Blocks until a broker answers and the topic exists, at most for options.kafka.timeout. The
  /// owners create the topic; options.missing_topic may say to wait for it as long as it takes, or
  /// not at all. Errors: bad_option, ledger_unfit, ledger_unreachable, ledger_refused.
  [[nodiscard]] static Result<std::unique_ptr<Watcher>> open(
      boost::asio::any_io_executor executor, WatcherOptions options);
  /// As ~Router: on its executor, or after async_close().
  ~Watcher();

  /// Called on the strand when the answer of route() for a partition has changed. Replaces the
  /// previous handler.
  void on_change(std::function<void(Partition)> handler);
  /// Called on the strand when the running group has other slots, partitions, logs or hash than
  /// this watcher. From then on every answer is unknown, until the group's settings equal this
  /// watcher's again; a later difference is reported again. on_notice reports both. Replaces the
  /// previous handler.
  void on_failure(std::function<void(const Error&)> handler);

  /// Completes when every slot is known. Completes with an error if that cannot happen any more
  /// (closed), or not while the failure that on_failure() reported lasts. Cancellable:
  /// operation_aborted.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(boost::system::error_code)) Token>
  auto async_ready(Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
        [this](auto handler) { ready(std::move(handler)); }, token);
  }
  /// Completes with the first answer for the slot that is local or whose epoch is greater than
  /// `after`: what a caller needs that knows `after` and was not served. Completes with an error
  /// and what is known then: timed_out after `limit` (at most a day), too_many_waiters, closed, or
  /// the error that on_failure() gets. Cancellable: operation_aborted.
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
  /// after which it owns nothing, or for 2 s at a time if its route is stale.
  /// Any thread; repeated reports cost next to nothing.
  void suspect(std::string_view endpoint);
  /// The caller could reach it after all: it is suspected no more. Any thread.
  void reached(std::string_view endpoint);
  /// Whoever was asked for this slot names another owner, under a greater epoch than its route's.
  /// While that is stale it is moved there, if records have named a process with this endpoint; the
  /// next record that says who leads decides again. Any thread.
  void redirected(Slot slot, std::string_view endpoint, const Epoch& epoch);

  /// Completes with no error; after it, every answer is unknown.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(boost::system::error_code)) Token>
  auto async_close(Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
        [this](auto handler) { close(std::move(handler)); }, token);
  }

  /// T of the owners, as far as their records say it: after that long, every living owner must have
  /// been read.
  [[nodiscard]] milliseconds lease() const noexcept;
  /// For dashboards, metrics and the admin port (neliroute/observable.h).
  [[nodiscard]] const Observable& observable() const noexcept { return *observable_; }

 private:
  friend class Forwarder;  // which may outlive this
  using Completion = boost::asio::any_completion_handler<void(boost::system::error_code)>;
  struct Parts;
  explicit Watcher(Parts parts);
  void ready(Completion handler);
  void close(Completion handler);
  void wait_for_route(
      Slot slot, const Epoch& after, milliseconds limit,
      boost::asio::any_completion_handler<void(boost::system::error_code, Route)> handler);

  std::shared_ptr<WatchingReader> reader_;
  std::unique_ptr<const Observable> observable_;
};

}  // namespace neliroute
