// The logs of a cluster, each with an election of its own among its replicas: Voters on a simulated
// network, whose nodes are stopped and started. Simulated time, so the same on every machine.
//
// Threads: one.   Units: LocalTime from 0, in steps of a millisecond.   Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "quorum/voter.h"
#include "tests/sim/random.h"

namespace neliroute::bench {

inline constexpr milliseconds kElection{300};

struct Shape {
  std::uint32_t nodes = 3;
  std::uint32_t logs = 6;
  std::uint32_t replicas = 3;
};

enum class Timeouts : std::uint8_t {
  priorities,  ///< fixed ones, and priorities by placement::priorities()
  random,      ///< drawn from one to two election timeouts each time, as Raft does
};

class Elections {
 public:
  Elections(Shape shape, Timeouts timeouts, std::uint64_t seed);

  void start(std::uint32_t node);
  void stop(std::uint32_t node);
  void run_for(milliseconds time);
  /// Until each log has a leader, at most a minute; how long that took.
  milliseconds wait_led();
  /// Of each node, how many logs it leads.
  [[nodiscard]] std::vector<std::uint32_t> leaders() const;
  [[nodiscard]] sim::Random& chance() noexcept { return chance_; }

 private:
  struct Replica {
    std::uint32_t log = 0;
    std::uint32_t node = 0;
    std::vector<std::string> addresses;
    std::vector<int> priorities;
    quorum::Durable disk;
    std::unique_ptr<quorum::Voter> voter;
    /// Of `random`: the deadline for which it waits longer, and until when.
    LocalTime drawn_for{};
    LocalTime until{};
  };
  struct Sent {
    LocalTime at;
    std::uint64_t number = 0;
    std::size_t to = 0;
    quorum::Message message;
    [[nodiscard]] bool operator<(const Sent& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };
  void add_log(std::uint32_t log);
  void step();
  void carry_out(Replica& replica);
  void send(const Replica& replica, const std::vector<quorum::Message>& messages);
  [[nodiscard]] LocalTime deadline(Replica& replica);
  [[nodiscard]] bool all_led() const;

  Shape shape_;
  Timeouts timeouts_;
  sim::Random chance_;
  std::vector<Replica> replicas_;
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> places_;
  std::priority_queue<Sent> network_;
  std::uint64_t sent_ = 0;
  LocalTime now_{};
};

}  // namespace neliroute::bench
