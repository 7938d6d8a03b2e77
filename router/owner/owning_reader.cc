#include "router/owner/owning_reader.h"

#include <algorithm>
#include <utility>

namespace neliroute {
OwningReader::OwningReader(ReaderParts reading, OwnerParts parts)
    : Reader(std::move(reading), parts.core->leases()),
      count_again_(strand_),
      group_(parts.group),
      core_(std::move(parts.core)),
      settings_(std::move(parts.settings)),
      work_ended_for_(std::make_shared<std::weak_ptr<OwningReader>>()),
      gate_(WorkGate::make(core_->leases(),
                           [of = work_ended_for_] {
                             if (const auto owner = of->lock()) owner->on_work_ended();
                           })),
      stopped_(gate_),
      refusals_(interval_),
      same_endpoint_(self_->id, self_->info.endpoint, lease()) {}

OwningReader::~OwningReader() { gate_->retire(); }

void OwningReader::start() {
  *work_ended_for_ = weak();
  Reader::start();
}

void OwningReader::step(const Event& event, LocalTime now) {
  note_same_endpoint(event, now);
  meter_.before(event, core_.get(), now);
  core_->step(event, now);
  if (const auto* assigned = std::get_if<GroupAssigned>(&event)) touch(*assigned);
  if (const auto* revoked = std::get_if<GroupRevoked>(&event)) touch(*revoked);
  meter_.after(core_.get(), core_->rejected(), now);
}

// What existed before this process reads may be of one that it replaces.
void OwningReader::note_same_endpoint(const Event& event, LocalTime now) {
  const auto* received = std::get_if<Received>(&event);
  const auto* record = received ? std::get_if<Record>(received->value) : nullptr;
  if (record == nullptr || record->lane != directory_.lane()) return;
  if (directory_.is_history(*received) || !same_endpoint_.note(*record, now)) return;
  log({Severity::error, "process " + record->process.name + " (" + to_string(record->id) +
                            ") lives and states this process's endpoint " +
                            record->process.endpoint + ": callers reach only one of the two; give "
                            "each process an endpoint of its own"});
}

// An assignment changes no route yet, but observers are notified of what this process waits for.
void OwningReader::touch(const AssignmentChange& change) {
  const auto one = [this](Partition p) { observers_.touch(p); };
  std::visit([&](const auto& e) { e.partitions.for_each(view_.partition_count(), one); }, change);
}

// Where a member assigns, the state machine reads that in records; a group's events say it.
void OwningReader::note_assignments(const Ready& ready, LocalTime now) {
  const auto status = core_->assignment_status();
  if (!status) return;
  meter_.note(*status);
  for (const AssignmentChange& change : ready.assignments) {
    touch(change);
    meter_.note(change, core_.get(), now);
  }
}

LocalTime OwningReader::own_deadline() const {
  return std::min({core_->next_deadline(), stopped_.next_deadline(), look_at_drain_});
}

void OwningReader::look_at_own(Partition partition, ObservedRoute& seen) const {
  seen.looking = !closed_ && core_->role_state(partition) == RoleState::looking;
  if (seen.verdict != Verdict::local) return;
  seen.owner = self_;
  // This process's own claim, not yet confirmed by its renewals, is no other process's.
  if (seen.next && seen.next->id == self_->id) seen.next = nullptr;
  seen.draining = core_->role_state(partition) == RoleState::draining;
  seen.lease = lease();
}

void OwningReader::carry_out(LocalTime now) {
  mark_suspects(now);
  Ready ready = core_->take_ready();
  note_assignments(ready, now);
  meter_.note(ready, now);
  // A gap that the state machine found by itself is one for hints, too.
  for (const Log log : ready.restart_tails) directory_.on(GapFound{log}, now);
  publish_own(ready.transitions);
  publish(now);
  tell_observers(now);
  if (!observers_.empty()) tell_assignment();
  tell(ready.transitions, now);
  abandon_work(now);
  if (closed_) return;
  pass_on(ready);
  for (const Notice& notice : ready.notices) log(notice);
  if (ready.refused) give_up(*ready.refused);
  end_turn(now);
  if (let_prepare(ready, now)) carry_out(now);
  if (closed_) return;
  ready.closed ? close_ledger() : arm();
}

// To the ledger, in the order of the fields.
void OwningReader::pass_on(Ready& ready) {
  if (group_ != nullptr) {
    if (ready.rebalances_done > 0) group_->finish_rebalances(ready.rebalances_done);
    if (ready.broadcast) group_->broadcast();
  }
  for (Write& write : ready.writes) ledger_->write(std::move(write));
  for (const Log log : ready.restart_tails) ledger_->restart_tail(log);
  for (const RereadRequest& request : ready.rereads) ledger_->reread(request);
  if (group_ == nullptr) return;
  if (ready.subscribe) group_->subscribe();
  if (ready.leave_group) group_->leave_group();
  if (ready.expedite) group_->expedite(*ready.expedite);
}

// Readers see it before the application is notified.
void OwningReader::publish_own(const std::vector<Transition>& transitions) {
  stopped_.publish(transitions);
  for (const Transition& t : transitions) {
    observers_.touch(t.partition);
    if (t.kind == TransitionKind::acquired) {
      wake(t.partition);
      view_.set_local(t.partition, t.epoch, core_->generation(t.partition));
    } else if (t.kind == TransitionKind::stopped) {
      view_.set_local(t.partition, kNoEpoch, core_->generation(t.partition));
      directory_.forget_owner(t.partition, self_->id, t.at);
    }
  }
}

void OwningReader::give_up(const Error& error) {
  closing_ = true;
  fail(error);
}

void OwningReader::on_ledger_refused(const Error& error) {
  give_up(error);
  request_close(clock_());
}

// Of a router that is destroyed, what it led is local to nobody who still looks.
void OwningReader::before_close(LocalTime now) {
  last_view_ = view_.look_at_all(now);
  for (const Route& route : last_view_) {
    if (route.verdict != Verdict::local) continue;
    view_.set_local(route.partition, kNoEpoch, core_->generation(route.partition));
  }
}

void OwningReader::after_close() {
  group_ = nullptr;
  gate_->close_all();
  handlers_.run("callbacks of PrepareToken::cancelled()", std::nullopt,
                [this] { preparing_.cancel_all(); });
}

}  // namespace neliroute
