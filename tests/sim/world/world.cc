#include "tests/sim/world/world.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <variant>

#include "neli_core/mutation.h"

namespace neliroute::sim {
namespace {

constexpr Time kBeginning = 1000 * kSecond;
/// How long everything is watched after it had to be led again.
constexpr Time kWatched = 6 * kSecond;
constexpr Time kShortest = 120 * kSecond;
constexpr std::uint64_t kEventsMax = 40'000'000;

}  // namespace

World::World(const Plan& plan)
    : plan_(plan),
      oracle_(plan_),
      nodes_(plan.processes),
      logs_(plan.logs),
      beats_(plan.partitions),
      now_(kBeginning),
      start_(kBeginning),
      overrides_(plan.lanes, Overrides(plan.timing.lease)) {
  const std::uint64_t seed = plan.request.seed;
  for (std::uint32_t lane = 0; lane < plan.lanes; ++lane) groups_.emplace_back(plan_, lane);
  for (std::size_t i = 0; i < kFaultCount; ++i) chance_[i] = Random(seed, 100 + i);
  chance_of_looks_ = Random(seed, 5);
  positions_ = Random(seed, 16);
  if (!plan_.broadcast()) plan_at(start_, Happening::look_around);
  Random random(seed, 1);
  const Time apart = plan_.skew();
  broker_skew_ = {-apart, apart, random.between(-apart, apart)};
  for (TopicLog& log : logs_) log.broker = static_cast<std::size_t>(random.between(0, 2));
  const std::int64_t ppm = plan_.has(Fault::drift) ? 250 : 20;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    node.index = static_cast<std::uint8_t>(i);
    node.lane = static_cast<std::uint8_t>(i % plan.lanes);
    node.random = Random(seed, 1000 + i);
    node.clock_offset = node.random.between(0, 1'000'000 * kMs);
    node.drift_ppm = node.random.percent(40) ? (node.random.percent(50) ? ppm : -ppm)
                                             : node.random.between(-ppm, ppm);
    plan_for(node, start_ + node.random.between(0, 3 * kSecond), Happening::start_process);
  }
  if (plan_.broadcast() || plan_.store().writers_stamps) set_wall_clocks();
  // While the log is younger than the longest lease, nobody knows what an older one told.
  oracle_.wrong(start_ + 3 * kSecond + plan_.longest_lease());
  chaos_end_ = start_ + plan_.chaos;
  recovered_by_ = chaos_end_ + plan_.recovery;
  end_ = std::max(recovered_by_ + kWatched, start_ + kShortest);
  for (const Fault fact : {Fault::other_leases, Fault::drift, Fault::no_broker_time,
                           Fault::wide_skew, Fault::two_lanes, Fault::broadcast_beside}) {
    if (plan_.has(fact)) count(fact);
  }
  plan_faults();
  plan_at(chaos_end_, Happening::heal);
  plan_at(start_ + 100 * kMs, Happening::expire_members);
  // Who may not believe its clock does not lead, and that is as it should.
  if (!plan_.beyond(Beyond::clocks)) plan_at(recovered_by_, Happening::check_alive);
}

Outcome World::run() {
  Outcome outcome;
  while (!queue_.empty() && oracle_.broken().empty()) {
    const Planned event = queue_.pop();
    if (event.at > end_) break;
    oracle_.advance(event.at);
    now_ = event.at;
    handle(event);
    note_rebalances();
    if (++events_ > kEventsMax) oracle_.broken("it does not come to rest", now_);
  }
  if (plan_.request.audit && oracle_.broken().empty()) audit();
  finish(outcome);
  return outcome;
}

void World::note_rebalances() {
  for (std::size_t lane = 0; lane < groups_.size(); ++lane) {
    if (groups_[lane].rebalances() == rebalances_[lane]) continue;
    rebalances_[lane] = groups_[lane].rebalances();
    oracle_.rebalanced(lane, now_);
  }
}

