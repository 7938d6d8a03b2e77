#include "tests/sim/plan.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace neliroute::sim {
namespace {

/// The sick one, two that nothing strikes, and two that crash.
constexpr std::uint32_t kSickAndOthers = 5;
/// What the arrays of the simulator hold (node.h).
constexpr std::int64_t kManyPartitions = 64;
constexpr std::int64_t kManyLogs = 8;

bool is_of_records(Fault fault) {
  return fault <= Fault::write_reordered || fault == Fault::offset_hole ||
         fault == Fault::late_timer || fault == Fault::slow_barrier ||
         fault == Fault::fetch_in_parts || fault == Fault::notice_lost;
}

bool is_planned_move(Fault fault) {
  return fault == Fault::leave || fault == Fault::reshuffle || fault == Fault::cut_coordinator ||
         fault == Fault::group_forgotten || fault == Fault::coordinator_down ||
         fault == Fault::drift || fault == Fault::noise || fault == Fault::override;
}

// What is not drawn like the rest.
std::optional<std::int64_t> chance_of(Fault fault) {
  if (fault == Fault::two_lanes) return 15;
  if (fault == Fault::other_settings) return 10;
  if (fault == Fault::forbidden || fault == Fault::out_of_reach) return 10;
  if (fault == Fault::override) return 40;
  if (fault == Fault::broadcast_beside) return 60;  // of those with two lanes
  if (fault == Fault::stuck_log) return 20;
  if (fault == Fault::sick) return 0;
  if (fault == Fault::compaction || fault == Fault::notice_lost) return 50;
  return std::nullopt;
}

constexpr Fault kOfGroup[] = {Fault::cut_coordinator, Fault::coordinator_down,
                              Fault::group_forgotten, Fault::reshuffle,
                              Fault::group_lies,
                              Fault::hang};  // to members it is a pause

// What a store cannot do, whatever goes wrong.
bool is_of_store(Fault fault, const StoreKind& kind) {
  switch (fault) {
    case Fault::compaction:
      return kind.newest_only;
    case Fault::notice_lost:
      return kind.store == Store::postgres;
    case Fault::offset_hole:
      return kind.store == Store::kafka;
    case Fault::no_broker_time:
      return kind.store == Store::kafka || kind.writers_stamps;
    case Fault::wide_skew:
    case Fault::leader_flip:
    case Fault::broker_clock_step:
      return !kind.writers_stamps;
    case Fault::truncation:  // a restored backup
      return kind.store != Store::quorum;
    case Fault::unclean_leader:  // a failover that loses records
      return kind.store == Store::kafka || kind.store == Store::postgres;
    default:
      return true;
  }
}

// What breaks an assumption under which the mode is proven.
void leave_out_the_impossible(Plan& plan) {
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    const auto fault = static_cast<Fault>(i);
    if (!is_of_store(fault, plan.store())) plan.faults.remove(fault);
  }
  if (plan.store().writers_stamps) plan.faults.add(Fault::no_broker_time);
  if (plan.assigner()) {
    for (const Fault fault : kOfGroup) plan.faults.remove(fault);
  } else {
    plan.faults.remove(Fault::override);
  }
  if (plan.assigner() || !plan.has(Fault::two_lanes)) plan.faults.remove(Fault::broadcast_beside);
  if (plan.exclusive()) {
    if (!plan.beyond(Beyond::lost_records)) {
      plan.faults.remove(Fault::truncation);  // docs/protocol.md section 3, assumption 1
      plan.faults.remove(Fault::unclean_leader);
    }
    // In a store made anew nobody knows how far ahead of time the clocks of who claimed were.
    if (plan.store().writers_stamps) plan.faults.remove(Fault::topic_made_again);
    // Who starts in the new topic cannot read how long the leases in the old one were, nor that
    // its own mode is another, nor that a store had asked for incarnations ahead of the brokers'
    // time.
    if (plan.has(Fault::topic_made_again)) {
      plan.faults.remove(Fault::store_ahead);
      plan.faults.remove(Fault::other_leases);
      plan.faults.remove(Fault::other_settings);
    }
  } else {
    plan.faults.remove(Fault::group_lies);  // two assignees take turns for ever
  }
}

constexpr Fault kOfBroadcast[] = {
    Fault::write_lost,    Fault::write_late,        Fault::pause,            Fault::cut_log,
    Fault::cut_one_way,   Fault::cut_full,          Fault::crash,            Fault::leave,
    Fault::short_leave,   Fault::leader_change,     Fault::broker_clock_step, Fault::reshuffle,
    Fault::coordinator_down, Fault::late_timer,     Fault::slow_barrier,     Fault::slow_network,
    Fault::drift,         Fault::wide_skew,         Fault::leader_flip,      Fault::two_lanes,
    Fault::hang};
