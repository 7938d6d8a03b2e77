#include "tests/unit/voter/recorded_voters.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "tests/sim/random.h"

namespace neliroute {
namespace {

using quorum::Durable;
using quorum::Message;
using quorum::Voter;
using quorum::VoterId;

class World {
 public:
  World(std::uint64_t seed, int voters) : chance_(seed, 0), nodes_(std::size_t(voters)) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      addresses_.push_back("v" + std::to_string(i));
      priorities_.push_back(static_cast<int>(nodes_.size() - i));
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      begin_disk(i);
      start(i);
    }
  }

  Recording run(milliseconds lasting) {
    for (; now_ < LocalTime() + lasting; now_ += milliseconds(1)) {
      deliver();
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        work(i);
      }
      strike();
    }
    for (Node& node : nodes_) {
      recording_.disks.push_back(std::move(node.stores));
    }
    return std::move(recording_);
  }

 private:
  struct Node {
    Durable durable;
    std::unique_ptr<Voter> voter;
    LocalTime cut_until{};
    std::vector<RecordedStore> stores;
  };

  void begin_disk(std::size_t i) {
    nodes_[i].durable = Durable();
    nodes_[i].durable.self = VoterId(++ids_);
  }
  void start(std::size_t i) {
    quorum::VoterOptions options;
    options.address = addresses_[i];
    options.addresses = addresses_;
    options.priorities = priorities_;
    options.new_log = quorum::LogId(++ids_);
    nodes_[i].voter = std::make_unique<Voter>(std::move(options), nodes_[i].durable, now_);
  }

  void carry_out(std::size_t i) {
    Node& node = nodes_[i];
    for (;;) {
      quorum::Ready ready = node.voter->take_ready(now_);
      auto messages = std::exchange(ready.at_once, {});
      std::ranges::move(std::exchange(ready.once_stored, {}), std::back_inserter(messages));
      const bool stores = ready.vote_changed || ready.start_changed || ready.entries_changed;
      if (!stores && messages.empty()) {
        return;
      }
      node.durable = node.voter->durable();
      if (stores) {
        node.stores.push_back({std::move(ready), node.durable});
      }
      for (Message& message : messages) {
        send(i, std::move(message));
      }
      node.voter->stored(now_);
    }
  }

  void send(std::size_t from, Message message) {
    if (kinds_[message.body.index()]++ % 20 == 0) {
      recording_.messages.push_back(message);
    }
    const auto to = static_cast<std::size_t>(std::ranges::find(addresses_, message.to_address) -
                                             addresses_.begin());
    if (nodes_[from].cut_until <= now_ && nodes_[to].cut_until <= now_ && !chance_.percent(2)) {
      network_.emplace(now_ + milliseconds(chance_.between(1, 20)),
                       std::pair(to, std::move(message)));
    }
  }

  void deliver() {
    while (!network_.empty() && network_.begin()->first <= now_) {
      const auto [to, message] = std::move(network_.extract(network_.begin()).mapped());
      nodes_[to].voter->step(message, now_);
      carry_out(to);
    }
  }

  void work(std::size_t i) {
    Voter& voter = *nodes_[i].voter;
    if (voter.deadline() <= now_) {
      voter.tick(now_);
      carry_out(i);
    }
    if (voter.role() == quorum::Role::leading && chance_.percent(5)) {
      for (auto n = chance_.between(1, 3); n > 0; --n) {
        const auto size = static_cast<std::size_t>(chance_.between(0, 60));
        ++proposed_;
        (void)voter.propose("record " + std::to_string(proposed_) + std::string(size, '.'),
                            BrokerTime(milliseconds(1'700'000'000'000 + proposed_)));
      }
      carry_out(i);
    }
    if (chance_.per_mille(2)) {
      voter.drop(voter.committed() - chance_.between(0, 120));
      carry_out(i);
    }
  }

  void strike() {
    auto i = static_cast<std::size_t>(chance_.between(0, std::ssize(nodes_) - 1));
    const auto what = chance_.between(0, 2999);
    if (what < 3 && nodes_.size() > 1) {
      // A leader writes on for a while, and another replaces that.
      while (chance_.percent(70) && nodes_[i].voter->role() != quorum::Role::leading) {
        i = (i + 1) % nodes_.size();
      }
      nodes_[i].cut_until = now_ + milliseconds(chance_.between(0, 2000));
    } else if (what == 3) {
      start(i);
    } else if (what == 4 && nodes_.size() > 1 && now_ > loses_from_ && has_majority_without(i)) {
      recording_.disks.push_back(std::exchange(nodes_[i].stores, {}));
      begin_disk(i);
      start(i);
      loses_from_ = now_ + milliseconds(5000);
    }
  }

  [[nodiscard]] bool has_majority_without(std::size_t i) const {
    return std::ranges::all_of(nodes_, [&](const Node& node) {
      return node.durable.log && node.voter->entries().configuration().members.size() ==
                                     nodes_.size() &&
             node.voter->committed() + 10 > nodes_[i].voter->committed();
    });
  }

  sim::Random chance_;
  std::vector<Node> nodes_;
  std::vector<std::string> addresses_;
  std::vector<int> priorities_;
  std::multimap<LocalTime, std::pair<std::size_t, Message>> network_;
  std::map<std::size_t, int> kinds_;
  Recording recording_;
  LocalTime now_{};
  LocalTime loses_from_{};
  std::uint64_t ids_ = 0;
  int proposed_ = 0;
};

}  // namespace

Recording record(std::uint64_t seed, int voters, milliseconds lasting) {
  return World(seed, voters).run(lasting);
}

}  // namespace neliroute
