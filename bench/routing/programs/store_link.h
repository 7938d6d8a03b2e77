// An application's connection to the store. Increments are sent at once and answered in their
// order; those that come while others are being written leave together.
//
// Threads: one (an io_context's).   Units: none.
// Errors: without the store there is nothing to measure, so its loss ends the process.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "bench/routing/programs/frames.h"

namespace neliroute::bench {

class StoreLink {
 public:
  using Handler = std::function<void(const StoreAnswer&)>;

  /// Connects; `name` tells this start of the application from all others.
  StoreLink(boost::asio::io_context& io, const boost::asio::ip::tcp::endpoint& store,
            std::string_view name);
  StoreLink(const StoreLink&) = delete;
  StoreLink& operator=(const StoreLink&) = delete;

  void increment(const StoreRequest& request, Handler handler);

 private:
  void read();
  void take_all();
  void write();

  boost::asio::ip::tcp::socket socket_;
  std::deque<Handler> waiting_;
  std::array<char, 16'384> chunk_;
  std::string received_;
  std::string requests_;
  std::string sending_;
};

}  // namespace neliroute::bench
