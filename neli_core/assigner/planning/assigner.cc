#include "neli_core/assigner/planning/assigner.h"

#include <algorithm>
#include <utility>

#include "neli_core/mutation.h"

namespace neliroute {
namespace {

// Where much changes, every record may change the plan, which takes a look at every partition.
constexpr int kPlansInInterval = 8;

std::uint64_t version_of(const AssignerView& view) {
  return view.members.version() + view.owners.version() + view.designations.version() +
         view.overrides.version();
}

}  // namespace

void Assigner::begin(ProcessId predecessor, LocalTime now) {
  if (active_) return;
  active_ = true;
  gates_.begin(predecessor, now);
  patience_.begin_anew();
  waiting_.reset();
  planned_ = kLongAgo;
  repeated_ = now;
  seen_ = UINT64_MAX;
  next_ = now;
}

void Assigner::read_anew(Log log, LocalTime now) {
  gates_.read_anew(log, now);
  patience_.restarted(log);
}

bool Assigner::repeats(LocalTime now) const noexcept {
  return !mutated(Mutation::never_repeats) && now >= later(repeated_, 2 * options_.interval);
}

microseconds Assigner::patience_with(const AssignerView& view, ProcessId designee) const {
  const Member* const member = view.members.find(designee);
  const milliseconds session = member == nullptr ? options_.session : member->fields.session;
  const milliseconds patience = patience_with_designees(options_.mode, session, options_.interval,
                                                        view.longest_lease);
  // It must read that it is named, and its own claim.
  return with_drift(patience) + 2 * view.lag;
}

// Leases end without a record, so who leads is looked up, too.
void Assigner::note_designees(const AssignerView& view, LocalTime now) {
  for (std::uint32_t p = 0; p < view.designations.count(); ++p) {
    const ProcessId designee = view.designations.at(Partition{p}).id;
    patience_.name(Partition{p}, designee, patience_with(view, designee));
    const Owner owner = view.owners.at(Partition{p}, now);
    if (designee != kNobody && owner.id == designee) look_again(owner.until);
  }
}

std::vector<Designation> Assigner::decide(const AssignerView& view, LocalTime now) {
  if (!active_) return {};
  const std::uint64_t version = version_of(view);
  if (now < next_) {
    if (version == seen_) return {};
    const LocalTime earliest = later(planned_, options_.interval / kPlansInInterval);
    if (now < earliest && !mutated(Mutation::plans_without_pause)) {
      look_again(earliest);
      return {};
    }
  }
  planned_ = now;
  next_ = kNever;
  bans_.forget(now);
  look_again(bans_.next_end(now));
  note_designees(view, now);
  waiting_ = gates_.closed(view, now);
  for (Notice& notice : gates_.take_notices()) notices_.push_back(std::move(notice));
  if (waiting_) {
    look_again(waiting_->until);
    return {};
  }
  seen_ = version;
  return plan(view, now);
}

std::vector<Designation> Assigner::plan(const AssignerView& view, LocalTime now) {
  Round round(options_.logs, view, bans_, &patience_, now);
  std::vector<Designation> made = round.designations(repeats(now));
  // A log that does not flow brings nobody's end nearer.
  look_again(std::max(round.next(), later(now, options_.interval / kPlansInInterval)));
  for (const Notice& notice : round.given_up()) notices_.push_back(notice);
  given_up_ += round.given_up().size();
  if (round.nobody_takes() && !told_cordoned_) {
    notices_.push_back({Severity::warning, "every member is cordoned or of weight 0: "
                                           "nobody is named for what nobody owns"});
  }
  told_cordoned_ = round.nobody_takes();
  if (round.unfinished()) {
    if (repeats(now)) repeated_ = now;
    look_again(later(repeated_, 2 * options_.interval));
  } else {
    repeated_ = now;
  }
  if (!made.empty()) {
    gates_.wrote(now);
    look_again(later(now, 2 * options_.interval));  // it may be lost, and nobody told
  }
  if (next_ <= now) next_ = later(now, options_.interval);
  return made;
}

std::vector<WouldMove> Assigner::would_move(const AssignerView& view, std::uint32_t logs,
                                            LocalTime now) {
  Bans none;
  return Round(logs, view, none, nullptr, now).moves();
}

std::vector<Notice> Assigner::take_notices() { return std::exchange(notices_, {}); }

}  // namespace neliroute
