#include "tool/upstream_ready.h"

#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <memory>
#include <optional>

#include "forward/upstreams.h"
#include "tool/print/progress.h"

namespace neliroute::tool {
namespace {

constexpr milliseconds kAgain{100};

}  // namespace

Result<void> await_upstream(boost::asio::io_context& io, const std::string& flag,
                            const std::string& address, milliseconds bound,
                            const std::function<bool()>& given_up) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + bound;
  const Progress progress("waiting for " + address);
  // Or nothing would be waited for between two tries.
  const auto work = boost::asio::make_work_guard(io);
  forward::Upstreams upstreams(io.get_executor(), {});
  boost::system::error_code last;
  while (Clock::now() < deadline && !given_up()) {
    bool answered = false;
    upstreams.connect(address, /*own=*/true,
                      [&](boost::system::error_code error, const forward::UpstreamPtr&) {
                        last = error;
                        answered = true;
                      });
    io.restart();
    while (!answered) io.run_one();
    if (!last) return {};
    io.run_for(kAgain);
  }
  return Error{Errc::timed_out, flag + " " + address + " accepts no connection (" + last.message() +
                                    "); start it, or raise --timeout"};
}

}  // namespace neliroute::tool