/// Where only the grace is left to protect: nothing else than what is planned goes wrong.
constexpr Fault kOfGrace[] = {Fault::crash, Fault::leave, Fault::leader_flip, Fault::wide_skew,
                              Fault::drift, Fault::late_timer};

// Under the assumptions of `broadcast`, but for those that the request drops.
void keep_to_the_assumptions(Plan& plan) {
  const FaultSet drawn = std::exchange(plan.faults, {});
  const auto keep = [&](Fault fault) {
    if (drawn.has(fault)) plan.faults.add(fault);
  };
  if (plan.beyond(Beyond::grace)) {
    for (const Fault fault : kOfGrace) keep(fault);
  } else {
    for (const Fault fault : kOfBroadcast) keep(fault);
  }
  if (!plan.exclusive()) {
    // Both go on leading, which non-exclusive mode allows.
    keep(Fault::cut_coordinator);
    keep(Fault::group_forgotten);
  }
  if (plan.beyond(Beyond::expelled_unnoticed)) plan.faults.add(Fault::cut_coordinator);
  if (plan.beyond(Beyond::session) || plan.beyond(Beyond::grace)) {
    plan.faults.add(Fault::group_forgotten);
  }
}

// Others must lead in place of who cannot: that is judged where nothing else is wrong meanwhile.
void leave_the_unable_alone(Plan& plan) {
  plan.faults = {};
  plan.only_unable = true;
  for (const Fault fault : {Fault::forbidden, Fault::out_of_reach}) {
    plan.faults.add(fault);
    plan.rates[static_cast<std::size_t>(fault)] = 40 * kSecond;
  }
}

// How soon a member's death is healed is judged where nothing else is wrong.
void leave_crashes_alone(Plan& plan) {
  const FaultSet drawn = std::exchange(plan.faults, {});
  for (const Fault fault : {Fault::drift, Fault::wide_skew, Fault::leader_flip, Fault::two_lanes}) {
    if (drawn.has(fault)) plan.faults.add(fault);
  }
  for (const Fault fault : {Fault::crash, Fault::leave}) plan.faults.add(fault);
  plan.rates[static_cast<std::size_t>(Fault::crash)] = 12 * kSecond;
}

// How soon others heal what dies beside a member that is sick for ever. Two are never struck.
void leave_the_sick_alone(Plan& plan) {
  leave_crashes_alone(plan);
  plan.faults.remove(Fault::two_lanes);
  plan.faults.remove(Fault::leave);
  plan.faults.add(Fault::sick);
  plan.rates[static_cast<std::size_t>(Fault::sick)] = kSecond;
  plan.rates[static_cast<std::size_t>(Fault::crash)] = 20 * kSecond;
}

void choose_faults(Plan& plan, Random& random) {
  const bool calm = random.percent(12);
  const std::int64_t percent = random.percent(30) ? 15 : 50;
  Random apart(plan.request.seed, 2);
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    const auto fault = static_cast<Fault>(i);
    Random& chance = i < kFaultsDrawnFirst ? random : apart;
    const bool drawn = chance.percent(chance_of(fault).value_or(percent));
    const bool wanted = plan.request.all_faults || (drawn && (!calm || is_planned_move(fault)));
    if (wanted) plan.faults.add(fault);
    plan.rates[i] = is_of_records(fault) ? chance.magnitude(1, 100)
                                         : chance.magnitude(2 * kSecond, 60 * kSecond);
  }
  for (const Fault rare : {Fault::topic_made_again, Fault::no_broker_time}) {
    if (random.percent(60) && !plan.request.all_faults) plan.faults.remove(rare);
  }
  if (plan.request.all_faults) {
    for (const Fault fact : {Fault::no_broker_time, Fault::sick}) plan.faults.remove(fact);
  }
  const bool whole = !plan.broadcast() && !plan.request.all_faults;
  if (whole && Random(plan.request.seed, 9).percent(4)) leave_the_unable_alone(plan);
  const bool crashes = whole && plan.assigner() && !plan.only_unable;
  if (crashes && Random(plan.request.seed, 12).percent(8)) {
    leave_crashes_alone(plan);
  } else if (crashes && Random(plan.request.seed, 14).percent(8)) {
    leave_the_sick_alone(plan);
  }
  if (plan.beyond(Beyond::lost_records)) plan.faults.add(Fault::unclean_leader);
  if (plan.beyond(Beyond::broker_clocks)) {
    for (const Fault fault : {Fault::wide_skew, Fault::leader_flip}) plan.faults.add(fault);
  }
  leave_out_the_impossible(plan);
  if (plan.broadcast()) keep_to_the_assumptions(plan);
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    const auto fault = static_cast<Fault>(i);
    // That is what the store is: nobody may believe the stamps of clocks that differ by seconds.
    const bool is_fact = fault == Fault::no_broker_time && plan.store().writers_stamps;
    if (plan.request.without.has(fault) && !is_fact) plan.faults.remove(fault);
  }
}

