#include "tests/quorum/world.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "quorum/mutation.h"

namespace neliroute::quorum::sim {
namespace {

constexpr LocalTime kTroubled{milliseconds(20'000)};
constexpr LocalTime kHealed{milliseconds(23'000)};
constexpr LocalTime kEnd{milliseconds(30'000)};
/// Until the next leader is confirmed: its vote, others' and its first entry take a round each.
constexpr int kHandOverMs = 30;
/// No clock of this world is read as 0.
constexpr std::int64_t kEpochMs = 1'700'000'000'000;

}  // namespace

World::World(std::uint64_t seed, int voters) : chance_(seed, 1), net_(seed, 2) {
  Random drawn(seed, 0);
  faults = {drawn.percent(70), drawn.percent(60), drawn.percent(60), drawn.percent(70),
            drawn.percent(50), drawn.percent(50), drawn.percent(40), drawn.percent(50),
            drawn.percent(40), drawn.percent(70)};
  const auto first = static_cast<int>(drawn.between(0, voters - 1));
  for (int i = 0; i < voters; ++i) {
    addresses_.push_back("v" + std::to_string(i));
    priorities_[addresses_.back()] = voters - (i + first) % voters;
  }
  nodes_.resize(index(voters));
  for (int i = 0; i < voters; ++i) {
    Node& node = nodes_[index(i)];
    node.address = addresses_[index(i)];
    node.told = addresses_;
    node.disk = std::make_unique<Disk>(VoterId(++ids_));
    node.skew = milliseconds(faults.skew ? drawn.between(-2000, 2000) : 0);
    node.up_at = LocalTime(milliseconds(drawn.between(0, 400)));
  }
  Random others(seed, 3);
  faults.other_voters = voters > 1 && others.percent(40);
  if (faults.other_voters) {
    add_newcomer(others);
  }
  cut_.assign(nodes_.size(), std::vector<LocalTime>(nodes_.size()));
}

int World::node_at(const std::string& address) const {
  const auto it = std::ranges::find(nodes_, address, &Node::address);
  return static_cast<int>(it - nodes_.begin());
}

void World::fail(const std::string& what) {
  if (!broken_) {
    broken_ = what + ", at " + std::to_string(now_.time_since_epoch().count() / 1000) + " ms";
  }
}

void World::start(int i) {
  Node& node = nodes_[index(i)];
  VoterOptions options;
  options.address = node.address;
  options.addresses = node.told;
  for (const std::string& address : node.told) {
    options.priorities.push_back(priorities_.at(address));
  }
  options.election = kElection;
  options.new_log = LogId(++ids_);
  node.voter = std::make_unique<Voter>(std::move(options), node.disk->kept(), now_);
}

/// Half of the time what was being stored is on disk, and nobody was told.
void World::crash(int i, bool lose_disk) {
  Node& node = nodes_[index(i)];
  if (!node.voter) {
    return;
  }
  ++figures_.crashes;
  if (node.storing && chance_.percent(50)) {
    node.disk->store(*node.storing, node.voter->durable());
  }
  node.storing.reset();
  node.voter.reset();
  node.up_at = kNever;
  if (lose_disk) {
    ++figures_.lost_disks;
    lost_at_ = now_;
    const VoterId id = mutated(Mutation::lost_disk_votes) ? node.disk->kept().self
                                                          : VoterId(++ids_);
    node.shelf = std::exchange(node.disk, std::make_unique<Disk>(id));
  }
  if (trace_) {
    std::printf("%8lld %s %s\n", static_cast<long long>(now_.time_since_epoch().count() / 1000),
                node.address.c_str(), lose_disk ? "crashes and loses its disk" : "crashes");
  }
}

void World::isolate(int i, LocalTime until) {
  for (int k = 0; k < size(); ++k) {
    if (k != i) {
      cut(i, k, until);
      cut(k, i, until);
    }
  }
}

void World::propose(int i) {
  Voter* voter = nodes_[index(i)].voter.get();
  if (voter != nullptr) {
    const BrokerTime wall(milliseconds(kEpochMs) + nodes_[index(i)].skew +
                          std::chrono::duration_cast<milliseconds>(now_.time_since_epoch()));
    if (voter->propose("r" + std::to_string(proposed_++), wall)) {
      carry_out(i);
    }
  }
}

int World::leader() const {
  int leader = -1;
  for (int i = 0; i < size(); ++i) {
    const Voter* voter = nodes_[index(i)].voter.get();
    if (voter != nullptr && voter->role() == Role::leading &&
        (leader < 0 || voter->term() > nodes_[index(leader)].voter->term())) {
      leader = i;
    }
  }
  return leader;
}

void World::send(int i, const std::vector<Message>& messages) {
  for (const Message& message : messages) {
    const int to = node_at(message.to_address);
    const bool troubled = !quiet_;
    if (cut_[index(i)][index(to)] > now_ || (troubled && faults.loss && net_.percent(3))) {
      continue;
    }
    const bool lags = nodes_[index(i)].lags_until > now_ || nodes_[index(to)].lags_until > now_;
    const std::int64_t late = lags ? net_.between(100, 900) : 0;
    const auto delay = 1 + late + net_.between(0, troubled ? 40 : 3);
    network_.push({in(delay), sent_++, message});
    if (troubled && faults.doubling && net_.percent(2)) {
      network_.push({in(delay + net_.between(0, 300)), sent_++, message});
    }
  }
}

/// As a driver does: sends, stores, sends; and may stop anywhere between.
void World::carry_out(int i) {
  Node& node = nodes_[index(i)];
  while (node.voter && !node.storing) {
    look(i);
    Ready ready = node.voter->take_ready(now_);
    if (!ready.contradictions.empty()) {
      fail("a leader would replace what is committed");
    }
    const bool stores = ready.vote_changed || ready.start_changed || ready.entries_changed;
    if (!stores && ready.at_once.empty() && ready.once_stored.empty()) {
      return;
    }
    send(i, ready.at_once);
    node.storing = std::move(ready);
    if (stores && !quiet_ && faults.crashes && chance_.per_mille(5)) {
      crash(i);
      node.up_at = in(chance_.between(0, 1500));
    } else if (stores && !quiet_ && faults.slow_disks && chance_.per_mille(20)) {
      node.stopped_until = in(chance_.magnitude(1, 1000));
    } else {
      finish_storing(i);
    }
  }
}

void World::finish_storing(int i) {
  Node& node = nodes_[index(i)];
  const Ready ready = *std::exchange(node.storing, std::nullopt);
  node.disk->store(ready, node.voter->durable());
  const bool differs = mutated(Mutation::vote_not_stored);
  if (!differs && !node.disk->is_as(node.voter->durable())) {
    fail("a Ready did not name all that changed");
  }
  send(i, ready.once_stored);
  node.voter->stored(now_);
  look(i);
}

void World::look(int i) {
  const Voter& voter = *nodes_[index(i)].voter;
  if (voter.role() == Role::leading) {
    const auto [it, first] = led_.try_emplace(voter.term(), voter.durable().self);
    figures_.elections += first ? 1U : 0U;
    if (it->second != voter.durable().self) {
      fail("two leaders in term " + std::to_string(voter.term()));
    }
  }
  if (const auto& log = voter.durable().log) {
    if (voter.committed() > 0 && log_.value_or(*log) != *log) {
      fail("a second log began");
    }
    if (voter.committed() > 0) {  // one in which nothing was committed may be lost
      log_ = log;
    }
  }
  look_at_committed(voter);
}

void World::look_at_committed(const Voter& voter) {
  const EntryLog& entries = voter.entries();
  // What it said before was compared before, most of it.
  const Index from = std::max(entries.first(), std::min(voter.committed(), committed()) - 80);
  for (Index at = from; at < voter.committed(); ++at) {
    const Entry& entry = entries.at(at);
    if (at > committed()) {
      return fail("a hole in what is committed");
    }
    if (at < committed()) {
      if (committed_[static_cast<std::size_t>(at)] != entry) {
        return fail("a committed entry changed");
      }
      continue;
    }
    if (at > 0 && entry.stamped < committed_.back().stamped) {
      return fail("a stamp fell");
    }
    if (at == 0) {
      newest_committed_ = entries.start().configuration;
    }
    committed_.push_back(entry);
    ++figures_.committed;
    if (const auto* configuration = std::get_if<Configuration>(&entry.what)) {
      const bool added = configuration->members.size() > newest_committed_.members.size();
      figures_.admitted += added ? 1U : 0U;
      newest_committed_ = *configuration;
    }
  }
}

/// Records, dropping what is old, and questions whether a leader still is one.
void World::work() {
  const auto ms = now_.time_since_epoch().count() / 1000;
  for (int i = 0; i < size(); ++i) {
    Node& node = nodes_[index(i)];
    if (!node.voter || node.storing || node.stopped_until > now_) {
      continue;
    }
    if (ms % 25 == 0 && node.voter->role() == Role::leading) {
      propose(i);
    }
    if (node.voter && !node.storing && chance_.per_mille(1)) {
      node.voter->drop(node.voter->committed() - chance_.between(0, 60));
      carry_out(i);
    }
    if (node.voter && !node.storing && ms % 50 == 0 && node.voter->role() == Role::leading) {
      questions_.push_back({i, now_, committed()});
      node.voter->ask_round();
      carry_out(i);
    }
  }
  std::erase_if(questions_, [&](const Question& question) {
    const Voter* voter = nodes_[index(question.voter)].voter.get();
    if (voter == nullptr || voter->role() != Role::leading) {
      return true;
    }
    const auto known = voter->confirmed_since(question.at);
    if (known && *known < question.known) {
      fail("a leader of the past was confirmed");
    }
    figures_.confirmed += known ? 1U : 0U;
    return known.has_value() || now_ - question.at > milliseconds(5000);
  });
}

void World::deliver() {
  while (!network_.empty() && network_.top().at <= now_) {
    Sent sent = network_.top();
    network_.pop();
    const int to = node_at(sent.message.to_address);
    Node& node = nodes_[index(to)];
    if (!node.voter) {
      continue;
    }
    if (node.stopped_until > now_) {
      sent.at = node.stopped_until;
      network_.push(std::move(sent));
      continue;
    }
    if (std::holds_alternative<Restart>(sent.message.body)) {
      ++figures_.restarts;
    }
    node.voter->step(sent.message, now_);
    carry_out(to);
  }
}

void World::step() {
  now_ += milliseconds(1);
  for (int i = 0; i < size(); ++i) {
    Node& node = nodes_[index(i)];
    if (!node.voter && node.up_at <= now_) {
      start(i);
    }
    if (node.voter && node.storing && node.stopped_until <= now_) {
      finish_storing(i);
      carry_out(i);
    }
  }
  deliver();
  for (int i = 0; i < size(); ++i) {
    Node& node = nodes_[index(i)];
    if (node.voter && !node.storing && node.stopped_until <= now_ &&
        node.voter->deadline() <= now_) {
      const Role before = node.voter->role();
      node.voter->tick(now_);
      carry_out(i);
      if (trace_ && node.voter && node.voter->role() != before) {
        std::printf("%8lld %s is %d in term %llu\n",
                    static_cast<long long>(now_.time_since_epoch().count() / 1000),
                    node.address.c_str(), static_cast<int>(node.voter->role()),
                    static_cast<unsigned long long>(node.voter->term()));
      }
    }
  }
}

void World::run_until(LocalTime time) {
  while (now_ < time && !broken_) {
    step();
  }
}

std::optional<std::string> World::run() {
  while (now_ < kEnd && !broken_) {
    step();
    tell_others();
    if (now_ < kTroubled) {
      strike();
    } else if (!std::exchange(quiet_, true)) {
      for (Node& node : nodes_) {
        node.up_at = node.ended ? kNever : std::min(node.up_at, in(10));
        node.stopped_until = std::min(node.stopped_until, in(10));
        node.lags_until = now_;
      }
      cut_.assign(nodes_.size(), std::vector<LocalTime>(nodes_.size()));
    }
    work();
    if (now_ > kHealed) {
      const int i = leader();
      const bool confirmed =
          i >= 0 && nodes_[index(i)].voter->confirmed_since(now_ - 2 * kElection);
      leaderless_ms_ += confirmed ? 0 : 1;
    }
  }
  if (!broken_) {
    judge_end();
  }
  if (trace_ && broken_) {
    tell_state();
  }
  return broken_;
}

void World::tell_state() const {
  for (const Node& node : nodes_) {
    const Durable& kept = node.disk->kept();
    std::printf("%s: id %llu, term %llu, voted for %llu, entries %lld to %lld, last term %llu, "
                "committed %lld, voters",
                node.address.c_str(), static_cast<unsigned long long>(kept.self.value()),
                static_cast<unsigned long long>(kept.term),
                static_cast<unsigned long long>(kept.voted_for.value_or(VoterId(0)).value()),
                static_cast<long long>(kept.entries.first()),
                static_cast<long long>(kept.entries.end()),
                static_cast<unsigned long long>(kept.entries.last_term()),
                node.voter ? static_cast<long long>(node.voter->committed()) : -1);
    for (const Member& member : kept.entries.configuration().members) {
      std::printf(" %s=%llu", member.address.c_str(),
                  static_cast<unsigned long long>(member.id.value()));
    }
    std::printf("; told");
    for (const std::string& address : node.told) {
      std::printf(" %s", address.c_str());
    }
    std::puts(node.voter ? "" : ", down");
  }
}

bool World::will_hand_over(int i) const {
  if (i < 0) return false;
  const Voter& voter = *nodes_[static_cast<std::size_t>(i)].voter;
  return voter.hands_over() || voter.hands_over_at().value_or(kLongAgo) > now_;
}

void World::judge_end() {
  if (leaderless_ms_ > kHandOverMs) {
    fail("no confirmed leader for " + std::to_string(leaderless_ms_) +
         " ms, 3 s after the last fault");
  }
  if (newest_committed_.members.size() != addresses_.size()) {
    fail("too few voters count, or too many");
  }
  const auto best = std::ranges::max_element(newest_committed_.members, {}, &Member::priority);
  const auto led_by = leader();
  if (best == newest_committed_.members.end() ||
      (led_by != node_at(best->address) && !will_hand_over(led_by))) {
    fail("who should lead does not at the end");
  }
  for (const Node& node : nodes_) {
    if (node.ends_at != kNever) {
      continue;
    }
    if (newest_committed_.find(node.disk->kept().self) == nullptr) {
      fail(node.address + " does not count at the end");
    }
    if (node.voter->committed() + 20 < committed()) {
      fail(node.address + " lags behind at the end");
    }
  }
  figures_.replaced += faults.other_voters ? 1U : 0U;
}

}  // namespace neliroute::quorum::sim
