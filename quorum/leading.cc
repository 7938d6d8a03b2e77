// What a leader does: it sends its entries, counts who stored them, and says who votes.
#include <algorithm>
#include <functional>
#include <utility>

#include "quorum/mutation.h"
#include "quorum/voter.h"

namespace neliroute::quorum {

void Voter::lead(LocalTime now) {
  standing_ = Standing::no;
  leader_ = Known{durable_.self, options_.address};
  leading_ = Leading{};
  leading_->since = leading_->next_beat = now;
  leading_->began = leading_->end_at_beat = leading_->end_before = entries().end();
  leading_->beats = true;
  for (const Member& member : entries().configuration().members) {
    if (member.id != durable_.self) {
      leading_->followers.try_emplace(member.id, member.address, entries().end(), kNothing);
    }
  }
  note_who_leads(durable_.self, now);
  append({durable_.term, entries().last_stamp(), Begins{}});
  lead_on(now);
}

void Voter::lead_on(LocalTime now) {
  const milliseconds patience = 2 * options_.election;
  if (now - leading_->since > patience &&
      !majority_answers_since(entries().configuration(), now - patience) &&
      !mutated(Mutation::never_steps_down)) {
    return follow(durable_.term, std::nullopt, now);
  }
  if (now >= leading_->next_beat) {
    leading_->next_beat = now + options_.election / 4;
    leading_->beats = true;
    std::erase_if(leading_->followers, [&](const auto& known) {
      return entries().configuration().find(known.first) == nullptr &&
             !answers_since(known.first, now - 5 * patience);
    });
    look_for_missing();
    hand_over(now);
    admit(now);
    leading_->end_before = std::exchange(leading_->end_at_beat, entries().end());
  }
}

/// One that lost its disk may have been told of others, and not of this voter.
void Voter::look_for_missing() {
  const auto copies = [this](const std::string& address) {
    return std::ranges::any_of(leading_->followers, [&](const auto& known) {
      return known.second.address() == address;
    });
  };
  for (const std::string& address : options_.addresses) {
    if (address != options_.address && !copies(address)) {
      say_here(address);
    }
  }
}

/// Of the voters the one with the highest priority, if that is not this one, all answer, and it has
/// copied the log and was told of the same voters: with others in its list it would undo a change
/// that is under way.
std::optional<VoterId> Voter::better(LocalTime now) const {
  const Configuration& voters = entries().configuration();
  const auto best = std::ranges::max_element(voters.members, {}, &Member::priority);
  const Member* own = voters.find(durable_.self);
  if (own == nullptr || best->priority <= own->priority ||
      answering_since(voters, now - options_.election / 2) < voters.members.size()) {
    return std::nullopt;
  }
  const Follower& follower = leading_->followers.at(best->id);
  const bool fits = follower.told() == told_ && follower.matched() >= leading_->end_before;
  return fits ? std::optional(best->id) : std::nullopt;
}

/// Leaders of several logs would else stay where elections put them, on few voters. Whoever has
/// just come back may go again, so that takes a while. If it comes to nothing, that counts as a
/// loss.
void Voter::hand_over(LocalTime now) {
  if (leading_->heir && now < leading_->heir_until) {
    return;
  }
  const auto in_vain = std::exchange(leading_->heir, std::nullopt);
  if (in_vain) {
    note_loss(*in_vain, now);
  }
  const auto found = better(now);
  if (in_vain || found != leading_->better) {
    leading_->better = found;
    leading_->better_since = now;
  }
  if (found && now >= *hands_over_at() && !mutated(Mutation::leads_on_for_ever)) {
    leading_->heir = found;
    leading_->heir_until = now + options_.election / 2;
    leading_->heir_told = false;
  }
}

std::optional<LocalTime> Voter::hands_over_at() const {
  if (!leading_ || !leading_->better) {
    return std::nullopt;
  }
  return leading_->better_since + well_for(*leading_->better);
}

/// Whoever is lost again and again as a leader, with a disk that hangs now and then, say, must be
/// well for four times as long each time: every loss costs an election.
milliseconds Voter::well_for(VoterId id) const {
  constexpr int kTimeouts = 10;
  constexpr int kTimesMax = 4;
  const auto lost = losses_.find(id);
  const int times = lost == losses_.end() ? 0 : std::min(lost->second.times, kTimesMax);
  int timeouts = kTimeouts;
  for (int time = 1; time < times; ++time) {
    timeouts *= mutated(Mutation::trusts_the_sick) ? 1 : 4;
  }
  return timeouts * options_.election;
}

/// Whoever led before, or should have taken over, is lost if it is another one.
void Voter::note_who_leads(VoterId id, LocalTime now) {
  const auto missed = std::exchange(missed_, std::nullopt);
  if (missed && *missed != id) {
    note_loss(*missed, now);
  }
}

/// Losses are forgotten after four of the longest waits without one.
void Voter::note_loss(VoterId id, LocalTime now) {
  std::erase_if(losses_, [&](const auto& lost) {
    return now - lost.second.at > 2560 * options_.election;
  });
  Loss& loss = losses_[id];
  ++loss.times;
  loss.at = now;
}

/// Once it has all entries, or others might not vote for it. Until then nothing is proposed.
void Voter::tell_heir() {
  if (!leading_->heir || leading_->heir_told) {
    return;
  }
  const Follower& heir = leading_->followers.at(*leading_->heir);
  if (heir.matched() == entries().end() || mutated(Mutation::hands_over_too_early)) {
    leading_->heir_told = true;
    ready_.at_once.push_back(to(heir.address(), TakeOver{}));
  }
}

void Voter::ask_round() noexcept {
  if (leading_) {
    leading_->beats = true;
  }
}

/// Entries that were not sent yet, as many as may be under way; at a beat one message at least.
void Voter::send_entries(Follower& follower, LocalTime now) {
  constexpr std::size_t kEntries = 64;
  constexpr std::size_t kBytes = 256 * 1024;
  bool beats = leading_->beats;
  while (beats || (follower.next() < entries().end() && !follower.is_full())) {
    Message message = to(follower.address(), {});
    const std::uint64_t round = ++leading_->round;
    if (follower.next() < entries().first()) {
      message.body = Restart{entries().start(), round};
      follower.sent(round, now, entries().first(), false);
    } else {
      Append append{follower.next(), entries().term_before(follower.next()), {}, committed_, round};
      Index next = follower.next();
      for (std::size_t bytes = 0; !follower.is_full() && next < entries().end() &&
                                  append.entries.size() < kEntries && bytes < kBytes;
           ++next) {
        append.entries.push_back(entries().at(next));
        if (const auto* record = std::get_if<std::string>(&append.entries.back().what)) {
          bytes += record->size();
        }
      }
      follower.sent(round, now, next, !append.entries.empty());
      message.body = std::move(append);
    }
    ready_.at_once.push_back(std::move(message));
    beats = false;
  }
}

std::optional<Index> Voter::propose(std::string record, BrokerTime wall) {
  if (!leading_ || leading_->heir) {
    return std::nullopt;
  }
  const BrokerTime stamped = mutated(Mutation::stamp_of_leader_alone)
                                 ? wall
                                 : std::max(wall, entries().last_stamp());
  append({durable_.term, stamped, std::move(record)});
  return entries().end() - 1;
}

/// Commits what a majority has stored. Entries of earlier leaders are committed by one of its own
/// above them only: a majority alone does not keep another leader from replacing them.
void Voter::advance(LocalTime now) {
  const Configuration& voters = entries().configuration();
  std::vector<Index> ends;
  for (const Member& member : voters.members) {
    if (member.id == durable_.self) {
      ends.push_back(mutated(Mutation::own_disk_assumed) ? entries().end() : stored_end_);
    } else {
      ends.push_back(leading_->followers.at(member.id).matched());
    }
  }
  if (mutated(Mutation::learners_counted)) {
    for (const auto& [id, follower] : leading_->followers) {
      if (voters.find(id) == nullptr) {
        ends.push_back(follower.matched());
        ends.erase(std::ranges::min_element(ends));
      }
    }
  }
  std::ranges::sort(ends, std::greater<>());
  const Index end = ends[ends.size() / 2];
  if (end > committed_ && (entries().term_before(end) == durable_.term ||
                           mutated(Mutation::commits_older_terms))) {
    committed_ = end;
    leading_->beats = true;
    if (voters.find(durable_.self) == nullptr) {
      follow(durable_.term, std::nullopt, now);
    }
  }
}

std::optional<Index> Voter::confirmed_since(LocalTime time) const {
  if (!leading_ || committed_ <= leading_->began) {
    return std::nullopt;
  }
  return majority_answers_since(entries().configuration(), time) ? std::optional(committed_)
                                                                 : std::nullopt;
}

bool Voter::answers_since(VoterId id, LocalTime time) const {
  const auto found = leading_->followers.find(id);
  return id == durable_.self ||
         (found != leading_->followers.end() && found->second.answered() >= time);
}

std::size_t Voter::overdue(LocalTime now) const {
  const LocalTime since = now - options_.election;
  if (!leading_ || leading_->since > since) {
    return 0;
  }
  const Configuration& voters = entries().configuration();
  return voters.members.size() - answering_since(voters, since);
}

std::size_t Voter::answering_since(const Configuration& voters, LocalTime time) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      voters.members, [&](const Member& member) { return answers_since(member.id, time); }));
}

