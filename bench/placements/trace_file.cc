#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <system_error>
#include <utility>

#include "bench/placements/trace.h"

namespace neliroute::placement {
namespace {

// A year, in seconds: a larger time is another unit.
constexpr double kLatest = 366.0 * 86400;

std::vector<std::string_view> words_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  constexpr std::string_view kBlank = " \t\r";
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    if (line.empty()) return words;
    words.push_back(line.substr(0, line.find_first_of(kBlank)));
    line.remove_prefix(words.back().size());
  }
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

/// Reads line by line; the first mistake ends it.
class Reader {
 public:
  /// What is wrong with the line, if anything is.
  std::optional<std::string> take(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) return std::nullopt;
    if (words.size() < 3 || words.size() > 4) {
      return "it has " + std::to_string(words.size()) +
             " words; write SECONDS join|leave|crash NAME, and behind a join a weight if you like";
    }
    if (auto wrong = take_time(words[0])) return wrong;
    if (words[1] == "join") return join(words[2], words.size() == 4 ? words[3] : "1");
    if (words[1] != "leave" && words[1] != "crash") {
      return quoted(words[1]) + " is no event; write join, leave or crash";
    }
    if (words.size() == 4) return "only a join has a weight; leave out " + quoted(words[3]);
    return leave(words[2], words[1] == "crash");
  }

  Trace finish() { return std::move(trace_); }

 private:
  struct Known {
    MemberId id = kNobody;
    bool present = false;
    std::size_t changed = SIZE_MAX;  ///< the step of the last event
  };

  std::optional<std::string> take_time(std::string_view word) {
    double seconds = 0;
    const auto [stopped, error] = std::from_chars(word.data(), word.data() + word.size(), seconds,
                                                  std::chars_format::fixed);
    if (error != std::errc{} || stopped != word.data() + word.size() || !(seconds >= 0) ||
        seconds > kLatest) {
      return quoted(word) + " is no time; write seconds since the trace began, as 12 or 12.5";
    }
    const auto at_ms = static_cast<std::uint64_t>(seconds * 1000 + 0.5);
    if (trace_.steps.empty() || at_ms > trace_.steps.back().at_ms) {
      trace_.steps.push_back({at_ms, {}, {}, {}});
    } else if (at_ms < trace_.steps.back().at_ms) {
      return quoted(word) + " is before the line above; sort the lines by time";
    }
    return std::nullopt;
  }

  std::optional<std::string> join(std::string_view name, std::string_view weight_text) {
    std::uint32_t weight = 0;
    const char* end = weight_text.data() + weight_text.size();
    const auto [stopped, error] = std::from_chars(weight_text.data(), end, weight);
    if (error != std::errc{} || stopped != end || weight < 1 || weight > kWeightMax) {
      return quoted(weight_text) + " is no weight; write a whole number from 1 to 1000";
    }
    Known& known = known_[std::string(name)];
    if (known.present) return quoted(name) + " is a member already; it must leave or crash first";
    if (known.id == kNobody) {
      if (trace_.roster.size() == kMembersMax) return "more than 100000 members; take fewer";
      known.id = static_cast<MemberId>(trace_.roster.size());
      trace_.roster.push_back({std::string(name), weight});
    } else if (trace_.roster[known.id].weight != weight) {
      return quoted(name) + " had another weight before; keep it, or give it another name";
    }
    if (auto wrong = once_a_step(known, name)) return wrong;
    known.present = true;
    trace_.steps.back().joining.push_back(known.id);
    return std::nullopt;
  }

  std::optional<std::string> leave(std::string_view name, bool crashes) {
    const auto found = known_.find(std::string(name));
    if (found == known_.end() || !found->second.present) {
      return quoted(name) + " is no member; it must join first";
    }
    if (auto wrong = once_a_step(found->second, name)) return wrong;
    found->second.present = false;
    Step& step = trace_.steps.back();
    (crashes ? step.crashing : step.leaving).push_back(found->second.id);
    return std::nullopt;
  }

  std::optional<std::string> once_a_step(Known& known, std::string_view name) const {
    if (known.changed == trace_.steps.size()) {
      return quoted(name) + " comes and goes at one time; put a time between the two";
    }
    known.changed = trace_.steps.size();
    return std::nullopt;
  }

  Trace trace_;
  std::map<std::string, Known> known_;
};

}  // namespace

ParsedTrace parse_trace(std::string_view text) {
  Reader reader;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (auto wrong = reader.take(line)) return {{}, TraceError{number, std::move(*wrong)}};
  }
  ParsedTrace parsed{reader.finish(), {}};
  if (parsed.trace.steps.empty()) {
    parsed.error = TraceError{number, "it has no event; write SECONDS join|leave|crash NAME"};
  }
  return parsed;
}

}  // namespace neliroute::placement
