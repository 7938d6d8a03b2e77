// One voter of an embedded quorum, as a state machine: a log that a majority stores, written by a
// leader that a majority voted for. There is no other state: the log is the product.
//
// It is Raft, with a poll before each vote; no random timeouts, but priorities; and voters that are
// told apart by what they have on disk, so that one which lost it does not vote.
//
// The driver calls step() for each message and tick() at deadline(). After each call it carries out
// take_ready() in the order of its fields, and then calls stored().
//
// Threads: one.   Units: LocalTime; stamps are this machine's wall clock, milliseconds.
// Errors: a message that makes no sense is dropped; one that contradicts what is committed is, too,
// and reported.
// Seeds: "Leader and Followers"; "Priority based election".
#pragma once

#include <cstdint>
#include <map>
#include <neliroute/time.h>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quorum/entry_log.h"
#include "quorum/follower.h"
#include "quorum/message.h"
#include "quorum/patience.h"

namespace neliroute::quorum {

enum class Role : std::uint8_t { looking, following, leading };

struct VoterOptions {
  std::string address;
  /// All voters, this one included. Each is told the same; to change them, each is told anew and
  /// started again: a leader adds voters, and removes others once most were told the same, one at
  /// a time.
  std::vector<std::string> addresses;
  /// Of `addresses`, in their sorted order: 1 to their number.
  std::vector<int> priorities;
  /// The election timeout. A leader says that it leads four times as often.
  milliseconds election{300};
  /// Drawn; used if this voter begins a log.
  LogId new_log;
};

/// What a voter has on disk.
struct Durable {
  VoterId self;
  /// None: it is empty.
  std::optional<LogId> log;
  Term term = 0;
  /// In this term.
  std::optional<VoterId> voted_for;
  EntryLog entries;
};

struct Ready {
  /// To be sent at once: they promise nothing that is not on disk.
  std::vector<Message> at_once;
  /// What differs from what is on disk: log, term and vote.
  bool vote_changed = false;
  /// The log's start.
  bool start_changed = false;
  /// The entries from this one on.
  std::optional<Index> entries_changed;
  /// To be sent when that is on disk.
  std::vector<Message> once_stored;
  /// Addresses of voters that have another log.
  std::vector<std::string> strangers;
  /// Of those that were told of other voters.
  std::vector<std::string> others_told;
  /// Addresses of leaders that would replace what is committed: a majority lost its disks.
  std::vector<std::string> contradictions;
};

class Voter {
 public:
  Voter(VoterOptions options, Durable durable, LocalTime now);

  void step(const Message& message, LocalTime now);
  void tick(LocalTime now);
  [[nodiscard]] LocalTime deadline() const noexcept;
  [[nodiscard]] Ready take_ready(LocalTime now);
  /// All that the last Ready named is on disk.
  void stored(LocalTime now);

  /// Where the record will be, if this voter leads and goes on leading. Not while it hands over.
  [[nodiscard]] std::optional<Index> propose(std::string record, BrokerTime wall);
  /// It leads, and another one is about to: proposals wait until it does, or for half a timeout.
  [[nodiscard]] bool hands_over() const noexcept { return leading_ && leading_->heir; }
  /// When it will, if it leads and knows who should.
  [[nodiscard]] std::optional<LocalTime> hands_over_at() const;
  /// Says at once that it leads, so that confirmed_since() need not wait for the next time.
  void ask_round() noexcept;
  /// What was committed at `time`, if a majority has answered since that this voter leads.
  [[nodiscard]] std::optional<Index> confirmed_since(LocalTime time) const;
  /// Of a leader: how many others vote and have not answered it within an election timeout.
  [[nodiscard]] std::size_t overdue(LocalTime now) const;
  /// What is committed below this is not needed.
  void drop(Index first);

  [[nodiscard]] Role role() const noexcept;
  [[nodiscard]] Term term() const noexcept { return durable_.term; }
  /// Where the leader of this term is, if one is known.
  [[nodiscard]] const std::string* leader() const noexcept {
    return leader_ ? &leader_->address : nullptr;
  }
  [[nodiscard]] Index committed() const noexcept { return committed_; }
  [[nodiscard]] const Durable& durable() const noexcept { return durable_; }
  [[nodiscard]] const EntryLog& entries() const noexcept { return durable_.entries; }