Timing timing_for(const Plan& plan) {
  TimingRequest request;
  request.mode = plan.request.mode;
  request.variation = plan.request.variation;
  request.groups = plan.broadcast() ? plan.lanes : 1;
  request.profile = plan.profile;
  SessionFacts facts;
  facts.protocol = plan.classic() ? GroupProtocol::classic : GroupProtocol::consumer;
  if (!plan.classic()) {
    facts.session = timing_of(plan.profile).session;
    // Kafka's own is a ninth of its session; a slow one is where expedites matter.
    if (Random(plan.request.seed, 4).percent(30)) facts.heartbeat = *facts.session / 3;
  }
  auto timing = derive_timing(request, facts);
  if (!timing) std::abort();
  return *timing;
}

// Its lease is heeded by the lane that is judged, too, so it is no longer than that lane's.
Timing timing_beside(const Plan& plan) {
  TimingRequest request;
  request.mode = plan.request.mode;
  request.variation = Variation::broadcast;
  request.profile = plan.profile;
  SessionFacts facts;
  facts.protocol = plan.classic() ? GroupProtocol::classic : GroupProtocol::consumer;
  if (!plan.classic()) facts.session = plan.timing.session;
  auto timing = derive_timing(request, facts);
  if (!timing) std::abort();
  timing->lease = std::min(timing->lease, plan.timing.lease);
  timing->interval = std::min(timing->interval, timing->lease / 4);
  return *timing;
}

}  // namespace

bool is_possible(Fault fault, const Request& request) {
  if (!is_of_store(fault, kind_of(request.store))) return false;
  if (request.variation == Variation::broadcast) {
    const bool planned = fault == Fault::cut_coordinator || fault == Fault::group_forgotten;
    return std::find(std::begin(kOfBroadcast), std::end(kOfBroadcast), fault) !=
               std::end(kOfBroadcast) ||
           (planned && request.mode == Mode::non_exclusive);
  }
  const bool of_group =
      std::find(std::begin(kOfGroup), std::end(kOfGroup), fault) != std::end(kOfGroup);
  const bool not_of_assigner = of_group || fault == Fault::broadcast_beside;
  const bool of_assigner = fault == Fault::override || fault == Fault::sick;
  if (request.assigner ? not_of_assigner : of_assigner) return false;
  const bool exclusive = request.mode == Mode::exclusive;
  if (!exclusive) return fault != Fault::group_lies;
  if (request.beyond.has(Beyond::lost_records)) return true;
  return fault != Fault::truncation && fault != Fault::unclean_leader;
}

std::optional<Mode> mode_named(std::string_view name) noexcept {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    if (neliroute::to_string(mode) == name) return mode;
  }
  return std::nullopt;
}

const char* to_string(Assigning assigning) noexcept {
  switch (assigning) {
    case Assigning::consumer:
      return "consumer";
    case Assigning::cooperative:
      return "cooperative";
    case Assigning::assigner:
      return "no";
    case Assigning::eager:
      break;
  }
  return "eager";
}

// A classic one takes up to a second and a half, and moving takes two.
Time Plan::rebalance() const {
  return classic() ? 3500 * kMs + 8 * latency_max : 4 * latency_max;
}

Time Plan::takeover() const {
  if (assigner()) {
    // A death, of which a gap of the log may have left a session and a half, another session if
    // there are many, the seat's claim, the assignment said twice.
    return 7 * session() / 2 + 6 * interval() + 12 * latency_max + 2 * prepare();
  }
  // Who was given a partition leads it once it has heard a record.
  const Time heard = broadcast() ? interval() * lanes : 0;
  return session() + 2 * heartbeat() + rebalance() + 4 * latency_max + heard + 2 * prepare();
}

