#include "tests/sim/oracle.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

namespace neliroute::sim {

std::string clock_text(Time now) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%" PRId64 ".%03" PRId64 " ms", now / 1000, now % 1000);
  return text.data();
}

std::string Oracle::name_of(std::uint32_t part) const {
  const std::string lane =
      plan_.lanes == 1 ? "" : " of lane " + std::to_string(part / plan_.partitions);
  return "partition " + std::to_string(part % plan_.partitions) + lane;
}

Time Oracle::disturbed_until(std::uint8_t node) const {
  return std::max(node_until_[node], *std::max_element(log_until_.begin(), log_until_.end()));
}

void Oracle::leads(std::uint8_t node, std::uint32_t part, Time until, Time now) {
  auto& ends = ends_[part];
  const bool begins = until > now;
  if (begins && plan_.exclusive()) {
    for (std::uint8_t other = 0; other < plan_.processes; ++other) {
      if (other == node || may_both_lead(node, other)) continue;
      if (ends[other] > now) {
        if (plan_.beyond_claimed()) count(Judged::two_leaders);
        broken_if_assumed("two leaders of " + name_of(part) + ": processes " +
                              std::to_string(other) + " and " + std::to_string(node),
                          now);
      } else if (!plan_.broadcast() && occupied_[part][other] > now) {
        broken_if_assumed("process " + std::to_string(node) + " leads " + name_of(part) +
                   " before the barrier of process " + std::to_string(other) + " has ended",
               now);
      }
    }
  }
  if (begins && gap_since_[part] != 0) close_gap(part, now);
  if (begins && ends[node] <= now) since_[part][node] = now;
  ends[node] = begins ? until : std::min(ends[node], now);
  cover(part, now);
}

void Oracle::starts(std::uint8_t node, Time now) {
  bool is_alone = true;
  for (std::uint8_t n = 0; n < plan_.processes; ++n) {
    if (n % plan_.lanes == node % plan_.lanes && present_since_[n] <= now) is_alone = false;
  }
  note_nothing_lives(node, now);
  present_since_[node] = now;
  // Who finds nobody, or only who is leaving, takes over like from the dead; and without a broker's
  // time it waits for the longest lease from its start on.
  if (is_alone || plan_.has(Fault::no_broker_time)) wrong(now);
}

bool Oracle::may_both_lead(std::uint8_t node, std::uint8_t other) const {
  return mode_[node] == Mode::non_exclusive && mode_[other] == Mode::non_exclusive;
}

void Oracle::occupies(std::uint8_t node, std::uint32_t part, Time until, Time now) {
  occupied_[part][node] = until;
  if (until > now) count(Judged::barriers);
}

void Oracle::leaves(std::uint8_t node, Time now) {
  present_since_[node] = INT64_MAX;
  note_nothing_lives(node, now);
}

// A6: nobody that lives and does not leave leads anything of the lane, or is named for it.
void Oracle::note_nothing_lives(std::uint8_t node, Time now) {
  const std::uint32_t lane = node % plan_.lanes;
  const std::uint32_t first = lane * plan_.partitions;
  for (std::uint32_t p = first; p < first + plan_.partitions; ++p) {
    const auto& [designee, named] = designee_[p];
    if (named != 0 && present_since_[designee] <= named) return;
    for (std::uint8_t n = 0; n < plan_.processes; ++n) {
      if (ends_[p][n] > now && present_since_[n] <= now) return;
    }
  }
  nothing_lives_[lane] = now;
}

void Oracle::died(std::uint8_t node, Time now) {
  leaves(node, now);
  for (std::uint32_t p = 0; p < parts(); ++p) {
    occupied_[p][node] = 0;
    if (ends_[p][node] > now) leads(node, p, now, now);
  }
}

