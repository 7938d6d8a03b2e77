#include "router/reader/watching_reader.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <initializer_list>
#include <string>
#include <tuple>
#include <utility>

namespace neliroute {
namespace {

template <class Choice>
bool is_one_of(const std::string& text, std::initializer_list<Choice> choices) {
  return std::any_of(choices.begin(), choices.end(),
                     [&](Choice choice) { return text == to_string(choice); });
}

KnownLaneOptions lane_options(const DirectoryOptions& reads, const Settings& settings) {
  return {reads.lane, kNobody, milliseconds{0}, kLeaseMax, reads.logs, settings.partitions,
          settings, reads.believe_broker_time};
}

}  // namespace

WatchingReader::WatchingReader(ReaderParts parts, Settings settings)
    : Reader(std::move(parts)),
      lane_(lane_options(directory_.options(), settings)),
      agreement_(settings, directory_.lane(), /*member=*/false),
      settings_(std::move(settings)) {}

// Does what the state machine does for an owner: restarts tails after a gap, and notices settings
// that differ from the group's, with which a key would be sent to the wrong process.
void WatchingReader::step(const Event& event, LocalTime now) {
  meter_.before(event, nullptr, now);
  std::visit([&](const auto& e) { lane_.on(e, now); }, event);
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
                    !directory_.is_history(*received));
    learn(*record);
  }
}

LocalTime WatchingReader::own_deadline() const {
  return std::min(next_probe_, lane_.next_deadline(last_now_));
}

void WatchingReader::carry_out(LocalTime now) {
  mark_suspects(now);
  compare_settings(now);
  publish(now);
  tell_observers(now);
  if (!observers_.empty()) tell_assignment();
  if (closed_) return;
  tell_difference();
  probe_silent_logs(now);
  end_turn(now);
  if (!closed_) arm();
}

// Slots, or the keys that hash to them, are not the same here as for the owners, so every answer
// would name the wrong process. The owners may be restarted with the settings of this watcher.
void WatchingReader::compare_settings(LocalTime now) {
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
void WatchingReader::tell_difference() {
  if (differs_.has_value() == difference_told_) return;
  difference_told_ = differs_.has_value();
  if (differs_) return tell_failure(*differs_);
  if (!abandoned_) observers_.tell_recovery();
}

void WatchingReader::learn(const Record& record) {
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

Settings WatchingReader::settings() const {
  const std::lock_guard lock(settings_mutex_);
  return settings_;
}

// Queries a silent log for a sign of life, to tell `unowned` from `unknown`.
void WatchingReader::probe_silent_logs(LocalTime now) {
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

void WatchingReader::set_change_handler(ChangeHandler handler) {
  boost::asio::post(strand_, [self = self(), handler = std::move(handler)]() mutable {
    self->on_change_ = std::move(handler);
    if (self->closed_) return;
    for (std::uint32_t p = 0; p < self->view_.partition_count(); ++p) {
      self->tell_change(Partition{p});
    }
    self->arm();
  });
}

void WatchingReader::set_failure_handler(FailureHandler handler) {
  boost::asio::post(strand_, [self = self(), handler = std::move(handler)]() mutable {
    self->on_failure_ = std::move(handler);
    if (self->failure() && !self->abandoned_) self->tell_application(*self->failure());
  });
}

void WatchingReader::tell_change(Partition partition) const {
  if (!on_change_ || abandoned_) return;
  handlers_.run("on_change", partition, [&] { on_change_(partition); });
}

void WatchingReader::tell_application(const Error& error) {
  if (!on_failure_) return;
  handlers_.run("on_failure", std::nullopt, [&] { on_failure_(error); });
}

}  // namespace neliroute
