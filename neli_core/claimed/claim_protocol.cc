#include "neli_core/claimed/claim_protocol.h"

#include <algorithm>
#include <neliroute/detail/assert.h>
#include <utility>

namespace neliroute {

Result<ClaimProtocol> ClaimProtocol::make(CoreOptions options) {
  options.settings.mode = to_string(options.mode);
  if (auto valid = options.validate(); !valid) return valid.error();
  return ClaimProtocol(std::move(options));
}

ClaimProtocol::ClaimProtocol(CoreOptions options)
    : options_(std::move(options)),
      leases_(std::make_shared<LeaseVector>(options_.settings.partitions)),
      partitions_(options_.settings.partitions),
      logs_(options_.settings.logs),
      deadlines_(options_.settings.partitions),
      barriers_(options_.settings.partitions, options_.lease),
      closing_(options_.lease),
      agreement_(options_.settings, options_.lane),
      lease_bound_(options_),
      pacing_(options_.heartbeat) {}

void ClaimProtocol::step(const Event& event, LocalTime now) {
  tick(now);
  std::visit([this](const auto& e) { on(e); }, event);
  tick(now);
}

void ClaimProtocol::tick(LocalTime now) {
  NELIROUTE_ASSERT(now >= now_, "time must not run backwards");
  now_ = now;
  if (!first_now_) first_now_ = now;
  forget_seniority();
  for (std::uint32_t l = 0; l < logs_.size(); ++l) check_silence(Log{l});
  while (deadlines_.earliest() <= now_) evaluate(deadlines_.first());
  check_agreement();
  follow_doubt();
  advance_subscription();
  advance_closing();
  advance_expedite();
  schedule_renewals();
}

Ready ClaimProtocol::take_ready() {
  write_greeting();
  for (std::uint32_t l = 0; l < logs_.size(); ++l) {
    // In exclusive mode a successor waits for the release. Otherwise nobody does, and a process
    // that released its own older epoch before it said that it leads with the newer one would look
    // unowned.
    if (exclusive()) write_releases(Log{l});
    write_claims(Log{l});
    write_renewals(Log{l});
    write_releases(Log{l});
  }
  tell_warm_ups();
  return std::exchange(ready_, Ready{});
}

LocalTime ClaimProtocol::next_deadline() const noexcept {
  LocalTime next = deadlines_.earliest();
  for (const LogState& l : logs_) {
    if (l.started) next = std::min(next, l.reread_at);
    // Who serves on keeps awake, also while renewals are stuck.
    if (!l.renewal_due || serves_on()) next = std::min(next, l.next_renewal);
  }
  if (!subscribed_ && !closing_.begun()) {
    const LocalTime start = first_now_.value_or(now_);
    const auto undecided = agreement_.undecided_until(now_);
    next = std::min(next, undecided.value_or(later(start, kHistoryBound)));
  }
  next = std::min(next, pacing_.due());
  if (greeting_due_) {
    if (const auto undecided = agreement_.undecided_until(now_)) next = std::min(next, *undecided);
  }
  if (closing_.stage() == ClosingStage::stopping && barriers_.none_runs()) {
    next = std::min(next, released_by_);
  }
  return std::min(next, closing_.until());
}

RoleState ClaimProtocol::role_state(Partition partition) const noexcept {
  const PartitionState& p = state(partition);
  if (p.serves() && p.own->serves_until > now_) {
    return p.own->draining ? RoleState::draining : RoleState::leading;
  }
  return p.assigned || p.own ? RoleState::looking : RoleState::following;
}

std::optional<Epoch> ClaimProtocol::epoch(Partition partition) const noexcept {
  const PartitionState& p = state(partition);
  return p.own ? std::optional(p.own->epoch) : std::nullopt;
}

LocalTime ClaimProtocol::lease_until(Partition partition) const noexcept {
  const PartitionState& p = state(partition);
  return p.serves() ? p.own->lease_until : kLongAgo;
}

std::uint16_t ClaimProtocol::generation(Partition partition) const noexcept {
  return state(partition).generation;
}

void ClaimProtocol::announce(TransitionKind kind, Partition partition, const Epoch& epoch) {
  ready_.transitions.push_back({kind, partition, epoch, now_});
}

}  // namespace neliroute
