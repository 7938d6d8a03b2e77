#include "router/open.h"

#include <algorithm>
#include <neliroute/clock.h>
#include <utility>

#include "base/process_id.h"
#include "ledgers/ledgers.h"
#include "neli_core/assigner/assigned_core.h"
#include "neli_core/broadcast/broadcast.h"
#include "neli_core/claimed/claim_protocol.h"
#include "router/options/option_checks.h"
#include "router/options/option_parts.h"
#include "slots/partition.h"

namespace neliroute {
namespace {

Result<void> check_slots(const RouterOptions& options, std::uint32_t partitions) {
  const std::uint32_t slots = options.slots.value();
  const bool grouped = options.assignment == Assignment::group;
  if (auto reached = check_hash(options.slots, options.hash); !reached) return reached;
  if (slots < partitions) {
    return Error{Errc::bad_option,
                 "`slots` " + std::to_string(slots) + " are fewer than the " +
                     (grouped ? "topic's " : "") + std::to_string(partitions) +
                     " partitions; raise `slots`, or " +
                     (grouped ? "use a topic with fewer partitions" : "lower `partitions`")};
  }
  if (!options.allow_uneven && !partitions_are_even(options.slots, partitions)) {
    return Error{Errc::bad_option,
                 "`slots` " + std::to_string(slots) + " is not a multiple of the " +
                     std::to_string(partitions) +
                     " partitions, so some would carry more slots than others; choose a "
                     "multiple, or say `allow_uneven`"};
  }
  return {};
}

CoreOptions core_options(const RouterOptions& options, const LedgerFacts& facts,
                         const Timing& timing) {
  CoreOptions core;
  core.id = draw_process_id();
  core.lane = options.lane;
  core.mode = options.mode;
  core.interval = timing.interval;
  core.lease = timing.lease;
  core.clock_error = timing.clock_error;
  // With an assigner there is no heartbeat, and it is zero.
  if (facts.session.protocol == GroupProtocol::consumer) core.heartbeat = timing.heartbeat;
  core.believe_broker_time = facts.believe_broker_time;
  core.prepare_timeout = options.prepare_timeout;
  core.serve_stale = timing.serve_stale;
  core.process = options.process;
  if (core.process.name.empty()) core.process.name = default_process_name(core.id);
  core.settings.group = options.group;
  core.settings.slots = options.slots.value();
  core.settings.partitions = facts.partitions;
  core.settings.logs = facts.logs;
  core.settings.hash = std::string(to_string(options.hash));
  core.settings.mode = std::string(to_string(options.mode));
  const bool assigner = options.assignment == Assignment::assigner;
  core.settings.variation =
      std::string(assigner ? kAssignedVariation : to_string(options.variation));
  return core;
}

// Checks what can be checked before the session is known.
Result<void> check_new_topic(const RouterOptions& options, const LedgerFacts& facts) {
  if (auto even = check_slots(options, facts.partitions); !even) return even;
  Timing timing = watcher_timing(timing_request(options));
  timing.lease = options.timing.lease.value_or(timing.lease);
  timing.interval = options.timing.interval.value_or(timing.lease / 4);
  return core_options(options, facts, timing).validate();
}

Result<std::unique_ptr<Core>> make_core(const RouterOptions& options, CoreOptions core,
                                        const LedgerFacts& facts, const Timing& timing) {
  if (options.assignment == Assignment::assigner) {
    AssignedOptions assigned;
    assigned.core = std::move(core);
    assigned.session = timing.session;
    assigned.weight = options.weight;
    assigned.seat_priority = options.seat_priority;
    auto made = AssignedCore::make(std::move(assigned));
    if (!made) return made.error();
    return std::unique_ptr<Core>(std::make_unique<AssignedCore>(std::move(*made)));
  }
  if (options.variation == Variation::claimed) {
    auto made = ClaimProtocol::make(std::move(core));
    if (!made) return made.error();
    return std::unique_ptr<Core>(std::make_unique<ClaimProtocol>(std::move(*made)));
  }
  BroadcastOptions broadcast;
  broadcast.core = std::move(core);
  broadcast.session = timing.session;
  broadcast.local_clock_error = timing.local_clock_error;
  broadcast.groups = options.timing.groups;
  broadcast.hints = options.hints;
  // The embedded broker has no time but the writers' own.
  broadcast.require_broker_time = !facts.embedded_broker;
  auto made = Broadcast::make(std::move(broadcast));
  if (!made) return made.error();
  return std::unique_ptr<Core>(std::make_unique<Broadcast>(std::move(*made)));
}

// What an operator should know about an owner that starts.
std::vector<std::string> warnings_of(const RouterOptions& options, const LedgerAddress& address,
                                     const LedgerFacts& facts, const Timing& timing) {
  std::vector<std::string> lines = timing.warnings;
  if (const auto* kafka = std::get_if<KafkaConnection>(&address)) {
    auto line = loopback_warning(options.process.endpoint, kafka->brokers);
    if (line) lines.push_back(std::move(*line));
  }
  if (options.variation == Variation::broadcast && !facts.believe_broker_time) {
    lines.emplace_back("variation broadcast: the topic is not known to stamp LogAppendTime, so the "
                       "clocks of all writers must be right, too");
  }
  return lines;
}

Result<void> check_owner(const RouterOptions& options) {
  if (options.roles && *options.roles == 0) {
    return Error{Errc::bad_option, "`roles` 0: expected at least 1"};
  }
  if (!options.process.endpoint.empty()) {
    if (auto fits = check_endpoint(options.process.endpoint); !fits) {
      return Error{fits.error().code(), "`process.endpoint` " + fits.error().message()};
    }
  }
  if (options.assignment == Assignment::assigner) {
    if (options.variation == Variation::broadcast) {
      return Error{Errc::bad_option, "`assignment` assigner is of `variation` claimed only: the "
                                     "paper's own protocol needs the group; choose one of them"};
    }
    if (options.group_protocol) {
      return Error{Errc::bad_option, "`group_protocol` is of `assignment` group only: with an "
                                     "assigner there is no group; leave it out"};
    }
    // They follow from no broker's session, so none need be asked to refuse them.
    if (auto timing = derive_timing(timing_request(options), {}); !timing) return timing.error();
  }
  if (options.weight != 1 && options.assignment == Assignment::group) {
    return Error{Errc::bad_option, "`weight` is of `assignment` assigner only: a group knows no "
                                   "weights; leave it out, or choose `assignment` assigner"};
  }
  if (options.weight > kWeightMax) {
    return Error{Errc::bad_option, "`weight` " + std::to_string(options.weight) +
                                       " is more than " + std::to_string(kWeightMax)};
  }
  if (options.seat_priority != kSeatPriorityDefault && options.assignment == Assignment::group) {
    return Error{Errc::bad_option, "`seat_priority` is of `assignment` assigner only: a group has "
                                   "no seat; leave it out, or choose `assignment` assigner"};
  }
  if (options.seat_priority > kSeatPriorityMax) {
    return Error{Errc::bad_option, "`seat_priority` " + std::to_string(options.seat_priority) +
                                       " is more than " + std::to_string(kSeatPriorityMax)};
  }
  if (options.hints || options.variation == Variation::broadcast) return {};
  // The other variation would silently ignore it.
  return Error{Errc::bad_option, "`hints` is of `variation` broadcast only: in claimed the "
                                 "claims are the protocol itself; leave it out"};
}

void notify(const RouterOptions& options, Severity severity, const std::string& text) {
  if (options.on_notice) options.on_notice({severity, text});
}

/// A watcher renews nothing, and believes what it reads for a lease: nothing else matters.
Timing timing_of_watcher(const TimingOptions& options) {
  Timing timing = watcher_timing({});
  timing.lease = options.lease.value_or(timing.lease);
  timing.serve_stale = options.serve_stale.value_or(timing.serve_stale);
  timing.interval = std::min(timing.interval, timing.lease / 4);
  return timing;
}

void notify(const RouterOptions& options, const std::vector<Notice>& notices) {
  for (const Notice& notice : notices) notify(options, notice.severity, notice.text);
}

/// The durations that follow from what the ledger reports.
Result<Timing> timing_on(const PreparedStore& store, const RouterOptions& options,
                         const LedgerAddress& address, bool watcher) {
  const LedgerFacts& facts = store.facts();
  notify(options, facts.notices);
  if (auto even = check_slots(options, facts.partitions); !even) return even.error();
  if (watcher) return timing_of_watcher(options.timing);

  auto timing = derive_timing(timing_request(options), facts.session);
  if (!timing) return timing.error();
  for (const std::string& line : warnings_of(options, address, facts, *timing)) {
    notify(options, Severity::warning, line);
  }
  const auto told = store.check(*timing);
  if (!told) return told.error();
  notify(options, *told);
  return timing;
}

Result<Opened> open_reader(boost::asio::any_io_executor executor, const RouterOptions& options,
                           const LedgerNeeds& needs) {
  const bool watcher = needs.watcher;
  const auto address = ledger_address(options);
  if (!address) return address.error();
  const auto store = prepare_store(
      *address, needs, options.on_notice,
      [&](const LedgerFacts& wanted) { return check_new_topic(options, wanted); });
  if (!store) return store.error();
  const LedgerFacts& facts = (*store)->facts();
  const auto timed = timing_on(**store, options, *address, watcher);
  if (!timed) return timed.error();
  const Timing& timing = *timed;
  CoreOptions core = core_options(options, facts, timing);
  if (auto valid = core.validate(); !valid) return valid.error();

  Opened opened;
  opened.settings = core.settings;
  opened.timing = timing;
  opened.protocol = facts.session.protocol;
  opened.process = core.process;
  opened.id = core.id;
  const Strand strand(executor);
  auto ledger = (*store)->open(strand, timing, core.id);
  if (!ledger) return ledger.error();
  const SlotSpace space(options.slots, options.hash);
  ReaderParts reading{strand,
                      std::move(ledger->ledger),
                      directory_options(core, watcher),
                      Peer{core.id, core.process},
                      space,
                      options.on_notice,
                      boot_now};
  ObservedFacts observed{core.process, std::nullopt, topic_of(*address), core.lane,
                         core.settings, space, std::nullopt, core.lease};
  const auto observe = [&](std::shared_ptr<Reader> reader) {
    opened.observable = std::make_unique<const Observable>(std::move(reader), std::move(observed),
                                                           ledger->statistics);
  };
  if (watcher) {
    opened.reader = std::make_shared<WatchingReader>(std::move(reading), core.settings);
    observe(opened.reader);
    return opened;
  }
  observed.id = core.id;
  observed.interval = reading.interval = core.interval;
  auto made = make_core(options, std::move(core), facts, timing);
  if (!made) return made.error();
  opened.leases = (*made)->leases();
  opened.owner = std::make_shared<OwningReader>(
      std::move(reading), OwnerParts{std::move(*made), opened.settings, ledger->group});
  observe(opened.owner);
  return opened;
}

}  // namespace

Result<Opened> open_owner(boost::asio::any_io_executor executor, RouterOptions options) {
  const std::string_view group = implies_group(options);
  options.assignment = assignment_of(options);
  if (auto fits = check_owner(options); !fits) return fits.error();
  if (!group.empty()) {
    notify(options, Severity::info, std::string(group) + " is of `assignment` group, so Kafka's "
           "group assigns here; without it the default is `assignment` assigner");
  }
  return open_reader(std::move(executor), options, ledger_needs(options));
}

// Options that a watcher does not have are set to an owner's defaults; they are never read.
Result<Opened> open_watcher(boost::asio::any_io_executor executor, WatcherOptions options) {
  RouterOptions same;
  same.assignment = Assignment::group;  // it is told by the records who assigns
  same.kafka = std::move(options.kafka);
  same.ledger = std::move(options.ledger);
  same.lane = options.lane;
  same.partitions = options.partitions;
  same.logs = options.logs;
  same.slots = options.slots;
  same.hash = options.hash;
  same.allow_uneven = options.allow_uneven;
  same.timing.lease = options.lease;
  same.timing.serve_stale = options.serve_stale;
  same.on_notice = std::move(options.on_notice);
  LedgerNeeds needs = ledger_needs(same);
  needs.watcher = true;
  needs.missing_topic = options.missing_topic;
  return open_reader(std::move(executor), same, needs);
}

}  // namespace neliroute
