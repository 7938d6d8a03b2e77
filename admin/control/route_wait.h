// One client that waits for a newer owner of its slot.
//
// The router ends it, or its own timer, whichever is first: so that a router whose executor hangs
// keeps no client for ever. Its timer keeps it alive.
//
// Threads: one (the server's strand).   Units: milliseconds.   Errors: passed to the handler.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <memory>
#include <neliroute/admin.h>
#include <utility>

namespace neliroute::admin {

class RouteWait : public std::enable_shared_from_this<RouteWait> {
 public:
  /// With the router's error; with none when there is a newer owner, or the time is over.
  using Done = std::function<void(boost::system::error_code)>;
  /// What the router's handler has of the server: nothing, once that is gone.
  using WeakStrand = std::weak_ptr<const boost::asio::any_io_executor>;

  /// `place`: one of those who may wait, given back at the end.
  RouteWait(const boost::asio::any_io_executor& strand, std::shared_ptr<void> place, Done done)
      : timer_(strand), place_(std::move(place)), done_(std::move(done)) {}

  /// Ends after `limit` at the latest.
  void start(milliseconds limit);
  /// For the router. It is called on that strand.
  [[nodiscard]] AdminControl::RouteHandler handler(WeakStrand strand);
  /// Nobody waits any more: `done` is not called.
  void cancel();

 private:
  void finish(boost::system::error_code error);

  boost::asio::steady_timer timer_;
  std::shared_ptr<void> place_;
  Done done_;
  /// Kept by the router's handler, too, which refers to it as long as it lives.
  std::shared_ptr<boost::asio::cancellation_signal> cancelled_ =
      std::make_shared<boost::asio::cancellation_signal>();
};

}  // namespace neliroute::admin
