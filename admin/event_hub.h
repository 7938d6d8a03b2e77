// /v1/events: sends every change to all clients. Private to the admin port.
//
// Each event is rendered once and shared by all clients. A client that reads too slowly is closed,
// and gets a whole view when it comes back.
//
// Threads: one (the server's strand).   Units: bytes, std::chrono.   Errors: none; a stream closes.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <memory>
#include <neliroute/admin.h>
#include <string>
#include <vector>

#include "admin/event_stream.h"
#include "admin/site.h"

namespace neliroute::admin {

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
