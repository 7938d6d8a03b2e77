#include "neli_core/assigner/overrides.h"

#include <utility>

#include "neli_core/mutation.h"

namespace neliroute {
namespace {

// Lists come every half a lease: more overrides between two are no operator's. Each list applies
// them again, so a flood of them must not keep its readers busy.
constexpr std::size_t kLaterMax = 512;

void unpin(const PartitionRanges& partitions, StandingOverrides& standing) {
  for (auto& [name, pinned] : standing.pins) pinned.erase(partitions);
  std::erase_if(standing.pins, [](const auto& pin) { return pin.second.empty(); });
}

void change(const Override& override, StandingOverrides& standing) {
  switch (override.verb) {
    case OverrideVerb::cordon:
      standing.cordoned.insert(override.name);
      break;
    case OverrideVerb::uncordon:
      standing.cordoned.erase(override.name);
      break;
    case OverrideVerb::weight:
      standing.weights[override.name] = override.weight;
      break;
    case OverrideVerb::unweight:
      standing.weights.erase(override.name);
      break;
    case OverrideVerb::pin:
      unpin(override.partitions, standing);
      standing.pins[override.name].insert(override.partitions);
      break;
    case OverrideVerb::unpin:
      unpin(override.partitions, standing);
      break;
    case OverrideVerb::pause_moves:
      standing.moves_paused = true;
      break;
    case OverrideVerb::resume_moves:
      standing.moves_paused = false;
      break;
  }
}

}  // namespace

OverrideEffect apply(const Override& override, StandingOverrides& standing) {
  StandingOverrides changed = standing;
  change(override, changed);
  if (changed == standing) return OverrideEffect::nothing_new;
  const bool fits =
      standing_bytes(changed) <= kStandingBytesMax || mutated(Mutation::overrides_without_bound);
  if (!fits) return OverrideEffect::too_much;
  standing = std::move(changed);
  return OverrideEffect::changes;
}

bool is_cordoned(const Member& member, const StandingOverrides& standing) {
  if (mutated(Mutation::cordons_ignored)) return member.fields.cordoned;
  const bool own = member.fields.cordoned && !mutated(Mutation::own_cordons_ignored);
  return own || standing.cordoned.contains(member.process.name);
}

std::uint32_t effective_weight(const Member& member, const StandingOverrides& standing) {
  return is_cordoned(member, standing) ? 0 : uncordoned_weight(member, standing);
}

std::uint32_t uncordoned_weight(const Member& member, const StandingOverrides& standing) {
  const auto ordered = standing.weights.find(member.process.name);
  const bool weighed = ordered != standing.weights.end() && !mutated(Mutation::weights_ignored);
  return weighed ? ordered->second : member.fields.weight;
}

// Before the first record of all there was no override. After a gap, what was known stays until a
// list says more: most of it will still hold.
void Overrides::tail_started(const TailStarted& event, LocalTime now) {
  started_ = true;
  since_ = now;
  known_ = event.below == Below::nothing;
  later_from_ = event.start;
  later_.clear();
  listed_upto_ = -1;
  last_override_ = -1;
  if (known_) set({});
  ++version_;
}

void Overrides::excuse(microseconds stretch) noexcept {
  if (since_ != kLongAgo) since_ = later(since_, stretch);
}

OverrideEffect Overrides::read(std::int64_t offset, const Override& override) {
  if (!std::exchange(used_, true)) ++version_;
  last_override_ = offset;
  later_.emplace_back(offset, override);
  if (later_.size() > kLaterMax) {
    later_from_ = later_.front().first + 1;
    later_.pop_front();
  }
  const OverrideEffect effect = apply(override, standing_);
  if (effect == OverrideEffect::changes) ++version_;
  if (effect == OverrideEffect::too_much) ++ignored_;
  return effect;
}

// One of before what is known says nothing new; nor does one that speaks for what is not there yet,
// as its writer read another log.
void Overrides::read_list(std::int64_t offset, const AssignmentRecord& list, bool certain) {
  if (!std::exchange(used_, true)) ++version_;
  if (list.upto < later_from_ && !mutated(Mutation::old_lists_count)) return;
  if (list.upto > offset && !mutated(Mutation::lists_of_elsewhere)) return;
  listed_upto_ = list.upto;
  later_from_ = list.upto;
  while (!later_.empty() && later_.front().first < list.upto) later_.pop_front();
  if (certain && !std::exchange(known_, true)) ++version_;
  StandingOverrides standing = list.standing;
  for (const auto& [at, override] : later_) {
    if (!mutated(Mutation::list_undoes_overrides)) apply(override, standing);
  }
  set(std::move(standing));
}

void Overrides::tick(LocalTime now) {
  if (known_ || !started_ || now < known_at()) return;
  known_ = true;
  ++version_;
}

void Overrides::set(StandingOverrides standing) {
  if (standing == standing_) return;
  standing_ = std::move(standing);
  ++version_;
}

}  // namespace neliroute
