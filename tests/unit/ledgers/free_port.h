// A port of this machine that nobody listens on, for a server that a test starts.
//
// Threads: any.   Units: none.   Errors: an exception.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>

namespace neliroute {

[[nodiscard]] inline std::uint16_t free_port() {
  namespace ip = boost::asio::ip;
  boost::asio::io_context io;
  ip::tcp::acceptor acceptor(io, {ip::address_v4::loopback(), 0});
  return acceptor.local_endpoint().port();
}

}  // namespace neliroute
