// A trace: which members join, leave and crash, and when. Built-in ones, and those of a file.
//
// Events at one time are one step: an assignor sees one rebalance. The first step only joins; it is
// the first placement, which does not count as movement.
//
// Threads: pure, any.   Units: milliseconds since the trace began.
// Errors: parse_trace() says which line is wrong and what was expected there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/placements/roster.h"

namespace neliroute::placement {

struct Step {
  std::uint64_t at_ms = 0;
  std::vector<MemberId> leaving;   ///< as planned
  std::vector<MemberId> crashing;
  std::vector<MemberId> joining;

  friend bool operator==(const Step&, const Step&) = default;
};

struct Trace {
  std::vector<Member> roster;
  std::vector<Step> steps;

  /// How many are members at once, at most.
  [[nodiscard]] std::uint32_t most_members() const;
};

enum class Names : std::uint8_t {
  shuffled,  ///< a newcomer's name sorts anywhere, as with Kafka's default ids
  ordered,   ///< it sorts after all others: node-00001, node-00002, ...
};

struct TraceKind {
  std::string_view name;
  /// What a number after a colon counts, and its default; empty: it takes none.
  std::string_view number;
  std::uint32_t usual = 0;
  std::string_view summary;
};

[[nodiscard]] std::span<const TraceKind> trace_kinds() noexcept;

/// "join", "walk:50"; nothing if it is no trace, or if more would leave than there are.
[[nodiscard]] std::optional<Trace> make_trace(std::string_view spec, std::uint32_t members,
                                              Names names, std::uint64_t seed);

struct TraceError {
  std::size_t line = 0;
  std::string what;
};

struct ParsedTrace {
  Trace trace;
  std::optional<TraceError> error;
};

/// Lines of `SECONDS join|leave|crash NAME [WEIGHT]`; empty ones, and what follows a #, are
/// passed over.
[[nodiscard]] ParsedTrace parse_trace(std::string_view text);

}  // namespace neliroute::placement