bool Plan::heals_crashes() const {
  constexpr Fault kOthers[] = {Fault::override,       Fault::other_settings,
                               Fault::no_broker_time, Fault::topic_made_again,
                               Fault::fetch_in_parts, Fault::write_reordered,
                               Fault::slow_barrier};
  return assigner() && std::none_of(std::begin(kOthers), std::end(kOthers),
                                    [this](Fault fault) { return has(fault); });
}

Time Plan::healed(std::uint32_t crashes, bool some_lead) const {
  // A1, A9: silent for a session, and for another one if many are.
  const Time dead = session() * 1002 / 1000 * (crashes > 1 ? 2 : 1);
  // A1 and A7: an interval for the proof and the plan. A2: a rank for each other that died, too.
  // A6: two intervals if nothing is left that anybody leads.
  const Time waits = (crashes + (some_lead ? 0 : 2)) * interval();
  // The last record of the dead, the proof, the seat's claim, the assignment before, the one that
  // heals, the claim: each is written and read.
  return std::max(dead, exclusive() ? grace() : 0) + waits + 12 * latency_max + 2 * prepare();
}

// A6: two intervals without a new member, but at most a session.
Time Plan::healed_after_a_start() const {
  return 2 * interval() + 12 * latency_max + 2 * prepare();
}

Time Plan::longer_from_nothing() const { return std::max(session() - 2 * interval(), Time{0}); }

// A2: a rank for each that does not know yet that the seat is free. A7: who takes it hears the
// owners first.
Time Plan::healed_by(std::uint32_t newcomers) const {
  if (newcomers == 0) return 0;
  return newcomers * interval() + std::max(2 * interval(), session() / 3);
}

// A1 and A2: two sessions and the ranks, where the sick one held the seat; A5: it may be named for
// what the dead led, and not lead it, but prepare for it again and again.
Time Plan::healed_beside_the_sick(std::uint32_t crashes) const {
  const Time dead = session() * (crashes > 1 ? 3 : 2);  // A9
  const Time excused = prepare() > 0 ? 2 * prepare() + session() : 0;
  return (dead + patience() + excused) * 1002 / 1000 + (3 + processes) * interval() +
         12 * latency_max + 2 * prepare() + (exclusive() ? grace() : 0);
}

// An application takes 10 ms to finish, or is slow; the oracle knows which.
Time Plan::handover() const {
  return rebalance() + 2 * heartbeat() + 10 * kMs + 8 * latency_max + prepare();
}

Time Plan::grace() const {
  return longest_lease() * 1002 / 1000 + clock_error() + 2 * interval() + 10 * kMs;
}

Time Plan::skew() const {
  // A stamp is cut to whole milliseconds: 1 ms of the bound is for that.
  if (beyond(Beyond::broker_clocks)) return 5 * clock_error();
  if (has(Fault::wide_skew)) return (clock_error() - kMs) / 2;
  return beyond(Beyond::grace) ? 0 : clock_error() / 8;
}

Time Plan::longest_lease() const {
  if (!has(Fault::other_leases)) return lease();
  return exclusive() ? 3 * lease() : lease() * 3 / 2;
}

// Exclusive mode needs no lease below the session, nor leases of a size (protocol.md section 3).
// Non-exclusive mode needs one above what a take-over takes.
milliseconds Plan::other_lease(Random& random) const {
  const milliseconds own = timing.lease;
  if (!exclusive()) return own * 3 / 2;
  const milliseconds sizes[] = {own / 2, own * 3 / 2, own * 3};
  return sizes[random.between(0, 2)];
}

