#include "quorum/voter.h"

#include <algorithm>
#include <neliroute/detail/assert.h>
#include <utility>

#include "quorum/mutation.h"

namespace neliroute::quorum {

Voter::Voter(VoterOptions options, Durable durable, LocalTime now)
    : options_(std::move(options)),
      durable_(std::move(durable)),
      committed_(durable_.entries.first()),
      patience_(options_.election),
      stored_end_(durable_.entries.end()) {
  std::ranges::sort(options_.addresses);
  NELIROUTE_ASSERT(is_address(options_.address), "a voter is one of the voters");
  NELIROUTE_ASSERT(options_.priorities.size() == options_.addresses.size(),
                   "each voter has a priority");
  told_ = print_of(options_.addresses);
  patience_.begin(entries().configuration(), std::nullopt, now);
}

Role Voter::role() const noexcept {
  return leading_ ? Role::leading : leader_ ? Role::following : Role::looking;
}

LocalTime Voter::deadline() const noexcept {
  return leading_ ? leading_->next_beat : patience_.until();
}

void Voter::tick(LocalTime now) {
  if (leading_) {
    lead_on(now);
  } else if (now >= patience_.until()) {
    time_out(now);
  }
}

/// Whether it is of another log, or means nothing to a voter without one.
bool Voter::is_foreign(const Message& message) const noexcept {
  if (durable_.log) {
    return message.log != durable_.log;
  }
  const auto& body = message.body;
  return !message.log || !(std::holds_alternative<Formed>(body) ||
                           std::holds_alternative<Append>(body) ||
                           std::holds_alternative<Restart>(body));
}

void Voter::step(const Message& message, LocalTime now) {
  if (message.from == durable_.self || !is_sound(message)) {
    return;  // a copy of this voter's disk, or a message that went in a circle; or nonsense
  }
  if (message.told != told_) {
    ready_.others_told.push_back(message.from_address);
  }
  if (const auto* here = std::get_if<Here>(&message.body)) {
    return on_here(message, *here, now);
  }
  if (is_foreign(message)) {
    if (durable_.log) {
      ready_.strangers.push_back(message.from_address);
    } else if (message.log) {
      say_here(message.from_address);
    }
    return;
  }
  if (const auto* ask = std::get_if<AskVote>(&message.body)) {
    return on_ask_vote(message, *ask, now);
  }
  if (const auto* formed = std::get_if<Formed>(&message.body)) {
    if (!durable_.log && formed->start.configuration.find(durable_.self) != nullptr) {
      adopt(*message.log, formed->start, now);
    }
    return;
  }
  const auto* vote = std::get_if<GiveVote>(&message.body);
  if (vote != nullptr && vote->poll && message.term < durable_.term) {
    return on_vote(message, *vote, now);  // a poll raises nobody's term
  }
  if (message.term < durable_.term) {
    const auto& body = message.body;
    if (std::holds_alternative<Append>(body) || std::holds_alternative<Restart>(body)) {
      send_once_stored(message.from_address, Outdated{});
    }
    return;
  }
  if (message.term > durable_.term) {
    follow(message.term, std::nullopt, now);
  }
  dispatch(message, now);
}

bool Voter::is_address(const std::string& address) const {
  return std::ranges::binary_search(options_.addresses, address);
}

/// One that votes may have lost its disk.
bool Voter::may_copy(const std::string& address) const {
  return address != options_.address &&
         (is_address(address) || entries().configuration().at(address) != nullptr);
}

/// Of a leader. Who lost its disk answers what was sent to the voter that it was; of several at one
/// address the newest one counts.
Follower* Voter::follower_of(const Message& message, LocalTime now) {
  auto& followers = leading_->followers;
  if (const auto found = followers.find(message.from); found != followers.end()) {
    return &found->second;
  }
  if (!may_copy(message.from_address)) {
    return nullptr;
  }
  std::erase_if(followers, [&](const auto& known) {
    return known.second.address() == message.from_address &&
           entries().configuration().find(known.first) == nullptr;
  });
  return &followers
              .try_emplace(message.from, message.from_address, entries().end(), kNothing, now)
              .first->second;
}

void Voter::dispatch(const Message& message, LocalTime now) {
  if (const auto* vote = std::get_if<GiveVote>(&message.body)) {
    on_vote(message, *vote, now);
  } else if (const auto* append = std::get_if<Append>(&message.body)) {
    on_append(message, *append, now);
  } else if (const auto* restart = std::get_if<Restart>(&message.body)) {
    on_restart(message, *restart, now);
  } else if (std::holds_alternative<TakeOver>(message.body)) {
    on_take_over(message, now);
  } else if (leading_) {
    const auto* stored = std::get_if<Stored>(&message.body);
    const auto* behind = std::get_if<Behind>(&message.body);
    if (stored == nullptr && behind == nullptr) {
      return;
    }
    Follower* follower = follower_of(message, now);
    if (follower != nullptr) {
      follower->is_told(message.told);
    }
    if (follower != nullptr && stored != nullptr) {
      follower->stored(std::min(stored->end, entries().end()), stored->round);
      advance(now);
    } else if (follower != nullptr) {
      follower->behind(behind->end, behind->round);
    }
  }
}

Message Voter::to(std::string address, decltype(Message::body) body) const {
  return {durable_.self, options_.address, std::move(address), durable_.log, durable_.term, told_,
          std::move(body)};
}

void Voter::send_once_stored(std::string address, decltype(Message::body) body) {
  ready_.once_stored.push_back(to(std::move(address), std::move(body)));
}

/// Is in this term; it is led by this voter, if by any that is known.
void Voter::follow(Term term, const std::optional<Known>& leader, LocalTime now) {
  if (term > durable_.term) {
    durable_.term = term;
    durable_.voted_for.reset();
    ready_.vote_changed = true;
  }
  const bool led = leading_.has_value();
  const auto heir = led && leading_->heir_told ? leading_->heir : std::optional<VoterId>();
  leading_.reset();
  const bool polls_beside = leader && standing_ == Standing::polls && now < handed_until_;
  standing_ = polls_beside ? Standing::polls : Standing::no;
  if (leader) {
    heard_ = now;
    leader_ = leader;
    note_who_leads(leader->id, now);
    patience_.heard();
    patience_.begin(entries().configuration(), leader->id, now);
  } else {
    if (heir) {
      missed_ = heir;
    } else if (leader_ && !led) {
      missed_ = leader_->id;
    }
    leader_.reset();
    if (led) {
      patience_.begin(entries().configuration(), durable_.self, now);
    }
  }
}

/// An empty voter has this log from now on.
void Voter::adopt(LogId log, LogStart start, LocalTime now) {
  durable_.log = log;
  durable_.entries = EntryLog(std::move(start));
  committed_ = entries().first();
  stored_end_ = entries().end();
  ready_.vote_changed = ready_.start_changed = true;
  ready_.entries_changed = entries().first();
  met_.clear();
  patience_.begin(entries().configuration(), std::nullopt, now);
}

void Voter::append(Entry entry) {
  ready_.entries_changed = std::min(ready_.entries_changed.value_or(entries().end()),
                                    entries().end());
  durable_.entries.append(std::move(entry));
}

void Voter::drop(Index first) {
  first = std::min(first, std::min(committed_, stored_end_));
  if (first > entries().first()) {
    durable_.entries.drop(first);
    ready_.start_changed = true;
  }
}

Ready Voter::take_ready(LocalTime now) {
  if (leading_) {
    tell_heir();
    for (auto& [_, follower] : leading_->followers) {
      send_entries(follower, now);
    }
    leading_->beats = false;
  }
  if (mutated(Mutation::vote_not_stored)) {
    ready_.vote_changed = false;
  }
  if (mutated(Mutation::answers_before_stored)) {
    std::ranges::move(std::exchange(ready_.once_stored, {}), std::back_inserter(ready_.at_once));
  }
  return std::exchange(ready_, {});
}

void Voter::stored(LocalTime now) {
  NELIROUTE_ASSERT(!ready_.entries_changed && !ready_.vote_changed,
                   "what the last Ready named is stored before the next step");
  stored_end_ = entries().end();
  if (std::exchange(vote_unstored_, false) && standing_ == Standing::asks_votes) {
    patience_.go_on(now);  // a slow disk takes nothing from the time in which others may answer
  }
  if (leading_) {
    advance(now);
  }
}

}  // namespace neliroute::quorum
