// The group coordinator: who is a member, and which partitions each should claim.
//
// Both protocols in the order that Kafka has: `consumer` (KIP-848) takes a partition back from one
// member, hears that it is free, and only then gives it to another; `classic` makes all members
// join anew, cooperative in two rounds, eager with everything given back first.
//
// Threads: one.   Units: true time; partitions as bits of a word.   Errors: none.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/sim/plan.h"
#include "tests/sim/random.h"

namespace neliroute::sim {

using PartitionBits = std::uint64_t;

struct GroupRequest {
  enum class Kind : std::uint8_t { heartbeat, join, leave };
  Kind kind = Kind::heartbeat;
  std::uint32_t member = 0;  ///< 0: not a member yet
  PartitionBits owned = 0;
  std::uint32_t membership = 0;  ///< counts what its client began anew
  std::uint32_t join = 0;        ///< and, in one membership, its joins
};

struct GroupReply {
  enum class Kind : std::uint8_t {
    nothing,     ///< the member is as it should be
    assignment,
    rebalance,   ///< classic: join anew
    unknown,     ///< expelled, or forgotten
  };
  Kind kind = Kind::nothing;
  std::uint32_t member = 0;
  PartitionBits assigned = 0;
  std::int64_t sent = 0;
  std::uint32_t membership = 0;
  std::uint32_t join = 0;  ///< classic: the one that an assignment answers
};

/// A reply to one process.
struct Addressed {
  std::uint8_t node = 0;
  std::uint16_t life = 0;
  GroupReply reply;
};

class Group {
 public:
  Group() = default;
  Group(const Plan& plan, std::uint32_t lane);

  /// Replies, not only to the one who asked.
  void on(const GroupRequest& request, std::uint8_t node, std::uint16_t life, Time now,
          std::vector<Addressed>& replies);
  void expire(Time now, std::vector<Addressed>& replies);
  /// The coordinator moved: nobody's silence counts until now.
  void refresh(Time now);
  void forget_all();
  /// Assigns anew, keeping nothing in place.
  void reshuffle();

  /// Who should lead a partition, as far as the group goes; false: nobody.
  [[nodiscard]] bool assignee(std::uint32_t partition, std::uint8_t& node,
                              std::uint16_t& life) const;
  /// Members beside the ones that this process was and is.
  [[nodiscard]] std::uint32_t others(std::uint8_t node) const;
  [[nodiscard]] std::uint64_t expelled() const noexcept { return expelled_; }
  [[nodiscard]] std::uint64_t rebalances() const noexcept { return rebalances_; }

 private:
  struct Member {
    std::uint32_t id = 0;
    std::uint8_t node = 0;
    std::uint16_t life = 0;
    std::uint32_t membership = 0;
    std::uint32_t join = 0;
    Time expires = 0;
    PartitionBits current = 0;  ///< consumer: granted and not given back
    PartitionBits owned = 0;    ///< classic: as it said when it joined
    bool joined = false;        ///< classic: waits for the others
  };

  [[nodiscard]] Member* find(std::uint32_t id);
  [[nodiscard]] Member* find(std::uint8_t node, std::uint16_t life, std::uint32_t membership);
  Member& add(std::uint8_t node, std::uint16_t life, std::uint32_t membership);
  void remove(std::uint32_t id, std::vector<Addressed>& replies);
  void aim();
  [[nodiscard]] PartitionBits target_of(std::uint32_t id) const;
  GroupReply reconcile(Member& member, PartitionBits owned);
  void start_rebalance();
  void complete_if_all_joined(std::vector<Addressed>& replies);

  Assigning assigning_ = Assigning::consumer;
  std::uint32_t partitions_ = 0;
  Time session_ = 0;
  Random random_;
  std::vector<Member> members_;
  std::vector<std::uint32_t> target_;  ///< per partition, member or 0
  bool joining_ = false;
  Time now_ = 0;
  std::uint32_t next_id_ = 1;
  std::uint64_t expelled_ = 0;
  std::uint64_t rebalances_ = 0;
};

}  // namespace neliroute::sim
