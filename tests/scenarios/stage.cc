#include "tests/scenarios/stage.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tests/scenarios/tell.h"
#include "tests/world/memory_log.h"

namespace neliroute::scenario {

StageOptions options_for(Mode mode, Profile profile, Assignment assignment) {
  TimingRequest request;
  request.mode = mode;
  request.profile = profile;
  request.assignment = assignment;
  const Timing timing = derive_timing(request, SessionFacts{}).value();
  StageOptions options;
  options.rig.mode = mode;
  options.rig.partitions = 2;
  options.rig.interval = timing.interval;
  options.rig.lease = timing.lease;
  options.rig.clock_error = timing.clock_error;
  options.session = timing.session;
  options.assignment = assignment;
  return options;
}

Stage::Stage(StageOptions options) : options_(options), rig_(options.rig) {
  rig_.set_onlooker(this);
}

void Stage::tell(const std::string& who, const std::string& what) {
  told_.push_back(event_line(rig_.now(), who, what));
}

Actor* Stage::find(const std::string& name) {
  for (const auto& actor : actors_) {
    if (actor->name == name) return actor.get();
  }
  return nullptr;
}

Actor* Stage::actor_of(const rig::Process* process) {
  for (const auto& actor : actors_) {
    if (actor->process == process) return actor.get();
  }
  return nullptr;
}

std::string Stage::called(ProcessId id) const {
  for (const auto& actor : actors_) {
    if (actor->process && actor->process->claims.options().id == id) return actor->name;
  }
  return to_string(id);
}

DirectoryOptions Stage::directory_options(Lane lane) const {
  return {options_.rig.partitions, options_.rig.logs, lane, options_.rig.mode,
          options_.rig.lease, /*watcher=*/false, options_.rig.clock_error,
          options_.rig.believe_broker_time, options_.rig.serve_stale};
}

// Where an owner's tail starts.
std::int64_t Stage::horizon(Log log) const {
  if (!options_.rig.believe_broker_time) return 0;
  return rig_.log(log.value()).history_start(options_.rig.lease, options_.rig.clock_error);
}

void Stage::start(const std::string& name, CoreOptions options, std::uint32_t weight,
                  std::set<Log> cut_off) {
  auto& actor = *actors_.emplace_back(std::make_unique<Actor>());
  actor.name = name;
  actor.lane = options.lane;
  starting_ = &actor;
  starting_cut_off_ = std::move(cut_off);
  std::vector<std::int64_t> tails;
  for (std::uint32_t l = 0; l < options_.rig.logs; ++l) tails.push_back(horizon(Log{l}));
  if (options_.assignment == Assignment::group) {
    rig_.start(std::move(options), tails);
    return;
  }
  AssignedOptions member;
  member.core = std::move(options);
  member.session = options_.session;
  member.weight = weight;
  rig_.start(std::move(member), tails);
}

void Stage::watch(const std::string& name, Lane lane) {
  auto& actor = *actors_.emplace_back(std::make_unique<Actor>());
  actor.name = name;
  actor.lane = lane;
  const Peer self{ProcessId{next_id()}, {name, "", {}}};
  actor.lookup = std::make_unique<Lookup>(
      directory_options(lane), self, std::make_shared<LeaseVector>(options_.rig.partitions));
  for (std::uint32_t l = 0; l < options_.rig.logs; ++l) {
    const std::int64_t end = rig_.log(l).end();
    actor.lookup->feed(tail_at(Log{l}, end, end), rig_.now());
  }
}

void Stage::crash(Actor& actor) {
  actor.crashed = true;
  actor.process->stopped = true;
  actor.process->in_flight.clear();
}

void Stage::cut_log(Actor& actor) {
  actor.process->hold = true;
  actor.process->hold_writes = true;
}

void Stage::heal(Actor& actor) {
  actor.coordinator_cut = false;
  actor.process->hold_writes = false;
  actor.process->cut_off.clear();
  rig_.release_hold(*actor.process);
  rig_.arrive(*actor.process);
  if (topic_exists_) restart_tails(actor);
}

void Stage::delete_topic() {
  topic_exists_ = false;
  for (std::uint32_t l = 0; l < options_.rig.logs; ++l) rig_.log(l).records.clear();
  for (const auto& actor : actors_) {
    for (std::uint32_t l = 0; l < options_.rig.logs; ++l) {
      const GapFound gone{Log{l}, GapReason::missing};
      if (!actor->process) {
        actor->lookup->feed(gone, rig_.now());
      } else if (!actor->crashed) {
        actor->process->fail_writes = true;
        rig_.step(*actor->process, gone);
      }
    }
  }
  rig_.settle();
}

void Stage::create_topic() {
  topic_exists_ = true;
  for (const auto& actor : actors_) {
    if (actor->process && !actor->crashed) {
      actor->process->fail_writes = false;
      restart_tails(*actor);
    } else if (!actor->process) {
      for (std::uint32_t l = 0; l < options_.rig.logs; ++l) {
        actor->lookup->feed(tail_at(Log{l}, 0, 0), rig_.now());
      }
    }
  }
  rig_.settle();
}

// The ledger carries out what the state machine asked for after a gap.
void Stage::restart_tails(Actor& actor) {
  const auto logs = std::exchange(actor.process->restarts, {});
  const std::set<Log> once(logs.begin(), logs.end());
  for (const Log log : once) rig_.restart_tail(*actor.process, log, horizon(log));
  rig_.settle();
}

void Stage::on_start(rig::Process& process) {
  Actor& actor = *starting_;
  actor.process = &process;
  process.cut_off = starting_cut_off_;
  const CoreOptions& options = process.claims.options();
  actor.lookup = std::make_unique<Lookup>(directory_options(options.lane),
                                          Peer{options.id, options.process},
                                          process.core.leases());
}

void Stage::on_event(rig::Process& process, const Event& event) {
  actor_of(&process)->lookup->feed(event, rig_.now());
}

void Stage::on_ready(rig::Process& process, const Ready& ready) {
  Actor& actor = *actor_of(&process);
  actor.lookup->on_ready(
      ready, [&](Partition p) { return process.core.generation(p); }, rig_.now());
  for (const auto& line : lines_of(ready.transitions, rig_.now())) tell(actor.name, line);
  if (ready.refused) tell(actor.name, "refuses: " + ready.refused->message());
  for (const Notice& notice : ready.notices) {
    if (!ready.refused || notice.text != ready.refused->message()) tell(actor.name, notice.text);
  }
  if (ready.subscribe) tell(actor.name, "joins the group");
  if (ready.leave_group) tell(actor.name, "leaves the group");
  if (ready.closed) tell(actor.name, "is closed");
  if (process.assigned) tell_of_members(actor);
}

void Stage::tell_of_members(Actor& actor) {
  const AssignedCore& core = *actor.process->assigned;
  for (const auto& other : actors_) {
    if (!other->process) continue;
    const ProcessId id = other->process->claims.options().id;
    const Member* member = core.members().find(id);
    const bool dead = member && member->dead && member->seen_alive && !member->leaving;
    if (dead && actor.dead.insert(id).second) {
      tell(actor.name, "takes " + other->name + " for dead");
    } else if (!dead && actor.dead.erase(id) > 0 && member) {
      const bool flaps = core.members().on_probation(*member);
      tell(actor.name, "reads of " + other->name + " again" +
                           (flaps ? ", which is on probation until " +
                                        text_of(member->probation_until)
                                  : ""));
    }
  }
  const std::uint64_t refused = core.counters().assignments_refused;
  if (std::exchange(actor.refused, refused) < refused) {
    tell(actor.name, "ignores an assignment under an old seat");
  }
}

std::string Stage::text_of_stored(const StoredRecord& stored, Log log) const {
  if (const Record* record = stored.record()) return text_of(*record, place_of(log));
  const auto* assignment = std::get_if<AssignmentRecord>(stored.value.get());
  if (assignment == nullptr) return "no record of ours";
  return text_of(*assignment, [this](ProcessId id) { return called(id); });
}

void Stage::on_append(const rig::Process* writer, Log log, std::int64_t offset) {
  const StoredRecord stored = *rig_.log(log.value()).find(offset);
  const Received received = rig_.log(log.value()).received(log, offset);
  for (const auto& actor : actors_) {
    if (!actor->process) actor->lookup->feed(received, rig_.now());
  }
  Actor* actor = writer ? actor_of(writer) : nullptr;
  const Record* record = stored.record();
  const std::string text = text_of_stored(stored, log);
  if (record && actor && record->type == RecordType::renewal) {
    if (std::exchange(actor->last_renewal[log], text) == text) return;
  }
  const std::string where = options_.rig.logs > 1 ? "log " + std::to_string(log.value()) + " " : "";
  tell(actor ? actor->name : "?", where + "#" + std::to_string(offset) + " " + text);
}

// Who leads is asked of the lease vectors, in true time: it changes at events, and at ends of
// leases between them. Who is paused may wake up at any time, and be asked.
void Stage::count_time(Lane lane, Partition partition, LocalTime from, LocalTime to) {
  LocalTime last = from;
  LocalTime second = from;
  LocalTime last_running = from;
  for (const auto& actor : actors_) {
    if (!actor->process || actor->crashed || actor->lane != lane) continue;
    const LocalTime until =
        std::clamp(actor->process->core.leases()->get(partition).until, from, to);
    second = std::max(second, std::min(last, until));
    last = std::max(last, until);
    if (!actor->process->stopped) last_running = std::max(last_running, until);
  }
  Tally& tally = tallies_[{lane, partition}];
  tally.led |= last_running > from;
  if (!tally.led) return;
  tally.unowned += to - last_running;
  tally.shared += second - from;
  if (second > from && options_.rig.mode == Mode::exclusive && !options_.overlap_expected) {
    overlapped_ = true;
  }
}

void Stage::on_time(LocalTime from, LocalTime to) {
  std::set<Lane> lanes;
  for (const auto& actor : actors_) {
    if (actor->process) lanes.insert(actor->lane);
  }
  for (const Lane lane : lanes) {
    for (std::uint32_t p = 0; p < options_.rig.partitions; ++p) {
      count_time(lane, Partition{p}, from, to);
    }
  }
}

void Stage::tick(LocalTime now) {
  for (const auto& actor : actors_) actor->lookup->tick(now);
}

LocalTime Stage::next_deadline() const {
  LocalTime next = kNever;
  for (const auto& actor : actors_) next = std::min(next, actor->lookup->next_expiry());
  return next;
}

}  // namespace neliroute::scenario
