#include "tool/upstream_ready.h"

#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "forward/upstreams.h"
#include "tool/print/log.h"
#include "tool/print/progress.h"

namespace neliroute::tool {
namespace {

constexpr milliseconds kAgain{100};
// Longer than most programs take to start.
constexpr milliseconds kPatience{1000};

}  // namespace

Result<void> await_upstream(boost::asio::io_context& io, const std::string& flag,
                            const std::string& address, milliseconds bound,
                            const std::function<bool()>& given_up) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const auto deadline = began + bound;
  const Progress progress("waiting for " + address);
  // Or nothing would be waited for between two tries.
  const auto work = boost::asio::make_work_guard(io);
  forward::Upstreams upstreams(io.get_executor(), {});
  boost::system::error_code last;
  bool told = false;
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
    if (Clock::now() - began > kPatience && !std::exchange(told, true)) {
      log(Severity::warning, flag + " " + address + " accepts no connection yet (" +
                                 last.message() + "); waiting for it, at most " +
                                 std::to_string(bound.count()) + " ms (--timeout)");
    }
    io.run_for(kAgain);
  }
  return Error{Errc::timed_out, flag + " " + address + " accepts no connection (" + last.message() +
                                    "); start it, or raise --timeout"};
}

}  // namespace neliroute::tool