void World::finish(Outcome& outcome) {
  outcome.broken = oracle_.broken();
  outcome.broken_at = now_ - start_;
  if (!outcome.broken.empty()) tell("BROKEN " + outcome.broken);
  outcome.judged = oracle_.judged(std::min(now_, end_));
  for (Node& node : nodes_) end_process(node);
  outcome.faults = faults_;
  outcome.events = events_;
  outcome.records = records_;
  outcome.splits = splits_;
  outcome.starts = starts_;
  outcome.transitions = oracle_.transitions();
  outcome.gaps = gaps_;
  outcome.lapses = lapses_;
  outcome.expedites = expedites_;
  outcome.met = met_;
  outcome.refusals = refusals_;
  outcome.withdrawals = withdrawals_;
  for (const Group& group : groups_) {
    outcome.expelled += group.expelled();
    outcome.rebalances += group.rebalances();
  }
  outcome.unowned = oracle_.gaps();
  outcome.longest_unowned = oracle_.longest_gap();
  outcome.simulated = std::min(now_, end_) - start_;
}

void World::plan_at(Time at, Happening what, std::uint32_t a, std::int64_t b, std::int64_t c) {
  queue_.push({std::max(at, now_), 0, what, 0, 0, a, b, c});
}

void World::plan_for(const Node& node, Time at, Happening what, std::uint32_t a, std::int64_t b,
                     std::int64_t c) {
  queue_.push({std::max(at, now_), 0, what, node.index, node.life, a, b, c});
}

void World::handle(const Planned& event) {
  switch (event.what) {
    case Happening::fault:
      return strike(static_cast<Fault>(event.a));
    case Happening::expire_members:
      if (now_ >= coordinator_down_until_) {
        for (Group& group : groups_) {
          group.expire(now_, addressed_);
          reply_to(addressed_);
        }
      }
      return plan_at(now_ + plan_.heartbeat() / 4, Happening::expire_members);
    case Happening::heal:
      return heal();
    case Happening::check_alive:
      return check_alive();
    case Happening::look_around:
      return look_around();
    case Happening::override:
      return order();
    case Happening::request_arrives:
      return request_arrives(event.a);
    case Happening::request_given_up:
      return request_given_up(event.a);
    case Happening::group_request:
      return request_lands(event);
    default:
      return handle_for(nodes_[event.node], event);
  }
}

// What reaches a process; one that is stopped gets it when it wakes, in order.
void World::handle_for(Node& node, const Planned& event) {
  if (event.what == Happening::start_process) return start_process(node);
  if (event.what == Happening::write_lands) {
    // The network carries what was sent, whether or not its sender still runs.
    return land(node, event.a, node.alive && event.life == node.life);
  }
  if (event.what == Happening::beat_lands) return beat_lands(node, event);
  if (event.what == Happening::store_lands) return store_lands(node, event);
  if (!node.alive || event.life != node.life) return;
  if (event.what == Happening::reread_lands) return reread_lands(node, event.a);
  if (event.what == Happening::hang_limit && node.paused_until <= now_) return;
  if (node.paused_until > now_) {
    if (node.client_until != 0 && client_handles(node, event)) return;
    Planned waiting = event;
    waiting.at = node.paused_until;
    return queue_.put_back(waiting);
  }
  node.client_until = 0;
  if (node.unfinished) finish_step(node);
  if (!node.alive || event.life != node.life) return;
  const bool of_reader = event.what == Happening::fetch || event.what == Happening::tail_probe ||
                         event.what == Happening::tail_begin;
  if (of_reader && node.readers[event.a].version != event.b) return;
  switch (event.what) {
    case Happening::timer:
      return event.a == node.armed ? on_timer(node) : void();
    case Happening::fetch:
      if (node.readers[event.a].fetch_at == event.c) fetch(node, event.a);
      return;
    case Happening::tail_probe:
      return probe(node, event.a);
    case Happening::log_flows:
      return schedule_fetch(node, event.a, now_ + latency(node));
    case Happening::tail_begin:
      return begin_reading(node, event);
    case Happening::write_answered:
      if (event.a == 0) return step(node, WriteFailed{static_cast<std::uint64_t>(event.b)});
      return step(node, WriteAcknowledged{static_cast<std::uint64_t>(event.b), event.c});
    case Happening::reread_answered:
      node.readers[rereads_[event.a].log.value()].answered_at = now_;
      return step(node, rereads_[event.a]);
    case Happening::barrier_done:
      oracle_.occupies(node.index, part_of(node, event.a), 0, now_);
      return step(node, BarrierDone{Partition{event.a}, Epoch{event.b, event.c}});
    case Happening::prepared:
      return on_prepared(node, event);
    case Happening::store_refused:
      return on_store_refused(node, event);
    case Happening::topic_lost:
      return on_topic_lost(node, event);
    case Happening::heartbeat_due:
      if (node.member.beat == event.b) heartbeat(node);
      return;
    case Happening::group_joined:
      if (node.member.wanted) step(node, GroupJoined{});
      return;
    case Happening::expedite_due:
      return expedite(node);
    case Happening::group_reply:
      return on_reply(node, replies_[event.a]);
    case Happening::announce:
      return announce(node);
    case Happening::beat_heard:
      return hear(node, event.a);
    case Happening::close_now:
      return step(node, CloseRequested{node.local(now_)});
    default:
      return handle_of_withdrawal(node, event);
  }
}

