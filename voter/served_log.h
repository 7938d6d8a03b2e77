// One log of a voter: its state machine, its disk, and the clients that it serves.
//
// Input waits while the disk stores something, and is then taken all at once, so that one sync
// serves many entries.
//
// Threads: that of the voter; it stores on another one, and then changes nothing.
// Units: LocalTime, bytes.   Errors: the disk's, once; after that it does nothing.
// Seed: "Leader and Followers".
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "base/side_threads.h"
#include "quorum/voter.h"
#include "voter/voter_disk.h"
#include "voter/voter_notices.h"
#include "voter/statistics/voter_statistics.h"

namespace neliroute {

/// A client of a log's leader.
class LogClient {
 public:
  LogClient() = default;
  LogClient(const LogClient&) = delete;
  LogClient& operator=(const LogClient&) = delete;
  virtual ~LogClient() = default;

  /// The first of its records that had no place yet has this one; kNothing: the log is full.
  virtual void on_proposed(quorum::Index index) = 0;
  /// Anything may have changed. It is not removed from inside.
  virtual void on_change() = 0;
};

class ServedLog {
 public:
  struct Options {
    std::uint32_t number = 0;
    /// For people.
    std::string folder;
    quorum::VoterOptions voter;
    milliseconds kept{0};
    std::size_t bytes_max = 0;
    std::shared_ptr<VoterStatistics> statistics;
  };
  struct Handlers {
    std::function<void(const quorum::Message&)> send;
    /// Never from inside a call.
    std::function<void(const Error&)> failed;
  };

  /// `files`: those of the disk. `disks` must end first.
  ServedLog(const boost::asio::any_io_executor& executor, SideThreads& disks,
            std::shared_ptr<VoterNotices> notices, Options options, Handlers handlers,
            std::shared_ptr<FilePort> files, OpenedDisk opened);

  void begin() { work_soon(); }
  /// It does nothing any more.
  void close();

  /// From another voter; `bytes`: its size.
  void take(quorum::Message message, std::size_t bytes);
  /// For a leader in this term, which tells `client` the record's index. Dropped if it no longer
  /// leads.
  void propose(const std::shared_ptr<LogClient>& client, quorum::Term term, std::string record);
  /// So that what is asked now is answered soon.
  void ask_round();
  void add(LogClient& client) { clients_.insert(&client); }
  void remove(LogClient& client) { clients_.erase(&client); }

  [[nodiscard]] bool leads() const { return voter().role() == quorum::Role::leading; }
  [[nodiscard]] bool leads_in(quorum::Term term) const {
    return leads() && voter().term() == term;
  }
  /// Its disk does not block it, so what it knows of its lead is not outdated.
  [[nodiscard]] bool is_lively(LocalTime now) const {
    return !over_ && (!storing_ || now - storing_since_ < options_.voter.election);
  }
  [[nodiscard]] const quorum::Voter& voter() const { return kept_->voter; }
  /// Bytes of records that clients wait for.
  [[nodiscard]] std::size_t& waiting_bytes() noexcept { return waiting_bytes_; }

 private:
  struct FromPeer {
    quorum::Message message;
    std::size_t bytes = 0;
  };
  struct Proposal {
    std::weak_ptr<LogClient> client;
    quorum::Term term = 0;
    std::string record;
  };
  struct Round {};
  using Input = std::variant<FromPeer, Proposal, Round>;
  /// What storing needs, for as long as it lasts.
  struct Kept {
    std::shared_ptr<FilePort> files;
    VoterDisk disk;
    quorum::Voter voter;
  };

  void work_soon();
  void work();
  void take_inputs(LocalTime now);
  void carry_out(LocalTime now);
  void store(quorum::Ready ready, LocalTime now);
  void on_stored(const quorum::Ready& ready, const Result<void>& stored);
  void send(const std::vector<quorum::Message>& messages);
  void drop_old(LocalTime now);
  [[nodiscard]] milliseconds mark_each() const;
  void tell(const quorum::Ready& ready, LocalTime now);
  void tell_leader(LocalTime now);
  void tell_clock(BrokerTime wall, LocalTime now);
  [[nodiscard]] bool is_full(LocalTime now);
  void tell_voters();
  void publish(LocalTime now);
  void arm(LocalTime now);
  [[nodiscard]] std::string shown() const { return "log " + std::to_string(options_.number); }

  SideThreads& disks_;
  std::shared_ptr<VoterNotices> notices_;
  const Options options_;
  const Handlers handlers_;
  LogStatistics& statistics_;
  std::shared_ptr<Kept> kept_;
  boost::asio::steady_timer timer_;
  boost::asio::any_io_executor executor_;
  /// For what is posted: whether this object is still there.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::deque<Input> inputs_;
  std::size_t peer_bytes_ = 0;
  std::set<LogClient*> clients_;
  std::size_t waiting_bytes_ = 0;
  bool working_soon_ = false;
  bool storing_ = false;
  LocalTime storing_since_ = kLongAgo;
  struct Mark {
    LocalTime at;
    quorum::Index committed = 0;
  };
  std::deque<Mark> marks_;  ///< rising
  /// Who led last, as operators were told; and since when nobody does.
  std::string told_leader_;
  quorum::Term told_term_ = 0;
  std::optional<LocalTime> leaderless_since_;
  std::string told_voters_;
  bool over_ = false;
};

}  // namespace neliroute
