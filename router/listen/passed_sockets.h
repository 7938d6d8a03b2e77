// Listening sockets that whoever started this process has passed to it: systemd's socket activation
// (sd_listen_fds(3): LISTEN_PID, LISTEN_FDS). They outlive the process, so it is replaced with no
// connection refused or reset.
//
// Threads: any.   Units: none.   Errors: none; without the variables there are none.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <optional>
#include <string>

namespace neliroute {

struct PassedSocket {
  int file = -1;
  boost::asio::ip::tcp::endpoint at;
};

/// The one that is bound to this address, as a descriptor of its own; no value: there is none.
/// 0.0.0.0 is also found as [::], at which systemd listens where it is given a port alone.
[[nodiscard]] std::optional<PassedSocket> passed_socket(const boost::asio::ip::tcp::endpoint& at);
/// "; passed to this process: [::]:8080", for an error; empty: none was passed.
[[nodiscard]] std::string passed_text();

}  // namespace neliroute
