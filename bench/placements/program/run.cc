#include "bench/placements/program/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>

namespace neliroute::placement {
namespace {

Unit unit_of(const Request& request, const Spec& spec) {
  return request.all_on_partitions ? Unit::partitions : spec.kind->unit;
}

std::uint32_t items_of(const Request& request, Unit unit) {
  return unit == Unit::slots ? request.slots.value() : request.partitions;
}

Trace trace_of(const Request& request, std::uint32_t seed) {
  if (request.trace_of_file) return *request.trace_of_file;
  return *make_trace(request.trace, request.members, request.names, seed);
}

Setting setting_of(const Request& request, Unit unit, const Trace& trace, std::uint32_t seed) {
  return {items_of(request, unit), seed, trace.roster, trace.most_members()};
}

/// Processor time: what other processes do on this machine is not the placement's.
double seconds_since(std::clock_t began) {
  return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
}

Outcome outcome_of(const Report& report) {
  Outcome made;
  made.at_s = static_cast<double>(report.at_ms) / 1000;
  made.members_after = report.members;
  made.moved = static_cast<double>(report.moved);
  made.least_from_here = static_cast<double>(report.least);
  made.unavoidable = static_cast<double>(report.unavoidable);
  made.excess = static_cast<double>(report.excess);
  made.gain = static_cast<double>(report.gain);
  made.peak_before = report.before.peak;
  made.peak_after = made.peak_worst = report.after.peak;
  made.cv_before = report.before.cv;
  made.cv_after = report.after.cv;
  made.unowned_s = report.unowned_s;
  return made;
}

/// What a step adds to its trace.
void add_step(Outcome& sum, const Outcome& step) {
  if (sum.steps == 0) {
    sum.members_before = step.members_before;
    sum.peak_before = step.peak_before;
    sum.cv_before = step.cv_before;
  }
  ++sum.steps;
  sum.members_after = step.members_after;
  sum.peak_after = step.peak_after;
  sum.cv_after = step.cv_after;
  sum.moved += step.moved;
  sum.least += step.least;
  sum.least_from_here += step.least_from_here;
  sum.unavoidable += step.unavoidable;
  sum.excess += step.excess;
  sum.unowned_s += step.unowned_s;
  sum.gain = std::max(sum.gain, step.gain);
  sum.peak_worst = std::max(sum.peak_worst, step.peak_worst);
  sum.slowest_s = std::max(sum.slowest_s, step.slowest_s);
}

/// What a seed's trace adds to the mean over all of them.
void add_seed(Outcome& mean, const Outcome& trace, double share) {
  for (const auto field :
       {&Outcome::steps, &Outcome::members_before, &Outcome::members_after, &Outcome::moved,
        &Outcome::least, &Outcome::least_from_here, &Outcome::unavoidable, &Outcome::excess,
        &Outcome::gain, &Outcome::peak_before, &Outcome::peak_after, &Outcome::peak_worst,
        &Outcome::cv_before, &Outcome::cv_after, &Outcome::unowned_s, &Outcome::first_s,
        &Outcome::slowest_s, &Outcome::memory_bytes}) {
    mean.*field += trace.*field * share;
  }
}

class Runner {
 public:
  Runner(const Request& request, const Progress& progress,
         const std::function<bool(const Outcome&)>& take)
      : request_(request), progress_(progress), take_(take) {}

  /// False: no more results are wanted.
  bool run(const Spec& spec) {
    Outcome mean;
    mean.steps = 0;
    const Unit unit = unit_of(request_, spec);
    for (std::uint32_t i = 0; i < request_.seeds; ++i) {
      const std::uint32_t seed = request_.first_seed + i;
      const auto name = [&](std::size_t step, std::size_t steps) {
        return fmt::format("{}: seed {} of {}, step {} of {}", spec.text(), i + 1, request_.seeds,
                           step, steps);
      };
      const auto trace = run_seed(spec, unit, seed, name);
      if (!trace) return false;
      add_seed(mean, *trace, 1.0 / request_.seeds);
    }
    if (request_.each_step) return true;
    mean.spec = spec.text();
    mean.unit = unit;
    return take_(mean);
  }

