#include <neliroute/metrics.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <neliroute/admission.h>
#include <neliroute/clock.h>
#include <string>
#include <utility>

#include "metrics/fair_shares.h"
#include "metrics/kafka_metrics.h"
#include "metrics/metric_families.h"
#include "metrics/slot_moves.h"
#include "metrics/store_metrics.h"
#include "neli_core/core.h"
#include "neli_core/options.h"
#include "router/reader/meter.h"
#include "slots/partition.h"

namespace neliroute {
namespace {

using prometheus::MetricFamily;

// A double holds this much of a digest exactly.
constexpr std::uint64_t kDigestMask = (std::uint64_t{1} << 48) - 1;

// Between the steps of one rebalance, partitions drain or are claimed, so the view is not steady.
constexpr milliseconds kRestLeast{1000};

constexpr std::array kVerdicts{Verdict::local, Verdict::remote, Verdict::unowned,
                               Verdict::unknown};

std::size_t index_of(Verdict verdict) { return static_cast<std::size_t>(verdict); }

struct Named {
  const char* name;
  Count count;
};

void add_counts(MetricFamilies& made, const Meter& meter, const char* label,
                std::initializer_list<Named> all) {
  for (const Named& one : all) {
    made.add(static_cast<double>(meter.count(one.count)), {{label, one.name}});
  }
}

void add_handovers(MetricFamilies& made, const Meter& meter) {
  made.histogram("handover_gap_seconds",
                 "How long a partition had no owner before it got one; 0: it moved without a gap",
                 meter.gaps());
  made.histogram("handover_overlap_seconds",
                 "From reading of a new owner to reading the former owner's release",
                 meter.overlaps());
}

void add_admissions(MetricFamilies& made, const AdmissionCounts& counts) {
  made.counter("admissions_total", "Requests by what was to be done with them");
  for (const Admit answer : {Admit::serve, Admit::redirect, Admit::wait, Admit::refuse}) {
    made.add(static_cast<double>(counts[static_cast<std::size_t>(answer)]),
             {{"answer", std::string(to_string(answer))}});
  }
}

void add_waits(MetricFamilies& made, const Observable& observable) {
  made.gauge("waiters", "Callers that wait for an owner now");
  made.add(static_cast<double>(observable.waiters()));
  made.counter("waits_total", "Callers that waited for an owner, by how that ended");
  add_counts(made, observable.meter(), "result",
             {{"answered", Count::waits_answered},
              {"timed_out", Count::waits_timed_out},
              {"cancelled", Count::waits_cancelled},
              {"closed", Count::waits_closed},
              {"refused", Count::waits_refused}});
}

void add_records(MetricFamilies& made, const Meter& meter) {
  made.counter("records_total", "Records of the protocol that were read");
  add_counts(made, meter, "writer",
             {{"own", Count::records_own}, {"other", Count::records_other}});
  made.counter("records_ignored_total", "Records that were read and ignored");
  add_counts(made, meter, "reason",
             {{"not_json", Count::ignored_not_json},
              {"unknown_type", Count::ignored_unknown_type},
              {"no_lane", Count::ignored_no_lane},
              {"malformed", Count::ignored_malformed},
              {"empty", Count::ignored_empty},
              {"other_lane", Count::ignored_other_lane},
              {"impossible_epoch", Count::ignored_impossible_epoch},
              {"stale", Count::ignored_stale},
              {"refused_release", Count::ignored_refused_release},
              {"ahead", Count::ignored_ahead},
              {"not_stamped", Count::ignored_not_stamped},
              {"unassigned", Count::ignored_unassigned}});
  made.counter("log_gaps_total", "Logs that had to be read again: truncated, recreated, lost");
  made.add(static_cast<double>(meter.count(Count::log_gaps)));
}

/// Of a group to which Kafka assigns, the families have no series.
void add_assignment(MetricFamilies& made, const Meter& meter, bool assigned) {
  const auto add = [&](Count count) {
    if (assigned) made.add(static_cast<double>(meter.count(count)));
  };
  const auto total = [&](const char* name, const char* help, Count count) {
    made.counter(name, help);
    add(count);
  };
  made.gauge("members", "Members that live, as their records show it");
  add(Count::members_living);
  made.gauge("assigner", "1 if this process names which member should own what");
  add(Count::assigns);
  total("seats_claimed_total", "Times that it claimed the right to do so", Count::seats_claimed);
  total("assignments_written_total", "Assignments that it wrote", Count::assignments_written);
  total("assignments_refused_total", "Assignments that it read of a former assigner",
        Count::assignments_refused);
  total("member_deaths_total", "Members that it took for dead", Count::member_deaths);
  total("member_false_deaths_total", "Of these, members that it heard again",
        Count::member_false_deaths);
  total("assignment_waits_total",
        "Times that it waited for a session because many members seemed dead at once",
        Count::assignment_waits);
  total("designees_given_up_total",
        "Members that did not lead what they were named for, and that it replaced",
        Count::designees_given_up);
  total("seats_yielded_total", "Times that it gave that right to a member that reads better",
        Count::seats_yielded);
  made.gauge("assigner_waits",
             "1 for the reason why this process, which assigns, does not plan now");
  for (std::size_t i = 0; assigned && i < kWaitReasons.size(); ++i) {
    made.add(meter.count(Count::assigner_waits) == i + 1 ? 1 : 0,
             {{"reason", std::string(kWaitReasons[i])}});
  }
  made.gauge("wishes", "Cordons, weights and pins that operators ordered, as it knows them");
  add(Count::overrides);
  made.gauge("moves_paused", "1 if an operator has paused moves");
  add(Count::moves_paused);
  total("wishes_ignored_total",
        "Overrides that would not fit into a list, so that nobody heeds them",
        Count::overrides_ignored);
}

/// Only for a member of the group.
void add_membership(MetricFamilies& made, const Meter& meter) {
  made.histogram("claim_round_trip_seconds", "From sending a claim to reading it back",
                 meter.claim_round_trips());
  made.histogram("renewal_round_trip_seconds", "From sending a renewal to reading it back",
                 meter.renewal_round_trips());
  made.histogram("lease_margin_seconds", "What was left of the lease when a renewal extended it",
                 meter.lease_margins());
  made.counter("writes_total", "Records that were written");
  add_counts(made, meter, "result",
             {{"stored", Count::writes_stored}, {"failed", Count::writes_failed}});
  made.counter("rebalances_total", "Assignments, revocations and losses reported by the group");
  add_counts(made, meter, "kind",
             {{"assigned", Count::rebalances_assigned},
              {"revoked", Count::rebalances_revoked},
              {"lost", Count::rebalances_lost}});
  made.counter("heartbeats_expedited_total", "Group heartbeats that it requested early");
  made.add(static_cast<double>(meter.count(Count::heartbeats_expedited)));
  made.gauge("last_rebalance_timestamp_seconds", "When the group last assigned or revoked");
  if (const LocalTime at = meter.last_rebalance(); at != kLongAgo) {
    made.add(seconds_of(at.time_since_epoch() + unix_minus_boot_now()));
  }
  made.histogram("rebalance_duration_seconds",
                 "From an assignment by the group to leading all of it",
                 meter.rebalance_durations());
  made.gauge("unhealthy", "1 while the application says that it cannot serve");
  made.add(static_cast<double>(meter.count(Count::unhealthy)));
  made.gauge("assigned_partitions", "Partitions that the group assigned to this process");
  made.add(meter.assigned_partitions());
  made.counter("acquisitions_total", "Partitions that this process began to lead");
  made.add(static_cast<double>(meter.count(Count::acquired)));
  made.counter("stops_total", "Partitions that it stopped leading");
  add_counts(made, meter, "reason",
             {{"superseded", Count::stopped_superseded},
              {"closed", Count::stopped_closed},
              {"lapsed", Count::stopped_lapsed},
              {"gap", Count::stopped_gap},
              {"conflict", Count::stopped_conflict}});
  made.histogram("prepare_seconds",
                 "From calling Listener::prepare() to the end of its tokens", meter.prepares());
  made.histogram("warm_up_seconds", "From calling Listener::warm_up() to the end of its tokens",
                 meter.warm_ups());
  made.counter("prepares_late_total", "Partitions for which prepare_timeout was over");
  add_counts(made, meter, "step",
             {{"prepare", Count::prepares_late}, {"warm_up", Count::warm_ups_late}});
  made.histogram("barrier_seconds",
                 "From stopping to lead a partition to the end of its barrier", meter.barriers());
  made.counter("barriers_overdue_total", "Barriers that outlasted the lease");
  made.add(static_cast<double>(meter.count(Count::barriers_overdue)));
  made.counter("work_abandoned_total", "Work guards that outlived their lease");
  made.add(static_cast<double>(meter.count(Count::work_abandoned)));
}

}  // namespace

/// The view at one moment, which a scrape can go through in its own time.
struct Metrics::View {
  std::vector<ObservedRoute> routes;
  std::vector<Verdict> verdicts;  ///< what a lookup answers, which time alone can change
  double stale_slots = 0;         ///< so does this
  MoveCounts moves;
  double unowned_slot_seconds = 0;
  std::uint64_t version = 0;
  std::uint64_t digest = 0;
  bool gave_up = false;
  std::uint32_t slots = 0;
  double fair_slots = 0;  ///< what this process should lead