bool Voter::majority_answers_since(const Configuration& voters, LocalTime time) const {
  return voters.is_majority(answering_since(voters, time));
}

int Voter::priority_of(const std::string& address) const {
  const auto it = std::ranges::lower_bound(options_.addresses, address);
  return options_.priorities[static_cast<std::size_t>(it - options_.addresses.begin())];
}

/// Who votes is changed by one voter at a time, so any two majorities before and after it meet; the
/// next step waits until it is committed.
void Voter::admit(LocalTime now) {
  const auto changed_at = entries().configured_at();
  const bool settled = committed_ > leading_->began && (!changed_at || *changed_at < committed_);
  if (leading_->heir || (!settled && !mutated(Mutation::two_changes_at_once))) {
    return;
  }
  if (admit_learner(now) || !most_are_told_the_same(now) || remove_unlisted(now)) {
    return;
  }
  Configuration changed = entries().configuration();
  for (Member& member : changed.members) {
    member.priority = priority_of(member.address);
  }
  if (changed != entries().configuration()) {
    change(std::move(changed));
  }
}

void Voter::change(Configuration changed) {
  append({durable_.term, entries().last_stamp(), std::move(changed)});
}

/// Two that lead in turn and were told of other voters cannot both remove some.
bool Voter::most_are_told_the_same(LocalTime now) const {
  const LocalTime lately = now - 2 * options_.election;
  const Configuration& voters = entries().configuration();
  const auto agree = std::ranges::count_if(voters.members, [&](const Member& member) {
    return member.id == durable_.self ||
           (answers_since(member.id, lately) &&
            leading_->followers.at(member.id).told() == told_);
  });
  return voters.is_majority(static_cast<std::size_t>(agree)) || mutated(Mutation::changes_alone);
}

