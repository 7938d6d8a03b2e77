// Voters on a simulated network with simulated disks, and what must hold whatever happens to them.
//
// Threads: one.   Units: LocalTime from 0; a step is a millisecond.   Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "quorum/voter.h"
#include "tests/quorum/disk.h"
#include "tests/sim/random.h"

namespace neliroute::quorum::sim {

using neliroute::sim::Random;

inline constexpr milliseconds kElection{300};

/// What may happen; drawn for each seed.
struct Faults {
  bool loss = false;
  bool doubling = false;
  bool cuts = false;
  bool crashes = false;
  bool pauses = false;
  bool slow_disks = false;
  bool lost_disks = false;
  /// A disk that was lost comes back, and the one that took its place is lost.
  bool returning_disks = false;
  bool lag = false;
  bool skew = false;
  /// A voter is replaced by one at another address: all are told, each at its time.
  bool other_voters = false;
};

struct Figures {
  std::uint64_t elections = 0;
  std::uint64_t committed = 0;
  std::uint64_t crashes = 0;
  std::uint64_t lost_disks = 0;
  std::uint64_t returned_disks = 0;
  std::uint64_t admitted = 0;
  std::uint64_t restarts = 0;
  std::uint64_t confirmed = 0;
  std::uint64_t replaced = 0;
};

class World {
 public:
  World(std::uint64_t seed, int voters);

  /// All of it: a time in which faults happen, then one without. Returns what was broken.
  std::optional<std::string> run();
  void trace() noexcept { trace_ = true; }

  // For directed schedules:
  /// Voter i, or nothing while it is down.
  [[nodiscard]] Voter* voter(int i) { return nodes_[index(i)].voter.get(); }
  void crash(int i, bool lose_disk = false);
  void start(int i);
  /// Nothing that i sends reaches the others from now on, and both ways with `both`.
  void cut(int from, int to, LocalTime until) { cut_[index(from)][index(to)] = until; }
  void isolate(int i, LocalTime until);
  void propose(int i);
  /// Lets the time pass.
  void run_until(LocalTime time);
  [[nodiscard]] LocalTime now() const noexcept { return now_; }
  /// The one that leads in the newest term, or -1.
  [[nodiscard]] int leader() const;
  /// It leads, and knows when another one shall.
  [[nodiscard]] bool will_hand_over(int i) const;
  [[nodiscard]] const std::optional<std::string>& broken() const noexcept { return broken_; }
  [[nodiscard]] const Figures& figures() const noexcept { return figures_; }
  [[nodiscard]] Index committed() const noexcept { return std::ssize(committed_); }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(nodes_.size()); }
  Faults faults;

 private:
  struct Node {
    std::string address;
    /// Of all voters.
    std::vector<std::string> told;
    /// When it is told of others.
    LocalTime told_at = kNever;
    /// When it is stopped for good, if that is no loss of a majority.
    LocalTime ends_at = kNever;
    bool ended = false;
    std::unique_ptr<Disk> disk;
    /// What it lost.
    std::unique_ptr<Disk> shelf;
    std::unique_ptr<Voter> voter;
    LocalTime up_at{};
    LocalTime stopped_until{};
    /// Its disk is slow: what is stored then, and sent.
    std::optional<Ready> storing;
    LocalTime lags_until{};
    milliseconds skew{0};
  };
  struct Sent {
    LocalTime at;
    std::uint64_t number = 0;
    Message message;
    [[nodiscard]] bool operator<(const Sent& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };
  /// A question whether a leader still is one.
  struct Question {
    int voter = 0;
    LocalTime at;
    Index known = 0;
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] int node_at(const std::string& address) const;
  [[nodiscard]] LocalTime in(std::int64_t ms) const { return now_ + milliseconds(ms); }
  void step();
  void deliver();
  void strike();
  void tell_others();
  void work();
  void carry_out(int i);
  void finish_storing(int i);
  void send(int i, const std::vector<Message>& messages);
  void look(int i);
  void look_at_committed(const Voter& voter);
  void judge_end();
  void tell_state() const;
  void fail(const std::string& what);
  [[nodiscard]] const Configuration* pending(const Node& node) const;
  [[nodiscard]] bool may_lose(int i, bool ends) const;
  void add_newcomer(Random drawn);

  Random chance_;
  Random net_;
  std::vector<Node> nodes_;
  std::vector<std::string> addresses_;  ///< of all voters, as they are to be in the end
  std::map<std::string, int> priorities_;
  std::priority_queue<Sent> network_;
  std::uint64_t sent_ = 0;
  std::vector<std::vector<LocalTime>> cut_;
  std::uint64_t ids_ = 0;
  LocalTime now_{};
  bool quiet_ = false;
  bool trace_ = false;
  int proposed_ = 0;
  int leaderless_ms_ = 0;
  LocalTime lost_at_{};  ///< a disk
  std::vector<Question> questions_;

  std::map<Term, VoterId> led_;
  std::vector<Entry> committed_;
  Configuration newest_committed_;
  std::optional<LogId> log_;
  std::optional<std::string> broken_;
  Figures figures_;
};

}  // namespace neliroute::quorum::sim