  [[nodiscard]] double slots_on(std::size_t partition) const {
    return slots_on_partition(static_cast<std::uint32_t>(partition), SlotCount{slots},
                              static_cast<std::uint32_t>(routes.size()));
  }
  void add_slots(MetricFamilies& made) const;
  void add_answers(MetricFamilies& made, const Observable& observable, LocalTime now) const;
  void add_owners(MetricFamilies& made, const Observable& observable, LocalTime now) const;
  void add_moves(MetricFamilies& made) const;
};

/// The view as the strand reports it; the strand must not wait for a scrape for long.
class Metrics::Seen : public Observer {
 public:
  Seen(const ObservedFacts& facts, LocalTime now)
      : facts_(facts),
        fair_(facts.settings.partitions),
        moves_(SlotCount{facts.settings.slots}, facts.settings.partitions,
               std::max(kRestLeast, facts.lease / 2)),
        unowned_(facts.settings.partitions, false),
        counted_(now) {
    view_.slots = facts.settings.slots;
    view_.routes.resize(facts.settings.partitions);
  }

  void on_view(const ViewChange& change) override {
    const std::lock_guard lock(mutex_);
    pass(change.at);
    view_.version = change.version;
    view_.digest = change.digest;
    for (const ChangedRoute& one : change.routes) {
      const std::uint32_t p = one.partition.value();
      const bool unowned = one.route.verdict == Verdict::unowned;
      if (unowned != unowned_[p]) unowned_slots_ += (unowned ? 1 : -1) * view_.slots_on(p);
      unowned_[p] = unowned;
      view_.routes[p] = one.route;
      const bool at_rest = one.route.owner && !one.route.next && !one.route.draining;
      moves_.note(one.partition, one.route.owner ? one.route.owner->id : kNobody, at_rest,
                  change.at);
    }
  }
  void on_assignment(const AssignmentNews& news) override {
    const std::lock_guard lock(mutex_);
    fair_.take(news);
  }
  void on_failure(const Error&) override {
    const std::lock_guard lock(mutex_);
    view_.gave_up = true;
  }
  void on_recovery() override {
    const std::lock_guard lock(mutex_);
    view_.gave_up = false;
  }

