// One request to an application, on a connection of its own: a POST of JSON, which --notify sends,
// or the question whether it is healthy. Boost.Beast's HTTP is compiled in one_request.cc alone.
//
// Threads: one (the executor's).   Units: milliseconds.   Errors: passed to the handler.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <neliroute/time.h>
#include <string>

#include "tool/exec/notify_url.h"

namespace neliroute::tool {

/// The status of the answer, or why there is none.
using Asked = std::function<void(boost::system::error_code, unsigned status)>;

/// Calls `done` once, within `bound`.
void post_json(const boost::asio::any_io_executor& executor, const NotifyUrl& url,
               const std::string& body, milliseconds bound, Asked done);

/// GET on a connection that is there, and ends with it. `host`: for the field Host.
void get_status(boost::asio::ip::tcp::socket connected, const std::string& host,
                const std::string& target, milliseconds bound, Asked done);

}  // namespace neliroute::tool
