#include "bench/assigner/simulated_lane.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace neliroute::scale {
namespace {

constexpr milliseconds kStep{1};
constexpr LocalTime kStart{milliseconds{10'000}};
/// The assigner's successors, and the three that prove its death, are whole.
constexpr std::uint32_t kWholeSpared = 4;
/// Every member claims at the same instant, and then ids decide who is senior: whole members.
constexpr std::uint64_t kJunior = std::uint64_t{1} << 63;

struct Spent {
  double core = 0;
  double directory = 0;
};

}  // namespace

SimulatedLane::SimulatedLane(const LaneOptions& options)
    : options_(options),
      logs_(options.logs, options.delay),
      random_(options.seed),
      streamed_(options),
      last_leader_(options.partitions, 0),
      now_(kStart) {}

Result<std::unique_ptr<SimulatedLane>> SimulatedLane::make(const LaneOptions& options) {
  std::unique_ptr<SimulatedLane> lane(new SimulatedLane(options));
  const auto phase = [&] {
    std::uniform_int_distribution<std::int64_t> within(1, options.interval.count());
    return milliseconds{within(lane->random_)};
  };
  for (std::uint32_t number = 0; number < options.members; ++number) {
    const bool whole = number < options.whole;
    const std::uint64_t drawn = lane->random_() | 1;
    const ProcessId id{whole ? drawn & ~kJunior : drawn | kJunior};
    if (whole) {
      auto made = WholeMember::make(options, number, id);
      if (!made) return made.error();
      lane->whole_.push_back(std::move(*made));
      lane->starts_.push_back(kStart + phase());
    } else {
      // When the whole ones have read what there is, so that they are members first.
      lane->streamed_.add(number, id, kStart + options.interval + 2 * options.delay + phase());
    }
  }
  return lane;
}

void SimulatedLane::run_for(milliseconds duration) {
  for (const LocalTime end = now_ + duration; now_ < end;) {
    now_ += kStep;
    for (std::size_t i = 0; i < whole_.size(); ++i) {
      if (now_ < starts_[i] || !whole_[i]->alive()) continue;
      if (now_ == starts_[i]) whole_[i]->start(logs_, now_);
      whole_[i]->turn(logs_, now_);
    }
    streamed_.turn(logs_, now_);
  }
}

std::optional<milliseconds> SimulatedLane::run_until_led() {
  const LocalTime began = now_;
  const LocalTime give_up = now_ + std::chrono::minutes{1} + 2 * options_.session;
  for (std::vector<Partition> left = unowned(); !left.empty();) {
    if (now_ >= give_up) return std::nullopt;
    run_for(kStep);
    while (!left.empty() && is_led(left.back())) left.pop_back();
    if (left.empty()) left = unowned();  // all of them at once
  }
  return std::chrono::duration_cast<milliseconds>(now_ - began);
}

AtRest SimulatedLane::at_rest(milliseconds length) {
  std::vector<Written> before;
  for (std::uint32_t l = 0; l < options_.logs; ++l) before.push_back(logs_.written(Log{l}));
  std::vector<Spent> spent;
  for (const auto& one : whole_) spent.push_back({one->core_seconds(), one->directory_seconds()});
  const double decoding = logs_.decoding_seconds();
  run_for(length);

  AtRest found;
  const double seconds = static_cast<double>(length.count()) / 1000;
  for (std::uint32_t l = 0; l < options_.logs; ++l) {
    const Written& written = logs_.written(Log{l});
    found.records_s.push_back(static_cast<double>(written.records - before[l].records) / seconds);
    found.bytes_s.push_back(static_cast<double>(written.bytes - before[l].bytes) / seconds);
  }
  found.decoding_percent = 100 * (logs_.decoding_seconds() - decoding) / seconds;
  double others = 0;
  for (std::size_t i = 0; i < whole_.size(); ++i) {
    const WholeMember& one = *whole_[i];
    if (!one.alive()) continue;
    MemberCost& cost = one.assigns() ? found.assigner : found.member;
    if (!one.assigns()) ++others;
    cost.core_percent += 100 * (one.core_seconds() - spent[i].core) / seconds;
    cost.directory_percent += 100 * (one.directory_seconds() - spent[i].directory) / seconds;
    cost.core_bytes += static_cast<double>(one.core_bytes());
    cost.directory_bytes += static_cast<double>(one.directory_bytes());
  }
  for (double* const sum : {&found.member.core_percent, &found.member.directory_percent,
                            &found.member.core_bytes, &found.member.directory_bytes}) {
    if (others > 0) *sum /= others;
  }
  return found;
}

Healed SimulatedLane::kill(std::uint32_t deaths, bool with_assigner) {
  std::vector<std::uint32_t> victims;  // whole ones first, then streamed ones
  const auto first_streamed = static_cast<std::uint32_t>(whole_.size());
  for (std::uint32_t i = 0; i < first_streamed; ++i) {
    if (whole_[i]->alive() && !whole_[i]->assigns()) victims.push_back(i);
  }
  for (std::uint32_t i = 0; i < streamed_.count(); ++i) {
    if (streamed_.alive(i)) victims.push_back(first_streamed + i);
  }
  std::shuffle(victims.begin(), victims.end(), random_);

  Healed healed;
  static_cast<void>(take_longest_turn_ms());
  for (const auto& one : whole_) {
    if (!with_assigner || healed.deaths == deaths || !one->assigns()) continue;
    one->die();
    ++healed.deaths;
  }
  for (const std::uint32_t victim : victims) {
    if (healed.deaths == deaths) break;
    if (victim >= first_streamed) {
      streamed_.die(victim - first_streamed);
    } else if (whole_living() > kWholeSpared) {
      whole_[victim]->die();
    } else {
      continue;
    }
    ++healed.deaths;
  }
  healed.unowned = static_cast<std::uint32_t>(unowned().size());
  healed.after = run_until_led();
  healed.longest_turn_ms = take_longest_turn_ms();
  return healed;
}

std::uint32_t SimulatedLane::whole_living() const noexcept {
  return static_cast<std::uint32_t>(std::count_if(
      whole_.begin(), whole_.end(), [](const auto& member) { return member->alive(); }));
}

std::uint32_t SimulatedLane::living() const noexcept { return whole_living() + streamed_.living(); }

double SimulatedLane::take_longest_turn_ms() {
  double longest = 0;
  for (const auto& one : whole_) longest = std::max(longest, one->take_longest_turn());
  return longest * 1000;
}

bool SimulatedLane::is_led(Partition partition) {
  if (streamed_.is_led(partition)) return true;
  std::uint32_t& last = last_leader_[partition.value()];
  if (last < whole_.size() && whole_[last]->leads(partition, now_)) return true;
  for (std::uint32_t i = 0; i < whole_.size(); ++i) {
    if (!whole_[i]->leads(partition, now_)) continue;
    last = i;
    return true;
  }
  return false;
}

std::vector<Partition> SimulatedLane::unowned() {
  std::vector<Partition> found;
  for (std::uint32_t p = 0; p < options_.partitions; ++p) {
    if (!is_led(Partition{p})) found.push_back(Partition{p});
  }
  return found;
}

}  // namespace neliroute::scale
