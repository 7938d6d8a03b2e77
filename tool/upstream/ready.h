// Waits for an application that is about to start: an owner without it would hold slots in vain.
//
// Threads: one, which runs the io_context.   Units: std::chrono.
// Errors: it is not healthy in time, or `given_up` says that it never will.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <string>

#include "tool/upstream/health_probe.h"

namespace neliroute::tool {

/// `flag`: for the message.
[[nodiscard]] Result<void> await_upstream(boost::asio::io_context& io, const std::string& flag,
                                          HealthProbe& probe, milliseconds bound,
                                          const std::function<bool()>& given_up);

}  // namespace neliroute::tool