 private:
  struct Known {
    VoterId id;
    std::string address;
  };
  struct Leading {
    LocalTime since;
    LocalTime next_beat;
    /// Its first entry: what is below was committed by it, too, once this is.
    Index began = 0;
    std::uint64_t round = 0;
    bool beats = false;
    /// Where the log ended at the last beat, and at the one before.
    Index end_at_beat = 0;
    Index end_before = 0;
    /// Who should lead, is well and has copied the log, and since when.
    std::optional<VoterId> better;
    LocalTime better_since;
    /// To whom it hands over, until when at most, and whether that one was told.
    std::optional<VoterId> heir;
    LocalTime heir_until;
    bool heir_told = false;
    /// By id: voters, and those who only copy the log (learners).
    std::map<VoterId, Follower> followers;
  };
  /// Of a leader that was replaced without having handed over, or of one that did not take over.
  struct Loss {
    int times = 0;
    LocalTime at;
  };
  enum class Standing : std::uint8_t { no, polls, asks_votes };
  /// An empty voter that said that it is there.
  struct Met {
    VoterId id;
    LocalTime at;
    bool empty = false;
    /// It has met this voter, so it was empty later than this voter's disk was.
    bool knows_own = false;
  };

  // voter.cc
  [[nodiscard]] bool is_foreign(const Message& message) const noexcept;
  void dispatch(const Message& message, LocalTime now);
  [[nodiscard]] Follower* follower_of(const Message& message, LocalTime now);
  [[nodiscard]] bool is_address(const std::string& address) const;
  [[nodiscard]] bool may_copy(const std::string& address) const;
  [[nodiscard]] Message to(std::string address, decltype(Message::body) body) const;
  void send_once_stored(std::string address, decltype(Message::body) body);
  void follow(Term term, const std::optional<Known>& leader, LocalTime now);
  void adopt(LogId log, LogStart start, LocalTime now);
  void append(Entry entry);
  // electing.cc
  void time_out(LocalTime now);
  void ask(bool poll, LocalTime now);
  void on_take_over(const Message& message, LocalTime now);
  void on_ask_vote(const Message& message, const AskVote& ask, LocalTime now);
  void on_vote(const Message& message, const GiveVote& vote, LocalTime now);
  [[nodiscard]] bool hears_leader(LocalTime now) const noexcept;
  // forming.cc
  void announce(LocalTime now);
  void say_here(const std::string& address);
  void form(LocalTime now);
  void on_here(const Message& message, const Here& here, LocalTime now);
  // following.cc
  void on_append(const Message& message, const Append& append, LocalTime now);
  void on_restart(const Message& message, const Restart& restart, LocalTime now);
  [[nodiscard]] bool take_entries(const Append& append);
  [[nodiscard]] Index last_of_other_terms(Index index) const;
  // leading.cc
  void lead(LocalTime now);
  void lead_on(LocalTime now);
  void send_entries(Follower& follower, LocalTime now);
  void advance(LocalTime now);
  void look_for_missing();
  void hand_over(LocalTime now);
  [[nodiscard]] std::optional<VoterId> better(LocalTime now) const;
  void tell_heir();
  void note_who_leads(VoterId id, LocalTime now);
  void note_loss(VoterId id, LocalTime now);
  [[nodiscard]] milliseconds well_for(VoterId id) const;
  void admit(LocalTime now);
  [[nodiscard]] bool answers_since(VoterId id, LocalTime time) const;
  /// How many of these, itself among them.
  [[nodiscard]] std::size_t answering_since(const Configuration& voters, LocalTime time) const;
  [[nodiscard]] bool majority_answers_since(const Configuration& voters, LocalTime time) const;
  [[nodiscard]] int priority_of(const std::string& address) const;
  void change(Configuration changed);
  [[nodiscard]] bool admit_learner(LocalTime now);
  [[nodiscard]] bool remove_unlisted(LocalTime now);
  [[nodiscard]] bool most_are_told_the_same(LocalTime now) const;

  VoterOptions options_;
  /// Of the addresses in these.
  std::uint64_t told_ = 0;
  Durable durable_;
  Index committed_;
  Patience patience_;
  std::optional<Known> leader_;
  LocalTime heard_ = kLongAgo;
  std::optional<Leading> leading_;
  Standing standing_ = Standing::no;
  std::set<VoterId> yes_;
  /// Who led, or should have taken over, until nobody did.
  std::optional<VoterId> missed_;
  std::map<VoterId, Loss> losses_;
  /// The leader asked it to take over: so long it may stand beside that leader.
  LocalTime handed_until_ = kLongAgo;
  /// Its own vote is not on disk yet.
  bool vote_unstored_ = false;
  std::map<std::string, Met> met_;
  /// What is on disk ends here.
  Index stored_end_;
  Ready ready_;
};

}  // namespace neliroute::quorum
