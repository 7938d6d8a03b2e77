// Whether a voter can be started with these options, and what follows from them.
//
// Threads: any.   Units: none.   Errors: bad_option, naming the option and what was expected.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <neliroute/error.h>
#include <string>
#include <vector>

#include "voter/voter_server.h"

namespace neliroute {

[[nodiscard]] Result<void> check(const VoterServerOptions& options);
/// Of the voters in their order, who should lead this log.
[[nodiscard]] std::vector<int> priorities_of(const VoterServerOptions& options, std::uint32_t log);
/// Where to listen, for who connects to this address: a machine's own addresses are not those that
/// others know of it, but nobody else can mean this machine's loopback.
[[nodiscard]] std::vector<boost::asio::ip::tcp::endpoint> endpoints_for(
    const std::string& address);

}  // namespace neliroute
