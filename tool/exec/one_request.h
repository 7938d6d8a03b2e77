// One GET to an application: the question whether it is healthy. Boost.Beast's HTTP is compiled in
// one_request.cc alone.
//
// Threads: one (the executor's).   Units: milliseconds.   Errors: passed to the handler.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <neliroute/time.h>
#include <string>

namespace neliroute::tool {

/// The status of the answer, or why there is none.
using Asked = std::function<void(boost::system::error_code, unsigned status)>;

/// On a connection that is there, and ends with it. `host`: for the field Host. Calls `done` once,
/// within `bound`.
void get_status(boost::asio::ip::tcp::socket connected, const std::string& host,
                const std::string& target, milliseconds bound, Asked done);

}  // namespace neliroute::tool
