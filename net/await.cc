#include "net/await.h"

#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>

namespace neliroute {

void rethrow_other(const std::exception_ptr& thrown) {
  if (!thrown) return;
  try {
    std::rethrow_exception(thrown);
  } catch (const Cancelled&) {  // somebody else has ended what it did
  }
}

Awaitable<Outcome> await_moved(std::function<void(Stream::Moved)> start) {
  return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(Outcome)>(
      [start = std::move(start)](auto handler) {
        // Copyable, as Stream::Moved is.
        const auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        start([shared](boost::system::error_code error, std::size_t count) {
          (*shared)(Outcome{error, count});
        });
      },
      boost::asio::use_awaitable);
}

Awaitable<> await_timer(boost::asio::steady_timer& timer) {
  co_await await_moved([&timer](Stream::Moved then) {
    timer.async_wait(
        [then = std::move(then)](boost::system::error_code error) { then(error, 0); });
  });
}

Awaitable<> pause(boost::asio::steady_timer& timer, milliseconds at_most) {
  timer.expires_after(at_most);
  co_await await_timer(timer);
}

void run_apart(const boost::asio::any_io_executor& strand, std::function<Awaitable<>()> work) {
  boost::asio::co_spawn(strand, std::move(work), rethrow_other);
}

}  // namespace neliroute
