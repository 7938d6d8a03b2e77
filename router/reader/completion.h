// Asio's completion handlers, as a reader calls them. Private.
//
// Threads: what completion_of() returns: any, once.   Units: none.   Errors: none.
#pragma once

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <neliroute/route.h>

namespace neliroute {

class Reader;

using CompletionHandler = boost::asio::any_completion_handler<void(boost::system::error_code)>;

/// Where completions are posted: outside of the strand that completes, which a handler that blocks
/// would hold. A handler that has no executor runs on the strand.
struct CompletionExecutors {
  boost::asio::any_io_executor outside;
  boost::asio::any_io_executor strand;
};

/// Calls it on the handler's own executor, never from inside; that has work until then.
[[nodiscard]] std::function<void(boost::system::error_code)> completion_of(
    const CompletionExecutors& executors, CompletionHandler handler);

using RouteCompletion =
    boost::asio::any_completion_handler<void(boost::system::error_code, Route)>;

/// Reader::when_ready(), cancelled by the handler's own slot.
void wait_until_ready(Reader& reader, CompletionHandler handler);
/// Reader::wait_for_route(), cancelled by the handler's own slot.
void wait_until_routed(Reader& reader, Slot slot, const Epoch& after, milliseconds limit,
                       RouteCompletion handler);

}  // namespace neliroute
