#include "tests/sim/seeds/campaign.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "tests/sim/seeds/minimise.h"

namespace neliroute::sim {
namespace {

void add(Outcome& sum, const Outcome& one) {
  for (std::size_t i = 0; i < kFaultCount; ++i) sum.faults[i] += one.faults[i];
  for (std::size_t i = 0; i < kJudgedCount; ++i) sum.judged[i] += one.judged[i];
  for (std::size_t i = 0; i < kMetCount; ++i) sum.met[i] += one.met[i];
  sum.events += one.events;
  sum.records += one.records;
  sum.splits += one.splits;
  sum.starts += one.starts;
  sum.transitions += one.transitions;
  sum.gaps += one.gaps;
  sum.lapses += one.lapses;
  sum.refusals += one.refusals;
  sum.expelled += one.expelled;
  sum.withdrawals += one.withdrawals;
  sum.rebalances += one.rebalances;
  sum.expedites += one.expedites;
  sum.unowned += one.unowned;
  sum.longest_unowned = std::max(sum.longest_unowned, one.longest_unowned);
  sum.simulated += one.simulated;
}

/// From so many on what they judged must be enough.
constexpr std::uint64_t kEnoughSeeds = 100;
constexpr std::uint64_t kEnoughForRare = 200;

/// In a thousand seeds: about a third of what there is, in the mode that has least of it. Less
/// where a few seeds have most: campaigns of 150 differ by ten times and more there.
constexpr std::uint64_t least_of(Judged what) {
  switch (what) {
    case Judged::led_seconds:
      return 150'000;
    case Judged::acquisitions:
    case Judged::audited:
      return 30'000;
    case Judged::barriers:
      return 5000;
    case Judged::disturbed_gaps:
      return 1500;
    case Judged::crash_gaps:
      return 30;
    case Judged::sick_gaps:
      return 60;
    case Judged::preferences:
      return 40;
    case Judged::unowned_answers:
    case Judged::overrides:
      return 20;
    case Judged::two_leaders:  // most seeds show none
      return 2;
    case Judged::beyond:
      return 10;
    default:
      return 250;
  }
}

/// The same, of what the members of a lane met.
constexpr std::uint64_t least_of(Met what) {
  switch (what) {
    case Met::assignments:
      return 12'000;
    case Met::deaths:
      return 8000;
    case Met::false_deaths:
      return 3000;
    case Met::refused:
      return 1500;
    case Met::seat_changes:
      return 2000;
    case Met::waits:
      return 30;
    case Met::yields:
      return 20;
    case Met::given_up:
      break;
  }
  return 1;
}

bool is_judged(Judged what, const Request& request) {
  const bool claimed = request.variation == Variation::claimed;
  const bool exclusive = request.mode == Mode::exclusive;
  if (what == Judged::beyond || what == Judged::two_leaders) return !request.beyond.empty();
  if (what == Judged::audited) return request.audit;
  if (what == Judged::led_seconds || what == Judged::acquisitions) return true;
  if (what == Judged::planned_gaps || what == Judged::barriers) return claimed && exclusive;
  if (what == Judged::disturbed_gaps) return true;
  if (what == Judged::late_writes) return claimed && exclusive;
  if (what == Judged::overrides || what == Judged::crash_gaps || what == Judged::agreements ||
      what == Judged::sick_gaps) {
    return request.assigner;
  }
  if (what == Judged::preferences) {
    return request.assigner && !kind_of(request.store).writers_stamps;
  }
  return claimed && what != Judged::unknown_answers && what != Judged::requests_refused;
}

void line(std::string_view name, std::uint64_t n) {
  std::printf("  %-20s %llu\n", std::string(name).c_str(), static_cast<unsigned long long>(n));
}

}  // namespace

Campaign::Campaign(const CampaignOptions& options, Mode mode)
    : options_(options), request_(options.request) {
  request_.mode = mode;
}

bool Campaign::run() {
  const std::clock_t started = std::clock();
  std::vector<std::thread> threads;
  for (unsigned j = 0; j < options_.jobs; ++j) threads.emplace_back([this] { work(); });
  for (std::thread& thread : threads) thread.join();
  seconds_ = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
  return failed_ == 0 && judged_enough();
}

void Campaign::work() {
  for (;;) {
    const std::uint64_t i = next_.fetch_add(1);
    if (i >= options_.seeds) return;
    Request request = request_;
    request.seed = options_.from + i;
    if (!options_.keep_going && stop_at_ < request.seed) return;
    const Plan plan = make_plan(request);
    if (!plan.faults.has_all(options_.with)) continue;
    World world(plan);
    const Outcome outcome = world.run();
    const std::lock_guard lock(mutex_);
    add(sum_, outcome);
    ++done_;
    if (outcome.broken.empty()) continue;
    ++failed_;
    if (options_.keep_going) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(request.seed),
                  outcome.broken.c_str());
    }
    if (request.seed < stop_at_) {
      stop_at_ = request.seed;
      broken_ = outcome;
    }
  }
}

