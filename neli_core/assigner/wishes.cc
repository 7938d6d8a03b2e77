#include "neli_core/assigner/wishes.h"

#include <utility>

#include "neli_core/mutation.h"

namespace neliroute {
namespace {

// Lists come every half a lease: more wishes between two are no operator's. Each list applies them
// again, so a flood of them must not keep its readers busy.
constexpr std::size_t kLaterMax = 512;

void unpin(const PartitionRanges& partitions, StandingWishes& standing) {
  for (auto& [name, pinned] : standing.pins) pinned.erase(partitions);
  std::erase_if(standing.pins, [](const auto& pin) { return pin.second.empty(); });
}

void change(const Wish& wish, StandingWishes& standing) {
  switch (wish.verb) {
    case WishVerb::cordon:
      standing.cordoned.insert(wish.name);
      break;
    case WishVerb::uncordon:
      standing.cordoned.erase(wish.name);
      break;
    case WishVerb::weight:
      standing.weights[wish.name] = wish.weight;
      break;
    case WishVerb::unweight:
      standing.weights.erase(wish.name);
      break;
    case WishVerb::pin:
      unpin(wish.partitions, standing);
      standing.pins[wish.name].insert(wish.partitions);
      break;
    case WishVerb::unpin:
      unpin(wish.partitions, standing);
      break;
    case WishVerb::pause_moves:
      standing.moves_paused = true;
      break;
    case WishVerb::resume_moves:
      standing.moves_paused = false;
      break;
  }
}

}  // namespace

WishEffect apply(const Wish& wish, StandingWishes& standing) {
  StandingWishes changed = standing;
  change(wish, changed);
  if (changed == standing) return WishEffect::nothing_new;
  const bool fits = standing_bytes(changed) <= kStandingBytesMax ||
                    mutated(Mutation::wishes_without_bound);
  if (!fits) return WishEffect::too_much;
  standing = std::move(changed);
  return WishEffect::changes;
}

bool wished_cordoned(const Member& member, const StandingWishes& standing) {
  if (mutated(Mutation::cordons_ignored)) return member.fields.cordoned;
  const bool own = member.fields.cordoned && !mutated(Mutation::own_cordons_ignored);
  return own || standing.cordoned.contains(member.process.name);
}

std::uint32_t wished_weight(const Member& member, const StandingWishes& standing) {
  return wished_cordoned(member, standing) ? 0 : uncordoned_weight(member, standing);
}

std::uint32_t uncordoned_weight(const Member& member, const StandingWishes& standing) {
  const auto wished = standing.weights.find(member.process.name);
  const bool weighed = wished != standing.weights.end() && !mutated(Mutation::weights_ignored);
  return weighed ? wished->second : member.fields.weight;
}

// Before the first record of all nothing was wished. After a gap, what was known stays until a list
// says more: most of it will still hold.
void Wishes::tail_started(const TailStarted& event, LocalTime now) {
  started_ = true;
  since_ = now;
  known_ = event.below == Below::nothing;
  later_from_ = mutated(Mutation::starts_unread) ? event.start : event.whole_from();
  later_.clear();
  listed_upto_ = -1;
  last_wish_ = -1;
  if (known_) set({});
  ++version_;
}

void Wishes::excuse(microseconds stretch) noexcept {
  if (since_ != kLongAgo) since_ = later(since_, stretch);
}

WishEffect Wishes::read(std::int64_t offset, const Wish& wish) {
  if (!std::exchange(used_, true)) ++version_;
  last_wish_ = offset;
  later_.emplace_back(offset, wish);
  if (later_.size() > kLaterMax) {
    later_from_ = later_.front().first + 1;
    later_.pop_front();
  }
  const WishEffect effect = apply(wish, standing_);
  if (effect == WishEffect::changes) ++version_;
  if (effect == WishEffect::too_much) ++ignored_;
  return effect;
}

// One of before what is known says nothing new; nor does one that speaks for what is not there yet,
// as its writer read another log.
void Wishes::read_list(std::int64_t offset, const AssignmentRecord& list, bool certain) {
  if (!std::exchange(used_, true)) ++version_;
  if (list.upto < later_from_ && !mutated(Mutation::old_lists_count)) return;
  if (list.upto > offset && !mutated(Mutation::lists_of_elsewhere)) return;
  listed_upto_ = list.upto;
  later_from_ = list.upto;
  while (!later_.empty() && later_.front().first < list.upto) later_.pop_front();
  if (certain && !std::exchange(known_, true)) ++version_;
  StandingWishes standing = list.standing;
  for (const auto& [at, wish] : later_) {
    if (!mutated(Mutation::list_undoes_wishes)) apply(wish, standing);
  }
  set(std::move(standing));
}

void Wishes::tick(LocalTime now) {
  if (known_ || !started_ || now < known_at()) return;
  known_ = true;
  ++version_;
}

void Wishes::set(StandingWishes standing) {
  if (standing == standing_) return;
  standing_ = std::move(standing);
  ++version_;
}

}  // namespace neliroute
