// Engine: what a watcher learns of the owners, and of time.
#include <algorithm>
#include <initializer_list>
#include <tuple>
#include <utility>

#include "router/engine/engine.h"

namespace neliroute {
namespace {

template <class Choice>
bool is_one_of(const std::string& text, std::initializer_list<Choice> choices) {
  return std::any_of(choices.begin(), choices.end(),
                     [&](Choice choice) { return text == to_string(choice); });
}

}  // namespace

// Does for a watcher what the state machine does for an owner: restarts tails after a gap, and
// notices settings that differ from the group's, with which a key would be sent to the wrong
// process.
void Engine::watch_event(const Event& event, LocalTime now) {
  std::visit([&](const auto& e) { reader_->on(e, now); }, event);
  if (const auto* gap = std::get_if<GapFound>(&event)) {
    log({Severity::error, "log " + std::to_string(gap->log.value()) + ": " +
                              to_string(gap->reason) +
                              "; its owners are unknown until it is read again"});
    meter_.note_log_gap();
    ledger_->restart_tail(gap->log);
  } else if (const auto* received = std::get_if<Received>(&event)) {
    const auto* record = std::get_if<Record>(received->value);
    if (record == nullptr) return;
    agreement_.note(*record, received->stamped, record->lease.value_or(lease()), now,
                    received->offset >= ends_at_start_[received->log.value()]);
    learn(*record);
  }
}

// What existed before this process reads may be of one that it replaces.
void Engine::note_same_endpoint(const Event& event, LocalTime now) {
  if (const auto* started = std::get_if<TailStarted>(&event)) {
    ends_at_start_[started->log.value()] = started->end;
  }
  const auto* received = std::get_if<Received>(&event);
  const auto* record = received ? std::get_if<Record>(received->value) : nullptr;
  if (record == nullptr || record->lane != directory_.lane()) return;
  if (received->offset < ends_at_start_[received->log.value()]) return;
  if (!same_endpoint_.note(*record, now)) return;
  log({Severity::error, "process " + record->process.name + " (" + to_string(record->id) +
                            ") lives and states this process's endpoint " +
                            record->process.endpoint + ": callers reach only one of the two; give "
                            "each process an endpoint of its own"});
}

const KnownLane* Engine::known_lane() const {
  return core_ ? core_->known_lane() : &reader_->known();
}

// A designee changes by an assignment only, which says of which partitions: the rest is not looked
// at, however many there are.
void Engine::touch_designated(const Event& event) {
  const auto* received = std::get_if<Received>(&event);
  if (received == nullptr) return;
  const auto* record = std::get_if<AssignmentRecord>(received->value);
  if (record == nullptr || record->lane != directory_.lane()) return;
  for (const Designation& one : record->designations) {
    one.partitions.for_each(view_.partition_count(),
                            [this](Partition p) { observers_.touch(p); });
  }
}

void Engine::tell_assignment() {
  const KnownLane* const lane = known_lane();
  if (lane == nullptr || !members_.look(*lane)) return;
  observers_.tell_assignment(members_.news());
}

// Slots, or the keys that hash to them, are not the same here as for the owners, so every answer
// would name the wrong process. The owners may be restarted with the settings of this watcher.
void Engine::compare_settings(LocalTime now) {
  auto conflict = agreement_.conflict(std::nullopt, now);
  if (!conflict && !differs_) return;
  const bool turned = conflict.has_value() != differs_.has_value();
  if (!conflict) {
    log({Severity::info, "the running group's settings are the ones here again: lookups are "
                         "answered"});
  } else if (turned || conflict->message() != differs_->message()) {
    log({Severity::error, conflict->message() + "; until then every lookup is answered unknown"});
  }
  differs_ = std::move(conflict);
  if (turned) directory_.note_all_changed();
}

// Called after readers could see it.
void Engine::tell_difference() {
  if (differs_.has_value() == difference_told_) return;
  difference_told_ = differs_.has_value();
  if (differs_) return tell_failure(*differs_);
  if (!abandoned_) observers_.tell_recovery();
}

void Engine::publish_hint(Partition partition) {
  const Hint& hint = directory_.hint(partition);
  if (!differs_) return view_.set_hint(partition, hint);
  Hint nobody;
  nobody.generation = hint.generation;
  view_.set_hint(partition, nobody);
}

// While settings differ, a silent log does not show that a slot is unowned.
LocalTime Engine::history_until(Log log) const {
  return differs_ ? kNever : directory_.history_until(log);
}

void Engine::learn(const Record& record) {
  const Settings* theirs = settings_in_force(record);
  if (theirs == nullptr || record.lane != directory_.lane()) return;
  const auto& [mode, variation] = std::tie(theirs->mode, theirs->variation);
  // Only this strand writes it. Values that nobody knows are not reported.
  if (mode == settings_.mode && variation == settings_.variation) return;
  if (!is_one_of(mode, {Mode::exclusive, Mode::non_exclusive}) ||
      (!is_one_of(variation, {Variation::claimed, Variation::broadcast}) &&
       variation != kAssignedVariation)) {
    return;
  }
  const std::lock_guard lock(settings_mutex_);
  settings_.mode = mode;
  settings_.variation = variation;
}

Settings Engine::settings() const {
  const std::lock_guard lock(settings_mutex_);
  return settings_;
}

// Queries a silent log for a sign of life, to tell `unowned` from `unknown`.
void Engine::watch_silence(LocalTime now) {
  if (core_) return;
  const milliseconds lease = directory_.lease();
  // The owners' lease may be much shorter than what was assumed so far.
  if (lease_.exchange(lease, std::memory_order_relaxed) != lease) next_probe_ = now;
  if (now < next_probe_) return;
  next_probe_ = later(now, lease / 2);
  for (std::uint32_t l = 0; l < log_count_; ++l) {
    const LocalTime until = directory_.answering_until(Log{l});
    // Queries while enough of T is left for the answer: what was read in the last T/4 is enough
    // until the next look.
    if (until != kLongAgo && until < later(now, lease * 3 / 4)) {
      ledger_->reread({Log{l}, ++question_, -1});
    }
  }
}

// Changes caused by time alone: a log fell silent, or was read for long enough.
void Engine::tell_silence(LocalTime now) {
  for (std::uint32_t l = 0; l < log_count_; ++l) {
    Silence silence = Silence::unknown;
    if (now < directory_.answering_until(Log{l})) {
      silence = now < history_until(Log{l}) ? Silence::unheard : Silence::unowned;
    }
    if (std::exchange(silences_[l], silence) == silence) continue;
    for (std::uint32_t p = l; p < view_.partition_count(); p += log_count_) {
      observers_.touch(Partition{p});
      if (!directory_.hint(Partition{p}).owner) tell_change(Partition{p});
    }
  }
  tell_observers(now);
}

}  // namespace neliroute
