// What the voters of a quorum keep in common: a log of entries, and who votes on it.
//
// Threads: values.   Units: stamps are milliseconds since the Unix epoch.   Errors: none.
// Seed: "Leader and Followers" (generation clock).
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <string>
#include <variant>
#include <vector>

namespace neliroute::quorum {

/// The generation clock: each election raises it, and one voter at the most leads in a term.
using Term = std::uint64_t;
/// A position in the log, from 0.
using Index = std::int64_t;
inline constexpr Index kNothing = -1;
/// A voter with what it has on disk: drawn with an empty disk, so a voter that lost its disk is
/// another one.
using VoterId = StrongId<struct VoterTag, std::uint64_t>;
/// A log, drawn when it begins.
using LogId = StrongId<struct QuorumLogTag, std::uint64_t>;

struct Member {
  VoterId id;
  std::string address;
  /// Of 1 to the number of voters; the highest stands first in an election.
  int priority = 1;
  [[nodiscard]] friend bool operator==(const Member&, const Member&) = default;
};

/// Whose votes count, by address. The newest one in the log is in force, committed or not.
struct Configuration {
  std::vector<Member> members;

  [[nodiscard]] const Member* find(VoterId id) const {
    const auto it = std::ranges::find(members, id, &Member::id);
    return it == members.end() ? nullptr : &*it;
  }
  [[nodiscard]] const Member* at(const std::string& address) const {
    const auto it = std::ranges::find(members, address, &Member::address);
    return it == members.end() ? nullptr : &*it;
  }
  [[nodiscard]] bool is_majority(std::size_t votes) const { return votes > members.size() / 2; }
  [[nodiscard]] friend bool operator==(const Configuration&, const Configuration&) = default;
};

/// The first entry of a leader: it commits what earlier leaders left. A position without a record.
struct Begins {
  [[nodiscard]] friend bool operator==(const Begins&, const Begins&) = default;
};

struct Entry {
  Term term = 0;
  /// Never less than that of the entry before.
  BrokerTime stamped;
  /// A record as it was proposed, or what only voters use.
  std::variant<Begins, std::string, Configuration> what;
  [[nodiscard]] friend bool operator==(const Entry&, const Entry&) = default;
};

/// What lies below the first entry that is kept.
struct LogStart {
  Index first = 0;
  Term term_before = 0;
  BrokerTime stamped_before{};
  Configuration configuration;
  [[nodiscard]] friend bool operator==(const LogStart&, const LogStart&) = default;
};

}  // namespace neliroute::quorum