void Oracle::cover(std::uint32_t part, Time now) {
  const bool was_led = covered_until_[part] != 0;
  Time until = 0;
  for (std::uint8_t n = 0; n < plan_.processes; ++n) {
    until = std::max(until, ends_[part][n]);
  }
  if (until > now) {
    if (!was_led) covered_since_[part] = now;
    covered_until_[part] = until;
    next_end_ = std::min(next_end_, until);
  } else if (was_led) {
    covered_until_[part] = 0;
    open_gap(part, now);
  }
}

void Oracle::find_gaps(Time now) {
  next_end_ = INT64_MAX;
  for (std::uint32_t p = 0; p < parts(); ++p) {
    const Time until = covered_until_[p];
    if (until == 0) continue;
    if (until < now) {
      covered_until_[p] = 0;
      open_gap(p, until);
    } else {
      next_end_ = std::min(next_end_, until);
    }
  }
}

void Oracle::open_gap(std::uint32_t part, Time start) {
  gap_since_[part] = start;
  led_ += start - covered_since_[part];
  if (plan_.exclusive()) return;
  const Time grace = plan_.stops_within();
  bool excused = log_stops_until_[plan_.log_of(part)] + grace >= start;
  if (plan_.broadcast()) {
    // Nobody leads on there until its successor hears, or the group has chosen one.
    const auto& [node, at] = assignee_[part];
    // It may be the drainer, given back too late what the one before could not lead.
    const bool just_now = at + plan_.known_by() >= start;
    excused = excused || node_until_[node] + grace >= start ||
              (just_now && node_until_[assignee_before_[part]] + grace >= start) ||
              group_until_ + grace >= start || !somebody_stayed(part, start);
    // Nor does who was given back what it led before, while the barrier of that still runs.
    excused = excused || occupied_[part][node] >= start;
    const bool nobodys = taken_[part] || present_since_[node] == INT64_MAX;
    excused = excused || (nobodys && waits_for_the_dead(part, start));
  }
  for (std::uint8_t n = 0; n < plan_.processes && !excused; ++n) {
    // A successor that died before its predecessor had read that it leads is one of them. What it
    // said while it led may be stored later than that, if it was stopped before it could send it,
    // and be read later by as much as a write can be late.
    const Time late = plan_.has(Fault::write_late) ? 2 * plan_.lease() : 0;
    // Who came in exclusive mode and found nobody to refuse beside stops at its successor's claim.
    const bool stops_early = mode_[n] == Mode::exclusive && ends_[part][n] == start;
    const Time led_until = std::max(ends_[part][n], said_[part][n]);
    excused = stops_early ||
              (led_until + grace + late >= start && may_have_stopped(n, part, start));
  }
  if (!excused) {
    broken_if_assumed(name_of(part) + " becomes unowned, and nothing was wrong",
           start);
  }
}

bool Oracle::may_have_stopped(std::uint8_t node, std::uint32_t part, Time start) const {
  const auto lately = [&](Time until) {
    return until != 0 && until + plan_.stops_within() >= start;
  };
  if (lately(node_stops_until_[node]) || stopped_by_store(node, part, start)) return true;
  const bool cut = lately(node_until_[node]) || lately(log_until_[plan_.log_of(part)]);
  if (!cut) return false;
  // It serves on, if it does not leave and nothing tells it to stop. What it reads late may be that
  // of a successor that stopped meanwhile.
  if (present_since_[node] == INT64_MAX || plan_.has(Fault::other_settings)) return true;
  // Another was named for it, and had the time to lead it that this one gives it, and that begins
  // anew while the assigner names nobody there.
  const auto& [designee, named] = designee_[part];
  const Time beside = start - std::max(named, unread(part)) - plan_.patience();
  const bool has_been_told = beside >= 0 && beside <= plan_.settled() + plan_.interval();
  if (named != 0 && designee != node && has_been_told) return true;
  if (may_have_read_of_others(node, part, start)) return true;
  const Time longest = 2 * plan_.settled() + plan_.session();
  for (std::uint8_t n = 0; n < plan_.processes; ++n) {
    const bool of_lane = n % plan_.lanes == node % plan_.lanes;
    const Time stopped = node_stops_until_[n];
    if (n != node && of_lane && stopped != 0 && stopped + longest >= start) return true;
  }
  return false;
}

