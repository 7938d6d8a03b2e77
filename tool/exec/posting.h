// One POST of JSON to a server on this machine, on a connection of its own: what --notify sends.
// Boost.Beast's HTTP is compiled in posting.cc alone.
//
// Threads: one (the executor's).   Units: milliseconds.   Errors: passed to the handler.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <neliroute/time.h>
#include <string>

#include "tool/exec/notify_url.h"

namespace neliroute::tool {

/// The status of the answer, or why there is none.
using Posted = std::function<void(boost::system::error_code, unsigned status)>;

/// Calls `done` once, within `bound`.
void post_json(const boost::asio::any_io_executor& executor, const NotifyUrl& url,
               const std::string& body, milliseconds bound, Posted done);

}  // namespace neliroute::tool
