#include "tool/upstream/ready.h"

#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <utility>

#include "tool/print/log.h"
#include "tool/print/progress.h"

namespace neliroute::tool {
namespace {

constexpr milliseconds kAgain{100};
// Longer than most programs take to start.
constexpr milliseconds kPatience{1000};
// For one answer, of a program that starts.
constexpr milliseconds kAnswer{5000};

}  // namespace

Result<void> await_upstream(boost::asio::io_context& io, const std::string& flag,
                            HealthProbe& probe, milliseconds bound,
                            const std::function<bool()>& given_up) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const auto deadline = began + bound;
  const std::string what = flag + " " + probe.address() + " ";
  const Progress progress("waiting for " + probe.address());
  // Or nothing would be waited for between two tries.
  const auto work = boost::asio::make_work_guard(io);
  std::string trouble;
  bool told = false;
  while (Clock::now() < deadline && !given_up()) {
    bool answered = false;
    probe.ask(kAnswer, [&](const std::string& answer) {
      trouble = answer;
      answered = true;
    });
    io.restart();
    while (!answered) io.run_one();
    if (trouble.empty()) return {};
    if (Clock::now() - began > kPatience && !std::exchange(told, true)) {
      log(Severity::warning, what + trouble + "; waiting for it, at most " +
                                 std::to_string(bound.count()) + " ms (--timeout)");
    }
    io.run_for(kAgain);
  }
  return Error{Errc::timed_out, what + trouble + "; start it, or raise --timeout"};
}

}  // namespace neliroute::tool
