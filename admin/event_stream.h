// One client of server-sent events: /v1/events, /v1/steps. Private to the admin port.
//
// Threads: one (the server's strand).   Units: bytes, std::chrono.   Errors: none; it closes.
#pragma once

#include <array>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <neliroute/time.h>
#include <string>
#include <string_view>
#include <utility>

#include "admin/site.h"

namespace neliroute::admin {

/// One of the allowed connections; released with its last copy.
using Place = std::shared_ptr<void>;

/// A text, and what counts it for as long as it is kept, if anything does.
struct Kept {
  Text text;
  std::shared_ptr<const void> held;
};

/// As server-sent events are written.
[[nodiscard]] std::string event_text(std::string_view event, std::string_view data);

class EventStream : public std::enable_shared_from_this<EventStream> {
 public:
  /// `patience`: how long the client may read none of what is queued for it.
  EventStream(boost::beast::tcp_stream stream, milliseconds patience, Place place)
      : stream_(std::move(stream)), patience_(patience), place_(std::move(place)) {}

  /// Sends both, and notices from now on when the client goes.
  void start(std::string header, Kept first, std::size_t limit);
  /// Queues at most `limit` bytes that the client has not read; above it, closes.
  void send(Kept text, std::size_t limit);
  void close();
  [[nodiscard]] bool closed() const noexcept { return !place_; }

 private:
  void write();
  void on_written(const boost::system::error_code& error, std::size_t sent);
  void watch();

  boost::beast::tcp_stream stream_;
  milliseconds patience_;
  Place place_;
  std::deque<Kept> queue_;
  std::size_t begun_ = 0;   ///< bytes of the first text that are sent
  std::size_t queued_ = 0;  ///< bytes of all, less those
  std::size_t received_ = 0;
  std::array<char, 128> ignored_{};
};

}  // namespace neliroute::admin