  View view(const Observable& observable, LocalTime now) {
    View copy;
    {
      const std::lock_guard lock(mutex_);
      pass(now);
      copy = view_;
      copy.moves = moves_.counts();
      if (facts_.id) {
        copy.fair_slots =
            fair_.of(*facts_.id) * facts_.settings.slots / facts_.settings.partitions;
      }
    }
    copy.verdicts.reserve(copy.routes.size());
    for (std::uint32_t p = 0; p < copy.routes.size(); ++p) {
      const Route route = observable.route(Slot{p}, now);
      copy.verdicts.push_back(route.verdict);
      if (route.stale) copy.stale_slots += copy.slots_on(p);
    }
    return copy;
  }

 private:
  /// Time passed with an unchanged view.
  void pass(LocalTime now) {
    view_.unowned_slot_seconds +=
        unowned_slots_ * seconds_of(std::max(now - counted_, microseconds{0}));
    counted_ = std::max(now, counted_);
    moves_.tick(now);
  }

  const ObservedFacts facts_;
  std::mutex mutex_;
  View view_;  ///< without verdicts and moves
  FairShares fair_;
  SlotMoves moves_;
  std::vector<bool> unowned_;
  double unowned_slots_ = 0;
  LocalTime counted_;
};

void Metrics::View::add_answers(MetricFamilies& made, const Observable& observable,
                                LocalTime now) const {
  std::array<double, kVerdicts.size()> answers{};
  for (std::size_t p = 0; p < verdicts.size(); ++p) {
    answers[index_of(verdicts[p])] += slots_on(p);
  }
  made.gauge("view_slots", "Slots by what a lookup answers in this process");
  for (const Verdict verdict : kVerdicts) {
    made.add(answers[index_of(verdict)], {{"state", std::string(to_string(verdict))}});
  }
  made.gauge("stale_slots", "Slots whose owner is believed to serve on while its log is silent");
  made.add(stale_slots);
  made.gauge("view_age_seconds", "How long ago the most silent log's leader last answered");
  made.add(seconds_of(observable.age(now)));
  made.gauge("view_digest", "Of all owners and epochs: equal if views agree");
  made.add(static_cast<double>(digest & kDigestMask));
  made.counter("view_changes_total", "Changes of the view");
  made.add(static_cast<double>(version));
  made.gauge("ready", "1 if no slot is unknown and the process is at work");
  const bool all_known = answers[index_of(Verdict::unknown)] == 0;
  const bool at_work = observable.at_work(now) && !observable.unhealthy();
  made.add(all_known && !gave_up && at_work ? 1 : 0);
  made.gauge("ledger_answering", "1 if every log's leader answered within the lease");
  made.add(observable.ledger_answers(now) ? 1 : 0);
  made.gauge("gave_up", "1 if this process refused, or its barrier was stuck");
  made.add(gave_up ? 1 : 0);
  made.counter("unowned_slot_seconds_total", "Unowned slots times how long they were unowned");
  made.add(unowned_slot_seconds);
}

/// This process's own.
void Metrics::View::add_slots(MetricFamilies& made) const {
  double owned = 0;
  double looking = 0;
  double draining = 0;
  for (std::size_t p = 0; p < routes.size(); ++p) {
    if (verdicts[p] != Verdict::local) {
      looking += routes[p].looking ? slots_on(p) : 0;
    } else {
      (routes[p].draining ? draining : owned) += slots_on(p);
    }
  }
  made.gauge("slots", "This process's own slots, by the state of their role");
  made.add(owned, {{"state", "owned"}});
  made.add(looking, {{"state", "looking"}});
  made.add(draining, {{"state", "draining"}});
}

void Metrics::View::add_owners(MetricFamilies& made, const Observable& observable,
                               LocalTime now) const {
  struct Holding {
    std::string name;
    double slots = 0;
    double staying = 0;
  };
  std::map<ProcessId, Holding> holdings;
  microseconds oldest{0};
  for (std::size_t p = 0; p < routes.size(); ++p) {
    const ObservedRoute& route = routes[p];
    if (route.next) holdings[route.next->id].name = route.next->info.name;
    if (!route.owner) continue;
    Holding& one = holdings[route.owner->id];
    one.name = route.owner->info.name;
    one.slots += slots_on(p);
    one.staying += route.draining ? 0 : slots_on(p);
    const Route look = observable.route(Slot{static_cast<std::uint32_t>(p)}, now);
    oldest = std::max(oldest, route.lease - std::min<microseconds>(look.valid_for, route.lease));
  }
  double owning = 0;
  double draining = 0;
  double coming = 0;
  std::map<std::string, double> by_name;  // names may collide
  for (const auto& [id, one] : holdings) {
    (one.slots == 0 ? coming : one.staying == 0 ? draining : owning) += 1;
    if (one.slots > 0) by_name[label_text(one.name)] += one.slots;
  }
  made.gauge("process_slots", "Slots that a process leads, according to this view");
  for (const auto& [name, count] : by_name) made.add_of(name, count);
  made.gauge("processes", "Processes that lead slots, only hand over, or only claim");
  made.add(owning, {{"state", "owning"}});
  made.add(draining, {{"state", "draining"}});
  made.add(coming, {{"state", "coming"}});
  made.gauge("oldest_renewal_age_seconds",
             "Age of the oldest owner renewal");
  made.add(seconds_of(oldest));
}

void Metrics::View::add_moves(MetricFamilies& made) const {
  made.counter("slots_moved_total", "Slots that went from one owner to another");
  made.add(static_cast<double>(moves.join), {{"cause", "join"}});
  made.add(static_cast<double>(moves.leave), {{"cause", "leave"}});
  made.add(static_cast<double>(moves.balance), {{"cause", "balance"}});
  made.counter("excess_moves_total", "Slots moved beyond the least possible");
  made.add(static_cast<double>(moves.excess));
}

std::shared_ptr<Metrics> Metrics::make(Observable observable, MetricsOptions options) {
  std::shared_ptr<Metrics> made(new Metrics(std::move(observable), options));
  made->observable_.observe(made->seen_);
  return made;
}

Metrics::Metrics(Observable observable, MetricsOptions options)
    : observable_(std::move(observable)),
      options_(options),
      seen_(std::make_shared<Seen>(observable_.facts(), boot_now())) {}

std::vector<MetricFamily> Metrics::Collect() const {
  const ObservedFacts& facts = observable_.facts();
  const Settings settings = observable_.settings();
  const LocalTime now = boot_now();
  MetricFamilies made(common_labels(facts));
  made.gauge("info", "Always 1; the labels carry the configuration");
  made.add(1, {{"id", facts.id ? to_string(*facts.id) : ""},
               {"mode", settings.mode},
               {"variation", settings.variation},
               {"hash", facts.settings.hash},
               {"slots", std::to_string(facts.settings.slots)},
               {"partitions", std::to_string(facts.settings.partitions)}});
  made.gauge("partitions", "What is owned and moved: with a group, partitions of the topic");
  made.add(facts.settings.partitions);
  made.gauge("lease_seconds", "T: how long one renewal entitles its sender to lead");
  made.add(seconds_of(observable_.lease()));
  const View view = seen_->view(observable_, now);
  if (facts.id) view.add_slots(made);
  view.add_answers(made, observable_, now);
  view.add_owners(made, observable_, now);
  view.add_moves(made);
  add_handovers(made, observable_.meter());
  made.counter("lookups_total", "Lookups by their answer");
  const auto lookups = observable_.lookups();
  for (const Verdict verdict : kVerdicts) {
    made.add(static_cast<double>(lookups[index_of(verdict)]),
             {{"verdict", std::string(to_string(verdict))}});
  }
  if (facts.interval) add_admissions(made, observable_.admissions());
  add_waits(made, observable_);
  add_records(made, observable_.meter());
  if (facts.interval) {
    made.gauge("interval_seconds", "Time between two renewals");
    made.add(seconds_of(*facts.interval));
    add_membership(made, observable_.meter());
    const bool assigned = facts.settings.variation == kAssignedVariation;
    made.gauge("fair_slots", "Slots that this process should lead, by weights, cordons and pins");
    if (assigned) made.add(view.fair_slots);
    add_assignment(made, observable_.meter(), assigned);
    if (observable_.statistics()) add_withdrawals(made, *observable_.statistics());
  }
  if (const LedgerStatistics* const statistics = observable_.statistics()) {
    add_kafka_metrics(made, *statistics, now);
    add_store_metrics(made, *statistics, now);
  }
  if (options_.per_slot) {
    made.gauge("slot_led", "1 if this process leads the slot");
    for (std::uint32_t slot = 0; slot < facts.settings.slots; ++slot) {
      const bool led = observable_.route(Slot{slot}, now).verdict == Verdict::local;
      made.add(led ? 1 : 0, {{"slot", std::to_string(slot)}});
    }
  }
  return made.take();
}

}  // namespace neliroute
