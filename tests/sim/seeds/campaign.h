// Many seeds of one mode, on several threads, and what they showed.
//
// Threads: run() makes its own.   Units: none.   Errors: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "tests/sim/plan.h"
#include "tests/sim/world/world.h"

namespace neliroute::sim {

struct CampaignOptions {
  Request request;
  std::uint64_t seeds = 1000;
  std::uint64_t from = 1;
  unsigned jobs = 1;
  bool minimise = true;
  bool keep_going = false;  ///< past the first failing seed; each is named
  bool quiet = false;       ///< no counters
  bool must_show = false;   ///< enough of everything, also where the request is narrowed
  FaultSet with;            ///< only seeds that draw all of these
};

class Campaign {
 public:
  Campaign(const CampaignOptions& options, Mode mode);

  /// Whether nothing broke, and, in a run of many whole seeds, enough was judged. report() tells
  /// more.
  bool run();
  void report();
  [[nodiscard]] std::uint64_t failed() const noexcept { return failed_; }
  /// The smallest seed that failed, and what it broke.
  [[nodiscard]] std::uint64_t first_failed() const noexcept { return stop_at_; }
  [[nodiscard]] const Outcome& broken() const noexcept { return broken_; }

 private:
  void work();
  void report_failure();
  void report_counters() const;
  [[nodiscard]] bool judged_enough() const;

  CampaignOptions options_;
  Request request_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> stop_at_{UINT64_MAX};
  std::mutex mutex_;
  Outcome sum_;
  Outcome broken_;
  std::uint64_t done_ = 0;
  std::uint64_t failed_ = 0;
  double seconds_ = 0;  ///< of CPU time
};

}  // namespace neliroute::sim