Time World::latency(Node& node) {
  const Time most = now_ < slow_until_ ? 10 * plan_.latency_max : plan_.latency_max;
  return node.random.between(plan_.latency_min, most);
}

void World::start_process(Node& node) {
  if (node.alive) return;
  ++starts_;
  ++node.life;
  node.alive = true;
  node.closing = false;
  if (!is_beside(node)) oracle_.starts(node.index, now_);
  node.started_at = now_;
  node.armed_for = kNever;
  node.paused_until = node.stop_inside_until = node.client_until = 0;
  node.unfinished.reset();
  node.readers = {};
  node.latest_read = {};
  node.member = {};
  node.hearing = {};
  node.leases.fill(kLongAgo);
  node.acquired.fill(kNoEpoch);
  node.hinted.fill(kNoEpoch);
  node.unaware_since.fill(0);
  node.refused_ownership.fill(0);
  node.prepare_run.fill(0);
  node.warm_run.fill(0);
  node.warm_until.fill(kLongAgo);
  CoreOptions core;
  node.id = core.id = ProcessId{node.random.next() << 8 | next_id_++};
  core.mode = plan_.request.mode;
  core.lease = plan_.timing.lease;
  if (plan_.has(Fault::other_leases) && node.random.percent(50)) {
    core.lease = plan_.other_lease(node.random);
  }
  core.interval = std::min(plan_.timing.interval, core.lease / 4);
  core.clock_error = plan_.timing.clock_error;
  core.believe_broker_time = !plan_.has(Fault::no_broker_time);
  core.lane = Lane{node.lane};
  if (plan_.assigning == Assigning::consumer) core.heartbeat = plan_.timing.heartbeat;
  core.settings = {"g", 64, plan_.partitions, plan_.logs, "xxh3", ""};
  core.record_bytes_max = plan_.record_bytes_max;
  core.prepare_timeout = plan_.prepare_timeout;
  is_beside(node) ? choose_beside(core) : choose_settings(node, core);
  if (core.mode == Mode::non_exclusive && !broadcasts(node)) core.serve_stale = plan_.serve_stale;
  oracle_.runs_in(node.index, core.mode);
  core.process = {name_of(node), "10.0.0.7:8080", {}};
  node.ids.push_back(node.id);
  node.lease = core.lease;
  node.core = make_core(node, core);
  if (!node.core) return;
  node.directory.emplace(DirectoryOptions{plan_.partitions, plan_.logs, Lane{node.lane}, core.mode,
                                          core.lease, /*watcher=*/false, core.clock_error,
                                          core.believe_broker_time, core.serve_stale});
  node.view = std::make_unique<RouteView>(Peer{node.id, core.process}, node.core->leases(),
                                          plan_.logs, SlotSpace{SlotCount{plan_.partitions}});
  if (plan_.assigner()) oracle_.disturb(now_);
  tell(node, "starts as " + to_string(node.id));
  start_withdrawal(node);
  const bool reads = !plan_.broadcast() || plan_.hints;
  for (std::uint32_t l = 0; l < plan_.logs && reads; ++l) restart_reader(node, l, 0);
  on_timer(node);
}

