// A simulated disk: what a voter's Ready told its driver to store, and nothing else. Compared with
// the voter each time, so a Ready that names too little is noticed.
//
// Threads: one.   Units: none.   Errors: none.
#pragma once

#include "quorum/voter.h"

namespace neliroute::quorum::sim {

class Disk {
 public:
  explicit Disk(VoterId id) { kept_.self = id; }

  void store(const Ready& ready, const Durable& voter) {
    if (ready.vote_changed) {
      kept_.log = voter.log;
      kept_.term = voter.term;
      kept_.voted_for = voter.voted_for;
    }
    const EntryLog& entries = voter.entries;
    EntryLog kept(ready.start_changed ? entries.start() : kept_.entries.start());
    const Index unchanged = ready.entries_changed.value_or(entries.end());
    for (Index i = kept.first(); i < entries.end(); ++i) {
      const bool old = i < unchanged && i >= kept_.entries.first() && i < kept_.entries.end();
      if (old || i >= unchanged) {
        kept.append(old ? kept_.entries.at(i) : entries.at(i));
      } else {
        break;
      }
    }
    kept_.entries = std::move(kept);
  }
  [[nodiscard]] bool is_as(const Durable& voter) const {
    if (kept_.entries.start() != voter.entries.start() ||
        kept_.entries.end() != voter.entries.end() || kept_.log != voter.log ||
        kept_.term != voter.term || kept_.voted_for != voter.voted_for) {
      return false;
    }
    return kept_.entries.end() == kept_.entries.first() ||
           kept_.entries.at(kept_.entries.end() - 1) ==
               voter.entries.at(voter.entries.end() - 1);
  }
  [[nodiscard]] const Durable& kept() const noexcept { return kept_; }

 private:
  Durable kept_;
};

}  // namespace neliroute::quorum::sim
