// What a leader's entries do to the log of another voter.
#include <algorithm>
#include <utility>

#include "quorum/mutation.h"
#include "quorum/voter.h"

namespace neliroute::quorum {

void Voter::on_append(const Message& message, const Append& append, LocalTime now) {
  follow(message.term, Known{message.from, message.from_address}, now);
  Message answer = to(message.from_address, {});
  answer.log = message.log;
  if (!durable_.log) {
    answer.body = Behind{kNothing, append.round};
  } else if (const bool above = append.index > entries().end();
             above || (append.index >= entries().first() &&
                       entries().term_before(append.index) != append.term_before)) {
    if (append.index <= committed_) {
      ready_.contradictions.push_back(message.from_address);
      return;
    }
    answer.body = Behind{above ? entries().end() : last_of_other_terms(append.index),
                         append.round};
  } else if (!take_entries(append)) {
    ready_.contradictions.push_back(message.from_address);
    return;
  } else {
    const Index end = std::max(entries().first(), append.index + std::ssize(append.entries));
    committed_ = std::max(committed_, std::min(append.committed, end));
    answer.body = Stored{end, append.round};
  }
  ready_.once_stored.push_back(std::move(answer));
}

/// Where the entries of the term begin that lies below this index: the leader has none of them, or
/// not all. What is committed it has.
Index Voter::last_of_other_terms(Index index) const {
  const Index least = std::max(committed_, entries().first());
  const Term differing = entries().term_before(index);
  while (index > least && entries().term_before(index) == differing) {
    --index;
  }
  return index;
}

/// False: what is committed would be replaced.
bool Voter::take_entries(const Append& message) {
  Index index = message.index;
  for (const Entry& entry : message.entries) {
    if (index >= entries().first()) {
      const bool stands = index < entries().end() &&
                          (entries().at(index).term == entry.term ||
                           mutated(Mutation::conflicts_kept));
      if (!stands) {
        if (index < committed_) {
          return false;
        }
        durable_.entries.cut(index);
        stored_end_ = std::min(stored_end_, index);
        append(entry);
      }
    }
    ++index;
  }
  return true;
}

void Voter::on_restart(const Message& message, const Restart& restart, LocalTime now) {
  const LogStart& start = restart.start;
  if (!durable_.log) {
    adopt(*message.log, start, now);
  }
  follow(message.term, Known{message.from, message.from_address}, now);
  const bool kept = start.first < entries().first() ||
                    (start.first <= entries().end() &&
                     entries().term_before(start.first) == start.term_before);
  if (!kept) {
    if (start.first <= committed_) {
      ready_.contradictions.push_back(message.from_address);
      return;
    }
    adopt(*message.log, start, now);
  }
  committed_ = std::max(committed_, start.first);
  send_once_stored(message.from_address,
                   Stored{std::max(start.first, entries().first()), restart.round});
}

}  // namespace neliroute::quorum
