// A Watcher and the loop that runs it: route, watch, gateway and demo look things up with it.
//
// Threads: one.   Units: LocalTime is CLOCK_BOOTTIME.
// Errors: open() returns what is wrong; failure() is what went wrong later.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <neliroute/watcher.h>
#include <optional>
#include <string>

#include "tool/command_line/options.h"

namespace neliroute::tool {

class WatcherLoop {
 public:
  /// The time to answer begins here, or once it is open: CommonOptions::timed_from().
  [[nodiscard]] static Result<std::unique_ptr<WatcherLoop>> open(const CommonOptions& options);
  /// Closes the watcher if the ledger answers, and leaves it to the system if not.
  ~WatcherLoop();
  WatcherLoop(const WatcherLoop&) = delete;
  WatcherLoop& operator=(const WatcherLoop&) = delete;

  /// Runs until known() is true, which may query the watcher; false: the time to answer passed
  /// first, or the watcher failed.
  bool run_until_known(const std::function<bool()>& known);
  /// Runs until done() is true, which only handlers that run here can make so.
  bool run_until_told(const std::function<bool()>& done, LocalTime deadline);
  /// Runs until done() is true, which is polled every few milliseconds: keys, children and clocks
  /// send no notification.
  bool run_until(const std::function<bool()>& done, LocalTime deadline);

  /// Runs until an observer that was added before has been told of the view and, where a member
  /// assigns, has_assigner() of it: a renewal of each member is read within a lease.
  void run_until_observed(const std::function<bool()>& told,
                          const std::function<bool()>& has_assigner);

  /// Has a condition looked at again. Any thread.
  void wake();
  /// run_with_watcher() opens no other one after it: the command ends.
  void end() noexcept { ends_ = true; }
  [[nodiscard]] bool ends() const noexcept { return ends_; }
  [[nodiscard]] boost::asio::io_context::executor_type executor() noexcept {
    return io_.get_executor();
  }

  [[nodiscard]] Watcher& watcher() noexcept { return *watcher_; }
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }
  /// Says why it failed, unless the log has; returns the exit code.
  [[nodiscard]] int fail(const std::string& command) const;
  /// The message if something is still unknown at the deadline.
  [[nodiscard]] std::string silence() const;

 private:
  explicit WatcherLoop(const CommonOptions& options)
      : work_(boost::asio::make_work_guard(io_)), options_(options) {}
  [[nodiscard]] milliseconds timeout() const;
  template <class Deadline>
  bool run(const std::function<bool()>& done, Deadline deadline);

  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  CommonOptions options_;
  LocalTime timed_from_ = kLongAgo;
  std::unique_ptr<Watcher> watcher_;
  std::optional<Error> failure_;
  bool ends_ = false;
};

/// Runs `use` with a watcher, and returns its exit code. Before an owner has written, a watcher
/// that was not given --partitions takes the topic's number; an assigner's members may have another
/// one. Then `use` runs again, with a watcher that has theirs.
[[nodiscard]] int run_with_watcher(const std::string& command, const CommonOptions& options,
                                   const std::function<int(WatcherLoop&)>& use);

}  // namespace neliroute::tool