std::unique_ptr<Core> World::make_core(const Node& node, const CoreOptions& options) {
  if (plan_.assigner()) {
    AssignedOptions assigned;
    assigned.core = options;
    assigned.session = plan_.timing.session;
    assigned.seat_priority = plan_.seat_priority(node.index, node.life);
    return own(AssignedCore::make(assigned));
  }
  const bool beside = plan_.has(Fault::broadcast_beside) && options.lane == Lane{1};
  return plan_.broadcast() || beside ? make_broadcast(options) : own(ClaimProtocol::make(options));
}

// Its answers end with it; what it wrote may still arrive.
void World::end_process(Node& node) {
  if (!node.alive) return;
  node.alive = false;
  if (const AssignedCore* assigned = node.assigned_core()) count_met(*assigned);
  if (const ClaimProtocol* claimed = node.claims()) {
    gaps_ += claimed->counters().gaps;
    lapses_ += claimed->counters().lapses;
  }
  oracle_.died(node.index, now_);
  if (node.other_settings) mismatched_until_ = now_ + 4 * plan_.longest_lease();
  node.view.reset();
  node.core.reset();
  node.directory.reset();
}

void World::step(Node& node, const Event& event) {
  // What strikes at the instant of waking comes behind the step that it was stopped in.
  if (node.unfinished && node.paused_until <= now_) finish_step(node);
  if (!node.alive) return;
  const bool old_now = mutated(Mutation::one_now) && std::holds_alternative<Received>(event);
  const LocalTime now = old_now ? node.last_now : node.local(now_);
  node.last_now = now;
  if (stops_inside(node) && node.random.percent(50)) {
    node.unfinished = {event, now, {}, nullptr};
    node.unfinished->keep_value();
    return pause(node, node.stop_inside_until);
  }
  step_at(node, event, now);
}

bool World::stops_inside(Node& node) {
  return node.stop_inside_until > now_ && node.paused_until <= now_;
}

// It wakes where it was stopped, with the time that it had read.
void World::finish_step(Node& node) {
  UnfinishedStep rest = std::move(*node.unfinished);
  node.unfinished.reset();
  if (rest.event) return step_at(node, *rest.event, rest.clock);
  act(node, std::move(rest.ready));
}

void World::step_at(Node& node, const Event& event, LocalTime now) {
  note_for_withdrawal(node, event);
  node.directory->tick(now);
  std::visit([&](const auto& e) { node.directory->on(e, now); }, event);
  node.core->step(event, now);
  carry_out(node);
}

void World::on_timer(Node& node) {
  node.armed_for = kNever;
  const LocalTime now = node.last_now = node.local(now_);
  node.directory->tick(now);
  node.core->tick(now);
  carry_out(node);
}

// As router/owner/owning_reader.cc does, in its order.
void World::carry_out(Node& node) {
  Ready ready = node.core->take_ready();
  for (const Log log : ready.restart_tails) {
    node.directory->on(GapFound{log}, node.local(now_));
  }
  if (plan_.assigner()) judge_member(node, ready);
  // Who refuses stops leading: the oracle is to know why before it sees that.
  if (ready.refused) on_refusal(node, *ready.refused);
  watch(node);
  publish(node, ready.transitions);
  for (const Transition& transition : ready.transitions) note(node, transition);
  if (stops_inside(node) && !ready.writes.empty()) {
    node.unfinished = {std::nullopt, {}, std::move(ready), nullptr};
    plan_for(node, node.stop_inside_until, Happening::timer, node.armed);
    return pause(node, node.stop_inside_until);
  }
  act(node, std::move(ready));
}

