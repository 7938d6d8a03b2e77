// Finds the voter that leads a log, and opens a channel to it.
//
// Threads: the strand.   Units: std::chrono.   Errors: told by troubles().
#pragma once

#include <map>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <vector>

#include "ledgers/quorum/quorum_voters.h"
#include "net/await.h"
#include "net/channel.h"
#include "quorum/client_message.h"

namespace neliroute {

class LeaderFinder {
 public:
  /// `patience`: how long a voter has to connect and to say who it is.
  LeaderFinder(std::shared_ptr<QuorumVoters> voters, Log log, milliseconds patience);

  /// Asks each voter once, the last leader first, and whoever another one names: that may be one
  /// which took the place of another since this process was told of them. Null: none leads. One at
  /// a time.
  [[nodiscard]] Awaitable<std::shared_ptr<Channel>> find();
  /// The welcome of the leader that was found last, or else of the voter that was asked last.
  [[nodiscard]] const quorum::Welcome& welcome() const noexcept { return welcome_; }
  /// Which one was found last.
  [[nodiscard]] const std::string& leader() const noexcept { return leader_; }
  /// The leader is silent: the next round asks all others first, even if they name it.
  void leave(const std::string& why);
  /// For each voter that was asked in vain in the last round, the reason.
  [[nodiscard]] std::string troubles() const;
  /// What is awaited ends within its time, usually at once.
  void close();

 private:
  /// Empty: it said its welcome.
  [[nodiscard]] Awaitable<std::string> greet(std::string voter);
  [[nodiscard]] Awaitable<std::string> say_hello(LocalTime due);
  /// What it said is about the leader, where it does not lead; and whom to ask next.
  [[nodiscard]] std::string take_hint(std::string& next) const;
  [[nodiscard]] bool is_unknown(const std::string& voter) const;
  void count(const std::string& trouble, LocalTime asked);
  void move_to(const std::string& voter, bool front);

  std::shared_ptr<QuorumVoters> voters_;
  Log log_;
  milliseconds patience_;
  std::vector<std::string> order_;
  std::shared_ptr<Channel> channel_;
  quorum::Welcome welcome_;
  std::string leader_;
  std::string left_;  ///< who is silent
  std::map<std::string, std::string> troubles_;
  bool timed_out_ = false;  ///< the last attempt
  bool closed_ = false;
};

}  // namespace neliroute
