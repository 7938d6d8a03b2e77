// A connection to a host by its name, within a time, with TLS where that is asked for.
//
// Threads: one (an executor of its own).   Units: std::chrono.
// Errors: a text for people, without whom it is about.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <neliroute/time.h>
#include <string>

#include "base/host_and_port.h"
#include "base/host_names.h"
#include "net/await.h"
#include "net/stream.h"
#include "net/tls.h"

namespace neliroute {

struct Dialed {
  /// None: `trouble` says why.
  std::unique_ptr<Stream> stream;
  std::string trouble;
};
/// `names` must outlive it. `within` bounds the lookup, too. `tls`: null for none.
[[nodiscard]] Awaitable<Dialed> dial(HostNames& names, std::string address, TlsContextPtr tls,
                                     milliseconds within);

/// Small messages are sent at once, and the connection ends when what was sent is not acknowledged
/// for so long: its machine is gone, or the network is.
void expect_acknowledged(boost::asio::ip::tcp::socket& socket, milliseconds within);

}  // namespace neliroute