void World::act(Node& node, Ready ready) {
  if (ready.rebalances_done > 0) finish_rebalances(node, ready.rebalances_done);
  if (ready.broadcast) broadcast(node);
  Batch batch;
  for (Write& write : ready.writes) send(node, write, batch);
  for (const Log log : ready.restart_tails) restart_reader(node, log.value(), 0);
  for (const RereadRequest& request : ready.rereads) ask_again(node, request);
  if (ready.subscribe) join_group(node);
  if (ready.leave_group) leave_group(node);
  if (ready.expedite && plan_.expedites) {
    plan_for(node, now_ + node.random.between(0, microseconds{*ready.expedite}.count()),
             Happening::expedite_due);
  }
  if (plan_.request.trace) {
    for (const Notice& notice : ready.notices) tell(node, notice.text);
  }
  let_prepare(node, ready);
  if (!ready.closed) return arm(node);
  tell(node, "has closed");
  end_process(node);
  const Time pause = chaos() ? node.random.between(0, 5 * kSecond) : 0;
  plan_for(node, now_ + pause, Happening::start_process);
}

void World::note(Node& node, const Transition& transition) {
  const Partition p = transition.partition;
  if (is_beside(node)) return note_beside(node, transition);
  if (plan_.request.trace) {
    tell(node, "p" + std::to_string(p.value()) + " " + to_string(transition.kind) + " " +
                   to_string(transition.epoch) + " " + to_string(transition.reason));
  }
  if (transition.kind == TransitionKind::acquired) {
    check_harmless(node, p);
    check_ready(node, p);
    node.refused_ownership[p.value()] = 0;  // perhaps given back, with the same epoch
    // Who was stopped with an old time in its hand may tell of a lease that is over: a lapse
    // follows, and nobody was answered yes.
    if (plan_.broadcast() || oracle_.led(node.index, part_of(node, p.value()), now_)) {
      oracle_.acquired(node, p, transition.epoch, now_);
    }
  } else if (transition.kind == TransitionKind::stopped) {
    node.prepare_run[p.value()] = node.warm_run[p.value()] = 0;
    node.warm_until[p.value()] = kLongAgo;
    Time length = node.random.between(0, 10 * kMs);
    if (happens(Fault::slow_barrier, node.random)) {
      length = until(node.random.between(0, 3 * plan_.lease())) - now_;
      oracle_.disturb(now_ + length);
    }
    // `broadcast`: nobody else waits for it, and its deadline, the end of the lease, is past.
    const Time occupied_until =
        plan_.broadcast() ? now_ + length : node.true_time(transition.barrier_deadline);
    oracle_.occupies(node.index, part_of(node, p.value()), occupied_until, now_);
    plan_for(node, now_ + length, Happening::barrier_done, p.value(), transition.epoch.incarnation,
             transition.epoch.offset);
  }
}

// The oracle gets what every thread of the process could see.
void World::watch(Node& node) {
  for (std::uint32_t p = 0; p < plan_.partitions; ++p) {
    const LocalTime lease = node.core->leases()->get(Partition{p}).until;
    if (lease == node.leases[p]) continue;
    node.leases[p] = lease;
    tell_oracle(node, p);
  }
}

void World::tell_oracle(const Node& node, std::uint32_t p) {
  if (is_beside(node)) return;
  const bool led = node.leases[p] > node.local(now_);
  oracle_.leads(node.index, part_of(node, p), led ? node.true_time(node.leases[p]) : now_, now_);
}

void World::arm(Node& node) {
  const LocalTime next = std::min(node.directory->next_expiry(), node.core->next_deadline());
  if (next >= node.armed_for) return;
  node.armed_for = next;
  Time late = 0;
  if (happens(Fault::late_timer, node.random)) {
    late = node.random.between(0, plan_.lease() / 4);
    oracle_.disturb_node(node.index, now_ + late);
  }
  plan_for(node, std::max(node.true_time(next), now_ + 1) + late, Happening::timer, ++node.armed);
}

void World::tell(const Node& node, const std::string& what) const {
  if (plan_.request.trace) tell("process " + std::to_string(node.index) + ": " + what);
}

void World::tell(const std::string& what) const {
  if (!plan_.request.trace) return;
  std::printf("%12.3f  %s\n", static_cast<double>(now_ - start_) / 1000.0, what.c_str());
}

}  // namespace neliroute::sim
