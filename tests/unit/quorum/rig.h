// Voters whose messages are delivered at once, or held back one by one; what they store is stored.
//
// Threads: one.   Units: milliseconds.   Errors: none.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quorum/voter.h"

namespace neliroute::quorum {

inline constexpr milliseconds kElection{300};
inline constexpr LogId kLog{77};

/// The id of voter i, from 0, when the log began.
inline VoterId id_of(int i) { return VoterId(static_cast<std::uint64_t>(i) + 1); }
inline std::string address_of(int i) { return "v" + std::to_string(i); }

class Rig {
 public:
  /// Voter 0 has the highest priority, the last the lowest. `formed`: they have a log already.
  explicit Rig(int voters, bool formed = true) {
    nodes_.resize(static_cast<std::size_t>(voters));
    for (int i = 0; i < voters; ++i) {
      configuration_.members.push_back({id_of(i), address_of(i), voters - i});
      for (int k = 0; k < voters; ++k) node(k).told.push_back(i);
    }
    for (int i = 0; i < voters; ++i) {
      Durable& disk = node(i).disk;
      disk.self = id_of(i);
      if (formed) {
        disk.log = kLog;
        disk.entries = EntryLog({0, 0, BrokerTime{}, configuration_});
      }
      start(i);
    }
  }

  [[nodiscard]] Voter& at(int i) { return *node(i).voter; }
  [[nodiscard]] Durable& disk(int i) { return node(i).disk; }
  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  [[nodiscard]] bool runs(int i) { return i < size() && node(i).voter != nullptr; }
  [[nodiscard]] LocalTime now() const { return now_; }
  [[nodiscard]] VoterOptions options(int i) const {
    VoterOptions options{address_of(i), {}, {}, kElection, kLog};
    for (const int voter : nodes_[static_cast<std::size_t>(i)].told) {
      options.addresses.push_back(address_of(voter));
      options.priorities.insert(options.priorities.begin(),
                                static_cast<int>(options.addresses.size()));
    }
    return options;
  }
  /// Starts it again, told of these voters; with an empty disk, if it is a new one.
  void tell(int i, std::vector<int> voters) {
    if (i == size()) {
      nodes_.emplace_back().disk.self = id_of(i);
    }
    node(i).told = std::move(voters);
    start(i);
  }
  void start(int i) { node(i).voter = std::make_unique<Voter>(options(i), node(i).disk, now_); }
  void stop(int i) { node(i).voter.reset(); }
  /// It stands still, and nothing reaches it.
  void stop_others(int only) {
    for (int i = 0; i < size(); ++i) {
      if (i != only) stop(i);
    }
  }
  void lose_disk(int i, VoterId id) {
    stop(i);
    node(i).disk = Durable{};
    node(i).disk.self = id;
  }
  [[nodiscard]] int size() const { return static_cast<int>(nodes_.size()); }

  /// One way.
  milliseconds latency{0};
  /// Messages in all.
  std::size_t sent = 0;
  /// What is not delivered, and lost.
  std::function<bool(const Message&)> lost;
  void cut_off(int i) {
    lost = [address = address_of(i)](const Message& message) {
      return message.from_address == address || message.to_address == address;
    };
  }
  void heal() { lost = nullptr; }

  /// Does what its Ready says. `stores`: also puts it on disk, and sends what depends on that.
  Ready carry_out(int i, bool stores = true) {
    Ready ready = at(i).take_ready(now_);
    send(ready.at_once);
    if (stores) {
      node(i).disk = at(i).durable();
      send(ready.once_stored);
      at(i).stored(now_);
    }
    return ready;
  }
  void deliver() {
    int rounds = 0;
    for (bool moved = true; moved;) {
      ASSERT_LT(++rounds, 10'000) << "voters answer each other for ever";
      for (int i = 0; i < size(); ++i) {
        if (runs(i)) carry_out(i);
      }
      moved = false;
      for (std::size_t left = network_.size(); left > 0; --left) {
        const auto [arrives, message] = std::move(network_.front());
        network_.pop_front();
        if (arrives > now_) {
          network_.emplace_back(arrives, message);
          continue;
        }
        moved = true;
        const int to = message.to_address.back() - '0';
        if (!(lost && lost(message)) && runs(to)) at(to).step(message, now_);
      }
    }
  }
  void run_for(milliseconds time) {
    for (const LocalTime end = now_ + time; now_ < end;) {
      now_ += milliseconds(5);
      for (int i = 0; i < size(); ++i) {
        if (runs(i) && at(i).deadline() <= now_) at(i).tick(now_);
      }
      deliver();
    }
  }
  /// How long until a voter leads.
  milliseconds wait_led() {
    const LocalTime began = now_;
    while (leader() < 0 && now_ < began + milliseconds(20'000)) run_for(milliseconds(5));
    return std::chrono::duration_cast<milliseconds>(now_ - began);
  }
  /// -1: nobody. Of several the one in the newest term.
  [[nodiscard]] int leader() {
    int leader = -1;
    for (int i = 0; i < size(); ++i) {
      if (runs(i) && at(i).role() == Role::leading &&
          (leader < 0 || at(i).term() > at(leader).term())) {
        leader = i;
      }
    }
    return leader;
  }
  std::optional<Index> propose(int i, std::string record, std::int64_t wall_ms = 1000) {
    const auto index = at(i).propose(std::move(record), BrokerTime(milliseconds(wall_ms)));
    deliver();
    return index;
  }
  /// As voter `from` would send it to voter `to`, in this term.
  [[nodiscard]] Message message(int from, int to, Term term, decltype(Message::body) body) const {
    const std::uint64_t told = print_of(options(from).addresses);
    return {id_of(from), address_of(from), address_of(to), kLog, term, told, std::move(body)};
  }

 private:
  struct Node {
    Durable disk;
    std::unique_ptr<Voter> voter;
    std::vector<int> told;
  };
  Node& node(int i) { return nodes_[static_cast<std::size_t>(i)]; }
  void send(const std::vector<Message>& messages) {
    sent += messages.size();
    for (const Message& message : messages) network_.emplace_back(now_ + latency, message);
  }

  Configuration configuration_;
  std::vector<Node> nodes_;
  std::deque<std::pair<LocalTime, Message>> network_;
  LocalTime now_{milliseconds(1000)};
};

/// Of all messages, the bodies of this kind.
template <class Body>
std::vector<Body> bodies(const std::vector<Message>& messages) {
  std::vector<Body> found;
  for (const Message& message : messages) {
    if (const auto* body = std::get_if<Body>(&message.body)) found.push_back(*body);
  }
  return found;
}

}  // namespace neliroute::quorum