 private:
  template <class Name>
  std::optional<Outcome> run_seed(const Spec& spec, Unit unit, std::uint32_t seed, Name name) {
    const std::vector<std::uint64_t>& least = least_of(unit, seed);
    const Trace trace = trace_of(request_, seed);
    const auto made = make_placement(spec, setting_of(request_, unit, trace, seed));
    Simulation simulation(*made, trace, each(unit), request_.timing);
    Outcome sum;
    sum.steps = 0;
    double members = 0;
    for (std::size_t step = 0; !simulation.done(); ++step) {
      progress_(name(step, trace.steps.size() - 1));
      const std::clock_t began = std::clock();
      Outcome one = outcome_of(simulation.advance());
      const double took = seconds_since(began);
      one.members_before = std::exchange(members, one.members_after);
      if (step == 0) {
        sum.first_s = took;
        continue;
      }
      one.spec = spec.text();
      one.unit = unit;
      one.seed = seed;
      one.slowest_s = took;
      one.least = static_cast<double>(least[step]);
      one.memory_bytes = static_cast<double>(made->memory());
      if (request_.each_step && !take_(one)) return std::nullopt;
      add_step(sum, one);
    }
    sum.memory_bytes = static_cast<double>(made->memory());
    return sum;
  }

  std::uint32_t each(Unit unit) const {
    return request_.slots.value() / items_of(request_, unit);
  }

  /// What the exact minimum moves, step by step.
  const std::vector<std::uint64_t>& least_of(Unit unit, std::uint32_t seed) {
    const auto [found, is_new] = least_.try_emplace({unit, seed});
    if (!is_new) return found->second;
    progress_("the least possible");
    const Trace trace = trace_of(request_, seed);
    const auto made =
        make_placement(*parse_spec("least"), setting_of(request_, unit, trace, seed));
    for (Simulation simulation(*made, trace, each(unit), request_.timing); !simulation.done();) {
      found->second.push_back(simulation.advance().moved);
    }
    return found->second;
  }

  const Request& request_;
  const Progress& progress_;
  const std::function<bool(const Outcome&)>& take_;
  std::map<std::pair<Unit, std::uint32_t>, std::vector<std::uint64_t>> least_;
};

}  // namespace

Result<void> check(const Request& request) {
  if (!request.trace_of_file && !make_trace(request.trace, request.members, request.names, 1)) {
    std::string known;
    for (const TraceKind& kind : trace_kinds()) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", kind.name);
    }
    return Error{Errc::bad_option,
                 fmt::format("--trace {} is no trace of {} members; choose one of {} (a number "
                             "after a colon counts, as in join:3; no more can leave than there "
                             "are), or give a --trace-file",
                             request.trace, request.members, known)};
  }
  const Trace trace = trace_of(request, 1);
  if (trace.roster.size() > kMembersMax) {
    return Error{Errc::bad_option,
                 fmt::format("the trace names {} members in all, and {} can be simulated; lower "
                             "--members", trace.roster.size(), kMembersMax)};
  }
  if (trace.steps.size() < 2) {
    return Error{Errc::bad_option, "the trace has one time only: that is the first placement; "
                                   "let something happen after it"};
  }
  for (const Spec& spec : request.specs) {
    const auto why = unfit(spec, setting_of(request, unit_of(request, spec), trace, 1));
    if (why) return Error{Errc::bad_option, "--placement " + *why};
  }
  return {};
}

void run(const Request& request, const Progress& progress,
         const std::function<bool(const Outcome&)>& take) {
  Runner runner(request, progress, take);
  for (const Spec& spec : request.specs) {
    if (!runner.run(spec)) return;
  }
}

}  // namespace neliroute::placement