Plan make_plan(const Request& request) {
  Plan plan;
  plan.request = request;
  Random random(request.seed, 0);
  plan.processes = static_cast<std::uint32_t>(random.between(2, 8));
  plan.partitions = static_cast<std::uint32_t>(random.between(1, 8));
  plan.logs = static_cast<std::uint32_t>(random.between(1, 3));
  plan.assigning = static_cast<Assigning>(random.percent(60) ? 0 : random.between(1, 2));
  // A classic member that waits in a join is not told either.
  if (request.assigner) plan.assigning = Assigning::assigner;
  if (plan.beyond(Beyond::grace)) plan.assigning = Assigning::consumer;
  const bool fast = random.percent(8) && !plan.classic();
  plan.profile = request.profile.value_or(fast ? Profile::fast : Profile::balanced);
  Random large(request.seed, 8);
  if (large.percent(8) && request.variation == Variation::claimed) {
    plan.partitions = static_cast<std::uint32_t>(large.magnitude(9, kManyPartitions));
    plan.logs = static_cast<std::uint32_t>(large.between(1, kManyLogs));
  }
  plan.processes = request.processes.value_or(plan.processes);
  plan.partitions = request.partitions.value_or(plan.partitions);
  plan.logs = std::min(request.logs.value_or(plan.logs), plan.partitions);
  plan.chaos = request.chaos.value_or(95 * kSecond);
  plan.latency_min = 200;
  plan.latency_max = random.magnitude(500, 20 * kMs);
  plan.end_percent = random.percent(30) ? 100 : random.between(5, 30);
  plan.exact_tail = random.percent(60);
  choose_faults(plan, random);
  if (plan.has(Fault::two_lanes)) {
    plan.processes = request.processes.value_or(std::max(plan.processes, 4U));
    plan.lanes = std::min(plan.processes, 2U);
  }
  plan.timing = timing_for(plan);
  if (plan.has(Fault::broadcast_beside)) plan.beside = timing_beside(plan);
  if (plan.has(Fault::sick)) {
    plan.processes = request.processes.value_or(std::max(plan.processes, kSickAndOthers));
    if (plan.processes < kSickAndOthers) plan.faults.remove(Fault::sick);
  }
  plan.hints = Random(request.seed, 3).percent(50);
  Random sizes(request.seed, 7);
  // Below what a claim of a few partitions takes.
  if (sizes.percent(20)) {
    plan.record_bytes_max = static_cast<std::size_t>(sizes.between(300, 480));
  }
  plan.expedites = Random(request.seed, 5).percent(85);
  Random prepares(request.seed, 10);
  if (!plan.broadcast() && prepares.percent(25)) {
    plan.prepare_timeout = milliseconds{prepares.magnitude(20, 2000)};
  }
  Random silences(request.seed, 13);
  if (!plan.broadcast() && !plan.exclusive() && !silences.percent(20)) {
    plan.serve_stale = silences.percent(25)
                           ? plan.timing.lease + milliseconds{silences.magnitude(1, 60'000)}
                           : kServeStaleDefault;
  }
  Random preferences(request.seed, 17);
  if (plan.assigner() && preferences.percent(50)) {
    // Of few kinds, so that some are equal.
    for (std::uint32_t i = 0; i < plan.processes; ++i) {
      const auto quarters = static_cast<std::uint32_t>(preferences.between(0, 4));
      plan.seat_priorities.push_back(kSeatPriorityMax * quarters / 4);
    }
  }
  plan.recovery = plan.takeover() + 4 * plan.longest_lease() + 4 * kSecond;
  // A member that is named for what it cannot lead is given up after that, and so may the next.
  if (plan.assigner()) plan.recovery += 4 * plan.longest_lease() + 2 * plan.session() +
                                        2 * plan.prepare();
  return plan;
}

std::string describe(const Plan& plan) {
  std::string text = "--seed " + std::to_string(plan.request.seed) + " --mode " +
                     std::string(neliroute::to_string(plan.request.mode)) + " --processes " +
                     std::to_string(plan.processes) + " --partitions " +
                     std::to_string(plan.partitions) + " --logs " + std::to_string(plan.logs) +
                     " --profile " + std::string(neliroute::to_string(plan.profile)) +
                     " --chaos " + std::to_string(plan.chaos / kMs) + "ms";
  if (plan.broadcast()) text += " --variation broadcast";
  if (plan.assigner()) text += " --assignment assigner";
  if (plan.request.store != Store::kafka) text += " --store " + std::string(plan.store().name);
  const std::string beyond = to_string(plan.request.beyond);
  if (!beyond.empty()) text += " --beyond " + beyond;
  if (plan.request.all_faults) text += " --all-faults";
  if (plan.request.audit) text += " --audit";
  std::string without;
  std::string with;
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    const auto fault = static_cast<Fault>(i);
    const std::string name{to_string(fault)};
    if (plan.request.without.has(fault)) without += (without.empty() ? "" : ",") + name;
    if (plan.has(fault)) with += " " + name;
  }
  if (!without.empty()) text += " --without " + without;
  return text + "\n  " + to_string(plan.assigning) + " group, lease " +
         std::to_string(plan.timing.lease.count()) + " ms, messages up to " +
         std::to_string(plan.latency_max) + " us" +
         (plan.prepare_timeout.count() == 0
              ? ""
              : ", prepares up to " + std::to_string(plan.prepare_timeout.count()) + " ms") +
         (plan.serve_stale.count() == 0
              ? ""
              : ", serves on for " + std::to_string(plan.serve_stale.count()) + " ms") +
         (plan.seat_priorities.empty() ? "" : ", seat priorities") +
         "; faults:" + (with.empty() ? " none" : with);
}

}  // namespace neliroute::sim
