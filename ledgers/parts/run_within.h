// A coroutine run by a thread that waits for it: at start, and for an operator's command.
//
// Threads: one, which blocks.   Units: std::chrono.   Errors: none of its own.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <neliroute/time.h>
#include <optional>
#include <utility>

namespace neliroute {

/// `stop` ends it where it takes longer; T{}: that did not help either.
template <class T, class Stop>
[[nodiscard]] T run_within(boost::asio::io_context& io, boost::asio::awaitable<T> work,
                           milliseconds within, const Stop& stop) {
  const auto result = std::make_shared<std::optional<T>>();  // it may come too late
  io.restart();
  const auto guard = boost::asio::make_work_guard(io);
  boost::asio::co_spawn(io, std::move(work),
                        [&io, result](const std::exception_ptr& thrown, T value) {
                          if (thrown) std::rethrow_exception(thrown);
                          *result = std::move(value);
                          io.stop();
                        });
  io.run_for(within);
  if (*result) return std::move(**result);
  stop();
  io.restart();
  io.run_for(milliseconds{1'000});
  return *result ? std::move(**result) : T{};
}

}  // namespace neliroute