// A store refused what it served on. Who led beside it before stops as well once it reads that it
// led: what it wrote until then may land for as long as it is cut off, and be read later.
bool Oracle::stopped_by_store(std::uint8_t node, std::uint32_t part, Time start) const {
  const Time refused = refused_[part][node];
  if (refused == 0 || refused != ends_[part][node]) return false;
  for (std::uint8_t n = 0; n < plan_.processes; ++n) {
    const bool stops = ends_[part][n] == start && since_[part][n] <= refused;
    const Time read_by = std::max(node_until_[node], disturbed_until(n)) + plan_.known_by();
    if (n == node ? start == refused : stops && start <= read_by) return true;
  }
  return false;
}

Time Oracle::unread(std::uint32_t part) const {
  return unread_[part / plan_.partitions][plan_.log_of(part)];
}

// Another was named once since it led. It may read that late, in log 0, and nothing yet of what was
// written after it; what was written before it was cut off, it has read.
bool Oracle::may_have_read_of_others(std::uint8_t node, std::uint32_t part, Time start) const {
  const auto since = [&](Time begun, Time until) {
    return until + plan_.stops_within() >= start ? begun : start;
  };
  const Time cut_since =
      std::min(since(node_since_[node], node_until_[node]), since(log_since_[0], log_until_[0]));
  const auto has_read = [&](Time written) { return written + plan_.known_by() < cut_since; };
  const Namings& named = namings_[part][node];
  const Time read_by = std::max(node_until_[node], log_until_[0]) + plan_.settled();
  if (named.first_other <= since_[part][node] || named.first_other >= read_by) return false;
  if (named.it > named.last_other && has_read(named.it)) return false;
  Time from = has_read(named.last_other) ? named.last_other : named.first_other;
  if (has_read(unread(part))) from = std::max(from, unread(part));
  from += plan_.patience();
  return start >= from && start <= read_by + plan_.patience();
}

// And was not disturbed, for long enough to take over from those who left.
bool Oracle::somebody_stayed(std::uint32_t part, Time until) const {
  for (std::uint8_t n = 0; n < plan_.processes; ++n) {
    const bool of_lane = n % plan_.lanes == part / plan_.partitions;
    const Time fit = std::max(present_since_[n], node_until_[n]);
    if (of_lane && fit <= until - plan_.takeover()) return true;
  }
  return false;
}

// A classic group chooses no successor until the session of each dead member is over.
bool Oracle::waits_for_the_dead(std::uint32_t part, Time start) const {
  const std::vector<Time>& all = crashes_[part / plan_.partitions];
  return plan_.classic() && !all.empty() && all.back() + plan_.takeover() >= start;
}

void Oracle::close_gap(std::uint32_t part, Time now) {
  const Time start = gap_since_[part];
  gap_since_[part] = 0;
  longest_gap_ = std::max(longest_gap_, now - start);
  if (now > start) ++gaps_;
  // Without an assumption of `broadcast` nobody promises when somebody leads.
  if (plan_.broadcast() && !plan_.request.beyond.empty()) return;
  count(is_planned(start) ? Judged::planned_gaps : Judged::disturbed_gaps);
  const Time since = std::max(start, std::min(disturbed_until_, now));
  Time allowed = since + allowed_gap(part, start, since);
  // Where all that may own something were leaving, or are cordoned: as from nothing (A6).
  if (plan_.assigner() && nothing_lives_[part / plan_.partitions] >= start) {
    allowed = std::max(allowed, last_start(part, now) + plan_.healed_after_a_start());
  }
  const std::uint32_t crashes = crashes_before(part, start);
  if (plan_.has(Fault::sick)) {
    // Also where nobody died: what it has, or is named for, it may not lead.
    const Time last = std::max(start, departed_[part / plan_.partitions]);
    // In exclusive mode its claims that are on their way hold up who was named in its place.
    allowed = last + plan_.healed_beside_the_sick(crashes) + (plan_.exclusive() ? claims_late_ : 0);
    count(Judged::sick_gaps);
  } else if (crashes > 0 && only_crashes(part, start)) {
    count(Judged::crash_gaps);
    const Time last = std::max(start, departed_[part / plan_.partitions]);
    const bool some_lead = leads_on(part, start, now);
    Time healed = last + plan_.healed(crashes, some_lead) +
                  plan_.healed_by(newcomers(part, start, now));
    // Who starts meanwhile delays nobody, but where nobody leads.
    if (!some_lead) {
      const Time awaited = last_start(part, now) + plan_.healed_after_a_start();
      healed = std::clamp(awaited, healed, healed + plan_.longer_from_nothing());
    }
    allowed = std::min(allowed, healed);
  }
  if (now > allowed) {
    broken_if_assumed(name_of(part) + " was unowned for " +
               clock_text(now - start) + ", " + clock_text(now - allowed) +
               " longer than a take-over takes",
           now);
  }
}