/// A voter that has copied the log is added. If it lost its disk, the one that it was is removed
/// before.
bool Voter::admit_learner(LocalTime now) {
  const Configuration& voters = entries().configuration();
  for (const auto& [id, follower] : leading_->followers) {
    const bool copied =
        follower.matched() != kNothing && follower.matched() >= leading_->end_before;
    if (voters.find(id) != nullptr || !copied || !answers_since(id, now - options_.election)) {
      continue;
    }
    Configuration changed = voters;
    const Member* lost = voters.at(follower.address());
    if (lost != nullptr && answers_since(lost->id, now - 2 * options_.election)) {
      continue;  // two processes say that they are at one address
    }
    const auto removed = lost != nullptr ? std::optional(lost->id) : std::nullopt;
    std::erase_if(changed.members, [&](const Member& m) { return m.id == removed; });
    if (lost == nullptr || mutated(Mutation::replaces_at_once)) {
      if (!is_address(follower.address())) {
        continue;
      }
      changed.members.push_back({id, follower.address(), priority_of(follower.address())});
      std::ranges::sort(changed.members, {}, &Member::address);
    }
    if (majority_answers_since(changed, now - 2 * options_.election)) {
      change(std::move(changed));
      if (removed) {
        leading_->followers.erase(*removed);
      }
      return true;
    }
  }
  return false;
}

/// One that this voter was not told of, once all vote that it was told of.
bool Voter::remove_unlisted(LocalTime now) {
  const Configuration& voters = entries().configuration();
  const bool all_vote = std::ranges::all_of(
      options_.addresses, [&](const std::string& at) { return voters.at(at) != nullptr; });
  const auto unlisted = std::ranges::find_if(
      voters.members, [&](const Member& member) { return !is_address(member.address); });
  if (!all_vote || unlisted == voters.members.end()) {
    return unlisted != voters.members.end();
  }
  Configuration changed = voters;
  changed.members.erase(changed.members.begin() + (unlisted - voters.members.begin()));
  if (majority_answers_since(changed, now - 2 * options_.election)) {
    change(std::move(changed));
  }
  return true;
}

}  // namespace neliroute::quorum
