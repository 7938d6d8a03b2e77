// What voters send each other. Messages may be lost, late, doubled and out of order.
//
// Threads: values.   Units: indices, terms.   Errors: none; a message that makes no sense is
// dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "quorum/entry.h"

namespace neliroute::quorum {

/// A voter that knows no leader says that it is there: its vote may not count.
struct Here {
  bool empty = false;
  /// Who said so to it, while it was empty.
  std::vector<VoterId> met = {};
};

/// To an empty voter: its vote counts in a log that begins here.
struct Formed {
  LogStart start;
};

/// Asks for a vote in `asked`, a term that its sender is in; a poll asks whether a vote would be
/// given, in a term that does not exist yet.
struct AskVote {
  bool poll = false;
  Term asked = 0;
  Index end = 0;
  Term last_term = 0;
  /// The leader asked its sender to stand, so voters that hear that leader may say yes.
  bool handed_over = false;
};

struct GiveVote {
  bool poll = false;
  Term asked = 0;
  bool yes = false;
};

/// Of the leader: entries, or none where it only says that it leads.
struct Append {
  Index index = 0;
  /// Of the entry below `index`.
  Term term_before = 0;
  std::vector<Entry> entries;
  Index committed = 0;
  /// Returned in the answer. Rises with each message of a leader.
  std::uint64_t round = 0;
};

/// Of the leader, to a voter that is further behind than the log reaches: go on from here.
struct Restart {
  LogStart start;
  std::uint64_t round = 0;
};

/// All below `end` is stored as the leader has it.
struct Stored {
  Index end = 0;
  std::uint64_t round = 0;
};

/// The entries do not follow what is stored, which may end here. kNothing: there is no log yet.
struct Behind {
  Index end = 0;
  std::uint64_t round = 0;
};

/// The term of the message is over: there is a newer one.
struct Outdated {};

/// Of the leader, to the voter that should lead, and has all entries: stand for election at once.
struct TakeOver {};

struct Message {
  VoterId from;
  std::string from_address;
  std::string to_address;
  /// None: its sender has none yet.
  std::optional<LogId> log;
  /// Its sender's.
  Term term = 0;
  /// Which voters there are, as its sender was told: print_of() of their addresses.
  std::uint64_t told = 0;
  std::variant<Here, Formed, AskVote, GiveVote, Append, Restart, Stored, Behind, Outdated,
               TakeOver>
      body;
};

/// The same of the same addresses, and of others another one.
[[nodiscard]] std::uint64_t print_of(const std::vector<std::string>& addresses);

/// Whether it makes sense by itself, whatever its sender knows.
[[nodiscard]] bool is_sound(const Message& message);

}  // namespace neliroute::quorum
