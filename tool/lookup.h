// A Watcher and the loop that runs it: what route, watch and demo look things up with.
//
// Threads: one.   Units: LocalTime is CLOCK_BOOTTIME.
// Errors: open() returns what is wrong; failure() is what went wrong later.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "router/watcher.h"
#include "tool/options.h"

namespace neliroute::tool {

class Lookup {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Lookup>> open(const CommonOptions& options);
  /// Closes the watcher in order if the ledger answers, and leaves it to the system if not.
  ~Lookup();
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  /// Runs until done() says so. False: the deadline passed first, or the watcher failed.
  bool run_until(const std::function<bool()>& done, LocalTime deadline);
  /// Runs until every one of these partitions is known to be owned or not.
  bool run_until_known(const std::set<Partition>& partitions, LocalTime deadline);

  [[nodiscard]] Watcher& watcher() noexcept { return *watcher_; }
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }
  /// What to say when something is still unknown at the deadline.
  [[nodiscard]] std::string silence() const;

 private:
  Lookup() : work_(boost::asio::make_work_guard(io_)) {}

  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<Watcher> watcher_;
  std::optional<Error> failure_;
  milliseconds timeout_{0};
};

}  // namespace neliroute::tool
