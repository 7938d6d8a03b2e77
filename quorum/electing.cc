// Votes and polls.
#include <utility>

#include "quorum/mutation.h"
#include "quorum/voter.h"

namespace neliroute::quorum {

void Voter::time_out(LocalTime now) {
  const bool stood = std::exchange(standing_, Standing::no) != Standing::no;
  if (leader_) {
    missed_ = leader_->id;
    leader_.reset();
  }
  const Member* own = entries().configuration().find(durable_.self);
  if (!durable_.log || own == nullptr) {
    patience_.begin(entries().configuration(), std::nullopt, now);
    announce(now);
    return;
  }
  if (stood) {
    announce(now);  // perhaps it does not count any more, and nobody told it
  }
  if (patience_.timed_out(entries().configuration(), *own, stood, now)) {
    ask(true, now);
  }
}

/// Stands for election: by a poll first, which raises no term.
void Voter::ask(bool poll, LocalTime now) {
  standing_ = poll ? Standing::polls : Standing::asks_votes;
  if (!poll) {
    ++durable_.term;
    durable_.voted_for = durable_.self;
    ready_.vote_changed = vote_unstored_ = true;
    patience_.go_on(now);
    leader_.reset();
  }
  yes_ = {durable_.self};
  const Configuration& voters = entries().configuration();
  if (voters.is_majority(yes_.size())) {
    return poll ? ask(false, now) : lead(now);
  }
  for (const Member& member : voters.members) {
    if (member.id != durable_.self) {
      send_once_stored(member.address, AskVote{poll, durable_.term + (poll ? 1 : 0),
                                               entries().end(), entries().last_term(),
                                               now < handed_until_});
    }
  }
}

/// Half a timeout is two beats. Not all of it: who stands heard the leader, too, and others may
/// have heard him a little later.
bool Voter::hears_leader(LocalTime now) const noexcept {
  return leading_ || (leader_ && now - heard_ < options_.election / 2);
}

void Voter::on_ask_vote(const Message& message, const AskVote& ask, LocalTime now) {
  const bool hears =
      hears_leader(now) && !ask.handed_over && !mutated(Mutation::votes_beside_leader);
  const bool older = ask.last_term != entries().last_term()
                         ? ask.last_term < entries().last_term()
                         : ask.end < entries().end();
  if (ask.poll) {
    const bool yes = ask.asked > durable_.term && !hears &&
                     (!older || mutated(Mutation::polls_of_older_logs));
    return send_once_stored(message.from_address, GiveVote{true, ask.asked, yes});
  }
  if (ask.asked > durable_.term) {
    if (hears) {
      return;  // a leader that is asked for its term will know soon enough
    }
    follow(ask.asked, std::nullopt, now);
  }
  bool yes = ask.asked == durable_.term && !leading_ &&
             (!older || mutated(Mutation::older_log_voted_for));
  yes = yes && (!durable_.voted_for || durable_.voted_for == message.from ||
                mutated(Mutation::two_votes_in_a_term));
  if (yes) {
    if (durable_.voted_for != message.from) {
      durable_.voted_for = message.from;
      ready_.vote_changed = true;
    }
    patience_.begin(entries().configuration(), std::nullopt, now);
  }
  send_once_stored(message.from_address, GiveVote{false, ask.asked, yes});
}

/// It goes on to follow while it polls, so a poll that fails changes nothing.
void Voter::on_take_over(const Message& message, LocalTime now) {
  const bool asked_by_leader = !leading_ && leader_ && leader_->id == message.from;
  if (!asked_by_leader || entries().configuration().find(durable_.self) == nullptr) {
    return;
  }
  handed_until_ = now + options_.election / 2;
  ask(true, now);
}

void Voter::on_vote(const Message& message, const GiveVote& vote, LocalTime now) {
  const Standing counted = vote.poll ? Standing::polls : Standing::asks_votes;
  const Term asked = durable_.term + (vote.poll ? 1 : 0);
  const Configuration& voters = entries().configuration();
  if (!vote.yes || standing_ != counted || vote.asked != asked ||
      voters.find(message.from) == nullptr) {
    return;
  }
  if (vote.poll && leader_) {  // beside that leader
    const bool by_leader = leader_->id == message.from && voters.members.size() > 2;
    if (now >= handed_until_ || by_leader) {
      return;  // too late: it leads on; or: who reaches it alone is not to take its place
    }
  }
  yes_.insert(message.from);
  if (voters.is_majority(yes_.size())) {
    vote.poll ? ask(false, now) : lead(now);
  }
}

}  // namespace neliroute::quorum