Time Oracle::allowed_gap(std::uint32_t part, Time start, Time since) const {
  const Time further = further_rebalances(part, since);
  if (plan_.broadcast() && plan_.exclusive()) {
    // No release tells anything there: a successor waits for a grace, however it was chosen.
    return (is_planned(start) ? plan_.handover() : plan_.takeover()) + plan_.grace() + further;
  }
  if (!plan_.exclusive()) {
    // Who reads of other settings in a log that it reads anew waits until it knows whether their
    // writer lives; who runs in the other mode waits as that mode does.
    const Time undecided = plan_.has(Fault::other_settings) ? plan_.grace() : 0;
    return plan_.takeover() + undecided + further;
  }
  const bool planned = is_planned(start) && !reads_of_longer_leases(part, start);
  if (!planned) return plan_.takeover() + plan_.grace() + further;
  // Who was given it by a further rebalance than the one that began this prepares while nobody
  // leads; so does who had it, and lost it to a second one, and who was named once nobody led.
  const std::vector<Time>& all = rebalances_[part / plan_.partitions];
  const Time begun = start - plan_.handover();
  const auto count = all.end() - std::upper_bound(all.begin(), all.end(), begun);
  const bool again =
      since > start || count > 1 || given_twice_[part] > begun || renamed_[part] > start;
  return plan_.handover() + (again ? plan_.prepare() : 0) + further;
}

// So that A9 may make the assigner wait, and a member of a higher rank for the dead before it.
std::uint32_t Oracle::crashes_before(std::uint32_t part, Time start) const {
  const std::vector<Time>& all = crashes_[part / plan_.partitions];
  const auto first = std::lower_bound(all.begin(), all.end(), start - 3 * plan_.session());
  return static_cast<std::uint32_t>(all.end() - first);
}

// And somebody lives all the time that knew the others.
bool Oracle::only_crashes(std::uint32_t part, Time start) const {
  if (!plan_.heals_crashes() || faults_until_ + plan_.settled() >= start) return false;
  const Time knew = plan_.session() + plan_.known_by();
  for (std::uint8_t n = 0; n < plan_.processes; ++n) {
    const bool of_lane = n % plan_.lanes == part / plan_.partitions;
    if (of_lane && present_since_[n] <= start - knew) return true;  // never, of one that left
  }
  return false;
}

Time Oracle::last_start(std::uint32_t part, Time now) const {
  Time last = 0;
  for (std::uint8_t n = 0; n < plan_.processes; ++n) {
    const bool of_lane = n % plan_.lanes == part / plan_.partitions;
    if (of_lane && present_since_[n] <= now) last = std::max(last, present_since_[n]);
  }
  return last;
}

