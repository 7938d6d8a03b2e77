// Where --notify POSTs to: a server on this machine, since the events are not encrypted and nobody
// shows who he is.
//
// Threads: any.   Units: none.
// Errors: bad_option, naming the URL, what was expected and what to do.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <neliroute/error.h>
#include <string>
#include <string_view>

namespace neliroute::tool {

struct NotifyUrl {
  std::string text;    ///< as it was given
  boost::asio::ip::tcp::endpoint at;
  std::string host;    ///< for the field Host
  std::string target;  ///< "/path?query"

  /// HOST:PORT, as it was resolved.
  [[nodiscard]] std::string address() const;
};

/// "http://127.0.0.1:9000/events". Resolves a host name, which blocks.
[[nodiscard]] Result<NotifyUrl> parse_notify_url(std::string_view text);

}  // namespace neliroute::tool
