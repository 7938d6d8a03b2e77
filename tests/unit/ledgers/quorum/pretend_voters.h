// Voters that store nothing and ask nobody: each says what a test wants of it. What they say is
// what a quorum's voters say, so a ledger takes them for one.
//
// Threads: the test's; they serve on one of their own.   Units: indices, std::chrono.
// Errors: none.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <vector>

#include "ledgers/ledger_address.h"
#include "net/await.h"
#include "net/channel.h"
#include "quorum/client_message.h"
#include "tests/unit/embedded_broker/io_thread.h"

namespace neliroute {

class PretendVoters {
 public:
  struct PretendLog {
    quorum::LogId id{1};
    quorum::Term term = 1;
    quorum::Index first = 0;
    std::vector<quorum::Entry> entries;  ///< from `first` on
    quorum::Term term_before = 0;

    [[nodiscard]] quorum::Index end() const {
      return first + static_cast<quorum::Index>(entries.size());
    }
  };
  /// All of it may be changed at any time, on their thread: change().
  struct Script {
    std::vector<PretendLog> logs;
    std::optional<std::size_t> leader = 0;
    std::string says_leads;      ///< in place of the leader's address
    bool silent = false;         ///< nobody says anything, and nobody reads
    std::optional<std::size_t> mute;  ///< accepts, and says nothing
    bool answers = true;         ///< questions
    bool strange = false;        ///< before each answer comes one to another question
    quorum::Index ahead = 0;     ///< so far above what is asked for it begins to send entries
    bool stores = true;          ///< records; else it does not answer
    bool beats = true;
    std::string refuses;         ///< everybody, for that reason
    milliseconds kept{1'200'000};
    milliseconds election{200};
    std::string name = "pretended";
    std::string key;
    // What was seen.
    std::vector<int> greeted;    ///< how often each was asked who it is
    int asks = 0;
    int follows = 0;
    int appends = 0;
    int nonsense = 0;
  };

  explicit PretendVoters(std::uint32_t logs = 1, std::size_t count = 3);
  ~PretendVoters();
  PretendVoters(const PretendVoters&) = delete;
  PretendVoters& operator=(const PretendVoters&) = delete;

  [[nodiscard]] QuorumConnection connection();
  void change(const std::function<void(Script&)>& how);
  template <class Get>
  [[nodiscard]] auto look(const Get& get) {
    return io_.run([&] { return get(std::as_const(script_)); });
  }
  /// A record of somebody else.
  quorum::Index append(Log log, const std::string& record);
  /// That one leads from now on; none: nobody does.
  void lead(std::optional<std::size_t> voter);
  /// All connections end.
  void hang_up();
  void expire(Log log, quorum::Index first);
  /// What is above is lost; another leader leads.
  void truncate(Log log, quorum::Index end);
  /// Other logs, without a record; another leader leads.
  void replace();

 private:
  struct Conversation {
    std::shared_ptr<Channel> channel;
    std::size_t voter = 0;
    std::uint32_t log = 0;
    std::uint64_t reign = 0;
    std::vector<std::string> unsaid;
    std::optional<quorum::Index> next;  ///< it follows
    LocalTime beat = kLongAgo;
    bool over = false;
  };

  void accept(std::size_t voter);
  void begin_log(PretendLog& log);
  void new_leader();
  [[nodiscard]] Awaitable<> serve(std::unique_ptr<Stream> stream, std::size_t voter);
  [[nodiscard]] Awaitable<> hear(std::shared_ptr<Conversation> talk);
  [[nodiscard]] Awaitable<> speak(std::shared_ptr<Conversation> talk);
  [[nodiscard]] Awaitable<> wait_while_silent();
  void take(Conversation& talk, const quorum::ToVoter& said);
  void say_answer(Conversation& talk, const quorum::Answer& said) const;
  [[nodiscard]] quorum::Answer answer(const PretendLog& log, const quorum::Ask& ask) const;
  /// What is to be said next; empty: nothing.
  [[nodiscard]] std::string next_words(Conversation& talk);

  IoThread io_;
  Script script_;
  std::uint64_t reign_ = 0;  ///< counts leaders
  std::uint64_t ids_ = 1;
  bool done_ = false;
  std::vector<std::unique_ptr<boost::asio::ip::tcp::acceptor>> acceptors_;
  std::vector<std::string> addresses_;
  std::vector<std::weak_ptr<Conversation>> talks_;
};

}  // namespace neliroute
