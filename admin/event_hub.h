// /v1/events: sends every change to all clients. Private to the admin port.
//
// Each event is rendered once and shared by all clients. A client that reads too slowly is closed,
// and gets a whole view when it comes back.
//
// Threads: one (the server's strand).   Units: bytes, std::chrono.   Errors: none; a stream closes.
#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <neliroute/admin.h>
#include <string>
#include <vector>

#include "admin/site.h"

namespace neliroute::admin {

/// One of the allowed connections; released with its last copy.
using Place = std::shared_ptr<void>;

/// A text, and what counts it for as long as it is kept, if anything does.
struct Kept {
  Text text;
  std::shared_ptr<const void> held;
};

/// One client of the hub.
class EventStream : public std::enable_shared_from_this<EventStream> {
 public:
  /// `patience`: how long the client may read none of what is queued for it.
  EventStream(boost::beast::tcp_stream stream, milliseconds patience, Place place)
      : stream_(std::move(stream)), patience_(patience), place_(std::move(place)) {}

  void start();
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

class EventHub : public std::enable_shared_from_this<EventHub> {
 public:
  EventHub(boost::asio::any_io_executor strand, Site& site, const AdminLimits& limits);

  /// What a stream begins with: the whole view, who assigns if not a group, and what moved lately.
  [[nodiscard]] Text first_events();
  /// Takes over the client; `header` is sent first.
  void join(boost::beast::tcp_stream client, std::string header, Kept first, Place place);
  /// The view has changed.
  void changed();
  void transition(std::string line);
  /// Closes all streams. No event is sent any more.
  void close();

 private:
  [[nodiscard]] bool anybody() const noexcept { return !streams_.empty(); }
  void flush_soon();
  void flush();
  void send_changes();
  void await_age();
  template <class Step>
  void or_close_streams(const Step& step);
  void close_streams();
  void broadcast(std::string text);

  Site& site_;
  AdminLimits limits_;
  boost::asio::steady_timer flush_timer_;
  boost::asio::steady_timer age_timer_;
  std::vector<std::shared_ptr<EventStream>> streams_;
  std::string transitions_;  ///< not sent yet
  std::size_t transitions_dropped_ = 0;
  Text rendered_;  ///< what first_ was made from
  Text first_;
  std::size_t limit_;
  std::chrono::steady_clock::time_point last_flush_;
  std::chrono::steady_clock::time_point last_sent_;
  bool flushing_ = false;
  bool ageing_ = false;
  bool closed_ = false;
};

}  // namespace neliroute::admin