// They may be preferred. By seniority they come last.
std::uint32_t Oracle::newcomers(std::uint32_t part, Time start, Time now) const {
  if (plan_.seat_priorities.empty()) return 0;
  std::uint32_t count = 0;
  for (std::uint8_t n = 0; n < plan_.processes; ++n) {
    const bool of_lane = n % plan_.lanes == part / plan_.partitions;
    const Time since = present_since_[n];
    const Time knew = plan_.session() + plan_.known_by();
    if (of_lane && since <= now && since > start - knew) ++count;
  }
  return count;
}

// Somebody led something of the lane since before then.
bool Oracle::leads_on(std::uint32_t part, Time start, Time now) const {
  const std::uint32_t first = part / plan_.partitions * plan_.partitions;
  for (std::uint32_t p = first; p < first + plan_.partitions; ++p) {
    for (std::uint8_t n = 0; n < plan_.processes; ++n) {
      if (ends_[p][n] > now && since_[p][n] < start) return true;
    }
  }
  return false;
}

void Oracle::crashed(std::uint8_t node, Time now) {
  crashes_[node % plan_.lanes].push_back(now);
  departs(node, now);
  node_until_[node] = std::max(node_until_[node], now);
  node_stops_until_[node] = std::max(node_stops_until_[node], now);
  wrong_until_ = std::max(wrong_until_, now);
  disturb(now);
}

JudgedCounts Oracle::judged(Time now) {
  for (std::uint32_t p = 0; p < parts(); ++p) {
    if (covered_until_[p] != 0) led_ += now - covered_since_[p];
  }
  judged_[static_cast<std::size_t>(Judged::led_seconds)] =
      static_cast<std::uint64_t>(led_ / kSecond);
  led_ = 0;
  return judged_;
}

// Who comes just after T* fell still reads of the greater one, and waits for whoever may have led
// by that before its tail's start.
bool Oracle::reads_of_longer_leases(std::uint32_t part, Time start) const {
  if (!plan_.has(Fault::other_leases)) return false;
  for (std::uint8_t n = 0; n < plan_.processes; ++n) {
    const bool of_lane = n % plan_.lanes == part / plan_.partitions;
    const Time since = present_since_[n];  // who leaves claims nothing
    if (of_lane && since != INT64_MAX && since > start - plan_.longest_lease()) return true;
  }
  return false;
}

// With the classic protocol everybody joins anew for each: a take-over that needs two takes twice
// as long (cooperative-sticky gives in the second what it took in the first).
Time Oracle::further_rebalances(std::uint32_t part, Time since) const {
  if (!plan_.classic()) return 0;
  const std::vector<Time>& all = rebalances_[part / plan_.partitions];
  const auto count =
      static_cast<Time>(all.end() - std::lower_bound(all.begin(), all.end(), since));
  return std::max<Time>(count - 1, 0) * (plan_.rebalance() + 4 * plan_.latency_max);
}

void Oracle::acquired(Node& node, Partition partition, const Epoch& epoch, Time now) {
  const std::string who = "process " + std::to_string(node.index) + " acquired partition " +
                          std::to_string(partition.value()) + " with " +
                          neliroute::to_string(epoch);
  Acquisition& last = last_[node.lane * plan_.partitions + partition.value()];
  const bool again = node.id == last.id;
  if (!again) ++transitions_;
  count(Judged::acquisitions);
  const Epoch before = std::exchange(last, {epoch, node.id}).epoch;
  if (!again || epoch != before) {
    ownership_[node.lane * plan_.partitions + partition.value()][node.index] = ++ownerships_;
  }
  if (plan_.broadcast()) return;  // an epoch there tells ownerships apart, and is no fence
  Epoch& own = node.acquired[partition.value()];
  if (epoch < own) broken_if_assumed(who + " after its own " + neliroute::to_string(own), now);
  own = epoch;
  if (plan_.exclusive() && (again ? epoch < before : epoch <= before)) {
    broken_if_assumed(who + " after " + neliroute::to_string(before), now);
  }
}

void Oracle::broken(const std::string& what, Time now) {
  if (broken_.empty()) broken_ = what + ", at " + clock_text(now);
}

}  // namespace neliroute::sim
