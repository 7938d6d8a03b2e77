// What a leader knows of a process that copies its log.
//
// Threads: one.   Units: LocalTime, indices.   Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <neliroute/time.h>
#include <string>

#include "quorum/entry.h"

namespace neliroute::quorum {

class Follower {
 public:
  Follower(std::string address, Index next, Index matched, LocalTime answered = kLongAgo)
      : address_(std::move(address)), next_(next), matched_(matched), answered_(answered) {}

  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  /// Where the next message starts.
  [[nodiscard]] Index next() const noexcept { return next_; }
  /// All below is stored there.
  [[nodiscard]] Index matched() const noexcept { return matched_; }
  /// When the newest message that it answered was sent.
  [[nodiscard]] LocalTime answered() const noexcept { return answered_; }
  /// Which voters there are, as it was told when it answered last.
  [[nodiscard]] std::uint64_t told() const noexcept { return told_; }
  void is_told(std::uint64_t told) noexcept { told_ = told; }
  /// Whether so many entries are under way that more must wait.
  [[nodiscard]] bool is_full() const noexcept { return loaded_ >= kUnderWay; }

  /// A message after which it should be at `next`. `loaded`: it has entries.
  void sent(std::uint64_t round, LocalTime now, Index next, bool loaded);
  void stored(Index end, std::uint64_t round);
  /// What was sent did not follow: it must be sent again from here, even where it was stored once.
  void behind(Index end, std::uint64_t round);

 private:
  /// Messages with entries that wait for their answer, at most.
  static constexpr int kUnderWay = 4;
  /// Unanswered messages that are remembered.
  static constexpr std::size_t kRemembered = 256;  // and those with entries

  struct Sent {
    LocalTime at;
    bool loaded = false;
  };
  void answered_to(std::uint64_t round);

  std::string address_;
  Index next_;
  Index matched_;
  LocalTime answered_;
  std::uint64_t told_ = 0;
  std::map<std::uint64_t, Sent> sent_;
  int loaded_ = 0;
  /// Answers to earlier messages say nothing of where to go on.
  std::uint64_t restarted_in_ = 0;
  std::uint64_t newest_ = 0;
};

}  // namespace neliroute::quorum
