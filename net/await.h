// What calls back, as what a coroutine awaits. Errors are values: nothing here throws.
//
// A callback that is dropped without being called ends the coroutine that waits for it, and what
// awaits that one. So what a coroutine keeps must not keep the callback: an Input does.
//
// GCC 12 destroys some temporaries of an expression with co_await twice: give an awaited function
// no default argument and no braced list, and write no co_await inside `?:`, `&&` or `||`.
//
// Threads: one (an executor of its own).   Units: bytes.   Errors: in the result.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <exception>
#include <functional>

#include "net/stream.h"

namespace neliroute {

template <class T = void>
using Awaitable = boost::asio::awaitable<T>;

struct Outcome {
  boost::system::error_code error;
  std::size_t count = 0;
};

/// Thrown by a coroutine that was cancelled, as soon as what it awaited has ended.
struct Cancelled {};
/// Rethrows all but Cancelled.
void rethrow_other(const std::exception_ptr& thrown);

/// `start` gets what is to be called, once, and not from inside: that would end `start` itself.
[[nodiscard]] Awaitable<Outcome> await_moved(std::function<void(Stream::Moved)> start);
/// Until it expires, or is cancelled.
[[nodiscard]] Awaitable<> await_timer(boost::asio::steady_timer& timer);
/// For so long, or until it is cancelled.
[[nodiscard]] Awaitable<> pause(boost::asio::steady_timer& timer, milliseconds at_most);

/// Starts a coroutine that nobody waits for. What it throws ends the program.
void run_apart(const boost::asio::any_io_executor& strand, std::function<Awaitable<>()> work);

}  // namespace neliroute
