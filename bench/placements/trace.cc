#include "bench/placements/trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "bench/placements/hash/mix.h"

namespace neliroute::placement {
namespace {

constexpr std::uint64_t kStepMs = 10'000;
constexpr std::uint32_t kMostNumber = 10'000;

constexpr std::array kTraces = {
    TraceKind{"join", "members", 1, "so many join at once"},
    TraceKind{"leave", "members", 1, "so many, picked at random, leave at once"},
    TraceKind{"crash", "members", 1, "so many, picked at random, crash at once"},
    TraceKind{"replace", "members", 1, "so many leave, and as many new ones join at once"},
    TraceKind{"rolling", "", 0, "each leaves, and 5 s later a new one joins"},
    TraceKind{"rolling-aligned", "", 0, "each leaves just as a new one joins: one step"},
    TraceKind{"rolling-named", "", 0, "each leaves, and 5 s later comes back by its name"},
    TraceKind{"flap", "times", 5, "one crashes and comes back by name, so many times"},
    TraceKind{"zone", "", 0, "a third crash at once, and come back a minute later"},
    TraceKind{"double", "", 0, "as many again join at once"},
    TraceKind{"walk", "steps", 20, "an autoscaler: in each step up to 3 join or leave"},
};

/// Picks by a hash of a counter: the same on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  std::uint32_t up_to(std::uint32_t count) { return below(count, hash_words(seed_, ++draws_)); }

 private:
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
};

/// Makes the steps of a trace, and names the joining members.
class Writer {
 public:
  Writer(Names names, std::uint64_t seed) : names_(names), seed_(seed), dice_(seed + 1) {}

  Step& step(std::uint64_t after_ms) {
    trace_.steps.push_back({trace_.steps.empty() ? 0 : trace_.steps.back().at_ms + after_ms, {}, {},
                            {}});
    return trace_.steps.back();
  }
  void join_new(Step& step, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto id = static_cast<MemberId>(trace_.roster.size());
      trace_.roster.push_back({name_of(id), 1});
      step.joining.push_back(id);
      present_.push_back(id);
    }
  }
  /// Takes so many out of those that were members before the step began.
  std::vector<MemberId> pick(std::uint32_t count) {
    std::vector<MemberId> picked;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::ptrdiff_t>(
          dice_.up_to(static_cast<std::uint32_t>(present_.size())));
      picked.push_back(present_[static_cast<std::size_t>(at)]);
      present_.erase(present_.begin() + at);
    }
    return picked;
  }
  void take(MemberId member) { std::erase(present_, member); }
  void come_back(Step& step, const std::vector<MemberId>& members) {
    step.joining = members;
    present_.insert(present_.end(), members.begin(), members.end());
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(present_.size()); }
  const std::vector<MemberId>& present() const { return present_; }
  Dice& dice() { return dice_; }
  Trace finish() { return std::move(trace_); }

 private:
  std::string name_of(MemberId id) const {
    if (names_ == Names::ordered) {
      const std::string digits = std::to_string(id + 1);
      return "node-" + std::string(7 - std::min<std::size_t>(digits.size(), 7), '0') + digits;
    }
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string name = "m-";
    const std::uint64_t hash = hash_words(id, seed_);
    for (int digit = 0; digit < 12; ++digit) name += kDigits[hash >> (digit * 4) & 15];
    return name;
  }

  Names names_;
  std::uint64_t seed_;
  Dice dice_;
  Trace trace_;
  std::vector<MemberId> present_;
};

void write_rolling(Writer& writer, std::string_view name) {
  const std::vector<MemberId> first = writer.present();
  for (const MemberId member : first) {
    writer.step(kStepMs).leaving = {member};
    writer.take(member);
    if (name == "rolling-aligned") {
      writer.join_new(writer.step(0), 1);
    } else if (name == "rolling-named") {
      writer.come_back(writer.step(kStepMs / 2), {member});
    } else {
      writer.join_new(writer.step(kStepMs / 2), 1);
    }
  }
}

