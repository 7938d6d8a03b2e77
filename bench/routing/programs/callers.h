// Those who decide where a request of the load goes.
//
// Threads: one (an io_context's).   Units: std::chrono.   Errors: end the calls.
#pragma once

#include <cstdint>
#include <memory>
#include <neliroute/watcher.h>
#include <random>
#include <vector>

#include "bench/routing/programs/load.h"

namespace neliroute::bench {

/// Any owner, at random. If that one cannot be reached, breaks, has left (421) or does not answer
/// within a second: another one, once.
class AnyOwner : public Caller {
 public:
  explicit AnyOwner(Load& load) : load_(load) {}

  /// From now on these.
  void choose_from(std::vector<Target*> targets) { targets_ = std::move(targets); }

  void begin(const CallPtr& call) override;
  void missed(const CallPtr& call, Miss miss, unsigned status) override;
  [[nodiscard]] milliseconds patience(const Call& call) const override;

 private:
  Load& load_;
  std::vector<Target*> targets_;
  std::minstd_rand random_{20'251'125};
};

/// One proxy. A connection that was idle may be closed at any time: then a new one, once.
class OneProxy : public Caller {
 public:
  OneProxy(Load& load, Target& proxy) : load_(load), proxy_(proxy) {}

  void begin(const CallPtr& call) override { load_.send(call, proxy_); }
  void missed(const CallPtr& call, Miss miss, unsigned status) override;

 private:
  Load& load_;
  Target& proxy_;
};

/// The owner that a Watcher names. After 421, or without an answer, it waits for a newer one.
class WatchedOwner : public Caller {
 public:
  WatchedOwner(Load& load, Watcher& watcher) : load_(load), watcher_(watcher) {}

  void begin(const CallPtr& call) override;
  void missed(const CallPtr& call, Miss miss, unsigned status) override;
  [[nodiscard]] milliseconds patience(const Call& call) const override;

 private:
  void wait(const CallPtr& call, milliseconds limit);

  Load& load_;
  Watcher& watcher_;
};

}  // namespace neliroute::bench
