#include "neli_core/leaving/withdrawal.h"

#include <algorithm>
#include <utility>

#include "neli_core/mutation.h"

namespace neliroute {
namespace {

// Leaders that the cluster named longer ago are out of date.
constexpr milliseconds kNamedFresh{5000};

microseconds part_of(milliseconds whole, std::uint32_t random) {
  return microseconds{whole} * static_cast<std::int64_t>(random >> 16) / 65'536;
}

}  // namespace

const char* to_string(Obstacle obstacle) noexcept {
  return obstacle == Obstacle::refused ? "refused" : "out_of_reach";
}

Withdrawal::Withdrawal(const WithdrawalOptions& options)
    : log_count_(options.logs),
      lease_(options.lease),
      bound_(std::max(2 * options.lease, options.session)),
      prepare_timeout_(options.prepare_timeout),
      assigned_(options.partitions, false),
      logs_(options.logs),
      first_pause_(std::max(kPauseFirst, kPauseFirstHeartbeats * options.heartbeat)),
      next_pause_(first_pause_) {}

void Withdrawal::assigned(const PartitionRanges& partitions, LocalTime now) {
  partitions.for_each(static_cast<std::uint32_t>(assigned_.size()), [&](Partition p) {
    if (assigned_[p.value()]) return;
    assigned_[p.value()] = true;
    LogFacts& log = logs_[log_of(p, log_count_).value()];
    if (++log.assigned > 1) return;
    log.since = now;
    log.write_refused = kLongAgo;
    log.read_refused = false;
  });
}

void Withdrawal::revoked(const PartitionRanges& partitions) {
  partitions.for_each(static_cast<std::uint32_t>(assigned_.size()), [&](Partition p) {
    if (!assigned_[p.value()]) return;
    assigned_[p.value()] = false;
    --logs_[log_of(p, log_count_).value()].assigned;
  });
}

void Withdrawal::own_record(Log log, LocalTime now) {
  LogFacts& facts = logs_[log.value()];
  facts.since = facts.answered = now;
  facts.write_refused = kLongAgo;
  facts.read_refused = false;
  if (well_since_ == kNever) well_since_ = now;
}

void Withdrawal::answered(Log log, LocalTime now) {
  logs_[log.value()].answered = now;
  logs_[log.value()].read_refused = false;
}

void Withdrawal::write_refused(Log log, LocalTime now) { logs_[log.value()].write_refused = now; }

void Withdrawal::read_refused(Log log) { logs_[log.value()].read_refused = true; }

// After a break, in which perhaps no broker answered, the same leader counts from now on.
void Withdrawal::leaders_named(const std::vector<std::optional<std::int32_t>>& leaders,
                               LocalTime now) {
  for (std::size_t l = 0; l < std::min(leaders.size(), logs_.size()); ++l) {
    LogFacts& log = logs_[l];
    const bool broken = log.leader_named == kLongAgo || now - log.leader_named > kNamedFresh;
    if (log.leader != leaders[l] || broken) log.leader_since = now;
    log.leader = leaders[l];
    log.leader_named = now;
  }
}

// An answer that had to wait for the brokers to come back: they were away, and that is no reason to
// leave.
void Withdrawal::others_counted(std::size_t others, LocalTime asked, LocalTime now) {
  if (now - asked <= kCountedFresh) others_ = others;
}

bool Withdrawal::overdue(const LogFacts& log, LocalTime now) const {
  return log.assigned > 0 && now - log.since > bound_;
}

std::optional<Obstacle> Withdrawal::obstacle(const LogFacts& log, LocalTime now) const {
  if (!overdue(log, now)) return std::nullopt;
  // Claims are written again within 2 T, so a refusal that lasts is met again.
  const bool refused_lately =
      log.write_refused != kLongAgo && now - log.write_refused <= 2 * bound_;
  if (log.read_refused || refused_lately) return Obstacle::refused;
  if (!log.leader || now - log.leader_named > kNamedFresh) return std::nullopt;
  const LocalTime silent_since = std::max({log.since, log.answered, log.leader_since});
  if (now - silent_since > std::max(bound_, kElectionMost)) return Obstacle::out_of_reach;
  return std::nullopt;
}

bool Withdrawal::wants_leaders(LocalTime now) {
  if (now < next_leaders_) return false;
  const bool silent = std::any_of(logs_.begin(), logs_.end(), [&](const LogFacts& log) {
    return log.assigned > 0 && now - std::max(log.since, log.answered) > lease_;
  });
  if (silent) next_leaders_ = later(now, kAskEvery);
  return silent;
}

// Pauses start again from the shortest once it was well in the group for as long as its last
// absence. It is well while each log gives its records back.
void Withdrawal::note_well(LocalTime now) {
  LocalTime until = now;
  for (const LogFacts& log : logs_) {
    if (overdue(log, now)) well_since_ = kNever;
    if (log.assigned > 0) until = std::min(until, log.since);
  }
  if (well_since_ == kNever || until - well_since_ < std::max(bound_, last_pause_)) return;
  next_pause_ = first_pause_;
}

Withdrawal::Step Withdrawal::step(LocalTime now, std::uint32_t random) {
  if (away_) return step_away(now, random);
  Step step;
  note_well(now);
  step.ask_leaders = wants_leaders(now);
  Leave why;
  for (std::uint32_t l = 0; l < logs_.size(); ++l) {
    const auto met = obstacle(logs_[l], now);
    if (!met) continue;
    if (why.logs.empty() || *met == Obstacle::refused) why.obstacle = *met;
    why.logs.push_back(Log{l});
  }
  if (why.logs.empty()) {
    due_ = kNever;
    others_.reset();
    alone_told_ = false;
    return step;
  }
  // If all members are affected, they leave one after another, and the last one stays.
  if (due_ == kNever) due_ = later(now, part_of(bound_ / 2, random));
  if (now >= due_) decide(step, std::move(why), now, random);
  return step;
}

void Withdrawal::decide(Step& step, Leave why, LocalTime now, std::uint32_t random) {
  const auto others = std::exchange(others_, std::nullopt);
  if (others && *others > 0 && !mutated(Mutation::never_withdraws)) {
    step.leave = leave(std::move(why), now, random);
    return;
  }
  if (others) {
    step.stays_alone = !std::exchange(alone_told_, true);
    next_count_ = later(now, bound_);
  }
  if (now < next_count_) return;
  step.ask_others = true;
  next_count_ = later(now, kAskEvery);
}

Withdrawal::Step Withdrawal::step_away(LocalTime now, std::uint32_t random) {
  Step step;
  const auto others = std::exchange(others_, std::nullopt);
  step.join = others && *others == 0;
  if (now < next_count_) return step;
  step.ask_others = true;
  next_count_ = later(now, kAwayAskEvery) + part_of(kAwayAskEvery, random);
  return step;
}

Withdrawal::Leave Withdrawal::leave(Leave why, LocalTime now, std::uint32_t random) {
  const milliseconds half = next_pause_ / 2;
  why.pause =
      prepare_timeout_ + half + std::chrono::duration_cast<milliseconds>(part_of(half, random));
  last_pause_ = why.pause;
  next_pause_ = std::min(2 * next_pause_, std::max(kPauseMost, first_pause_));
  away_ = true;
  next_count_ = later(now, kAwayAskEvery) + part_of(kAwayAskEvery, random);
  due_ = well_since_ = kNever;
  alone_told_ = false;
  return why;
}

}  // namespace neliroute