void write_walk(Writer& writer, std::uint32_t steps, std::uint32_t members) {
  for (std::uint32_t i = 0; i < steps; ++i) {
    const std::uint32_t few = 1 + writer.dice().up_to(3);
    const bool up = writer.dice().up_to(2) == 0;
    // Between half and twice as many as at first.
    if (up && writer.count() + few <= std::max(2 * members, members + 3)) {
      writer.join_new(writer.step(kStepMs), few);
    } else {
      const std::uint32_t spare = writer.count() - std::max(members / 2, 1U);
      writer.step(kStepMs).leaving = writer.pick(std::min(few, spare));
    }
  }
}

/// Merges steps at the same time into one.
void join_steps(std::vector<Step>& steps) {
  std::vector<Step> joined;
  for (Step& step : steps) {
    if (joined.empty() || joined.back().at_ms != step.at_ms) {
      joined.push_back(std::move(step));
      continue;
    }
    Step& last = joined.back();
    last.joining.insert(last.joining.end(), step.joining.begin(), step.joining.end());
  }
  std::erase_if(joined, [](const Step& step) {
    return step.joining.empty() && step.leaving.empty() && step.crashing.empty();
  });
  steps = std::move(joined);
}

void write_steps(Writer& writer, std::string_view name, std::uint32_t number,
                 std::uint32_t members) {
  if (name == "join" || name == "double") {
    writer.join_new(writer.step(kStepMs), name == "double" ? members : number);
  } else if (name == "leave") {
    writer.step(kStepMs).leaving = writer.pick(number);
  } else if (name == "crash") {
    writer.step(kStepMs).crashing = writer.pick(number);
  } else if (name == "replace") {
    Step& step = writer.step(kStepMs);
    step.leaving = writer.pick(number);
    writer.join_new(step, number);
  } else if (name == "flap") {
    const std::vector<MemberId> flapping = writer.pick(1);
    for (std::uint32_t i = 0; i < number; ++i) {
      writer.step(kStepMs).crashing = flapping;
      if (i > 0) writer.take(flapping.front());
      writer.come_back(writer.step(kStepMs), flapping);
    }
  } else if (name == "zone") {
    const std::vector<MemberId> zone = writer.pick(std::max(members / 3, 1U));
    writer.step(kStepMs).crashing = zone;
    writer.come_back(writer.step(6 * kStepMs), zone);
  } else if (name == "walk") {
    write_walk(writer, number, members);
  } else {
    write_rolling(writer, name);
  }
}

}  // namespace

std::uint32_t Trace::most_members() const {
  std::size_t now = 0;
  std::size_t most = 0;
  for (const Step& step : steps) {
    now = now - step.leaving.size() - step.crashing.size() + step.joining.size();
    most = std::max(most, now);
  }
  return static_cast<std::uint32_t>(most);
}

std::span<const TraceKind> trace_kinds() noexcept { return kTraces; }

std::optional<Trace> make_trace(std::string_view spec, std::uint32_t members, Names names,
                                std::uint64_t seed) {
  const std::size_t colon = spec.find(':');
  const std::string_view name = spec.substr(0, colon);
  const auto* kind = std::find_if(kTraces.begin(), kTraces.end(),
                                  [name](const TraceKind& one) { return one.name == name; });
  if (kind == kTraces.end() || members == 0) return std::nullopt;
  std::uint32_t number = kind->usual;
  if (colon != std::string_view::npos) {
    const std::string_view digits = spec.substr(colon + 1);
    const auto [stopped, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool fits = !kind->number.empty() && error == std::errc{} && number >= 1 &&
                      stopped == digits.data() + digits.size() && number <= kMostNumber;
    if (!fits) return std::nullopt;
  }
  const bool takes = name == "leave" || name == "crash" || name == "replace";
  if (takes && number > members) return std::nullopt;
  Writer writer(names, seed);
  writer.join_new(writer.step(0), members);
  write_steps(writer, name, number, members);
  Trace trace = writer.finish();
  join_steps(trace.steps);
  return trace;
}

}  // namespace neliroute::placement
