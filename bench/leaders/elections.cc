#include "bench/leaders/elections.h"

#include <algorithm>
#include <utility>

#include "placement/priorities.h"

namespace neliroute::bench {
namespace {

std::string address_of(std::uint32_t node) { return "n" + std::to_string(node); }

}  // namespace

Elections::Elections(Shape shape, Timeouts timeouts, std::uint64_t seed)
    : shape_(shape), timeouts_(timeouts), chance_(seed, 0) {
  for (std::uint32_t log = 0; log < shape_.logs; ++log) {
    add_log(log);
  }
}

void Elections::add_log(std::uint32_t log) {
  quorum::LogStart start;
  auto placed = placement::priorities(shape_.nodes, Partition(log), shape_.replicas);
  std::ranges::sort(placed, {}, &placement::ReplicaPriority::node);
  std::vector<std::string> addresses;
  std::vector<int> priorities;
  for (const auto& [node, priority] : placed) {
    const int ranked = timeouts_ == Timeouts::priorities ? static_cast<int>(priority) : 1;
    addresses.push_back(address_of(node));
    priorities.push_back(ranked);
    start.configuration.members.push_back(
        {quorum::VoterId(node + 1), address_of(node), ranked});
  }
  for (const auto& [node, priority] : placed) {
    places_[{log, address_of(node)}] = replicas_.size();
    Replica& made = replicas_.emplace_back();
    made.log = log;
    made.node = node;
    made.addresses = addresses;
    made.priorities = priorities;
    made.disk.self = quorum::VoterId(node + 1);
    made.disk.log = quorum::LogId(log + 1);
    made.disk.entries = quorum::EntryLog(start);
  }
}

void Elections::start(std::uint32_t node) {
  for (Replica& replica : replicas_) {
    if (replica.node == node && !replica.voter) {
      replica.voter = std::make_unique<quorum::Voter>(
          quorum::VoterOptions{address_of(node), replica.addresses, replica.priorities, kElection,
                               *replica.disk.log},
          replica.disk, now_);
      carry_out(replica);
    }
  }
}

void Elections::stop(std::uint32_t node) {
  for (Replica& replica : replicas_) {
    if (replica.node == node) {
      replica.voter.reset();
    }
  }
}

/// When the replica wants to be called: with random timeouts later than the voter says, unless it
/// leads.
LocalTime Elections::deadline(Replica& replica) {
  const LocalTime said = replica.voter->deadline();
  if (timeouts_ == Timeouts::priorities || replica.voter->role() == quorum::Role::leading) {
    return said;
  }
  if (replica.drawn_for != said) {
    replica.drawn_for = said;
    replica.until = said + milliseconds(chance_.between(0, kElection.count()));
  }
  return replica.until;
}

void Elections::send(const Replica& replica, const std::vector<quorum::Message>& messages) {
  for (const quorum::Message& message : messages) {
    const auto to = places_.find({replica.log, message.to_address});
    network_.push({now_ + milliseconds(chance_.between(1, 3)), sent_++, to->second, message});
  }
}

void Elections::carry_out(Replica& replica) {
  for (int i = 0; i < 2; ++i) {  // what is stored may commit, and that is said, too
    const quorum::Ready ready = replica.voter->take_ready(now_);
    send(replica, ready.at_once);
    replica.disk = replica.voter->durable();
    send(replica, ready.once_stored);
    replica.voter->stored(now_);
  }
}

void Elections::step() {
  now_ += milliseconds(1);
  while (!network_.empty() && network_.top().at <= now_) {
    const Sent sent = network_.top();
    network_.pop();
    Replica& replica = replicas_[sent.to];
    if (replica.voter) {
      replica.voter->step(sent.message, now_);
      carry_out(replica);
    }
  }
  for (Replica& replica : replicas_) {
    if (replica.voter && deadline(replica) <= now_) {
      replica.voter->tick(now_);
      carry_out(replica);
    }
  }
}

void Elections::run_for(milliseconds time) {
  for (const LocalTime end = now_ + time; now_ < end;) {
    step();
  }
}

bool Elections::all_led() const {
  std::vector<bool> led(shape_.logs, false);
  for (const Replica& replica : replicas_) {
    if (replica.voter && replica.voter->role() == quorum::Role::leading) {
      led[replica.log] = true;
    }
  }
  return std::ranges::all_of(led, std::identity{});
}

milliseconds Elections::wait_led() {
  const LocalTime began = now_;
  while (!all_led() && now_ - began < std::chrono::minutes(1)) {
    step();
  }
  return std::chrono::duration_cast<milliseconds>(now_ - began);
}

std::vector<std::uint32_t> Elections::leaders() const {
  std::vector<const quorum::Voter*> leading(shape_.logs, nullptr);
  std::vector<std::uint32_t> node_of(shape_.logs, 0);
  for (const Replica& replica : replicas_) {
    const quorum::Voter* voter = replica.voter.get();
    const quorum::Voter*& newest = leading[replica.log];
    if (voter != nullptr && voter->role() == quorum::Role::leading &&
        (newest == nullptr || voter->term() > newest->term())) {
      newest = voter;
      node_of[replica.log] = replica.node;
    }
  }
  std::vector<std::uint32_t> counts(shape_.nodes, 0);
  for (std::uint32_t log = 0; log < shape_.logs; ++log) {
    if (leading[log] != nullptr) ++counts[node_of[log]];
  }
  return counts;
}

}  // namespace neliroute::bench