void Campaign::report() {
  if (failed_ > 0) report_failure();
  const double minutes = static_cast<double>(sum_.simulated) / (60.0 * kSecond);
  std::printf("%s: %llu seeds, %llu broken; %.0f simulated minutes in %.1f s of CPU time, %.0f a "
              "second\n",
              std::string(neliroute::to_string(request_.mode)).c_str(),
              static_cast<unsigned long long>(done_), static_cast<unsigned long long>(failed_),
              minutes, seconds_, minutes / seconds_);
  if (!options_.quiet) report_counters();
}

// A simulator that strikes or looks no more would find nothing for ever.
bool Campaign::judged_enough() const {
  if (done_ < kEnoughSeeds) return true;
  const bool narrowed = options_.request.is_narrowed() || !options_.with.empty();
  if (narrowed && !options_.must_show) return true;
  bool enough = true;
  const auto need = [&](std::string_view what, std::uint64_t n, std::uint64_t least) {
    if (n >= least) return;
    enough = false;
    std::printf("TOO LITTLE: %s: %llu, and not %llu\n", std::string(what).c_str(),
                static_cast<unsigned long long>(n), static_cast<unsigned long long>(least));
  };
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    const auto fault = static_cast<Fault>(i);
    // One seed in twenty may have it.
    const bool rare = fault == Fault::log_as_long || fault == Fault::broadcast_beside;
    if (rare && done_ < kEnoughForRare) continue;
    if (is_possible(fault, request_)) need(to_string(fault), sum_.faults[i], done_ / 50);
  }
  if (request_.variation == Variation::claimed) need("records split", sum_.splits, 10 * done_);
  for (std::size_t i = 0; i < kJudgedCount; ++i) {
    const auto what = static_cast<Judged>(i);
    if (!is_judged(what, request_)) continue;
    const std::uint64_t least = std::max<std::uint64_t>(1, least_of(what) * done_ / 1000);
    need(to_string(what), sum_.judged[i], least);
  }
  for (std::size_t i = 0; i < kMetCount && request_.assigner; ++i) {
    const auto what = static_cast<Met>(i);
    need(to_string(what), sum_.met[i], least_of(what) * done_ / 1000);
  }
  return enough;
}

void Campaign::report_failure() {
  request_.seed = stop_at_;
  std::printf("BROKEN %s\n  again with: %s\n", broken_.broken.c_str(),
              describe(make_plan(request_)).c_str());
  if (!options_.minimise || request_.trace) return;
  const Minimised small = minimise(request_, broken_);
  std::printf("SMALLER (after %d runs) %s\n  again with: %s\n", small.runs,
              small.outcome.broken.c_str(), describe(make_plan(small.request)).c_str());
}

void Campaign::report_counters() const {
  std::printf("  %-20s %.1f s\n", "longest unowned",
              static_cast<double>(sum_.longest_unowned) / kSecond);
  line("times unowned", sum_.unowned);
  line("owners changed", sum_.transitions);
  line("events", sum_.events);
  line("records", sum_.records);
  line("records split", sum_.splits);
  line("starts", sum_.starts);
  line("rebalances", sum_.rebalances);
  line("expedites", sum_.expedites);
  line("members expelled", sum_.expelled);
  line("withdrawals", sum_.withdrawals);
  line("tail gaps", sum_.gaps);
  line("leases lapsed", sum_.lapses);
  line("settings refused", sum_.refusals);
  if (request_.assigner) {
    std::printf(" met by members:\n");
    for (std::size_t i = 0; i < kMetCount; ++i) line(to_string(static_cast<Met>(i)), sum_.met[i]);
  }
  std::printf(" judged:\n");
  for (std::size_t i = 0; i < kJudgedCount; ++i) {
    line(to_string(static_cast<Judged>(i)), sum_.judged[i]);
  }
  std::printf(" faults:\n");
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    line(to_string(static_cast<Fault>(i)), sum_.faults[i]);
  }
}

}  // namespace neliroute::sim
