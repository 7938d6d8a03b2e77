#include "tests/sim/seeds/minimise.h"

#include <algorithm>

namespace neliroute::sim {
namespace {

class Minimiser {
 public:
  Minimiser(const Request& failing, const Outcome& outcome) : best_{failing, outcome, 0} {}

  Minimised run() {
    shorten();
    // Twice: what one kind needs may be gone in the second round.
    for (int round = 0; round < 2; ++round) {
      drop_faults();
      drop_numbers();
    }
    shorten();
    return best_;
  }

 private:
  bool keep_if_broken(const Request& request) {
    ++best_.runs;
    World world(make_plan(request));
    Outcome outcome = world.run();
    if (outcome.broken.empty()) return false;
    best_.request = request;
    best_.outcome = std::move(outcome);
    return true;
  }

  void shorten() {
    Request request = best_.request;
    const Time whole = (best_.outcome.broken_at / kMs + 1) * kMs;  // as the options say it
    request.chaos = std::min(whole, make_plan(request).chaos);
    keep_if_broken(request);
  }

  void drop_faults() {
    for (std::size_t i = 0; i < kFaultCount; ++i) {
      const auto fault = static_cast<Fault>(i);
      Request request = best_.request;
      if (!make_plan(request).has(fault)) continue;
      request.without.add(fault);
      keep_if_broken(request);
    }
  }

  void drop_numbers() {
    const auto lower = [this](std::optional<std::uint32_t> Request::*number, std::uint32_t from,
                              std::uint32_t least) {
      for (std::uint32_t n = from; n-- > least;) {
        Request request = best_.request;
        request.*number = n;
        keep_if_broken(request);
      }
    };
    const Plan plan = make_plan(best_.request);
    lower(&Request::logs, plan.logs, 1);
    lower(&Request::partitions, plan.partitions, 1);
    lower(&Request::processes, plan.processes, 1);
  }

  Minimised best_;
};

}  // namespace

Minimised minimise(const Request& failing, const Outcome& outcome) {
  return Minimiser(failing, outcome).run();
}

}  // namespace neliroute::sim
