// What a directory makes of the records that existed before its tail started.
//
// Nobody knows how old they are before a newer record is read, as brokers' clocks are not compared
// with this machine's. Until then a second directory, of which the clock is the log's, reads them.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <variant>

#include "router/view/directory.h"

namespace neliroute {
namespace {

// Within 30,000 years, so that times can be added.
LocalTime in_log(BrokerTime stamped) {
  constexpr milliseconds kMost{std::int64_t{1} << 50};
  return LocalTime{std::clamp(stamped.time_since_epoch(), -kMost, kMost)};
}

}  // namespace

void Directory::read_past(const Received& event) {
  if (!event.store_stamped) return;
  if (const auto* record = std::get_if<Record>(event.value); record && has_other_slots(*record)) {
    return;
  }
  const LocalTime at = in_log(event.stamped);
  if (!past_) {
    DirectoryOptions options = options_;
    options.serve_stale = milliseconds{0};  // how long a silence was cannot be known from there
    past_ = std::make_unique<Directory>(std::move(options));
  }
  if (!past_->logs_[event.log.value()].started) {
    past_->on(TailStarted{event.log, event.offset, event.offset}, at);
  }
  past_->tick(at);
  past_->on(event, at);
  past_->changed_.clear();
  past_->renewed_.clear();
  past_->gaps_.clear();
  past_->overlaps_.clear();
}

// Any record shows what time it is in the log, whoever wrote it. If it does not, what follows is
// read as it would be without a past, which so becomes outdated.
void Directory::date_past(const Received& event, LocalTime now) {
  if (past_ && event.store_stamped) {
    place(event.log).for_each([&](Partition p) {
      const Hint& past = past_->hints_[p.value()];
      if (past.owner) adopt(p, past, now - in_log(event.stamped), now);
    });
  }
  drop_past(event.log);
}

// This machine's clock is `ahead` of the log's.
void Directory::adopt(Partition partition, const Hint& past, microseconds ahead, LocalTime now) {
  Hint& hint = hints_[partition.value()];
  const LocalTime until =
      std::min(past.until + ahead - options_.clock_error, later(now, past.lease));
  if (until <= now || hint.owner) return;
  if (past.epoch < hint.epoch || (past.epoch == hint.epoch && hint.released)) return;
  if (is_of_this_place(past.owner)) return;
  if (!mode_told_) options_.mode = past_->options_.mode;
  const std::uint16_t generation = hint.generation;
  hint = past;
  hint.generation = static_cast<std::uint16_t>(generation + 1);
  hint.until = hint.lease_until = until;
  hint.stale_until = kLongAgo;
  hint.from_past = true;
  hint.lost_at = hint.moved_at = hint.unowned_since = kLongAgo;
  if (is_of_this_place(hint.next)) hint.next.reset();
  hint.owner = peer(past.owner->id, past.owner->info);
  expiries_.set(partition, until);
  renewed_.push_back(partition);
  note_change(partition);
}

bool Directory::is_of_this_place(const PeerPtr& who) const {
  return who && !options_.endpoint.empty() && who->info.endpoint == options_.endpoint;
}

bool Directory::has_other_slots(const Record& record) const {
  if (!options_.settings || !record.settings) return false;
  const auto key = [](const Settings& one) {
    return std::tie(one.slots, one.partitions, one.logs, one.hash);
  };
  return key(*options_.settings) != key(*record.settings);
}

void Directory::drop_past(Log log) {
  if (!std::exchange(logs_[log.value()].has_past, false) || !past_) return;
  const bool needed = std::any_of(logs_.begin(), logs_.end(),
                                  [](const LogView& view) { return view.has_past; });
  if (!needed) return past_.reset();
  past_->on(GapFound{log, GapReason::restarted}, kLongAgo);
}

}  // namespace neliroute
