// What a process's threads do meanwhile: they look slots up, in production's RouteView, and write
// to a store that compares epochs. Both are judged by who led in true time.
#include <algorithm>

#include "tests/sim/world/world.h"

namespace neliroute::sim {
namespace {

constexpr std::int64_t kWritesPercent = 25;  ///< of what is found to be led
constexpr std::int64_t kStoppedPercent = 5;  ///< between asking and writing, for long

}  // namespace

// As router/owner/owning_reader.cc does, in its order.
void World::publish(Node& node, const std::vector<Transition>& transitions) {
  for (const Transition& t : transitions) {
    if (t.kind == TransitionKind::acquired) {
      node.view->set_local(t.partition, t.epoch, node.core->generation(t.partition));
    } else if (t.kind == TransitionKind::stopped) {
      node.view->set_local(t.partition, kNoEpoch, node.core->generation(t.partition));
      node.directory->forget_owner(t.partition, node.id, t.at);
    }
  }
  const std::vector<Partition> changed = node.directory->take_changed();
  const std::vector<Partition> renewed = node.directory->take_renewed();
  for (const Partition p : changed) node.view->set_hint(p, node.directory->hint(p));
  node.view->publish(node.last_now);
  for (const Partition p : renewed) node.view->set_hint_until(p, node.directory->hint(p));
  for (std::uint32_t l = 0; l < plan_.logs; ++l) {
    node.view->set_log(Log{l}, node.directory->answering_until(Log{l}),
                       node.directory->history_until(Log{l}));
  }
  watch_hints(node, changed);
  admit_waiting(node);
  static_cast<void>(node.directory->take_gaps());
  static_cast<void>(node.directory->take_overlaps());
}

void World::watch_hints(Node& node, const std::vector<Partition>& changed) {
  if (is_beside(node)) return;
  for (const Partition p : changed) {
    const Hint& hint = node.directory->hint(p);
    Epoch& known = node.hinted[p.value()];
    if (hint.owner && hint.epoch < known && !may_fall(hint, known)) {
      oracle_.broken_if_assumed("process " + std::to_string(node.index) + " believes " +
                         to_string(hint.epoch) + " of partition " + std::to_string(p.value()) +
                         " after " + to_string(known),
                     now_);
    }
    if (hint.owner) known = hint.epoch;
  }
}

// A log that lost acknowledged records goes on below them. Where the topic was made again, who has
// not heard of that may still speak of the old one, and nobody may know what a store had asked for.
bool World::may_fall(const Hint& hint, const Epoch& known) {
  if (loses_records()) return true;
  if (!plan_.has(Fault::topic_made_again)) return false;
  const Node* owner = process_of(hint.owner->id);
  const bool old_word = owner != nullptr &&
                        oracle_.node_disturbed_until(owner->index) >= topic_made_at_ &&
                        topic_made_at_ != 0;
  return hint.epoch.incarnation == known.incarnation || plan_.has(Fault::store_ahead) || old_word;
}

void World::look_around() {
  for (Node& node : nodes_) {
    if (!node.alive || node.paused_until > now_ || is_beside(node)) continue;
    for (std::uint32_t p = 0; p < plan_.partitions; ++p) look(node, p);
    admit_waiting(node);
  }
  send_requests();
  plan_at(now_ + chance_of_looks_.between(plan_.interval() / 2, plan_.interval() * 3 / 2),
          Happening::look_around);
}

void World::look(Node& node, std::uint32_t p) {
  const Route route = node.view->look(Slot{p}, node.local(now_));
  const std::uint32_t part = part_of(node, p);
  const bool leads = oracle_.led(node.index, part, now_);
  if (leads != (route.verdict == Verdict::local)) {
    return wrong_answer(node, p, leads ? "does not know that it leads" : "believes that it leads");
  }
  if (route.verdict != Verdict::unowned) node.unaware_since[p] = 0;
  switch (route.verdict) {
    case Verdict::local:
      oracle_.count(Judged::local_answers);
      return write_to_store(node, p, route.epoch);
    case Verdict::remote:
      return judge_remote(node, p, route);
    case Verdict::unowned:
      return judge_unowned(node, p);
    case Verdict::unknown:
      return judge_unknown(node, p);
  }
}

void World::wrong_answer(const Node& node, std::uint32_t p, const std::string& what) {
  oracle_.broken_if_assumed("process " + std::to_string(node.index) + " " + what +
                                ": partition " + std::to_string(p),
                            now_);
}

// Nothing was wrong for so long that all was read that was written, and nothing older is believed.
bool World::reads_well(const Node& node, std::uint32_t log) const {
  const Time fault = std::max({oracle_.node_disturbed_until(node.index),
                               oracle_.log_disturbed_until(log), node.started_at});
  return fault + plan_.settled() < now_;
}

// A hint may be as old as a message, and as its owner's lease where that ended without a word.
void World::judge_remote(const Node& node, std::uint32_t p, const Route& route) {
  if (route.valid_for.count() > plan_.longest_lease()) {
    return wrong_answer(node, p, "believes a hint for longer than any lease");
  }
  const Hint& hint = node.directory->hint(Partition{p});
  const Node* owner = hint.owner ? process_of(hint.owner->id) : nullptr;
  if (owner == nullptr) return wrong_answer(node, p, "believes in nobody");
  // Its log may stay silent, as nobody else writes there.
  if (!reads_well(node, p % plan_.logs) || route.stale) return;
  oracle_.count(Judged::remote_answers);
  const std::uint32_t part = part_of(node, p);
  const Time led = oracle_.last_led(owner->index, part, now_);
  // Where a store had asked for an incarnation ahead of time, a claim that comes late may be below
  // the epoch that it ends, and only its owner heeds it.
  const bool silent = oracle_.node_disturbed_until(owner->index) + plan_.settled() > led ||
                      plan_.has(Fault::write_duplicated) || plan_.has(Fault::store_ahead);
  const Time allowed = plan_.known_by() + (silent ? plan_.settled() : 0);
  const Time from = silent ? std::max(led, oracle_.node_disturbed_until(owner->index)) : led;
  if (now_ > from + allowed) {
    wrong_answer(node, p, "believes that process " + std::to_string(owner->index) +
                              " leads, which ended " + clock_text(now_ - led) + " ago");
  }
}

void World::judge_unowned(Node& node, std::uint32_t p) {
  const std::uint32_t log = p % plan_.logs;
  // Only a ledger that answers shows that.
  if (now_ > node.readers[log].answered_at + node.lease.count() * 1001 + 2 * plan_.latency_max) {
    return wrong_answer(node, p, "takes a silent log's word for it that nobody leads");
  }
  if (!reads_well(node, log)) return;
  oracle_.count(Judged::unowned_answers);
  for (const Node& other : nodes_) {
    if (!other.alive || other.lane != node.lane || other.other_settings) continue;
    if (oracle_.node_disturbed_until(other.index) + plan_.settled() > now_) continue;
    if (serves_unread(other, p)) continue;
    const Time since = oracle_.led_since(other.index, part_of(node, p), now_);
    if (since + plan_.interval() + plan_.known_by() > now_) continue;
    // For a moment it may know before the owner that somebody has claimed.
    if (node.unaware_since[p] == 0) node.unaware_since[p] = now_;
    if (node.unaware_since[p] + plan_.interval() + plan_.known_by() > now_) return;
    wrong_answer(node, p, "does not know that process " + std::to_string(other.index) + " leads");
    return;
  }
  node.unaware_since[p] = 0;
}

// After a gap nothing is renewed under the epoch, and who drains claims nothing again: no record
// tells it from the dead until a successor leads.
bool World::serves_unread(const Node& owner, std::uint32_t p) {
  return owner.core->leases()->get(Partition{p}).stale &&
         owner.core->role_state(Partition{p}) == RoleState::draining;
}

void World::judge_unknown(const Node& node, std::uint32_t p) {
  if (!reads_well(node, p % plan_.logs)) return;
  oracle_.count(Judged::unknown_answers);
  wrong_answer(node, p, "knows nothing of what it reads well");
}

bool World::loses_records() const {
  return plan_.has(Fault::truncation) || plan_.has(Fault::unclean_leader);
}

Node* World::process_of(ProcessId id) {
  for (Node& node : nodes_) {
    if (std::find(node.ids.begin(), node.ids.end(), id) != node.ids.end()) return &node;
  }
  return nullptr;
}

// Check, then act: what was asked may be long over when the write arrives.
void World::write_to_store(Node& node, std::uint32_t p, const Epoch& epoch) {
  if (plan_.broadcast() || !chance_of_looks_.percent(kWritesPercent)) return;
  const std::uint32_t part = part_of(node, p);
  store_writes_.push_back({part, epoch, oracle_.ownership(part, node.index)});
  const Time longest = chaos() && chance_of_looks_.percent(kStoppedPercent)
                           ? 3 * plan_.longest_lease()
                           : plan_.latency_max;
  plan_for(node, now_ + chance_of_looks_.between(0, longest), Happening::store_lands,
           static_cast<std::uint32_t>(store_writes_.size() - 1));
}

void World::store_lands(const Node& node, const Planned& event) {
  const StoreWrite& write = store_writes_[event.a];
  const bool late = store_.is_late(write);
  const bool taken = store_.put(write);
  oracle_.count(taken ? Judged::writes_taken : Judged::writes_refused);
  const std::string what = "the store " + std::string(taken ? "takes" : "refuses") +
                           " what process " + std::to_string(node.index) + " writes with " +
                           neliroute::to_string(write.epoch);
  // In non-exclusive mode two may lead, in either order.
  if (late && plan_.exclusive()) {
    oracle_.count(Judged::late_writes);
    const std::string both = what + ", though another has led and written since";
    if (taken) was_lost(write) ? oracle_.broken_if_assumed(both, now_) : oracle_.broken(both, now_);
  }
  const bool leads = node.life == event.life && oracle_.led(node.index, write.part, now_) &&
                     oracle_.ownership(write.part, node.index) == write.ownership;
  const bool in_the_end = now_ > recovered_by_;
  const bool one_leads = plan_.exclusive() && !plan_.beyond_claimed();
  const bool alone = one_leads ? !late : in_the_end;
  if (!taken && node.life == event.life) {
    plan_for(node, now_ + plan_.latency_max, Happening::store_refused, event.a,
             store_.greatest(write.part).incarnation, store_.greatest(write.part).offset);
  }
  if (leads && alone && !taken && !may_be_refused(node, write)) {
    oracle_.broken(what + ", who leads, after " +
                       neliroute::to_string(store_.greatest(write.part)),
                   now_);
  }
}

// A log that lost the claim makes a lower epoch below it, where the incarnation is ahead of the
// brokers' time; and the store had not seen the greater one yet ("Epochs never fall").
bool World::was_lost(const StoreWrite& write) const {
  const Time error = microseconds{plan_.timing.clock_error}.count();
  const bool ahead = write.epoch.incarnation > (now_ + error) / kMs + kBrokerEpochMs;
  if (!loses_records() || !ahead) return false;
  const std::int64_t at = write.epoch.offset;
  const StoredRecord* stored = logs_[plan_.log_of(write.part)].find(at);
  const Record* claim = stored == nullptr ? nullptr : stored->record();
  return claim == nullptr || claim->type != RecordType::claim ||
         claim_epoch(*claim, stored->stamped, at) != write.epoch;
}

// Its threads report it, by `Router::refused()`.
void World::on_store_refused(Node& node, const Planned& event) {
  const StoreWrite& write = store_writes_[event.a];
  const std::uint32_t p = write.part % plan_.partitions;
  tell(node, "p" + std::to_string(p) + " is refused " + neliroute::to_string(write.epoch) +
                 ", after " + neliroute::to_string(Epoch{event.b, event.c}));
  if (node.refused_ownership[p] != write.ownership) {
    node.refused_ownership[p] = write.ownership;
    node.refused_at[p] = now_;
  }
  const bool stale = node.core->leases()->get(Partition{p}).stale;
  if (stale && may_be_ahead()) oracle_.refused(node.index, write.part, now_);
  step(node, EpochRefused{Partition{p}, Epoch{event.b, event.c}});
}

// The store may know an epoch that no process here can read: it was raised, or the log that had the
// epoch lost it, was made again, or was stamped by brokers whose clocks differ by too much.
bool World::may_be_ahead() const {
  return plan_.has(Fault::store_ahead) || loses_records() ||
         plan_.has(Fault::topic_made_again) || plan_.beyond_claimed();
}

// Who was told that the store is ahead leads by a greater epoch soon, or hands over to one who
// does; but who doubts whose settings are the group's claims nothing meanwhile. Where the store
// cannot be ahead, it refuses nobody but a drainer, whose successor has written.
bool World::may_be_refused(const Node& node, const StoreWrite& write) const {
  const std::uint32_t p = write.part % plan_.partitions;
  if (now_ < mismatched_until_ || is_mixed(node.lane)) return true;
  if (node.core->role_state(Partition{p}) == RoleState::draining) return true;
  if (!may_be_ahead()) return false;
  if (node.refused_ownership[p] != write.ownership) return true;
  const Time since = std::max(node.refused_at[p], oracle_.disturbed_until(node.index));
  return now_ <= since + plan_.interval() + plan_.known_by();
}

void World::raise_store(Random& random) {
  const auto part = static_cast<std::uint32_t>(
      random.between(0, plan_.lanes * plan_.partitions - 1));
  const std::int64_t incarnations = random.magnitude(1, 1'000'000'000);
  if (store_.greatest(part) != kNoEpoch) store_.raise(part, incarnations);
}

}  // namespace neliroute::sim
